//! What the stream of a turn makes of a message. (Placeholder for the type of its chunks.)
use alloc::string::String;
use serde::{Deserialize, Serialize};

/// Text that may begin or end in the middle of a UTF-16 surrogate pair, as JavaScript agents cut it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Piece {
    /// A lone low surrogate before the text.
    pub lead: Option<u16>,
    /// The text.
    pub text: String,
    /// A lone high surrogate after the text.
    pub trail: Option<u16>,
}

/// One UI message chunk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Chunk {
    /// `text-delta`.
    TextDelta {
        /// The part's id.
        id: String,
        /// What to append.
        piece: Piece,
    },
    /// `reasoning-delta`.
    ReasoningDelta {
        /// The part's id.
        id: String,
        /// What to append.
        piece: Piece,
    },
    /// `tool-input-delta`.
    ToolInputDelta {
        /// The tool call's id.
        tool_call_id: String,
        /// What to append.
        piece: Piece,
    },
    /// Any chunk, as JSON text.
    Json(String),
}
