//! The three ports of a host, so that stores, sandboxes and agents can be written without knowing the engine.
//!
//! An adapter answers one call at a time with a result; it keeps no session state that the engine would need to know.

pub mod agent;
pub mod record;
pub mod sandbox;
pub mod secret;
pub mod store;

pub(crate) use agent::Intake;
pub use agent::{
    Agent, AgentError, AgentNotice, AgentSession, Answer, AnswerBody, Answers, Chunk, Notices, Piece, Prompt, SliceEnd,
    SliceOutcome, StartAgent, StartedAgent, TurnSink,
};
pub use record::{
    AuditRecord, Decision, MessageRecord, PendingInput, PendingKind, SessionRecord, SessionSettings, SessionSummary,
    Status, Stopping, TurnError, Usage,
};
pub use sandbox::{
    Command, CommandOutput, Endpoint, Exit, Lease, Process, Sandbox, SandboxError, SandboxLease, Sandboxes,
};
pub use secret::ResumeState;
pub use store::{
    Claimed, DueSessions, ListPage, ListQuery, Ownership, ResumeChange, Save, Store, StoreError, StoredSession,
};
