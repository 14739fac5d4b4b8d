//! What is kept and shown of a session: the same shapes in Rust, WIT, TypeScript, HTTP and SQL.

use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// Where a session stands, as its users see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Status {
    /// Its sandbox and agent are being opened or brought back.
    Preparing,
    /// Ready for a message.
    Idle,
    /// A turn is under way.
    Busy,
    /// The turn waits for a person or for the application.
    AwaitingInput,
    /// Stopped, its state kept; the next message brings it back.
    Suspended,
    /// Ended for good; its conversation can be read.
    Closed,
    /// It could not start; the next message tries again.
    Failed,
    /// It cannot be brought back; its conversation can be read.
    Interrupted,
}

impl Status {
    /// The name on the wire, on disk and in messages.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Preparing => "preparing",
            Self::Idle => "idle",
            Self::Busy => "busy",
            Self::AwaitingInput => "awaiting-input",
            Self::Suspended => "suspended",
            Self::Closed => "closed",
            Self::Failed => "failed",
            Self::Interrupted => "interrupted",
        }
    }

    /// Whether the session holds an agent and a sandbox, or is getting them.
    #[must_use]
    pub fn is_live(self) -> bool {
        matches!(self, Self::Preparing | Self::Idle | Self::Busy | Self::AwaitingInput)
    }
}

/// Tokens and money, summed over a session's turns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens read by the model, those read from a cache included.
    pub input_tokens: u64,
    /// Tokens written by the model.
    pub output_tokens: u64,
    /// Both together.
    pub total_tokens: u64,
    /// Cost in millionths of a US dollar; zero where the agent does not say.
    pub cost_micro_usd: u64,
}

impl Usage {
    pub(crate) fn add(&mut self, other: Self) {
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.total_tokens = self.total_tokens.saturating_add(other.total_tokens);
        self.cost_micro_usd = self.cost_micro_usd.saturating_add(other.cost_micro_usd);
    }
}

/// Why the last turn or start ended badly.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnError {
    /// A stable name: `host-stopped`, `agent-failed`, `start-failed`, `resume-failed`, `turn-timeout`, `engine-fault`.
    pub code: String,
    /// A sentence for a person.
    pub message: String,
}

/// How a session's agent is to be run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// Directory inside the sandbox that the agent works in; the sandbox's own where absent.
    pub working_directory: Option<String>,
    /// Model name as the agent knows it.
    pub model: Option<String>,
    /// Permission mode as the agent knows it.
    pub permission_mode: Option<String>,
    /// JSON object of MCP servers by name, as the agent reads it.
    pub mcp_servers: Option<String>,
}

/// Whether a pending call waits for a yes or no, or for a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum PendingKind {
    /// An approval of a tool call.
    Approval,
    /// The result of a tool that the application or a person supplies (an agent's question is one).
    Result,
}

/// The answer already recorded for a pending call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// Yes or no; yes for a result.
    pub approved: bool,
    /// The reason given.
    pub reason: Option<String>,
}

/// A tool call that a paused turn waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingInput {
    /// Approval or result.
    pub kind: PendingKind,
    /// The approval's id; the tool call's id where a result is waited for.
    pub approval_id: String,
    /// The tool call's id.
    pub tool_call_id: String,
    /// The tool's name.
    pub tool_name: String,
    /// The tool's input, JSON text.
    pub input: String,
    /// The answer already recorded, if any.
    pub decision: Option<Decision>,
}

/// What is under way to end a turn or a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Stopping {
    /// The turn is being cut short.
    Interrupt,
    /// The session is being suspended.
    Suspend,
    /// The session is being closed.
    Close,
    /// The session is being closed and forgotten.
    Delete,
}

/// A session without its messages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// The session's id.
    pub id: String,
    /// Where it stands.
    pub status: Status,
    /// The application's metadata, JSON text.
    pub metadata: String,
    /// How its agent is run.
    pub settings: Settings,
    /// Milliseconds since the Unix epoch.
    pub created_at_ms: u64,
    /// Milliseconds since the Unix epoch; a change of metadata does not count.
    pub updated_at_ms: u64,
    /// When it was suspended, milliseconds since the Unix epoch; only while suspended.
    pub suspended_at_ms: Option<u64>,
    /// Turns that reached their end.
    pub turns: u64,
    /// Sums over all turns.
    pub usage: Usage,
    /// Why the last turn or start ended badly, until the next good one.
    pub error: Option<TurnError>,
    /// What a paused turn waits for.
    pub pending: Vec<PendingInput>,
    /// Number of messages kept.
    pub message_count: u32,
    /// The turn under way or paused.
    pub turn: Option<String>,
    /// The revision of the session: raised by every write.
    pub revision: u64,
    /// The revision of the metadata: raised by every change of them.
    pub metadata_revision: u64,
    /// What is under way to end the turn or the session; never kept.
    pub stopping: Option<Stopping>,
    /// Whether a write has failed and is being tried again; never kept.
    pub degraded: bool,
}

/// One message as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredMessage {
    /// Its place in the conversation, from zero.
    pub index: u32,
    /// The message's id.
    pub id: String,
    /// The UI message, JSON text.
    pub json: String,
}

/// A line of the audit log: who answered what, and when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditEntry {
    /// Its place in the session's log, from zero.
    pub seq: u64,
    /// Milliseconds since the Unix epoch.
    pub at_ms: u64,
    /// The turn.
    pub turn: String,
    /// The approval's id.
    pub approval_id: String,
    /// The tool call's id.
    pub tool_call_id: String,
    /// The tool's name.
    pub tool_name: String,
    /// Who decided.
    pub who: AuditWho,
    /// The verdict: `allow`, `deny`, `result`, `interrupted`, `outcome-unknown`.
    pub verdict: String,
    /// The reason given.
    pub reason: Option<String>,
    /// The rule that decided, where a policy did.
    pub rule: Option<String>,
}

/// Who gave an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum AuditWho {
    /// A person, by the name the application gave; empty where it gave none.
    Person(String),
    /// The host's `approve` callback.
    Approver,
    /// A kept answer, given again to a call asked again.
    Kept,
    /// The engine itself: an interruption, a crash.
    Engine,
}

/// A session as the store gives it to its next owner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredSession {
    /// The generation, already raised by the claim.
    pub generation: u64,
    /// The revision of the last write.
    pub revision: u64,
    /// The session.
    pub summary: Summary,
    /// The engine's own notes, as saved: JSON text.
    pub engine_state: String,
    /// The messages from the saved `tail_from` on.
    pub tail: Vec<StoredMessage>,
    /// The resume state, if one is kept: secret.
    pub resume: Option<String>,
}
