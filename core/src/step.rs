//! What the engine gives back: whole steps, and the answer to a batch of chunks.

use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

use crate::effect::Effect;
use crate::event::Event;

/// Everything that came of one input.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// What to do, in this order.
    pub effects: Vec<Effect>,
    /// What happened, in this order. Tell the events before doing the effects.
    pub events: Vec<Event>,
    /// When to tick next, on the monotonic reading: given when it moves earlier and in the answer to every tick.
    pub deadline: Option<u64>,
}

/// What became of a batch of chunks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pushed {
    /// The number of the first chunk forwarded.
    pub first_seq: u64,
    /// What to change in the batch before forwarding it, ordered by place; usually empty.
    pub edits: Vec<Edit>,
    /// The lowest number that the replay buffer must still hold.
    pub replay_from: u64,
    /// What else came of it, if anything.
    pub step: Option<Step>,
}

/// One change of a batch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edit {
    /// The place in the batch.
    pub at: u32,
    /// What to do there.
    pub change: Change,
}

/// What to do at a place of a batch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Change {
    /// Leave the chunk at this place out.
    Drop,
    /// Put this chunk, JSON text, before the one at this place.
    Inject(String),
}
