//! What brings a session of the CLI back: its own session id, and what it waits for.

use serde::{Deserialize, Serialize};

use crate::ports::{AgentError, ResumeState, Usage};

/// The version of the text below.
const VERSION: u32 = 1;

/// The saved state of a session.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct State {
    version: u32,
    /// The CLI's session id.
    pub session: String,
    /// Whether a prompt was ever sent: only then can the CLI have written the session.
    pub prompted: bool,
    /// Calls that a pause waits for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pending: Vec<Call>,
    /// The call that the CLI itself keeps and asks about again when it is resumed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deferred: Option<String>,
    /// Whether the pause was given up: what is asked again is then denied.
    #[serde(default)]
    pub abandoned: bool,
    /// Used since the last slice ended; told with the next.
    #[serde(default)]
    pub carried: Usage,
}

/// A tool call that waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Call {
    /// The call's id.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// Its input as the CLI wrote it, JSON text.
    pub input: String,
}

impl State {
    /// The state of a session that was never prompted.
    pub(super) fn new(session: String) -> Self {
        Self {
            version: VERSION,
            session,
            prompted: false,
            pending: Vec::new(),
            deferred: None,
            abandoned: false,
            carried: Usage::default(),
        }
    }

    /// Reads a saved state.
    pub(super) fn read(saved: &ResumeState) -> Result<Self, AgentError> {
        match serde_json::from_str::<Self>(saved.expose()) {
            Ok(state) if state.version == VERSION => Ok(state),
            Ok(state) => Err(AgentError::Failed(format!(
                "the saved state is of version {}, and this program reads version {VERSION}",
                state.version
            ))),
            Err(_) => Err(AgentError::Failed("the saved state cannot be read".to_owned())),
        }
    }

    /// The text to save.
    pub(super) fn save(&self) -> ResumeState {
        ResumeState::new(serde_json::to_string(self).expect("a state of strings and numbers is always JSON"))
    }

    /// Gives the pause up. A call that the CLI keeps, or may keep, is remembered: it is asked about again and then
    /// denied.
    pub(super) fn give_up_pause(&mut self) {
        self.abandoned |= self.deferred.is_some() || !self.pending.is_empty();
        self.pending.clear();
    }

    /// Forgets the pause.
    pub(super) fn clear_pause(&mut self) {
        self.pending.clear();
        self.deferred = None;
        self.abandoned = false;
    }
}
