//! Ten thousand live sessions in one process, each with a turn.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use tackroom::manager::SessionManager;
use tackroom::ports::Status;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::Ground;
use crate::child;
use crate::host;
use crate::report::{Goal, Row, Unit};

/// The measurement in a process of its own.
pub(super) const CHILD: &str = "live";
const GROUP: &str = "10,000 live sessions in one process, a turn in each";
const SESSIONS: (u32, u32) = (10_000, 100);
/// Sessions that somebody waits for at a time.
const AT_ONCE: usize = 1_000;

fn name(n: u32) -> String {
    format!("session-{n}")
}

/// Does something with every session, and counts where it went well.
async fn each<F>(sessions: u32, work: impl Fn(String) -> F) -> Result<u32>
where
    F: Future<Output = Result<bool>> + Send + 'static,
{
    let room = Arc::new(Semaphore::new(AT_ONCE));
    let mut tasks = JoinSet::new();
    for n in 0..sessions {
        let permit = Arc::clone(&room).acquire_owned().await?;
        let work = work(name(n));
        tasks.spawn(async move {
            let done = work.await;
            drop(permit);
            done
        });
    }
    let mut well = 0;
    for done in tasks.join_all().await {
        match done {
            Ok(true) => well += 1,
            Ok(false) => {}
            Err(error) => eprintln!("A session was lost: {error:#}"),
        }
    }
    Ok(well)
}

/// Whether a session is live, with its whole conversation.
async fn is_whole(manager: &SessionManager, id: &str) -> Result<bool> {
    let record = manager.get(id).await?.context("It is not there.")?;
    Ok(record.summary.status == Status::Idle && record.summary.turns == 1 && record.messages.len() == 2)
}

/// Opens the sessions, gives each a turn, and looks for each again.
pub(super) async fn in_child(arguments: &[String]) -> Result<Value> {
    let [file, cache, sessions] = arguments else {
        anyhow::bail!("A database, a cache and a number have to be named.")
    };
    let sessions: u32 = sessions.parse()?;
    let store = host::sqlite(Path::new(file)).await?;
    let manager = host::start(store, host::short_answers()?, Path::new(cache)).await?;
    let start = Instant::now();
    let handle = manager.clone();
    let opened = each(sessions, move |id| {
        let manager = handle.clone();
        async move { host::create(&manager, &id).await.map(|()| true) }
    });
    let opened = opened.await?;
    let handle = manager.clone();
    let turns = each(sessions, move |id| {
        let manager = handle.clone();
        async move { host::turn(&manager, &id, "Hello.").await.map(|_| true) }
    });
    let turns = turns.await?;
    let seconds = start.elapsed().as_secs_f64();
    let live = manager.stats().await?.live;
    let (resident, peak) = child::resident()?;
    let handle = manager.clone();
    let whole = each(sessions, move |id| {
        let manager = handle.clone();
        async move { is_whole(&manager, &id).await }
    });
    let whole = whole.await?;
    // The process ends without a shutdown: what is measured is over.
    Ok(json!({
        "opened": opened, "turns": turns, "whole": whole, "live": live, "seconds": seconds, "resident": resident,
        "peak": peak,
    }))
}

/// The rows.
pub(super) fn measure(ground: &Ground) -> Result<Vec<Row>> {
    let sessions = ground.count(SESSIONS.0, SESSIONS.1);
    let (file, cache) = (ground.directory.join("live.db"), ground.cache());
    let file = file.to_str().context("The directory's name has to be UTF-8.")?;
    let cache = cache.to_str().context("The directory's name has to be UTF-8.")?;
    let found = child::run(CHILD, &[file, cache, &sessions.to_string()])?;
    let number = |name: &str| child::number(&found, name);
    let all = Goal::Exactly(f64::from(sessions));
    let seconds = number("seconds")?;
    let rows = [
        Row::one(GROUP, "resident, the most there ever was", Unit::Bytes, number("peak")?)
            .map(|row| row.goal(Goal::MedianBelow(400e6))),
        Row::one(GROUP, "resident after the turns", Unit::Bytes, number("resident")?),
        Row::one(GROUP, "live at the end", Unit::Count, number("live")?).map(|row| row.goal(all)),
        Row::one(GROUP, "idle with their whole conversation", Unit::Count, number("whole")?)
            .map(|row| row.goal(all).note(format!("Opened and prompted within {seconds:.1} s."))),
        Row::one(GROUP, "turns a second, with opening", Unit::PerSecond, f64::from(sessions) / seconds),
    ];
    Ok(rows.into_iter().flatten().collect())
}
