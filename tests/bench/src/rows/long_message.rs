//! Whether a chunk costs the same however long the message is that it goes into.

use anyhow::Result;
use serde_json::json;
use tackroom::engine::{Cache, CompiledEngine};
use tackroom_core::Engine;
use tackroom_core::input::{Chunk, Delta};
use tackroom_parity::chunks::{any, piece};
use tackroom_parity::journal::{Call, Entry, Push};

use super::Ground;
use crate::face::{Component, Crate, Face};
use crate::journey::Journey;
use crate::report::{Goal, Row};
use crate::sample::Samples;

const GROUP: &str = "a chunk into a message of 1 MB, over one into an empty message";
/// Bytes of the long message, and of each chunk that makes it.
const LONG: usize = 1 << 20;
const FILL: usize = 32 << 10;
/// Chunks that one sample times.
const TOGETHER: u32 = 16;

/// What kind of part grows.
#[derive(Debug, Clone, Copy)]
enum Part {
    Text,
    ToolInput,
}

impl Part {
    fn opening(self) -> Vec<Chunk> {
        let mut chunks = vec![any(json!({"type": "start"})), any(json!({"type": "start-step"}))];
        match self {
            Self::Text => chunks.push(any(json!({"type": "text-start", "id": "part"}))),
            Self::ToolInput => {
                chunks.push(any(json!({"type": "tool-input-start", "toolCallId": "part", "toolName": "write"})));
                chunks.push(self.delta(r#"{"path":"a.txt","content":""#));
            }
        }
        chunks
    }

    fn delta(self, text: &str) -> Chunk {
        let delta = Delta { id: "part".into(), piece: piece(text) };
        match self {
            Self::Text => Chunk::TextDelta(delta),
            Self::ToolInput => Chunk::ToolInputDelta(delta),
        }
    }
}

/// Two sessions in a turn: one with a long message, one with nothing but the part's beginning.
struct Pair {
    journey: Journey,
    long: Push,
    empty: Push,
}

fn pair(part: Part) -> Pair {
    let mut journey = Journey::new(0);
    let mut begin = |session: &str| {
        journey.create(session);
        let slice = journey.send(session);
        journey.push(slice, &part.opening(), 1);
        slice
    };
    let (long, empty) = (begin("long"), begin("empty"));
    journey.push(long, &vec![part.delta(&"x".repeat(FILL)); LONG / FILL], 1);
    let (long, empty) = (journey.next_push(long), journey.next_push(empty));
    Pair { journey, long, empty }
}

/// The times of chunks into the long message and into the empty one, taken in turn.
fn time<F: Face>(ground: &Ground, pair: &Pair, part: Part, face: &mut F) -> Result<(Samples, Samples)> {
    face.play(pair.journey.entries())?;
    let now = pair.journey.now();
    let (mut long, mut empty) = (pair.long.clone(), pair.empty.clone());
    let (mut longs, mut empties) = (Samples::default(), Samples::default());
    for _ in 0..ground.count(1_000, 20) {
        for (push, samples) in [(&mut long, &mut longs), (&mut empty, &mut empties)] {
            let mut entries = Vec::new();
            for _ in 0..TOGETHER {
                let chunks = vec![part.delta(" and more")];
                entries.push(Entry { now, call: Call::Push(Push { chunks, ..push.clone() }) });
                push.cursor += 1;
            }
            samples.shared_time(face.timed_together(&entries)?, TOGETHER);
        }
    }
    Ok((longs, empties))
}

fn rows(name: &str, (long, empty): &(Samples, Samples)) -> Vec<Row> {
    let ratio = Row::ratio(GROUP, name, long, empty).map(|row| row.goal(Goal::MedianBelow(1.5)));
    let each = [("into 1 MB", long), ("into an empty one", empty)];
    let times = each.map(|(where_to, samples)| Row::times(GROUP, format!("{name}, {where_to}"), samples));
    ratio.into_iter().chain(times.into_iter().flatten()).collect()
}

/// The rows: text and tool input, through the crate and through the component.
pub(super) fn measure(ground: &Ground) -> Result<Vec<Row>> {
    let compiled = CompiledEngine::load(&Cache::at(ground.cache()))?;
    let mut all = Vec::new();
    for (name, part) in [("text chunk", Part::Text), ("tool-input chunk", Part::ToolInput)] {
        let pair = pair(part);
        let times = time(ground, &pair, part, &mut Crate(Engine::new(pair.journey.config().clone())))?;
        all.extend(rows(&format!("{name}, crate"), &times));
        let times = time(ground, &pair, part, &mut Component::new(&compiled, pair.journey.config())?)?;
        all.extend(rows(&format!("{name}, component"), &times));
    }
    Ok(all)
}
