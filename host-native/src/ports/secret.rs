//! The resume state of an agent is a secret; this type keeps it out of logs and errors.

use std::fmt;

/// What an agent needs to be brought back: text only its adapter understands.
///
/// Never shown: `Debug` prints its length alone.
#[derive(Clone, PartialEq, Eq)]
pub struct ResumeState(String);

impl ResumeState {
    /// Wraps the adapter's own text.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text, for the adapter that wrote it and for the store.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ResumeState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ResumeState({} bytes)", self.0.len())
    }
}
