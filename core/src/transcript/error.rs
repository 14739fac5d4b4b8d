//! What folding a chunk and reading a message can answer.

use alloc::string::String;
use core::fmt;

use crate::json::JsonError;

/// How far a chunk that was folded reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// It is of a type that belongs to the message, whether or not it changed something.
    Message,
    /// It is data for those who follow, and is never stored.
    Transient,
    /// Its type is unknown: it is passed on and not folded.
    Unknown,
}

/// What a chunk that was folded did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Applied {
    /// Whether the package shows a new state of the message after it.
    pub written: bool,
    /// Whether a tool part was made or changed its state otherwise than by a piece of its input.
    pub tool_boundary: bool,
    /// How far it reaches.
    pub reach: Reach,
}

/// Why a chunk was not folded. The message is as it was.
///
/// The first five have the words of the package's own error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FoldError {
    /// `text-delta`, `text-end`, `reasoning-delta` or `reasoning-end` (the chunk's type) for a part (its id) that is not
    /// open.
    NotOpen(&'static str, String),
    /// `tool-input-delta` for a tool call (its id) whose input was not begun.
    InputNotBegun(String),
    /// No part has this tool call id.
    NoToolCall(String),
    /// No part has an approval of this id.
    NoApproval(String),
    /// Metadata cannot be merged: the field, and what the message has.
    Unmergeable(String, String),
    /// A field (its name) of a chunk (its type) is missing or not of the kind that its type has.
    Malformed(String, &'static str),
    /// The chunk has more bytes (the first) than accepted (the second).
    ChunkTooLong(usize, usize),
    /// The chunk is nested deeper than this.
    ChunkTooDeep(usize),
    /// The message would have more bytes than this.
    MessageTooLong(usize),
    /// The message would have more parts than this.
    TooManyParts(usize),
}

impl fmt::Display for FoldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotOpen(kind, id) => {
                let part = kind.split('-').next().unwrap_or_default();
                write!(
                    f,
                    "AI_UIMessageStreamError: Received {kind} for missing {part} part with ID \"{id}\". Ensure a \
                     \"{part}-start\" chunk is sent before any \"{kind}\" chunks."
                )
            }
            Self::InputNotBegun(id) => write!(
                f,
                "AI_UIMessageStreamError: Received tool-input-delta for missing tool call with ID \"{id}\". Ensure a \
                 \"tool-input-start\" chunk is sent before any \"tool-input-delta\" chunks."
            ),
            Self::NoToolCall(id) => {
                write!(f, "AI_UIMessageStreamError: No tool invocation found for tool call ID \"{id}\".")
            }
            Self::NoApproval(id) => {
                write!(f, "AI_UIMessageStreamError: No tool invocation found for approval ID \"{id}\".")
            }
            Self::Unmergeable(field, base) => {
                write!(f, "TypeError: Cannot use 'in' operator to search for '{field}' in {base}")
            }
            Self::Malformed(kind, field) => {
                write!(f, "The field \"{field}\" of a \"{kind}\" chunk is missing or not what its type says.")
            }
            Self::ChunkTooLong(bytes, bound) => {
                write!(f, "The chunk has {bytes} bytes; at most {bound} are accepted in one chunk.")
            }
            Self::ChunkTooDeep(bound) => write!(f, "The chunk is nested deeper than {bound} levels."),
            Self::MessageTooLong(bound) => {
                write!(f, "The message has reached its bound of {bound} bytes; the chunk does not fit.")
            }
            Self::TooManyParts(bound) => {
                write!(f, "The message has reached its bound of {bound} parts; the chunk does not fit.")
            }
        }
    }
}

impl core::error::Error for FoldError {}

/// Why a text is no message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MessageError {
    /// It is not JSON, or nested too deeply.
    NotJson(JsonError),
    /// It has more bytes (the first) than accepted (the second).
    TooLong(usize, usize),
    /// It has more parts (the first) than accepted (the second).
    TooManyParts(usize, usize),
    /// Something in it is missing or of the wrong kind: where, as in `parts[2].text`, and what it has to be.
    Wrong(String, &'static str),
}

impl fmt::Display for MessageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotJson(error) => write!(f, "The message cannot be read. {error}"),
            Self::TooLong(bytes, bound) => {
                write!(f, "The message has {bytes} bytes; at most {bound} are accepted.")
            }
            Self::TooManyParts(parts, bound) => {
                write!(f, "The message has {parts} parts; at most {bound} are accepted.")
            }
            Self::Wrong(place, what) => write!(f, "In the message, {place} must be {what}."),
        }
    }
}

impl core::error::Error for MessageError {}
