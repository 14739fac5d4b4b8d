//! What the engine keeps with a session beyond what users see: versioned, not secret, opaque to stores.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

use crate::input::AnswerBody;

/// The version that this engine writes.
pub(crate) const VERSION: u32 = 1;

/// Most undelivered messages that are put first in the next prompt; older ones stay in the conversation.
pub(crate) const UNDELIVERED: u32 = 64;

/// The engine's notes on a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Notes {
    pub(crate) v: u32,
    /// The id of the write that carried these notes: tells whether a write of unknown outcome took effect.
    #[serde(default)]
    pub(crate) write: String,
    /// Whether the session's agent has ever started.
    #[serde(default)]
    pub(crate) started: bool,
    #[serde(default)]
    pub(crate) metadata_revision: u64,
    #[serde(default)]
    pub(crate) audit_seq: u64,
    /// Idempotency keys, oldest first.
    #[serde(default)]
    pub(crate) keys: Vec<Key>,
    /// Accepted messages that no agent was given, in order.
    #[serde(default)]
    pub(crate) undelivered: Vec<Undelivered>,
    /// User messages that stand in the conversation, newest last.
    #[serde(default)]
    pub(crate) recent: Vec<Recent>,
    /// Answers that did not reach a waiting call.
    #[serde(default)]
    pub(crate) kept: Vec<KeptAnswer>,
    /// Calls that were being answered when the host stopped.
    #[serde(default)]
    pub(crate) unknown: Vec<Call>,
    /// Calls answered without a person just before: asked again, they are left to one.
    #[serde(default)]
    pub(crate) just_answered: Vec<Call>,
    /// Answers that were given, oldest first.
    #[serde(default)]
    pub(crate) settled: Vec<Settled>,
    #[serde(default)]
    pub(crate) turn: Option<NotedTurn>,
}

impl Default for Notes {
    fn default() -> Self {
        Self {
            v: VERSION,
            write: String::new(),
            started: false,
            metadata_revision: 1,
            audit_seq: 0,
            keys: Vec::new(),
            undelivered: Vec::new(),
            recent: Vec::new(),
            kept: Vec::new(),
            unknown: Vec::new(),
            just_answered: Vec::new(),
            settled: Vec::new(),
            turn: None,
        }
    }
}

/// An idempotency key and the turn it stands for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Key {
    pub(crate) name: String,
    pub(crate) turn: String,
    pub(crate) mark: String,
}

/// A user message's place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Recent {
    pub(crate) id: String,
    pub(crate) index: u32,
}

/// An accepted message that no agent was given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Undelivered {
    pub(crate) index: u32,
    pub(crate) id: String,
    /// What the agent is given, where it differs from the message's text.
    pub(crate) prompt: Option<String>,
    pub(crate) model: Option<String>,
    /// The message's text and files; read again from the message after a load.
    #[serde(skip)]
    pub(crate) text: String,
    #[serde(skip)]
    pub(crate) files: Vec<String>,
}

/// A tool call by what it would do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Call {
    pub(crate) tool: String,
    /// Canonical JSON text.
    pub(crate) input: String,
}

/// An answer kept for a call asked again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KeptAnswer {
    pub(crate) call: Call,
    pub(crate) answer: AnswerBody,
}

/// An answer that was given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Settled {
    pub(crate) id: String,
    /// Whether it was a yes; yes for a result.
    pub(crate) approved: bool,
}

/// Where a turn stood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum NotedState {
    Waiting,
    Prompting,
    Paused,
    /// All answers are there; the agent is being brought back to be given them.
    Answered,
    Delivering,
}

/// A recorded answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Recorded {
    pub(crate) id: String,
    pub(crate) answer: AnswerBody,
    /// The person's name, or nothing where no person answered.
    pub(crate) person: Option<String>,
}

/// A turn as it stood at a write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NotedTurn {
    pub(crate) id: String,
    pub(crate) assistant: String,
    /// The place of the answer, once it has one.
    pub(crate) index: Option<u32>,
    /// The messages that the agent is given.
    pub(crate) users: Vec<Undelivered>,
    pub(crate) next_seq: u64,
    pub(crate) slices: u32,
    pub(crate) state: NotedState,
    pub(crate) answers: Vec<Recorded>,
}

impl Notes {
    pub(crate) fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_else(|_| "{\"v\":1}".to_string())
    }

    /// Reads notes back. Unreadable ones, or those of a later version, give what a new session has.
    pub(crate) fn from_json(text: &str) -> Option<Self> {
        serde_json::from_str::<Self>(text).ok().filter(|notes| notes.v <= VERSION)
    }

    pub(crate) fn key(&self, key: &str) -> Option<&Key> {
        self.keys.iter().find(|known| known.name == key)
    }
}

/// Keeps the newest `most` of a list.
pub(crate) fn keep_newest<T>(list: &mut Vec<T>, most: u32) {
    let most = most as usize;
    if list.len() > most {
        list.drain(..list.len() - most);
    }
}
