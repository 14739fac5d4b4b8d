//! A thousand sessions at once, each with a reader: what the rows about chunks share.

use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result};
use tackroom::manager::SessionManager;
use tackroom::ports::{Agent, Store};
use tackroom::stores::MemoryStore;
use tokio::task::JoinSet;

use super::Ground;
use crate::host;
use crate::sample::Samples;

/// Where sessions are kept meanwhile.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kept {
    Disk,
    Memory,
}

impl Kept {
    pub(super) async fn store(self, ground: &Ground, name: &str) -> Result<Arc<dyn Store>> {
        Ok(match self {
            Self::Disk => host::sqlite(&ground.directory.join(format!("chunks-{name}.db"))).await?,
            Self::Memory => Arc::new(MemoryStore::new()),
        })
    }

    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Disk => "SQLite on disk",
            Self::Memory => "nothing on disk",
        }
    }
}

/// What a reader saw of one turn.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) chunks: u32,
    /// Times that the reader had fallen behind.
    pub(super) resyncs: u32,
    /// When the first chunk was read.
    pub(super) first: Option<Instant>,
    /// When the turn was over.
    pub(super) last: Option<Instant>,
    /// From the agent to here, in nanoseconds.
    pub(super) latencies: Vec<f64>,
}

impl Seen {
    /// Counts a chunk.
    pub(super) fn chunk(&mut self) {
        self.chunks += 1;
        if self.chunks == 1 {
            self.first = Some(Instant::now());
        }
    }

    /// Chunks a second, from the first one read to the end of the last turn.
    pub(super) fn rate(&self) -> Result<f64> {
        let (first, last) = self.first.zip(self.last).context("No reader saw a chunk.")?;
        Ok(f64::from(self.chunks) / last.duration_since(first).as_secs_f64())
    }

    fn add(&mut self, other: Self) {
        self.chunks += other.chunks;
        self.resyncs += other.resyncs;
        self.first = self.first.into_iter().chain(other.first).min();
        self.last = self.last.max(other.last);
        self.latencies.extend(other.latencies);
    }
}

/// The name of a session.
pub(super) fn name(n: u32) -> String {
    format!("session-{n}")
}

/// What all readers saw.
pub(super) async fn together(tasks: JoinSet<Result<Seen>>) -> Result<Seen> {
    let mut all = Seen::default();
    for seen in tasks.join_all().await {
        all.add(seen?);
    }
    Ok(all)
}

/// A host with so many sessions that are idle.
pub(super) async fn idle_host(
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

/// A crowd whose agents answer `Burst.` with many chunks as fast as they are taken.
pub(super) struct Bursting {
    pub(super) manager: SessionManager,
    pub(super) sessions: u32,
    /// Chunks of each turn.
    pub(super) count: u32,
}

impl Bursting {
    pub(super) async fn start(ground: &Ground, kept: Kept, file: &str) -> Result<Self> {
        let (sessions, count) = (ground.count(1_000, 20), ground.count(1_000, 100));
        let steps = format!(r#"[{{ "type": "burst", "count": {count} }}]"#);
        let scenario = format!(r#"{{ "turns": [{{ "match": "Burst", "repeat": true, "steps": {steps} }}] }}"#);
        let store = kept.store(ground, file).await?;
        let manager = idle_host(ground, sessions, store, host::scripted(&scenario)?).await?;
        Ok(Self { manager, sessions, count })
    }
}

/// Rates of several rounds, and how many readers fell behind.
#[derive(Debug, Default)]
pub(super) struct Rounds {
    pub(super) rates: Samples,
    pub(super) resyncs: u32,
}

impl Rounds {
    pub(super) fn add(&mut self, seen: &Seen) -> Result<()> {
        self.resyncs += seen.resyncs;
        self.rates.value(seen.rate()?);
        Ok(())
    }
}
