//! What a scripted agent keeps over a stop or a crash: small, as JSON, with a version.

use serde::{Deserialize, Serialize};

use crate::ports::ResumeState;

const VERSION: u32 = 1;
/// How many ids of prompts are remembered. One slice is under way at a time, so that a repetition comes soon.
const SEEN: usize = 16;

/// The state between slices.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct State {
    version: u32,
    /// The next turn of those that are played in order.
    pub(super) next: usize,
    /// Ids of prompts and answers that were taken.
    seen: Vec<String>,
    /// The turn that waits for answers.
    pub(super) paused: Option<Place>,
}

/// A place in a turn.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Place {
    /// The turn's id.
    pub(super) turn: String,
    /// Which turn of the scenario it is.
    pub(super) index: usize,
    /// The operation.
    pub(super) op: usize,
    /// How many ids the turn has used.
    pub(super) ids: u32,
    /// What texts may refer to.
    pub(super) prompt: String,
    pub(super) output: String,
    pub(super) answer: String,
    pub(super) reason: String,
    /// Whether one of the last calls was denied.
    pub(super) denied: bool,
    /// The calls that wait, each with the number of its call within the operation.
    pub(super) waiting: Vec<Waiting>,
}

/// A call that waits for an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Waiting {
    pub(super) call: usize,
    pub(super) tool_call_id: String,
}

impl State {
    pub(super) fn new() -> Self {
        Self { version: VERSION, ..Self::default() }
    }

    /// Reads a state that was saved.
    pub(super) fn read(resume: &ResumeState) -> Result<Self, String> {
        let state: Self = serde_json::from_str(resume.expose()).map_err(|_| "its saved state is damaged".to_owned())?;
        if state.version == VERSION {
            return Ok(state);
        }
        Err(format!("its saved state has version {}, and this program reads version {VERSION}", state.version))
    }

    pub(super) fn save(&self) -> ResumeState {
        ResumeState::new(serde_json::to_string(self).expect("strings and numbers can always be written as JSON"))
    }

    /// Whether an id comes for the first time; it does not again.
    pub(super) fn take(&mut self, id: &str) -> bool {
        if self.seen.iter().any(|seen| seen == id) {
            return false;
        }
        if self.seen.len() == SEEN {
            self.seen.remove(0);
        }
        self.seen.push(id.to_owned());
        true
    }
}
