//! What can be read of the engine between inputs.

use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// The message of a turn under way or paused, as it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveMessage {
    /// The turn.
    pub turn: String,
    /// Its place in the conversation.
    pub index: u32,
    /// Its id.
    pub id: String,
    /// The UI message, JSON text.
    pub json: String,
    /// The number that the next chunk gets.
    pub next_seq: u64,
}

/// What a reader without a usable cursor is given before it goes on live.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rebuilt {
    /// The turn.
    pub turn: String,
    /// Chunks that rebuild the whole message, from `start` with its stored id: JSON texts.
    pub chunks: Vec<String>,
    /// The number that the next live chunk gets.
    pub next_seq: u64,
    /// Whether more chunks can come without another command.
    pub open: bool,
}

/// Counts over all sessions, for metrics and checks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stats {
    /// Sessions in memory.
    pub sessions: u32,
    /// Of these, live ones.
    pub live: u32,
    /// Leases held, those being given back included.
    pub leases: u32,
    /// Sessions that wait for a lease.
    pub waiting: u32,
    /// Effects without a completion yet.
    pub effects: u32,
    /// Whether commands are taken.
    pub ready: bool,
}
