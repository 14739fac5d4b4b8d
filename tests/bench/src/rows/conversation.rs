//! Whether one more message costs the same however long the conversation is.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use tackroom::manager::SessionManager;
use tackroom::ports::{MessageRecord, Ownership, ResumeChange, Save, Store};

use super::Ground;
use crate::host;
use crate::report::{Goal, Row};
use crate::sample::Samples;

const GROUP: &str = "one more message in a conversation of 5,000, over one in an empty conversation";
/// Messages of the long conversation.
const LONG: (u32, u32) = (5_000, 200);
/// Samples for which a conversation counts as empty.
const EMPTY: u32 = 10;

fn message(index: u32) -> MessageRecord {
    let role = if index.is_multiple_of(2) { "user" } else { "assistant" };
    let (id, text) = (format!("message-{index}"), "x".repeat(200));
    let json = format!(r#"{{"id":"{id}","role":"{role}","parts":[{{"type":"text","text":"{text}"}}]}}"#);
    MessageRecord { index, id, json }
}

/// Makes the conversation of a suspended session long.
async fn lengthen(store: &dyn Store, session: &str, count: u32) -> Result<()> {
    let stored = store.claim(session, "bench", 60_000).await?.context("A session was lost.")?;
    let mut summary = stored.summary;
    let first = summary.message_count;
    summary.message_count = count;
    summary.revision = stored.revision + 1;
    let save = Save {
        write_id: "bench-1".to_owned(),
        generation: stored.generation,
        revision: stored.revision + 1,
        summary,
        engine_state: stored.engine_state,
        messages: (first..count).map(message).collect(),
        tail_from: count,
        audit: Vec::new(),
        resume: ResumeChange::Keep,
        ownership: Ownership::Released,
    };
    store.save(save).await?;
    Ok(())
}

/// Times of one more message: until it is acknowledged, and until its turn's end is durable.
#[derive(Debug, Default)]
struct Times {
    acknowledged: Samples,
    whole: Samples,
}

impl Times {
    async fn one_more(&mut self, manager: &SessionManager, session: &str) -> Result<()> {
        let start = Instant::now();
        let stream = manager.send(session, "And now the other test.".into()).await?;
        let acknowledged: Duration = start.elapsed();
        host::finish(stream).await?;
        self.whole.time(start.elapsed());
        self.acknowledged.time(acknowledged);
        Ok(())
    }
}

/// The rows.
pub(super) async fn measure(ground: &Ground) -> Result<Vec<Row>> {
    let count = ground.count(LONG.0, LONG.1);
    let store = host::sqlite(&ground.directory.join("conversation.db")).await?;
    let manager = host::start(store.clone(), host::short_answers()?, &ground.cache()).await?;
    host::idle(&manager, "long").await?;
    manager.suspend("long").await?;
    lengthen(store.as_ref(), "long", count).await?;
    host::turn(&manager, "long", "Hello again.").await?;

    let (mut long, mut empty) = (Times::default(), Times::default());
    for n in 0..ground.count(200, 4) {
        let short = format!("short-{}", n / EMPTY);
        if n % EMPTY == 0 {
            host::idle(&manager, &short).await?;
        }
        long.one_more(&manager, "long").await?;
        empty.one_more(&manager, &short).await?;
    }
    let record = manager.get("long").await?.context("A session was lost.")?;
    anyhow::ensure!(record.messages.len() > count as usize, "The long conversation is not long.");
    manager.shutdown().await;

    let rows = [
        Row::ratio(GROUP, "until acknowledged", &long.acknowledged, &empty.acknowledged)
            .map(|row| row.goal(Goal::MedianBelow(1.2))),
        Row::ratio(GROUP, "until the turn's end is durable", &long.whole, &empty.whole)
            .map(|row| row.goal(Goal::MedianBelow(1.2))),
        Row::times(GROUP, "until acknowledged, in the long one", &long.acknowledged),
        Row::times(GROUP, "until acknowledged, in an empty one", &empty.acknowledged),
        Row::times(GROUP, "until the turn's end, in the long one", &long.whole),
        Row::times(GROUP, "until the turn's end, in an empty one", &empty.whole),
    ];
    Ok(rows.into_iter().flatten().collect())
}
