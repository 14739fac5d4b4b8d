//! Why a command is refused: the caller's fault or the moment's, the state unchanged.

use alloc::format;
use alloc::string::String;
use core::fmt;
use serde::{Deserialize, Serialize};

use crate::record::Status;

/// A refusal. Its `Display` is a sentence that a user can act on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Rejection {
    /// No session has this id.
    NotFound(String),
    /// The session cannot do it in its status.
    Conflict(Conflict),
    /// Every sandbox is taken and none can be freed.
    Capacity(u32),
    /// The input is wrong.
    Invalid(Invalid),
    /// The store did not take it.
    Store(String),
    /// The host is starting, stopping, or not the session's.
    Unavailable(String),
}

/// The session cannot do it in its status.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conflict {
    /// The session.
    pub session: String,
    /// Its status.
    pub status: Status,
    /// What stands in the way and what would help.
    pub message: String,
}

/// The input is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Invalid {
    /// Where: a field's name.
    pub field: String,
    /// What is wrong and what would be right.
    pub message: String,
}

impl Rejection {
    pub(crate) fn invalid(field: &str, message: impl Into<String>) -> Self {
        Self::Invalid(Invalid { field: field.into(), message: message.into() })
    }

    pub(crate) fn conflict(session: &str, status: Status, message: impl Into<String>) -> Self {
        Self::Conflict(Conflict { session: session.into(), status, message: message.into() })
    }

    /// The sentence.
    #[must_use]
    pub fn message(&self) -> String {
        match self {
            Self::NotFound(session) => format!("There is no session {session:?}."),
            Self::Conflict(conflict) => {
                format!("Session {:?} is {}: {}", conflict.session, conflict.status.as_str(), conflict.message)
            }
            Self::Capacity(capacity) => format!(
                "All {capacity} sandboxes are taken by sessions that are at work or wait for a person. Try again when one \
                 of them is idle, or raise the capacity."
            ),
            Self::Invalid(invalid) => format!("{}: {}", invalid.field, invalid.message),
            Self::Store(message) | Self::Unavailable(message) => message.clone(),
        }
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message())
    }
}

impl core::error::Error for Rejection {}
