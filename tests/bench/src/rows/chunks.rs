//! The way of a chunk from an agent to a reader in the same process, through a thousand sessions at once.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use tackroom::manager::{SessionManager, TurnItem, TurnStream};
use tokio::task::JoinSet;

use super::Ground;
use super::crowd::{Bursting, Kept, Rounds, Seen, idle_host, name, together};
use crate::paced::{Pace, PacedAgent, SPEAK, said_at};
use crate::report::{Goal, MS, Row, Unit};
use crate::sample::Samples;

const GROUP: &str = "chunks from agent to in-process reader";
/// Chunks a second that are to be reached.
const GOAL: u32 = 200_000;

async fn read(mut stream: TurnStream, zero: Option<Instant>) -> Result<Seen> {
    let mut seen = Seen::default();
    while let Some(item) = stream.next().await {
        let TurnItem::Chunk { json, .. } = item else {
            seen.resyncs += 1;
            continue;
        };
        seen.chunk();
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
    let Bursting { manager, sessions, count } = Bursting::start(ground, kept, "burst").await?;
    let mut rounds = Rounds::default();
    for _ in 0..ground.count(5, 2) {
        rounds.add(&round(&manager, sessions, "Burst.", None).await?)?;
    }
    manager.shutdown().await;
    let what = format!("{sessions} sessions, in batches of 16, {}", kept.words());
    let row = Row::of(GROUP, what, Unit::PerSecond, rounds.rates.figures());
    let note = format!(
        "{count} chunks of 20 bytes in each turn; from the first chunk read to the end of the last turn; {} readers \
         fell behind.",
        rounds.resyncs
    );
    Ok(row.map(|row| row.goal(Goal::AtLeast(f64::from(GOAL))).note(note)))
}

async fn latency(ground: &Ground, kept: Kept, batch: u32) -> Result<Option<Row>> {
    let sessions = ground.count(1_000, 20);
    let rate = ground.count(GOAL / 2, 1_000);
    let length = Duration::from_millis(u64::from(ground.count(5_000, 400)));
    let zero = Instant::now();
    let agent = PacedAgent::new(Pace { rate, sessions, batch, length }, zero);
    let store = kept.store(ground, &format!("paced-{batch}")).await?;
    let manager = idle_host(ground, sessions, store, Arc::new(agent)).await?;
    let seen = round(&manager, sessions, SPEAK, Some(zero)).await?;
    manager.shutdown().await;
    let reached = seen.rate()?;
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
