//! Measures the SQLite store against bare SQLite on the same disk: `cargo run --release --example store_bench [DIR]`.
//!
//! Prints medians of a save beside those of a bare durable insert of the same bytes, alone and a hundred at once; then
//! opening, a page and the memory of 100,000 suspended sessions; then one message more in a long conversation.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use tackroom::ports::{
    ListQuery, MessageRecord, Ownership, ResumeChange, Save, SessionSettings, SessionSummary, Status, Store, Usage,
};
use tackroom::stores::{SqliteOptions, SqliteStore};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

const MESSAGE_BYTES: usize = 1_000;
const SESSIONS: u32 = 100_000;

fn save(id: String, revision: u64, status: Status) -> Save {
    let live = status.is_live();
    Save {
        write_id: format!("{id}-{revision}"),
        generation: 1,
        revision,
        summary: SessionSummary {
            id,
            status,
            metadata: r#"{"user":"somebody"}"#.to_owned(),
            settings: SessionSettings::default(),
            created_at_ms: 1_700_000_000_000,
            updated_at_ms: 1_700_000_000_000 + revision,
            suspended_at_ms: None,
            turns: 0,
            usage: Usage::default(),
            error: None,
            pending: Vec::new(),
            message_count: 0,
            turn: None,
            revision,
            metadata_revision: 0,
            stopping: None,
            degraded: false,
        },
        engine_state: "{}".to_owned(),
        messages: Vec::new(),
        tail_from: 0,
        audit: Vec::new(),
        resume: ResumeChange::Keep,
        ownership: if live {
            Ownership::Held { owner: "bench".to_owned(), lease_ms: 60_000 }
        } else {
            Ownership::Released
        },
    }
}

fn message(index: u32) -> MessageRecord {
    MessageRecord { index, id: format!("message-{index}"), json: format!("\"{}\"", "x".repeat(MESSAGE_BYTES)) }
}

fn row(what: &str, mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    let at = |percent: usize| times[(times.len() - 1) * percent / 100];
    println!("{what:<58} median {:>9.1?}   p99 {:>9.1?}   of {}", at(50), at(99), times.len());
    at(50)
}

fn open_bare(directory: &Path) -> Outcome<Connection> {
    let connection = Connection::open(directory.join("bare.db"))?;
    connection.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE t (id INTEGER PRIMARY KEY, json TEXT)",
    )?;
    Ok(connection)
}

/// One conversation that grows.
struct Conversation {
    id: &'static str,
    revision: u64,
    messages: u32,
}

impl Conversation {
    fn new(id: &'static str) -> Self {
        Self { id, revision: 0, messages: 0 }
    }

    async fn append(&mut self, store: &SqliteStore, count: u32) -> Outcome<Duration> {
        self.revision += 1;
        let mut save = save(self.id.to_owned(), self.revision, Status::Idle);
        save.messages = (self.messages..self.messages + count).map(message).collect();
        self.messages += count;
        save.summary.message_count = self.messages;
        let start = Instant::now();
        store.save(save).await?;
        Ok(start.elapsed())
    }
}

/// Bare inserts, saves into a short and into a long conversation, by turns: what slows the disk slows all three.
async fn alone(directory: &Path, store: &SqliteStore) -> Outcome<Duration> {
    let connection = open_bare(directory)?;
    let (mut short, mut long) = (Conversation::new("short"), Conversation::new("long"));
    long.append(store, 5_000).await?;
    let (mut bare, mut shorts, mut longs) = (Vec::new(), Vec::new(), Vec::new());
    for index in 0..500 {
        let json = message(index).json;
        let start = Instant::now();
        connection.prepare_cached("INSERT INTO t (json) VALUES (?1)")?.execute([json])?;
        bare.push(start.elapsed());
        shorts.push(short.append(store, 1).await?);
        longs.push(long.append(store, 1).await?);
    }
    let insert = row("a bare durable insert of the same bytes", bare);
    let short = row("a save with one message, into an empty conversation", shorts);
    let long = row("a save with one message, into a conversation of 5,000", longs);
    println!("a save: {:.2} of a bare insert", short.as_secs_f64() / insert.as_secs_f64());
    println!("into a conversation of 5,000: {:.2} of an empty one", long.as_secs_f64() / short.as_secs_f64());
    Ok(insert)
}

