//! Folding one chunk into a message.

mod text;
mod tool;

use super::chunk::Chunk;
use super::error::{Applied, FoldError, Reach};
use super::fields::{Part, Value};
use super::merge::merge;
use super::message::{Message, data_key};
use super::piece::Piece;
use super::reader::Reader;
use crate::json::{Json, MAX_DEPTH, decode};

pub(crate) use text::Flow;

/// The package writes a new state after the chunk, or not.
const WRITTEN: Applied = Applied { written: true, tool_boundary: false, reach: Reach::Message };
const SILENT: Applied = Applied { written: false, tool_boundary: false, reach: Reach::Message };
const BOUNDARY: Applied = Applied { written: true, tool_boundary: true, reach: Reach::Message };

/// What a part may count for beyond the chunk that makes it: names of fields, quotes, a state.
const PART_OVERHEAD: usize = 256;

impl Message {
    /// Folds a chunk, as the package does. A chunk of text or of a tool's input costs the same whatever the message holds.
    ///
    /// # Errors
    /// When the package's fold would stop with an error, when the chunk's fields are not what the package's schema for
    /// its type says, or when a bound would be exceeded. The message is then as it was.
    pub fn apply(&mut self, chunk: &Chunk) -> Result<Applied, FoldError> {
        let bytes = chunk.bytes();
        if bytes > self.bounds.max_chunk_bytes {
            return Err(FoldError::ChunkTooLong(bytes, self.bounds.max_chunk_bytes));
        }
        if self.bytes + bytes + PART_OVERHEAD > self.bounds.max_message_bytes {
            return Err(FoldError::MessageTooLong(self.bounds.max_message_bytes));
        }
        match chunk {
            Chunk::TextDelta { id, piece } => self.flow_delta(Flow::Text, id, piece, None),
            Chunk::ReasoningDelta { id, piece } => self.flow_delta(Flow::Reasoning, id, piece, None),
            Chunk::ToolInputDelta { tool_call_id, piece } => self.tool_input_delta(tool_call_id, piece),
            Chunk::Json(json) => {
                let bound = self.bounds.max_json_depth.min(MAX_DEPTH);
                // Each level takes two bytes at least, so short chunks need no look.
                if bytes > 2 * bound && json.depth() > bound {
                    return Err(FoldError::ChunkTooDeep(bound));
                }
                self.apply_json(&Reader::new(json)?)
            }
        }
    }

    fn apply_json(&mut self, chunk: &Reader<'_>) -> Result<Applied, FoldError> {
        match &*chunk.kind {
            "text-start" => self.flow_start(Flow::Text, chunk),
            "reasoning-start" => self.flow_start(Flow::Reasoning, chunk),
            "text-delta" => self.flow_delta_json(Flow::Text, chunk),
            "reasoning-delta" => self.flow_delta_json(Flow::Reasoning, chunk),
            "text-end" => self.flow_end(Flow::Text, chunk),
            "reasoning-end" => self.flow_end(Flow::Reasoning, chunk),
            "tool-input-start" => self.tool_input_start(chunk),
            "tool-input-delta" => {
                let piece: Piece = chunk.piece("inputTextDelta")?;
                self.tool_input_delta(&chunk.id("toolCallId")?, &piece)
            }
            "tool-input-available" => self.tool_input_available(chunk),
            "tool-input-error" => self.tool_input_error(chunk),
            "tool-approval-request" => self.approval_request(chunk),
            "tool-approval-response" => self.approval_response(chunk),
            "tool-output-available" => self.tool_output_available(chunk),
            "tool-output-error" => self.tool_output_error(chunk),
            "tool-output-denied" => self.tool_output_denied(chunk),
            "file" | "reasoning-file" | "custom" | "source-url" | "source-document" => self.whole_part(chunk),
            "start-step" => {
                self.room_for_part()?;
                self.push(Part::new("step-start"));
                Ok(SILENT)
            }
            "reset-step" => Ok(self.reset_step()),
            "start" => self.start(chunk),
            "finish" => {
                let reason = chunk.string_if("finishReason")?.map(|reason| decode(reason.as_str()));
                let known = ["stop", "length", "content-filter", "tool-calls", "error", "other"];
                if reason.is_some_and(|reason| !known.contains(&&*reason)) {
                    return Err(FoldError::Malformed(chunk.kind.clone(), "finishReason"));
                }
                self.merge_metadata(chunk.value_if("messageMetadata")?)
            }
            "message-metadata" => self.merge_metadata(Some(chunk.value("messageMetadata")?)),
            "error" => chunk.string("errorText").map(|_| SILENT),
            "abort" => chunk.string_if("reason").map(|_| SILENT),
            "finish-step" => Ok(SILENT),
            kind if kind.starts_with("data-") => self.data(chunk),
            _ => Ok(Applied { reach: Reach::Unknown, ..SILENT }),
        }
    }

