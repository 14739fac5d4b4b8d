//! What it costs that a message is durable before its sender is told so: over a bare insert into the same database
//! engine on the same disk.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rusqlite::Connection;
use tackroom::manager::{SessionManager, TurnStream};
use tokio::task::JoinSet;

use super::Ground;
use crate::host;
use crate::report::{Goal, Row};
use crate::sample::Samples;

const GROUP: &str = "a message acknowledged, over a bare durable insert of its bytes";
/// Messages at once.
const MANY: u32 = 100;
/// Bytes of a message's text.
const TEXT: usize = 1_000;

/// A table in write-ahead mode whose commits are flushed to the disk, and nothing more.
pub(super) struct Bare(Connection);

impl Bare {
    pub(super) fn open(directory: &Path) -> Result<Self> {
        let connection = Connection::open(directory.join("bare.db"))?;
        connection.execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
             CREATE TABLE messages (id INTEGER PRIMARY KEY, json TEXT NOT NULL)",
        )?;
        Ok(Self(connection))
    }

    /// Inserts durably, and says how long it took.
    pub(super) fn insert(&self, json: &str) -> Result<Duration> {
        let mut insert = self.0.prepare_cached("INSERT INTO messages (json) VALUES (?1)")?;
        let start = Instant::now();
        insert.execute([json])?;
        Ok(start.elapsed())
    }
}

fn text() -> String {
    "x".repeat(TEXT)
}

/// Sends a message, says how long it took to be acknowledged, and gives the turn to read.
async fn acknowledged(manager: &SessionManager, session: &str) -> Result<(Duration, TurnStream)> {
    let message = text().as_str().into();
    let start = Instant::now();
    let stream = manager.send(session, message).await?;
    Ok((start.elapsed(), stream))
}

/// The bytes that the store keeps of such a message.
async fn kept_message(manager: &SessionManager, session: &str) -> Result<String> {
    host::turn(manager, session, &text()).await?;
    let record = manager.get(session).await?.context("A session was lost.")?;
    let message = record.messages.into_iter().rev().find(|message| message.json.contains(&text()));
    Ok(message.context("A message was lost.")?.json)
}

fn name(n: u32) -> String {
    format!("session-{n}")
}

/// What a hundred messages at once took: each of them, and until the last was acknowledged.
async fn at_once(manager: &SessionManager, each: &mut Samples) -> Result<Duration> {
    let mut sends = JoinSet::new();
    let start = Instant::now();
    for n in 0..MANY {
        let manager = manager.clone();
        sends.spawn(async move { acknowledged(&manager, &name(n)).await });
    }
    let sent = sends.join_all().await;
    let all = start.elapsed();
    let mut turns = JoinSet::new();
    for sent in sent {
        let (time, stream) = sent?;
        each.time(time);
        turns.spawn(host::finish(stream));
    }
    turns.join_all().await.into_iter().try_for_each(|turn| turn.map(drop))?;
    Ok(all)
}

/// The rows.
pub(super) async fn measure(ground: &Ground) -> Result<Vec<Row>> {
    let store = host::sqlite(&ground.directory.join("send.db")).await?;
    let manager = host::start(store, host::short_answers()?, &ground.cache()).await?;
    for n in 0..MANY {
        host::idle(&manager, &name(n)).await?;
    }
    let json = kept_message(&manager, &name(0)).await?;
    let bare = Bare::open(&ground.directory)?;

    let (mut inserts, mut alone) = (Samples::default(), Samples::default());
    for _ in 0..ground.count(300, 5) {
        inserts.time(bare.insert(&json)?);
        let (time, stream) = acknowledged(&manager, &name(0)).await?;
        alone.time(time);
        host::finish(stream).await?;
    }
    let (mut inserts_between, mut share, mut each) = (Samples::default(), Samples::default(), Samples::default());
    for _ in 0..ground.count(50, 2) {
        inserts_between.time(bare.insert(&json)?);
        share.shared_time(at_once(&manager, &mut each).await?, MANY);
    }
    manager.shutdown().await;

    let of_many = format!("each of {MANY} at once (the time of all, shared)");
    let ratios = [
        Row::ratio(GROUP, "alone", &alone, &inserts).map(|row| row.goal(Goal::MedianBelow(1.5))),
        Row::ratio(GROUP, of_many, &share, &inserts_between)
            .map(|row| row.goal(Goal::MedianBelow(1.5)).note("Below 1 only where messages share commits.")),
    ];
    let times = [
        Row::times(GROUP, "a bare durable insert", &inserts),
        Row::times(GROUP, "a message alone", &alone),
        Row::times(GROUP, format!("a message among {MANY} at once, until acknowledged"), &each),
    ];
    Ok(ratios.into_iter().chain(times).flatten().collect())
}