async fn at_once(store: &Arc<SqliteStore>, rounds: u64) -> Outcome<Vec<Duration>> {
    let mut taken = Vec::new();
    for round in 1..=rounds {
        let start = Instant::now();
        let saves: Vec<_> = (0..100)
            .map(|n| {
                let store = Arc::clone(store);
                let mut save = save(format!("many-{n}"), round, Status::Idle);
                save.messages = vec![message(u32::try_from(round).unwrap_or(u32::MAX) - 1)];
                tokio::spawn(async move { store.save(save).await })
            })
            .collect();
        for save in saves {
            save.await??;
        }
        taken.push(start.elapsed());
    }
    Ok(taken)
}

fn resident_mib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib / 1024)
}

async fn many_sessions(directory: &Path) -> Outcome<()> {
    let path = directory.join("many.db");
    let store = Arc::new(SqliteStore::open(&path, SqliteOptions::default()).await?);
    for start in (0..SESSIONS).step_by(500) {
        let saves: Vec<_> = (start..start + 500)
            .map(|n| {
                let store = Arc::clone(&store);
                let mut save = save(format!("session-{n:08}"), 1, Status::Suspended);
                save.summary.updated_at_ms += u64::from(n % 5_000);
                save.messages = vec![message(0)];
                save.resume = ResumeChange::Replace(tackroom::ports::ResumeState::new("r".repeat(200)));
                tokio::spawn(async move { store.save(save).await })
            })
            .collect();
        for save in saves {
            save.await??;
        }
    }
    Arc::into_inner(store).ok_or("the store is still used")?.close().await;

    let mut times = Vec::new();
    for _ in 0..20 {
        let start = Instant::now();
        let store = SqliteStore::open(&path, SqliteOptions::default()).await?;
        store.claim_live("bench", 60_000, None, 100).await?;
        times.push(start.elapsed());
        store.close().await;
    }
    row("opening 100,000 suspended sessions and claiming", times);

    let store = SqliteStore::open(&path, SqliteOptions::default()).await?;
    for (what, statuses) in [("", vec![]), (" by status", vec![Status::Suspended, Status::Idle])] {
        let mut query = ListQuery { limit: 50, statuses, ..ListQuery::default() };
        let mut times = Vec::new();
        for _ in 0..400 {
            let start = Instant::now();
            let page = store.list(&query).await?;
            times.push(start.elapsed());
            query.cursor = page.next;
        }
        row(&format!("a page of 50 among 100,000{what}"), times);
    }
    println!("resident with 100,000 suspended sessions: {:?} MiB", resident_mib().unwrap_or_default());
    store.close().await;
    Ok(())
}

#[tokio::main]
async fn main() -> Outcome<()> {
    let parent = std::env::args_os().nth(1).map_or_else(std::env::temp_dir, PathBuf::from);
    let directory = parent.join(format!("tackroom-store-bench-{}", std::process::id()));
    std::fs::create_dir_all(&directory)?;
    let outcome = measure(&directory).await;
    std::fs::remove_dir_all(&directory)?;
    outcome
}

async fn measure(directory: &Path) -> Outcome<()> {
    let store = Arc::new(SqliteStore::open(directory.join("t.db"), SqliteOptions::default()).await?);
    let insert = alone(directory, &store).await?;
    let hundred = row("100 saves at once, until the last is acknowledged", at_once(&store, 50).await?);
    println!("100 at once: {:.3} of a bare insert each", hundred.as_secs_f64() / 100.0 / insert.as_secs_f64());
    Arc::into_inner(store).ok_or("the store is still used")?.close().await;
    many_sessions(directory).await
}
