//! The way of a chunk from an agent to a reader in the same process, through a thousand sessions at once.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use tackroom::manager::{SessionManager, TurnItem, TurnStream};
use tackroom::ports::{Agent, Store};
use tackroom::stores::MemoryStore;
use tokio::task::JoinSet;

use super::Ground;
use crate::host;
use crate::paced::{Pace, PacedAgent, SPEAK, said_at};
use crate::report::{Goal, MS, Row, Unit};
use crate::sample::Samples;

const GROUP: &str = "chunks from agent to in-process reader";
/// Chunks a second that are to be reached.
const GOAL: u32 = 200_000;

/// Where sessions are kept meanwhile.
#[derive(Debug, Clone, Copy)]
enum Kept {
    Disk,
    Memory,
}

impl Kept {
    async fn store(self, ground: &Ground, name: &str) -> Result<Arc<dyn Store>> {
        Ok(match self {
            Self::Disk => host::sqlite(&ground.directory.join(format!("chunks-{name}.db"))).await?,
            Self::Memory => Arc::new(MemoryStore::new()),
        })
    }

    fn words(self) -> &'static str {
        match self {
            Self::Disk => "SQLite on disk",
            Self::Memory => "nothing on disk",
        }
    }
}

/// What a reader saw of one turn.
#[derive(Debug, Default)]
struct Seen {
    chunks: u64,
    resyncs: u64,
    first: Option<Instant>,
    last: Option<Instant>,
    /// Nanoseconds from the agent to here.
    latencies: Vec<f64>,
}

impl Seen {
    fn add(&mut self, other: Self) {
        self.chunks += other.chunks;
        self.resyncs += other.resyncs;
        self.first = self.first.into_iter().chain(other.first).min();
        self.last = self.last.max(other.last);
        self.latencies.extend(other.latencies);
    }
}

async fn read(mut stream: TurnStream, zero: Option<Instant>) -> Result<Seen> {
    let mut seen = Seen::default();
    while let Some(item) = stream.next().await {
        let TurnItem::Chunk { json, .. } = item else {
            seen.resyncs += 1;
            continue;
        };
        seen.chunks += 1;
        if seen.chunks == 1 {
            seen.first = Some(Instant::now());
        }
        if let Some(zero) = zero
            && let Some(said) = said_at(&json)
        {
            let now = zero.elapsed();
            seen.latencies.push((now.as_secs_f64() * 1e9) - Duration::from_nanos(said).as_secs_f64() * 1e9);
        }
    }
    seen.last = Some(Instant::now());
    stream.done().await?;
    Ok(seen)
}

fn name(n: u32) -> String {
    format!("session-{n}")
}

async fn together(tasks: JoinSet<Result<Seen>>) -> Result<Seen> {
    let mut all = Seen::default();
    for seen in tasks.join_all().await {
        all.add(seen?);
    }
    Ok(all)
}

async fn host_of(
    ground: &Ground,
    sessions: u32,
    store: Arc<dyn Store>,
    agent: Arc<dyn Agent>,
) -> Result<SessionManager> {
    let manager = host::start(store, agent, &ground.cache()).await?;
    let mut tasks = JoinSet::new();
    for n in 0..sessions {
        let manager = manager.clone();
        tasks.spawn(async move { host::idle(&manager, &name(n)).await.map(|()| Seen::default()) });
    }
    together(tasks).await?;
    Ok(manager)
}

/// One message to every session, each turn with its reader.
async fn round(manager: &SessionManager, sessions: u32, text: &'static str, zero: Option<Instant>) -> Result<Seen> {
    let mut tasks = JoinSet::new();
    for n in 0..sessions {
        let manager = manager.clone();
        tasks.spawn(async move { read(manager.send(&name(n), text.into()).await?, zero).await });
    }
    together(tasks).await
}

async fn throughput(ground: &Ground, kept: Kept) -> Result<Option<Row>> {
    let sessions = ground.count(1_000, 20);
    let count = ground.count(1_000, 100);
    let scenario = format!(
        r#"{{ "turns": [{{ "match": "Burst", "repeat": true, "steps": [{{ "type": "burst", "count": {count} }}] }}] }}"#
    );
    let store = kept.store(ground, "burst").await?;
    let manager = host_of(ground, sessions, store, host::scripted(&scenario)?).await?;
    let (mut rates, mut resyncs) = (Samples::default(), 0);
    for _ in 0..ground.count(5, 2) {
        let seen = round(&manager, sessions, "Burst.", None).await?;
        let (Some(first), Some(last)) = (seen.first, seen.last) else { bail!("No reader saw a chunk.") };
        resyncs += seen.resyncs;
        let chunks = f64::from(u32::try_from(seen.chunks)?);
        rates.value(chunks / last.duration_since(first).as_secs_f64());
    }
    manager.shutdown().await;
    let what = format!("{sessions} sessions, in batches of 16, {}", kept.words());
    let row =
        Row::of(GROUP, what, Unit::PerSecond, rates.figures()).map(|row| row.goal(Goal::AtLeast(f64::from(GOAL))));
    let note = format!(
        "{count} chunks of 20 bytes in each turn; from the first chunk read to the end of the last turn; {resyncs} \
         readers fell behind."
    );
    Ok(row.map(|row| row.note(note)))
}

async fn latency(ground: &Ground, kept: Kept, batch: u32) -> Result<Option<Row>> {
    let sessions = ground.count(1_000, 20);
    let rate = ground.count(GOAL / 2, 1_000);
    let length = Duration::from_millis(u64::from(ground.count(5_000, 400)));
    let zero = Instant::now();
    let agent = PacedAgent::new(Pace { rate, sessions, batch, length }, zero);
    let store = kept.store(ground, &format!("paced-{batch}")).await?;
    let manager = host_of(ground, sessions, store, Arc::new(agent)).await?;
    let seen = round(&manager, sessions, SPEAK, Some(zero)).await?;
    manager.shutdown().await;
    let (Some(first), Some(last)) = (seen.first, seen.last) else { bail!("No reader saw a chunk.") };
    let reached = f64::from(u32::try_from(seen.latencies.len())?) / last.duration_since(first).as_secs_f64();
    let mut times = Samples::default();
    for latency in seen.latencies {
        times.value(latency);
    }
    let how = if batch == 1 { "one by one".to_owned() } else { format!("in batches of {batch}") };
    let what = format!("{sessions} sessions, {rate}/s, {how}, {}", kept.words());
    let row = Row::times(GROUP, what, &times).map(|row| row.goal(Goal::P99Below(MS)));
    let note = format!("{reached:.0}/s were read; {} readers fell behind.", seen.resyncs);
    Ok(row.map(|row| row.note(note)))
}

/// The rows.
pub(super) async fn measure(ground: &Ground) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    // A quick run needs no disk.
    let stores: &[Kept] = if ground.quick { &[Kept::Memory] } else { &[Kept::Disk, Kept::Memory] };
    for kept in stores {
        rows.extend(throughput(ground, *kept).await?);
        for batch in [16, 1] {
            rows.extend(latency(ground, *kept, batch).await?);
        }
    }
    Ok(rows)
}
