//! Sandboxes and agents of a world: who holds what, and what an agent does in a slice.

use std::collections::{BTreeMap, BTreeSet};

use tackroom_core::input::{Chunk, Delta, Piece, SliceFailure, SliceOutcome};

/// An agent that runs.
#[derive(Debug, Clone)]
pub struct Agent {
    /// Its session.
    pub session: String,
    /// The effect of the slice under way.
    pub slice: Option<u64>,
    /// Chunks sent in this slice.
    pub cursor: u64,
    /// Whether an interruption has come in this slice.
    pub interrupted: bool,
}

/// Everything that the current host has acquired.
#[derive(Debug, Default)]
pub struct Held {
    /// Leases by the effect that acquired them.
    pub leases: BTreeMap<u64, String>,
    /// Leases that count against the capacity: held, or being given back.
    pub counted: BTreeSet<u64>,
    /// Agents by the effect that started them.
    pub agents: BTreeMap<u64, Agent>,
}

/// What an agent will do in a slice.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Batches of chunks, in order.
    pub batches: Vec<Vec<Chunk>>,
    /// How it ends; nothing where it hangs.
    pub end: Option<SliceOutcome>,
}

fn json(text: String) -> Chunk {
    Chunk::Json(text)
}

fn text(id: &str, text: String) -> Chunk {
    Chunk::TextDelta(Delta { id: id.into(), piece: Piece { lead: None, text, trail: None } })
}

fn ask(call: u64, rng: &mut fastrand::Rng) -> Vec<Chunk> {
    // Few different inputs, so that calls are asked again.
    let input = rng.u8(..3);
    vec![
        json(format!(
            r#"{{"type":"tool-input-available","toolCallId":"c{call}","toolName":"bash","input":{{"command":"{input}"}},"providerExecuted":true}}"#
        )),
        json(format!(r#"{{"type":"tool-approval-request","approvalId":"a{call}","toolCallId":"c{call}"}}"#)),
    ]
}

/// What the agent does next, by chance. `calls` numbers the calls of the world.
pub fn plan(rng: &mut fastrand::Rng, calls: &mut u64, faults: bool) -> Plan {
    let mut batches = Vec::new();
    for part in 0..rng.u8(..3) {
        let id = format!("t{part}");
        let mut batch = vec![json(r#"{"type":"start-step"}"#.into())];
        if rng.u8(..10) > 0 {
            batch.push(json(format!(r#"{{"type":"text-start","id":"{id}"}}"#)));
        }
        batch.extend((0..rng.u8(..4)).map(|n| text(&id, format!("word{n} "))));
        if faults && rng.u8(..10) == 0 {
            batch.push(json("{\"type\":".into()));
            batch.push(json(r#"{"type":"tool-output-available","toolCallId":"nobody","output":1}"#.into()));
        }
        batch.push(json(format!(r#"{{"type":"text-end","id":"{id}"}}"#)));
        batches.push(batch);
    }
    let failure = |alive| SliceOutcome::Failed(SliceFailure { message: "The agent broke.".into(), alive });
    let end = match rng.u8(..20) {
        0 if faults => Some(failure(true)),
        1 if faults => Some(failure(false)),
        2 if faults => None,
        3..=9 => {
            let mut batch = Vec::new();
            for _ in 0..=rng.u8(..2) {
                *calls += 1;
                batch.extend(ask(*calls, rng));
            }
            batches.push(batch);
            Some(SliceOutcome::Paused)
        }
        _ => Some(SliceOutcome::Finished),
    };
    batches.push(vec![json(r#"{"type":"finish"}"#.into())]);
    Plan { batches, end }
}
