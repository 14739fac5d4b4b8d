//! What callers are told when something is not done: the kinds that an application has to tell apart.

use crate::ports::{Status, StoreError};

/// Why a call on a session was not carried out. The `Display` form is a sentence that a person can act on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// No session has this id.
    #[error("There is no session {session:?}.")]
    NotFound {
        /// The id that was asked for.
        session: String,
    },
    /// The session cannot do it in its status.
    #[error("Session {session:?} is {}: {message}", status.as_str())]
    Conflict {
        /// The session.
        session: String,
        /// Its status.
        status: Status,
        /// What stands in the way and what would help.
        message: String,
    },
    /// Every sandbox is taken and none can be freed.
    #[error(
        "All {capacity} sandboxes are taken by sessions that are at work or wait for a person. Try again when one of \
         them is idle, or raise the capacity."
    )]
    Capacity {
        /// The most sandboxes at once.
        capacity: u32,
    },
    /// What was asked is wrong.
    #[error("{field}: {message}")]
    Invalid {
        /// Where: a field's name.
        field: String,
        /// What is wrong and what would be right.
        message: String,
    },
    /// The store did not do it; nothing changed.
    #[error("{message}")]
    Store {
        /// What the store said, a sentence.
        message: String,
    },
    /// The host is starting, stopping, or does not hold the session; trying again later may help.
    #[error("{message}")]
    Unavailable {
        /// Why, a sentence.
        message: String,
    },
    /// The message or the answer was accepted and is kept, but did not reach the agent.
    #[error("{message}")]
    Undelivered {
        /// The session.
        session: String,
        /// The turn that did not come.
        turn: String,
        /// Why, and what happens to it, a sentence.
        message: String,
    },
}

impl SessionError {
    /// A stable name: `not-found`, `conflict`, `capacity`, `invalid`, `store`, `unavailable`, `undelivered`.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotFound { .. } => "not-found",
            Self::Conflict { .. } => "conflict",
            Self::Capacity { .. } => "capacity",
            Self::Invalid { .. } => "invalid",
            Self::Store { .. } => "store",
            Self::Unavailable { .. } => "unavailable",
            Self::Undelivered { .. } => "undelivered",
        }
    }

    pub(crate) fn unavailable(message: impl Into<String>) -> Self {
        Self::Unavailable { message: message.into() }
    }

    /// What a call gets whose host has gone away.
    pub(crate) fn stopped() -> Self {
        Self::unavailable("The host has stopped; start it anew to go on with its sessions.")
    }
}

impl From<StoreError> for SessionError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Invalid(message) => Self::Invalid { field: "query".to_owned(), message },
            other => Self::Store { message: other.to_string() },
        }
    }
}

/// Why no manager could be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// A part is missing.
    #[error("A session manager needs {0}: give one to its builder.")]
    Missing(&'static str),
    /// The engine cannot be loaded.
    #[error(transparent)]
    Load(#[from] crate::engine::LoadError),
    /// The engine cannot be started.
    #[error(transparent)]
    Fault(#[from] crate::engine::EngineFault),
    /// The journal cannot be written.
    #[error("The journal {path} cannot be written: {error}")]
    Journal {
        /// The file.
        path: std::path::PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
}
