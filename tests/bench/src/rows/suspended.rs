//! A host that starts on a hundred thousand suspended sessions.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tackroom::manager::ListQuery;
use tackroom::ports::{
    MessageRecord, Ownership, ResumeChange, ResumeState, Save, SessionSettings, SessionSummary, Status, Store, Usage,
};
use tackroom::stores::SqliteStore;
use tokio::task::JoinSet;

use super::Ground;
use crate::child;
use crate::host;
use crate::report::{Goal, MS, Row, Unit};
use crate::sample::Samples;

/// The measurement in a process of its own.
pub(super) const CHILD: &str = "suspended";
const GROUP: &str = "a start with 100,000 suspended sessions";
/// How many there are.
const SESSIONS: (u32, u32) = (100_000, 500);
/// Sessions on a page.
const PAGE: u32 = 50;
/// Writes that are given to the store together.
const TOGETHER: u32 = 500;

fn suspended(n: u32) -> Save {
    let at = 1_700_000_000_000 + u64::from(n % 5_000);
    let id = format!("session-{n:08}");
    let summary = SessionSummary {
        id: id.clone(),
        status: Status::Suspended,
        metadata: format!(r#"{{"user":"user-{}"}}"#, n % 1_000),
        settings: SessionSettings::default(),
        created_at_ms: at,
        updated_at_ms: at,
        suspended_at_ms: None,
        turns: 1,
        usage: Usage::default(),
        error: None,
        pending: Vec::new(),
        message_count: 2,
        turn: None,
        revision: 1,
        metadata_revision: 1,
        stopping: None,
        degraded: false,
    };
    let message = |index: u32, role: &str| {
        let text = "x".repeat(500);
        let json = format!(r#"{{"id":"m{index}","role":"{role}","parts":[{{"type":"text","text":"{text}"}}]}}"#);
        MessageRecord { index, id: format!("m{index}"), json }
    };
    Save {
        write_id: format!("bench-{n}"),
        generation: 1,
        revision: 1,
        summary,
        engine_state: r#"{"v":1,"started":true}"#.to_owned(),
        messages: vec![message(0, "user"), message(1, "assistant")],
        tail_from: 2,
        audit: Vec::new(),
        resume: ResumeChange::Replace(ResumeState::new("r".repeat(200))),
        ownership: Ownership::Released,
    }
}

async fn prepare(file: &Path, sessions: u32) -> Result<()> {
    let store: Arc<SqliteStore> = host::sqlite(file).await?;
    for start in (0..sessions).step_by(TOGETHER as usize) {
        let mut saves = JoinSet::new();
        for n in start..sessions.min(start + TOGETHER) {
            let store = Arc::clone(&store);
            saves.spawn(async move { store.save(suspended(n)).await });
        }
        saves.join_all().await.into_iter().collect::<Result<(), _>>()?;
    }
    Arc::into_inner(store).context("The store is still used.")?.close().await;
    Ok(())
}

/// Starts a host on the database and reads pages of it.
pub(super) async fn in_child(arguments: &[String]) -> Result<Value> {
    let [file, cache, pages] = arguments else { anyhow::bail!("A database, a cache and a number have to be named.") };
    let start = Instant::now();
    let store = host::sqlite(Path::new(file)).await?;
    let manager = host::start(store, host::short_answers()?, Path::new(cache)).await?;
    let ready = start.elapsed().as_secs_f64() * 1e9;
    let (resident_at_start, _) = child::resident()?;

    let mut times = Vec::new();
    let mut query = ListQuery { limit: PAGE, ..ListQuery::default() };
    for _ in 0..pages.parse()? {
        let start = Instant::now();
        let page = manager.list(query.clone()).await?;
        times.push(start.elapsed().as_secs_f64() * 1e9);
        ensure!(page.sessions.len() == PAGE as usize || page.next.is_none(), "A page is not full.");
        query.cursor = page.next;
    }
    let (resident, _) = child::resident()?;
    manager.shutdown().await;
    Ok(json!({ "ready": ready, "pages": times, "start": resident_at_start, "resident": resident }))
}

/// The rows.
pub(super) async fn measure(ground: &Ground) -> Result<Vec<Row>> {
    let sessions = ground.count(SESSIONS.0, SESSIONS.1);
    let file = ground.directory.join("suspended.db");
    prepare(&file, sessions).await?;
    let cache = ground.cache();
    let words = [file.to_str(), cache.to_str()].map(|path| path.context("The directory's name has to be UTF-8."));
    let [file, cache] = words;
    let (file, cache) = (file?, cache?);
    // Fills the cache.
    child::run(CHILD, &[file, cache, "1"])?;

    let (mut ready, mut pages) = (Samples::default(), Samples::default());
    let (mut start, mut resident) = (Samples::default(), Samples::default());
    for _ in 0..ground.count(10, 2) {
        let found = child::run(CHILD, &[file, cache, if ground.quick { "5" } else { "200" }])?;
        ready.value(child::number(&found, "ready")?);
        start.value(child::number(&found, "start")?);
        resident.value(child::number(&found, "resident")?);
        let times = found["pages"].as_array().context("A measurement did not tell its pages.")?;
        times.iter().filter_map(Value::as_f64).for_each(|time| pages.value(time));
    }
    let rows = [
        Row::times(GROUP, "until ready", &ready).map(|row| row.goal(Goal::MedianBelow(300.0 * MS))),
        Row::times(GROUP, "a page of 50", &pages).map(|row| row.goal(Goal::MedianBelow(2.0 * MS))),
        Row::of(GROUP, "resident once ready", Unit::Bytes, start.figures()),
        Row::of(GROUP, "resident after the pages", Unit::Bytes, resident.figures())
            .map(|row| row.goal(Goal::MedianBelow(60e6)).note(format!("{sessions} sessions with two messages each."))),
    ];
    Ok(rows.into_iter().flatten().collect())
}
