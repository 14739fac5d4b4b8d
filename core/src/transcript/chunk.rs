//! A chunk of a UI message stream: the three kinds that come by the thousand are typed, all others stay JSON text.

use alloc::string::String;
use core::fmt;

use super::message::Bounds;
use super::piece::Piece;
use crate::json::{Json, JsonError, Kind, MAX_DEPTH, ObjectWriter, decode, fields_of, kind_of};

/// A chunk of a UI message stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Chunk {
    /// More text of the text part that `text-start` opened under this id.
    TextDelta {
        /// The id of the part.
        id: String,
        /// The text.
        piece: Piece,
    },
    /// More text of the reasoning part that `reasoning-start` opened under this id.
    ReasoningDelta {
        /// The id of the part.
        id: String,
        /// The text.
        piece: Piece,
    },
    /// More of the JSON text of the input of a tool call that `tool-input-start` began.
    ToolInputDelta {
        /// The id of the tool call.
        tool_call_id: String,
        /// The text.
        piece: Piece,
    },
    /// Any other chunk: an object with a string `type`.
    Json(Json),
}

/// Why a text is no chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChunkError {
    /// It is not JSON, or nested too deeply.
    NotJson(JsonError),
    /// It is longer than allowed: its bytes, and the bound.
    TooLong(usize, usize),
    /// It is not an object with a string `type`.
    NoType,
}

impl fmt::Display for ChunkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotJson(error) => write!(f, "The chunk cannot be read. {error}"),
            Self::TooLong(bytes, bound) => {
                write!(f, "The chunk has {bytes} bytes; at most {bound} are accepted in one chunk.")
            }
            Self::NoType => f.write_str("The chunk is not an object with a string \"type\"."),
        }
    }
}

impl core::error::Error for ChunkError {}

/// A delta that has exactly these keys, each a string.
fn delta(fields: &[(String, &str)], id: &str, text: &str) -> Option<(String, Piece)> {
    if fields.len() != 3 {
        return None;
    }
    let raw = |name: &str| {
        fields.iter().find(|(key, _)| key == name).map(|(_, raw)| *raw).filter(|raw| kind_of(raw) == Kind::String)
    };
    Some((decode(raw(id)?), Piece::decode(raw(text)?)))
}

impl Chunk {
    /// Reads a chunk within the default [`Bounds`].
    ///
    /// # Errors
    /// As [`Chunk::from_json_within`].
    pub fn from_json(text: &str) -> Result<Self, ChunkError> {
        Self::from_json_within(text, &Bounds::default())
    }

    /// Reads a chunk. A delta with keys beyond its own, such as `providerMetadata`, stays JSON.
    ///
    /// # Errors
    /// When the text is too long, is not JSON, is nested too deeply, or is no object with a string `type`.
    pub fn from_json_within(text: &str, bounds: &Bounds) -> Result<Self, ChunkError> {
        if text.len() > bounds.max_chunk_bytes {
            return Err(ChunkError::TooLong(text.len(), bounds.max_chunk_bytes));
        }
        Self::try_from(Json::parse_within(text, bounds.max_json_depth.min(MAX_DEPTH)).map_err(ChunkError::NotJson)?)
    }

    /// The chunk as JSON text, on one line if it came so.
    #[must_use]
    pub fn to_json(&self) -> String {
        let (kind, id_key, id, text_key, piece) = match self {
            Self::Json(json) => return json.as_str().into(),
            Self::TextDelta { id, piece } => ("text-delta", "id", id, "delta", piece),
            Self::ReasoningDelta { id, piece } => ("reasoning-delta", "id", id, "delta", piece),
            Self::ToolInputDelta { tool_call_id, piece } => {
                ("tool-input-delta", "toolCallId", tool_call_id, "inputTextDelta", piece)
            }
        };
        let mut writer = ObjectWriter::new(String::with_capacity(64 + id.len() + piece.text.len()));
        crate::json::write_string(writer.field("type"), kind);
        crate::json::write_string(writer.field(id_key), id);
        piece.write(writer.field(text_key));
        writer.end()
    }

    /// The chunk's `type`.
    #[must_use]
    pub fn kind(&self) -> String {
        match self {
            Self::TextDelta { .. } => "text-delta".into(),
            Self::ReasoningDelta { .. } => "reasoning-delta".into(),
            Self::ToolInputDelta { .. } => "tool-input-delta".into(),
            Self::Json(json) => json.field("type").and_then(|kind| kind.as_string()).unwrap_or_default(),
        }
    }

    /// How many bytes the chunk counts for: its text and ids, or its JSON text.
    #[must_use]
    pub fn bytes(&self) -> usize {
        match self {
            Self::TextDelta { id, piece } | Self::ReasoningDelta { id, piece } => id.len() + piece.bytes(),
            Self::ToolInputDelta { tool_call_id, piece } => tool_call_id.len() + piece.bytes(),
            Self::Json(json) => json.bytes(),
        }
    }

    /// A chunk of this type with these fields.
    pub(crate) fn of(kind: &str, fields: &[(&str, Json)]) -> Self {
        let kind = Json::string(kind);
        let all = core::iter::once(("type", &kind)).chain(fields.iter().map(|(name, value)| (*name, value)));
        Self::Json(Json::object(all))
    }
}

impl TryFrom<Json> for Chunk {
    type Error = ChunkError;

    fn try_from(json: Json) -> Result<Self, ChunkError> {
        let fields = fields_of(json.as_str()).ok_or(ChunkError::NoType)?;
        let raw = fields.iter().find(|(key, _)| key == "type").ok_or(ChunkError::NoType)?.1;
        if kind_of(raw) != Kind::String {
            return Err(ChunkError::NoType);
        }
        let typed = match &*decode(raw) {
            "text-delta" => delta(&fields, "id", "delta").map(|(id, piece)| Self::TextDelta { id, piece }),
            "reasoning-delta" => delta(&fields, "id", "delta").map(|(id, piece)| Self::ReasoningDelta { id, piece }),
            "tool-input-delta" => delta(&fields, "toolCallId", "inputTextDelta")
                .map(|(tool_call_id, piece)| Self::ToolInputDelta { tool_call_id, piece }),
            _ => None,
        };
        Ok(typed.unwrap_or(Self::Json(json)))
    }
}
