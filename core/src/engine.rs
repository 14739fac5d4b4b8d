//! The engine: one state machine for every session of a host.

use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

use crate::input::Input;
use crate::limits::Config;
use crate::record::Summary;
use crate::rejection::Rejection;
use crate::step::{Pushed, Step};
use crate::time::Now;
use crate::transcript::Chunk;

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

/// Decides everything; does nothing.
#[derive(Debug)]
pub struct Engine {
    config: Config,
}

impl Engine {
    /// An engine that knows no session yet.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self { config }
    }

    /// Takes one input in.
    ///
    /// # Errors
    /// A [`Rejection`] where the input is a command that is refused at once; the state is unchanged.
    pub fn step(&mut self, now: Now, input: Input) -> Result<Step, Rejection> {
        let _ = (now, input, &self.config);
        Ok(Step::default())
    }

    /// Takes a batch of an agent's chunks in. `cursor` counts the chunks of this slice before the batch; chunks seen
    /// before are dropped. Chunks of a turn that is not running are all dropped.
    pub fn push(&mut self, now: Now, session: &str, turn: &str, cursor: u64, chunks: &[Chunk]) -> Pushed {
        let _ = (now, session, turn, cursor, chunks);
        Pushed::default()
    }

    /// A session in memory, as it stands.
    #[must_use]
    pub fn summary(&self, session: &str) -> Option<Summary> {
        let _ = session;
        None
    }

    /// The message of the session's turn, as it stands.
    #[must_use]
    pub fn live_message(&self, session: &str) -> Option<LiveMessage> {
        let _ = session;
        None
    }

    /// What a reader without a usable cursor is given.
    #[must_use]
    pub fn rebuild(&self, session: &str) -> Option<Rebuilt> {
        let _ = session;
        None
    }

    /// Counts over all sessions.
    #[must_use]
    pub fn stats(&self) -> Stats {
        Stats::default()
    }

    /// Checks every numbered invariant and names the first that does not hold.
    ///
    /// # Errors
    /// The number and words of the broken invariant.
    pub fn check(&self) -> Result<(), String> {
        Ok(())
    }
}
