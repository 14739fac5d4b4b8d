//! The handle of a session, as the port wants it: each call is handed to the session's one loop.

use async_trait::async_trait;
use tokio::sync::{mpsc, oneshot};

use super::actor::{Actor, Parts, Request};
use crate::ports::{AgentError, AgentSession, Answers, Prompt, ResumeState, SliceEnd, SliceOutcome, TurnSink, Usage};

/// A session of the CLI. Dropping it ends the process.
pub(super) struct ClaudeSession {
    requests: mpsc::UnboundedSender<Request>,
}

impl ClaudeSession {
    /// Starts the session's loop.
    pub(super) fn spawn(parts: Parts) -> Self {
        let (requests, receiver) = mpsc::unbounded_channel();
        tokio::spawn(Actor::run(parts, receiver));
        Self { requests }
    }

    /// Starts the process.
    pub(super) async fn start(&self) -> Result<(), AgentError> {
        self.ask(Request::Start).await.unwrap_or_else(|| Err(gone()))
    }

    async fn ask<T>(&self, request: impl FnOnce(oneshot::Sender<T>) -> Request) -> Option<T> {
        let (reply, answer) = oneshot::channel();
        self.requests.send(request(reply)).ok()?;
        answer.await.ok()
    }
}

/// The loop ends only with the handle, so this is seen only after a panic in it.
fn gone() -> AgentError {
    AgentError::Failed("its session ended".to_owned())
}

fn gone_slice() -> SliceEnd {
    let outcome = SliceOutcome::Failed { message: gone().to_string(), alive: false };
    SliceEnd { outcome, usage: Usage::default(), resume: None, not_taken: Vec::new() }
}

#[async_trait]
impl AgentSession for ClaudeSession {
    async fn prompt(&self, prompt: Prompt, sink: TurnSink) -> SliceEnd {
        self.ask(|done| Request::Prompt(prompt, sink, done)).await.unwrap_or_else(gone_slice)
    }

    async fn answer(&self, answers: Answers, sink: TurnSink) -> SliceEnd {
        self.ask(|done| Request::Answer(answers, sink, done)).await.unwrap_or_else(gone_slice)
    }

    async fn interrupt(&self) -> Result<(), AgentError> {
        self.ask(Request::Interrupt).await.unwrap_or_else(|| Err(gone()))
    }

    async fn stop(&self) -> Result<Option<ResumeState>, AgentError> {
        self.ask(Request::Stop).await.unwrap_or_else(|| Err(gone()))
    }

    async fn destroy(&self) {
        // Without the loop there is no process left to end.
        let _ = self.ask(Request::Destroy).await;
    }
}