    /// A chunk that is a part by itself.
    fn whole_part(&mut self, chunk: &Reader<'_>) -> Result<Applied, FoldError> {
        self.room_for_part()?;
        let mut part = Part::new(&chunk.kind);
        let mut add = |name: &'static str, value: Option<Json>| part.fields.set(name, value);
        match &*chunk.kind {
            "file" | "reasoning-file" => {
                add("mediaType", Some(chunk.string("mediaType")?));
                add("url", Some(chunk.string("url")?));
            }
            "custom" => add("kind", Some(chunk.string("kind")?)),
            "source-url" => {
                add("sourceId", Some(chunk.string("sourceId")?));
                add("url", Some(chunk.string("url")?));
                add("title", chunk.string_if("title")?);
            }
            _ => {
                add("sourceId", Some(chunk.string("sourceId")?));
                add("mediaType", Some(chunk.string("mediaType")?));
                add("title", Some(chunk.string("title")?));
                add("filename", chunk.string_if("filename")?);
            }
        }
        add("providerMetadata", chunk.provider_metadata()?);
        self.push(part);
        Ok(WRITTEN)
    }

    fn data(&mut self, chunk: &Reader<'_>) -> Result<Applied, FoldError> {
        let id = chunk.string_if("id")?.map(|id| decode(id.as_str()));
        let data = chunk.value("data")?;
        if chunk.flag_if("transient")?.is_some_and(|flag| flag.as_bool() == Some(true)) {
            return Ok(Applied { reach: Reach::Transient, ..SILENT });
        }
        let known = id.and_then(|id| self.data.get(&data_key(&chunk.kind, &id)).copied());
        if let Some(at) = known {
            self.change(at, |part| part.fields.set("data", data));
            return Ok(WRITTEN);
        }
        self.room_for_part()?;
        let mut part = Part::new(&chunk.kind);
        part.fields = super::fields::Fields::default();
        for (name, value) in chunk.all() {
            let value = if name == "type" { Value::text(chunk.kind.clone()) } else { Value::Json(value) };
            part.fields.set(name, value);
        }
        self.push(part);
        Ok(WRITTEN)
    }

    fn reset_step(&mut self) -> Applied {
        self.open_text.clear();
        self.open_reasoning.clear();
        self.partial.clear();
        if self.parts.len() == self.step {
            return SILENT;
        }
        self.truncate(self.step);
        WRITTEN
    }

    fn start(&mut self, chunk: &Reader<'_>) -> Result<Applied, FoldError> {
        let id = chunk.string_if("messageId")?.map(|id| decode(id.as_str()));
        let merged = self.merge_metadata(chunk.value_if("messageMetadata")?)?;
        let Some(id) = id else { return Ok(merged) };
        self.bytes = (self.bytes + id.len()).saturating_sub(self.id.len());
        self.id = id;
        Ok(WRITTEN)
    }

    fn merge_metadata(&mut self, metadata: Option<Json>) -> Result<Applied, FoldError> {
        let Some(over) = metadata.filter(|metadata| !metadata.is_null()) else { return Ok(SILENT) };
        let merged = match self.metadata.as_ref().filter(|base| !base.is_null()) {
            Some(base) => merge(base, &over)?,
            None => over,
        };
        let before = self.metadata.as_ref().map_or(0, Json::bytes);
        self.bytes = (self.bytes + merged.bytes()).saturating_sub(before);
        if self.metadata.is_none() && !self.head.contains(&super::message::Head::Metadata) {
            self.head.push(super::message::Head::Metadata);
        }
        self.metadata = Some(merged);
        Ok(WRITTEN)
    }
}
