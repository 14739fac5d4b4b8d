//! The Claude Code CLI as an agent: started in a session's sandbox, spoken to over its JSON lines, its pauses made to
//! outlive its process. It never runs anything outside the sandbox and never decides about a call by itself.
//!
//! The parts: [`ClaudeOptions`] say how it runs; `process` holds the running program; `protocol` is its wire;
//! `translate` makes chunks of it; `gate` says which calls wait; `actor` is the one loop of a session, `state` what is
//! saved of it.

mod actor;
mod content;
mod errors;
mod gate;
mod options;
mod process;
mod protocol;
mod session;
mod state;
mod translate;
mod usage;

use std::sync::Arc;

use async_trait::async_trait;

use self::actor::Parts;
pub use self::options::ClaudeOptions;
use self::session::ClaudeSession;
use self::state::State;
use crate::ports::{Agent, AgentError, StartAgent, StartedAgent};

/// The Claude Code CLI as a kind of agent.
#[derive(Debug, Clone)]
pub struct ClaudeAgent {
    options: ClaudeOptions,
}

impl ClaudeAgent {
    /// An agent with these options.
    #[must_use]
    pub fn new(options: ClaudeOptions) -> Self {
        Self { options }
    }
}

#[async_trait]
impl Agent for ClaudeAgent {
    fn name(&self) -> &'static str {
        "claude"
    }

    async fn start(&self, start: StartAgent) -> Result<StartedAgent, AgentError> {
        let saved = start.resume.is_some();
        let state = match &start.resume {
            Some(resume) => State::read(resume)?,
            None => State::new(uuid::Uuid::new_v4().to_string()),
        };
        let resume = Some(state.save());
        // A process that keeps a call asks for it as soon as it runs: it is started when the answer is there.
        let waits = !state.pending.is_empty() || state.abandoned;
        let parts = Parts {
            options: self.options.clone(),
            sandbox: start.sandbox,
            settings: start.settings,
            notices: start.notices,
            state,
            saved,
        };
        let session = ClaudeSession::spawn(parts);
        if !waits {
            session.start().await?;
        }
        Ok(StartedAgent { agent: Arc::new(session), resume })
    }
}
