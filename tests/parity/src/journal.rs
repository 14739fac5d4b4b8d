//! Calls of the engine as data, so that they can be played through every face, kept in files, and read.

use serde::{Deserialize, Serialize};
use tackroom_core::{
    Now, Rejection,
    input::{Chunk, Input},
    record::Summary,
    step::{Pushed, Step},
    view::{LiveMessage, Rebuilt, Stats},
};

/// One call of the engine at a moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The moment.
    pub now: Now,
    /// The call.
    #[serde(flatten)]
    pub call: Call,
}

/// One call of the engine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "a journal holds few of them")]
pub enum Call {
    /// `step`.
    Input(Input),
    /// `push`.
    Push(Push),
    /// Everything that can be read of this session and of the engine.
    View(String),
}

/// The arguments of `push`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Push {
    /// The session.
    pub session: String,
    /// The turn.
    pub turn: String,
    /// Chunks of this slice before the batch.
    pub cursor: u64,
    /// The batch.
    pub chunks: Vec<Chunk>,
}

/// The engine's answer to a call. The JSON form is the same from every face.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "a journal holds few of them")]
pub enum Answer {
    /// To an input that was taken.
    Step(Step),
    /// To a command that was refused at once.
    Rejection(Rejection),
    /// To a push.
    Pushed(Pushed),
    /// To a view.
    View(View),
}

/// Everything that can be read of a session and of the engine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct View {
    /// The session.
    pub summary: Option<Summary>,
    /// Its turn's message.
    pub live_message: Option<LiveMessage>,
    /// What a new reader gets.
    pub rebuild: Option<Rebuilt>,
    /// Counts of the engine.
    pub stats: Stats,
    /// Whether its invariants hold.
    pub check: Result<(), String>,
}

impl Answer {
    /// The canonical JSON text.
    ///
    /// # Panics
    /// Never: every type of the engine has a JSON form.
    #[must_use]
    pub fn json(&self) -> String {
        serde_json::to_string(self).expect("every type of the engine has a JSON form")
    }

    /// The step in it, if there is one.
    #[must_use]
    pub fn step(&self) -> Option<&Step> {
        match self {
            Self::Step(step) => Some(step),
            Self::Pushed(pushed) => pushed.step.as_ref(),
            Self::Rejection(_) | Self::View(_) => None,
        }
    }
}
