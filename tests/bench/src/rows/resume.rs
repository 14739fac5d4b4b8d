//! How long a suspended session takes to come back, with an agent that starts in no time.

use std::time::Instant;

use anyhow::Result;
use tackroom::manager::SessionManager;

use super::Ground;
use crate::host;
use crate::report::{Goal, MS, Row};
use crate::sample::Samples;

const GROUP: &str = "resume of a suspended session, with an agent that starts in no time";

/// The time from a message to its turn's first chunk.
async fn first_chunk(manager: &SessionManager, session: &str, samples: &mut Samples) -> Result<()> {
    let start = Instant::now();
    let mut stream = manager.send(session, "Go on.".into()).await?;
    host::first_chunk(&mut stream).await?;
    samples.time(start.elapsed());
    host::finish(stream).await.map(drop)
}

/// The rows.
pub(super) async fn measure(ground: &Ground) -> Result<Vec<Row>> {
    let store = host::sqlite(&ground.directory.join("resume.db")).await?;
    let manager = host::start(store, host::short_answers()?, &ground.cache()).await?;
    for id in ["suspended", "idle"] {
        host::idle(&manager, id).await?;
    }
    let (mut suspended, mut idle) = (Samples::default(), Samples::default());
    for _ in 0..ground.count(300, 5) {
        manager.suspend("suspended").await?;
        first_chunk(&manager, "suspended", &mut suspended).await?;
        first_chunk(&manager, "idle", &mut idle).await?;
    }
    manager.shutdown().await;
    let rows = [
        Row::times(GROUP, "from the message to the first chunk, suspended", &suspended)
            .map(|row| row.goal(Goal::MedianBelow(5.0 * MS))),
        Row::times(GROUP, "from the message to the first chunk, idle", &idle),
        Row::ratio(GROUP, "suspended over idle", &suspended, &idle),
    ];
    Ok(rows.into_iter().flatten().collect())
}
