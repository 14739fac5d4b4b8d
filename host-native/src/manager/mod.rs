//! The public handle: everything that an application asks of its sessions.
//!
//! A [`SessionManager`] only carries calls to the driver and answers back; the engine decides.

mod builder;
mod commands;
mod cursor;
mod error;
mod reading;
mod stats;
mod subscription;
mod turn_stream;

use std::sync::Arc;

pub use crate::engine::types::Limits;
pub use builder::SessionManagerBuilder;
pub use commands::{
    AnswerInput, Answers, ApprovalRequest, AuditEntry, Continued, CreateSession, PersonsAnswer, SendMessage,
    UpdateSession, UserMessage, Verdict,
};
pub use cursor::{BadCursor, Cursor};
pub use error::{BuildError, SessionError};
pub use reading::{ListPage, ListQuery, SessionRecord, SessionSummary};
pub use stats::{Stats, Totals};
pub use subscription::{NumberedEvent, SessionEvent, Subscription};
pub use turn_stream::{TurnItem, TurnStream};

pub(crate) use builder::Approver;
pub(crate) use subscription::Hub;
pub(crate) use turn_stream::Start;

use crate::driver::Handle;

/// Keeps the sessions that an application's users have with coding agents. Cheap to clone; all clones are one.
#[derive(Debug, Clone)]
pub struct SessionManager {
    handle: Handle,
}

impl SessionManager {
    /// Puts one together.
    #[must_use]
    pub fn builder() -> SessionManagerBuilder {
        SessionManagerBuilder::default()
    }

    pub(crate) fn new(handle: Handle) -> Self {
        Self { handle }
    }

    /// Opens a session. Resolves when it is durable; its sandbox and agent are then being got.
    ///
    /// # Errors
    /// `Conflict` where the id is taken, `Capacity`, `Invalid`, `Store`, `Unavailable`.
    pub async fn create(&self, create: CreateSession) -> Result<SessionSummary, SessionError> {
        self.handle.create(create).await
    }

    /// Starts a turn with a message. Resolves when the message is durable, before the agent sees it; what becomes of it
    /// is told by the stream.
    ///
    /// # Errors
    /// `NotFound`, `Conflict`, `Capacity`, `Invalid`, `Store`, `Unavailable`.
    pub async fn send(&self, session: &str, message: SendMessage) -> Result<TurnStream, SessionError> {
        self.handle.send(session, message).await
    }

    /// Answers what a paused turn waits for, wholly or in part. Resolves when the answers are durable.
    ///
    /// # Errors
    /// `NotFound`, `Conflict`, `Capacity`, `Invalid` (saying which calls wait), `Store`, `Unavailable`.
    pub async fn continue_turn(&self, session: &str, answers: Answers) -> Result<Continued, SessionError> {
        self.handle.continue_turn(session, answers).await
    }

    /// Changes metadata or settings, in every status.
    ///
    /// # Errors
    /// `NotFound`, `Conflict` where the metadata is at another revision, `Invalid`, `Store`, `Unavailable`.
    pub async fn update(&self, session: &str, update: UpdateSession) -> Result<SessionSummary, SessionError> {
        self.handle.update(session, update).await
    }

    /// Changes metadata by a function of what they are, JSON text in and out. It is called again when another change
    /// came between.
    ///
    /// # Errors
    /// As [`update`](Self::update), and what the function gives.
    pub async fn update_with<F>(&self, session: &str, change: F) -> Result<SessionSummary, SessionError>
    where
        F: Fn(&str) -> Result<String, SessionError>,
    {
        self.handle.update_with(session, change).await
    }

    /// Cuts the turn under way short, or gives a pause up. Does nothing where there is neither.
    ///
    /// # Errors
    /// `NotFound`, `Store`, `Unavailable`.
    pub async fn interrupt(&self, session: &str) -> Result<SessionSummary, SessionError> {
        self.handle.interrupt(session).await
    }

    /// Stops the session and keeps its state.
    ///
    /// # Errors
    /// `NotFound`, `Conflict` during a turn, `Store`, `Unavailable`.
    pub async fn suspend(&self, session: &str) -> Result<SessionSummary, SessionError> {
        self.handle.suspend(session).await
    }

    /// Ends the session for good; its conversation can still be read.
    ///
    /// # Errors
    /// `NotFound`, `Store`, `Unavailable`.
    pub async fn close(&self, session: &str) -> Result<SessionSummary, SessionError> {
        self.handle.close(session).await
    }

    /// Ends the session and forgets it.
    ///
    /// # Errors
    /// `NotFound`, `Store`, `Unavailable`.
    pub async fn delete(&self, session: &str) -> Result<(), SessionError> {
        self.handle.delete(session).await
    }

    /// Reads a session with its conversation, the message of a turn under way as it stands.
    ///
    /// # Errors
    /// `Store`.
    pub async fn get(&self, session: &str) -> Result<Option<SessionRecord>, SessionError> {
        self.handle.get(session).await
    }

    /// Reads a page of sessions, newest first, each as it stands.
    ///
    /// # Errors
    /// `Invalid` for a filter or cursor that cannot be read, `Store`.
    pub async fn list(&self, query: ListQuery) -> Result<ListPage, SessionError> {
        self.handle.list(query).await
    }

    /// Follows the turn under way: from after a cursor, or with the whole message first. `None` where there is nothing
    /// to come: no turn, or one that waits for a person and that the reader has seen to its pause.
    ///
    /// # Errors
    /// `NotFound`, `Store`, `Unavailable`.
    pub async fn follow(&self, session: &str, after: Option<Cursor>) -> Result<Option<TurnStream>, SessionError> {
        self.handle.follow(session, after).await
    }

    /// Reads what happens to all sessions, from now on or after an event that was seen.
    #[must_use]
    pub fn subscribe(&self, after: Option<u64>) -> Subscription {
        Subscription::new(Arc::clone(self.handle.hub()), after)
    }

    /// Reads a session's audit log, oldest first, at most `limit` lines after number `after`.
    ///
    /// # Errors
    /// `NotFound`, `Store`.
    pub async fn audit(&self, session: &str, after: Option<u64>, limit: u32) -> Result<Vec<AuditEntry>, SessionError> {
        self.handle.audit(session, after, limit).await
    }

    /// Counts over all sessions and since the start.
    ///
    /// # Errors
    /// `Unavailable` when the host has stopped.
    pub async fn stats(&self) -> Result<Stats, SessionError> {
        self.handle.stats().await
    }

    /// Whether calls are taken now and the store can be read and written.
    ///
    /// # Errors
    /// `Unavailable` or `Store`, saying what is missing.
    pub async fn ready(&self) -> Result<(), SessionError> {
        self.handle.ready().await
    }

    /// Suspends every session and stops; new calls are `Unavailable` from now on. Resolves when everything has ended,
    /// within the deadline `shutdown_timeout_ms` (9 s) and a little.
    pub async fn shutdown(&self) {
        self.handle.shutdown().await;
    }
}
