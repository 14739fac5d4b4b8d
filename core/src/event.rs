//! What the engine tells: replies to commands, changes of sessions, and what it adds to a turn's stream. Past tense.

use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

use crate::record::{AuditEntry, Summary};
use crate::rejection::Rejection;

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// What a crash left has been recovered: commands are taken from now on.
    Ready,
    /// The command is durable (create, send, continue, update) or done (the others).
    Accepted(Accepted),
    /// The command was refused after the step that took it in.
    Refused(Refused),
    /// A turn's stream is open: its first slice or the next one after a pause.
    TurnStarted(TurnStarted),
    /// An accepted message or answer did not reach the agent; it is kept.
    Undelivered(Undelivered),
    /// A session changed.
    SessionUpdated(Summary),
    /// A session was forgotten.
    SessionDeleted(String),
    /// The session left this host: another one holds it, or it was put out of memory.
    SessionReleased(String),
    /// Chunks that the engine adds to a turn's stream outside [`crate::Engine::push`].
    ChunksInjected(ChunksInjected),
    /// The turn's stream is at an end: the turn is over, or waits for a person, and that is durable.
    StreamEnded(StreamEnded),
    /// An answer was recorded.
    Audited(Audited),
    /// Something failed that no caller waits for.
    Warned(Warned),
    /// Everything has ended: the host may exit.
    ShutDown,
}

/// The command took effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accepted {
    /// The command.
    pub command: u64,
    /// The session as it stands.
    pub summary: Summary,
    /// The turn of a send or continue: the one joined where the command repeats an earlier one.
    pub turn: Option<String>,
    /// For a continue: whether answers still wait.
    pub incomplete: bool,
    /// Whether the command repeated an earlier one and did nothing.
    pub repeated: bool,
}

/// The command was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// The command.
    pub command: u64,
    /// Why.
    pub rejection: Rejection,
}

/// A turn's stream is open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnStarted {
    /// The session.
    pub session: String,
    /// The turn.
    pub turn: String,
    /// The id of the answer.
    pub assistant_message: String,
    /// The number that the next chunk gets.
    pub next_seq: u64,
}

/// A message or answer did not reach the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Undelivered {
    /// The session.
    pub session: String,
    /// The turn that did not come.
    pub turn: String,
    /// A sentence for a person.
    pub message: String,
}

/// Chunks that the engine adds to a stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChunksInjected {
    /// The session.
    pub session: String,
    /// The turn.
    pub turn: String,
    /// The number of the first.
    pub first_seq: u64,
    /// UI message chunks, JSON texts.
    pub chunks: Vec<String>,
    /// The lowest number that the replay buffer must still hold.
    pub replay_from: u64,
}

/// Why a stream ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum StreamEnd {
    /// The turn is over.
    Finished,
    /// The turn waits for a person.
    Paused,
    /// The turn ended with an error.
    Failed,
    /// The turn was cut short.
    Interrupted,
}

/// A turn's stream is at an end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamEnded {
    /// The session.
    pub session: String,
    /// The turn.
    pub turn: String,
    /// Why.
    pub end: StreamEnd,
    /// The number that the next chunk would get.
    pub next_seq: u64,
}

/// An answer was recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Audited {
    /// The session.
    pub session: String,
    /// The entry.
    pub entry: AuditEntry,
}

/// Something failed that no caller waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warned {
    /// The session; empty for the whole host.
    pub session: String,
    /// What was being done: `load`, `save`, `start`, `resume`, `stop`, `release`, `approve`, `renew`, `turn`.
    pub action: String,
    /// A sentence for a person.
    pub message: String,
}
