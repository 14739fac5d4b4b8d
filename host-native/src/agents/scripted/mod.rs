//! The `scripted` agent plays a scenario instead of asking a model: for tests, for demonstrations, and for users who
//! want to see how their application deals with pauses, denials, failures and silence.
//!
//! A scenario is a JSON file; the repository's `host-native/docs/scripted.md` describes it. Its tools really run in the session's
//! sandbox. Its ids are derived from the turn's id and from counters, so that a run can be compared with another.
//!
//! Its resume state is a small JSON text with its place in the scenario. After a crash in the middle of a turn that
//! turn alone is lost; a pause is kept and goes on.

mod emitter;
mod player;
mod program;
mod scenario;
mod session;
mod state;

use std::sync::Arc;

use async_trait::async_trait;

pub use scenario::{Scenario, ScenarioError};

use crate::ports::{Agent, AgentError, StartAgent, StartedAgent};
use session::ScriptedSession;
use state::State;

/// The scripted agent, as a kind of agent: each session plays the scenario from its beginning.
pub struct ScriptedAgent {
    scenario: Arc<Scenario>,
}

impl ScriptedAgent {
    /// An agent that plays this scenario.
    #[must_use]
    pub fn new(scenario: Scenario) -> Self {
        Self { scenario: Arc::new(scenario) }
    }
}

#[async_trait]
impl Agent for ScriptedAgent {
    #[expect(clippy::unnecessary_literal_bound, reason = "the trait's signature is wider")]
    fn name(&self) -> &str {
        "scripted"
    }

    async fn start(&self, start: StartAgent) -> Result<StartedAgent, AgentError> {
        let state = match &start.resume {
            Some(resume) => State::read(resume).map_err(AgentError::Failed)?,
            None => State::new(),
        };
        let resume = Some(state.save());
        let (scenario, cwd) = (Arc::clone(&self.scenario), start.settings.working_directory);
        let agent = ScriptedSession::new(scenario, start.sandbox, cwd, start.notices, state);
        Ok(StartedAgent { agent: Arc::new(agent), resume })
    }
}
