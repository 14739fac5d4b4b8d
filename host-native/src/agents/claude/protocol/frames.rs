//! What the CLI says, one line at a time. Only what the host acts on is typed; anything else is passed over.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::ports::Piece;

/// One line of the CLI.
#[derive(Debug)]
pub(in super::super) enum Frame {
    /// A turn begins.
    Init,
    /// Something streams.
    Stream(Stream),
    /// A block of the agent's message, whole.
    Assistant(Message),
    /// A message to the model: tool results, or a prompt said back.
    User(Message),
    /// A turn is over.
    Result(Box<Outcome>),
    /// The CLI asks the host.
    Ask(Ask),
    /// The CLI takes an ask back.
    Cancel {
        /// The ask's request id.
        request_id: String,
    },
    /// The CLI answers the host.
    Reply {
        /// The host's request id.
        request_id: String,
        /// What went wrong, if something did.
        error: Option<String>,
    },
    /// A sign of life without meaning for the turn.
    KeepAlive,
    /// Anything else.
    Other,
}

/// A streamed event of the main conversation or of a subagent.
#[derive(Debug)]
pub(in super::super) struct Stream {
    /// The call whose subagent streams; the main conversation where absent.
    pub parent: Option<String>,
    /// The event.
    pub event: Event,
}

/// A streamed event.
#[derive(Debug)]
pub(in super::super) enum Event {
    /// A message begins.
    MessageStart {
        /// The message's id.
        id: String,
    },
    /// A block begins.
    BlockStart {
        /// Its place in the message.
        index: u64,
        /// What it is.
        block: Block,
    },
    /// More of a block.
    Delta {
        /// Its place in the message.
        index: u64,
        /// What to append.
        piece: Piece,
    },
    /// A block ends.
    BlockStop {
        /// Its place in the message.
        index: u64,
    },
    /// The message ends.
    MessageStop,
    /// Anything else.
    Other,
}

/// What a streamed block is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) enum Block {
    /// Text.
    Text,
    /// Thinking.
    Thinking,
    /// A tool call.
    Tool {
        /// The call's id.
        id: String,
        /// The tool's name.
        name: String,
    },
    /// Anything else.
    Other,
}

/// A whole message, or one block of it.
#[derive(Debug)]
pub(in super::super) struct Message {
    /// The frame's own id; a prompt's id where one is said back.
    pub uuid: Option<String>,
    /// The call whose subagent it belongs to.
    pub parent: Option<String>,
    /// Whether a prompt is said back.
    pub replay: bool,
    /// The model's message id.
    pub id: Option<String>,
    /// Whether the CLI wrote it in the model's name.
    pub synthetic: bool,
    /// Its blocks.
    pub content: Vec<Content>,
}

/// One block of a message.
#[derive(Debug)]
pub(in super::super) enum Content {
    /// Text.
    Text(String),
    /// A tool call.
    ToolUse {
        /// The call's id.
        id: String,
        /// The tool's name.
        name: String,
        /// Its input, JSON text.
        input: String,
    },
    /// A tool's result.
    ToolResult {
        /// The call's id.
        id: String,
        /// Its content, JSON text.
        content: String,
        /// Whether it is an error.
        is_error: bool,
    },
}

/// How a turn of the CLI ended.
#[derive(Debug, Default, Deserialize)]
pub(in super::super) struct Outcome {
    /// Whether it ended badly.
    #[serde(default)]
    pub is_error: bool,
    /// `success`, `error_during_execution`, and others.
    #[serde(default)]
    pub subtype: String,
    /// The status the model server gave, where that ended the turn.
    #[serde(default)]
    pub api_error_status: Option<u16>,
    /// The last text.
    #[serde(default)]
    pub result: Option<String>,
    /// What went wrong.
    #[serde(default)]
    pub errors: Vec<String>,
    /// Cost of the process so far, JSON number.
    #[serde(default)]
    pub total_cost_usd: Option<Box<RawValue>>,
    /// The call that the CLI keeps.
    #[serde(default)]
    pub deferred_tool_use: Option<DeferredCall>,
    /// Tokens of the process so far, by model.
    #[serde(default, rename = "modelUsage")]
    pub models: Option<std::collections::BTreeMap<String, Tokens>>,
}

/// A call that the CLI keeps in its own file.
#[derive(Debug, Deserialize)]
pub(in super::super) struct DeferredCall {
    /// The call's id.
    pub id: String,
}

/// Tokens of one model.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub(in super::super) struct Tokens {
    /// Read anew.
    #[serde(rename = "inputTokens")]
    pub input: u64,
    /// Written.
    #[serde(rename = "outputTokens")]
    pub output: u64,
    /// Read from a cache.
    #[serde(rename = "cacheReadInputTokens")]
    pub cache_read: u64,
    /// Written to a cache.
    #[serde(rename = "cacheCreationInputTokens")]
    pub cache_creation: u64,
}

/// A question of the CLI that stays open until it is answered.
#[derive(Debug)]
pub(in super::super) struct Ask {
    /// Its request id.
    pub request_id: String,
    /// What is asked.
    pub kind: AskKind,
}

/// What the CLI asks.
#[derive(Debug)]
pub(in super::super) enum AskKind {
    /// What the hook before a tool call says.
    Hook(ToolAsk),
    /// Whether a tool call may run.
    Permission(ToolAsk),
    /// Something this host does not know.
    Unknown {
        /// Its name.
        subtype: String,
    },
}

/// A tool call that is asked about.
#[derive(Debug)]
pub(in super::super) struct ToolAsk {
    /// The call's id.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// Its input as the CLI wrote it, JSON text.
    pub input: String,
    /// The permission mode at that moment, where it is said.
    pub mode: Option<String>,
    /// Whether a subagent calls.
    pub subagent: bool,
}
