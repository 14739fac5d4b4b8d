//! What a host keeps and shows of a session: the shapes that stores write and users read.

use serde::{Deserialize, Serialize};

/// Where a session stands, as its users see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
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
    /// Every status, in the order in which they are documented.
    pub const ALL: [Self; 8] = [
        Self::Preparing,
        Self::Idle,
        Self::Busy,
        Self::AwaitingInput,
        Self::Suspended,
        Self::Closed,
        Self::Failed,
        Self::Interrupted,
    ];

    /// The name on the wire and on disk.
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

    /// Whether the session holds an agent and a sandbox.
    #[must_use]
    pub fn is_live(self) -> bool {
        matches!(self, Self::Preparing | Self::Idle | Self::Busy | Self::AwaitingInput)
    }

    /// The status of this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == name)
    }
}

/// Tokens and money, summed over a session's turns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
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

/// Why the last turn or start ended badly.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnError {
    /// A stable name, such as `host-stopped` or `agent-failed`.
    pub code: String,
    /// A sentence for a person.
    pub message: String,
}

/// How a session's agent is to be run. Chosen at `create`, changed by `update`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SessionSettings {
    /// Directory inside the sandbox that the agent works in; the sandbox's own where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub working_directory: Option<String>,
    /// Model name as the agent knows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Permission mode as the agent knows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permission_mode: Option<String>,
    /// JSON object of MCP servers by name, as the agent reads it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mcp_servers: Option<String>,
}

/// Whether a pending call waits for a yes or no, or for a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PendingKind {
    /// An approval of a tool call.
    Approval,
    /// The result of a tool that the application or a person supplies (an agent's question is one).
    Result,
}

/// The answer already recorded for a pending approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// Yes or no.
    pub approved: bool,
    /// The reason given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A tool call that a paused turn waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
}

/// A session without its messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionSummary {
    /// The session's id.
    pub id: String,
    /// Where it stands.
    pub status: Status,
    /// The application's metadata, JSON text.
    pub metadata: String,
    /// How its agent is run.
    pub settings: SessionSettings,
    /// Milliseconds since the Unix epoch.
    pub created_at_ms: u64,
    /// Milliseconds since the Unix epoch; a change of metadata does not count.
    pub updated_at_ms: u64,
    /// When it was suspended, milliseconds since the Unix epoch on the store's clock; only while suspended. The store
    /// stamps it with the first write that says `suspended` and takes no notice of what writes say here.
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
    /// What is under way to end the turn or the session. Of a running host alone: stores keep nothing of it.
    pub stopping: Option<Stopping>,
    /// Whether a write has failed and is being tried again. Of a running host alone: stores keep nothing of it.
    pub degraded: bool,
}

/// What is under way to end a turn or a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
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

/// A line of a session's audit log: who answered what, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRecord {
    /// Its place in the session's log, from zero.
    pub seq: u64,
    /// Milliseconds since the Unix epoch.
    pub at_ms: u64,
    /// The entry, a JSON object: `turn`, `approvalId`, `toolCallId`, `toolName`, `who` (`person`, `approver`, `kept` or
    /// `engine`), `name` (of the person), `verdict` (`allow`, `deny`, `result`, `interrupted`, `outcome-unknown`),
    /// `reason`, `rule`.
    pub json: String,
}

/// One message as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageRecord {
    /// Its place in the conversation, from zero.
    pub index: u32,
    /// The message's id.
    pub id: String,
    /// The UI message, JSON text.
    pub json: String,
}

/// A session with its conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRecord {
    /// Everything but the messages.
    pub summary: SessionSummary,
    /// The messages in order.
    pub messages: Vec<MessageRecord>,
}
