//! What the engine asks of its host: imperative, each with an id that its completion names.

use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

use crate::input::AnswerBody;
use crate::record::{AuditEntry, PendingInput, Settings, StoredMessage, Summary};

/// One thing to do, at once. Its completion carries the id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Effect {
    /// A counter under the engine's epoch.
    pub id: u64,
    /// The session it is for; empty for those of the whole host.
    pub session: String,
    /// What to do.
    pub body: EffectBody,
}

/// What to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum EffectBody {
    /// Load and claim the session. Answer: `Loaded`, or failed.
    LoadSession(LoadSession),
    /// Claim a page of sessions recorded live. Answer: `Claimed`.
    ClaimLive(ClaimLive),
    /// Extend leases of sessions. Answer: `Renewed`.
    RenewLeases(RenewLeases),
    /// Write the session. Answer: `Done`, or failed with the store's kind.
    SaveSession(Save),
    /// Forget the session. Answer: `Done`.
    DeleteSession(DeleteSession),
    /// Look for sessions suspended long ago. Answer: `Due`.
    ListDue(ListDue),
    /// Get a sandbox; the lease is named by this effect's id. Answer: `Acquired`.
    AcquireSandbox(AcquireSandbox),
    /// Give a lease back. Answer: `Done`.
    ReleaseSandbox(ReleaseSandbox),
    /// Forget what a session that is not live kept in its sandbox. Answer: `Done`.
    DiscardSandbox,
    /// Start an agent or bring it back; it is named by this effect's id. Answer: `Started`.
    StartAgent(StartAgent),
    /// Prompt the agent. Answer: `SliceEnded`.
    StartTurn(StartTurn),
    /// Bring answers to the agent. Answer: `SliceEnded`.
    ContinueTurn(ContinueTurn),
    /// Cut the slice under way short, or give an open pause up. Answer: `Done`.
    InterruptTurn(AgentRef),
    /// Stop the agent and keep its state. Answer: `Stopped`.
    StopAgent(AgentRef),
    /// End the agent with everything it started. Answer: `Done`.
    DestroyAgent(AgentRef),
    /// Ask the host's `approve` callback. Answer: `Verdict`.
    Approve(Approve),
}

/// Load and claim a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadSession {
    /// This host's name.
    pub owner: String,
    /// How long the claim holds, in milliseconds on the store's clock.
    pub lease_ms: u64,
}

/// Claim a page of sessions recorded live.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimLive {
    /// This host's name.
    pub owner: String,
    /// How long the claims hold, in milliseconds on the store's clock.
    pub lease_ms: u64,
    /// The last session of the page before: this page starts behind it, in the order of ids.
    pub after: Option<String>,
    /// At most this many.
    pub limit: u32,
}

/// A session and the generation it is held at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldSession {
    /// The session.
    pub session: String,
    /// Its generation.
    pub generation: u64,
}

/// Extend leases of sessions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RenewLeases {
    /// This host's name.
    pub owner: String,
    /// How long they hold from now, in milliseconds on the store's clock.
    pub lease_ms: u64,
    /// The sessions.
    pub sessions: Vec<HeldSession>,
}

/// One write of one session, whole or without effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Save {
    /// Names this write: `<epoch>-<counter>`.
    pub write_id: String,
    /// The generation this host holds.
    pub generation: u64,
    /// The revision this write makes.
    pub revision: u64,
    /// The session as it stands after the write.
    pub summary: Summary,
    /// The engine's own notes, JSON text.
    pub engine_state: String,
    /// Messages to append or to put in the place of those with the same index.
    pub messages: Vec<StoredMessage>,
    /// Index of the first message that a load has to give back.
    pub tail_from: u32,
    /// Audit entries to append.
    pub audit: Vec<AuditEntry>,
    /// What to do with the resume state.
    pub resume: ResumeChange,
    /// The host that holds the session afterwards; nobody where absent.
    pub owner: Option<String>,
    /// How long it is held, in milliseconds on the store's clock.
    pub lease_ms: u64,
}

/// What a write does to the resume state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ResumeChange {
    /// Leave it as it is.
    Keep,
    /// Put this in its place: secret.
    Replace(String),
    /// Forget it.
    Drop,
}

/// Forget a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeleteSession {
    /// The generation this host holds.
    pub generation: u64,
}

/// Look for sessions suspended long ago.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListDue {
    /// For at least this long, in milliseconds on the store's clock.
    pub for_ms: u64,
    /// At most this many.
    pub limit: u32,
}

/// Get a sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AcquireSandbox {
    /// Whether the session's old one is to be brought back.
    pub resume: bool,
    /// The generation this host holds.
    pub generation: u64,
}

/// Give a lease back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReleaseSandbox {
    /// The lease: the id of the effect that acquired it.
    pub lease: u64,
    /// Whether the files are kept for a later resume.
    pub keep: bool,
}

/// Start an agent or bring it back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartAgent {
    /// The lease to start it in.
    pub lease: u64,
    /// The generation this host holds.
    pub generation: u64,
    /// How to run it.
    pub settings: Settings,
    /// The application's metadata, JSON text.
    pub metadata: String,
    /// What it gave last, secret; nothing starts it new.
    pub resume: Option<String>,
}

/// Prompt the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartTurn {
    /// The agent.
    pub agent: u64,
    /// The turn.
    pub turn: String,
    /// The prompt's id: an agent that has seen it ignores it.
    pub prompt_id: String,
    /// The text.
    pub text: String,
    /// File parts of the messages, JSON texts, in order.
    pub files: Vec<String>,
    /// Model from this turn on.
    pub model: Option<String>,
}

/// One answer for the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The approval's id; the tool call's id for a result.
    pub approval_id: String,
    /// The tool call's id.
    pub tool_call_id: String,
    /// The tool's name.
    pub tool_name: String,
    /// The input asked about, JSON text.
    pub input: String,
    /// The answer.
    pub answer: AnswerBody,
}

/// Bring answers to the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContinueTurn {
    /// The agent.
    pub agent: u64,
    /// The turn.
    pub turn: String,
    /// The delivery's id: a message in words carries it, so that it is taken once.
    pub delivery_id: String,
    /// Every answer of the pause.
    pub answers: Vec<Answer>,
    /// The same in words, for an agent that lost its paused turn.
    pub words: String,
}

/// An agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentRef {
    /// The id of the effect that started it.
    pub agent: u64,
}

/// Ask the host's `approve` callback.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approve {
    /// The turn.
    pub turn: String,
    /// The call that waits.
    pub approval: PendingInput,
    /// The session as it stands.
    pub summary: Summary,
}
