//! A message as chunks, for those who begin to follow in the middle: folded into an empty message they give the same one,
//! and what is open stays open, so that the chunks that follow fit.

use alloc::string::{String, ToString as _};
use alloc::vec;
use alloc::vec::Vec;

use super::chunk::Chunk;
use super::fields::{Part, PartKind, Value, partial_text};
use super::fold::Flow;
use super::message::Message;
use super::piece::{Growing, Piece};
use super::tool::ToolState;
use crate::json::Json;

/// Texts are cut into deltas of at most this many bytes.
const DELTA_BYTES: usize = 64 << 10;

/// The chunks that rebuild the message, from a `start` with its id on.
///
/// What no chunks can make comes out nearest to it: parts and fields that only a client writes (a text without `state`, a
/// file's `filename`, unknown fields, the order of fields) and a message that is not the assistant's. Of two tool parts
/// of one id in one step, a static and a dynamic one, the outputs land on the first.
#[must_use]
pub fn unfold(message: &Message) -> Vec<Chunk> {
    let mut start = vec![("messageId", Json::string(&message.id))];
    if let Some(metadata) = &message.metadata {
        start.push(("messageMetadata", metadata.clone()));
    }
    let mut unfolder = Unfolder { message, chunks: vec![Chunk::of("start", &start)], next_id: 0 };
    for (at, part) in message.parts.iter().enumerate() {
        match part.kind {
            PartKind::Text => unfolder.flow(at, part, Flow::Text),
            PartKind::Reasoning => unfolder.flow(at, part, Flow::Reasoning),
            PartKind::StepStart => unfolder.chunks.push(Chunk::of("start-step", &[])),
            PartKind::StaticTool | PartKind::DynamicTool => unfolder.tool(part),
            PartKind::Data | PartKind::Other => unfolder.whole(part),
        }
    }
    unfolder.chunks
}

struct Unfolder<'a> {
    message: &'a Message,
    chunks: Vec<Chunk>,
    next_id: usize,
}

impl Unfolder<'_> {
    fn push(&mut self, kind: &str, fields: &[(&str, Json)]) {
        self.chunks.push(Chunk::of(kind, fields));
    }

    fn streams(&self) -> &[Growing] {
        &self.message.streams
    }

    /// An id that no open text part has.
    fn fresh_id(&mut self) -> String {
        loop {
            self.next_id += 1;
            let id = self.next_id.to_string();
            if !self.message.open_text.contains_key(&id) {
                return id;
            }
        }
    }

    fn flow(&mut self, at: usize, part: &Part, flow: Flow) {
        let open = match flow {
            Flow::Text => &self.message.open_text,
            Flow::Reasoning => &self.message.open_reasoning,
        };
        let open_id = open.iter().find(|(_, place)| **place == at).map(|(id, _)| id.clone());
        let own_id = part.fields.json("id").and_then(Json::as_string).filter(|_| flow == Flow::Reasoning);
        let id = open_id.or(own_id).unwrap_or_else(|| self.fresh_id());
        let mut fields = vec![("id", Json::string(&id))];
        if let Some(metadata) = part.fields.json("providerMetadata") {
            fields.push(("providerMetadata", metadata.clone()));
        }
        self.push(flow.start(), &fields);
        if let Some(Value::Text(text)) = part.fields.get("text") {
            for piece in pieces(text) {
                let id = id.clone();
                self.chunks.push(match flow {
                    Flow::Text => Chunk::TextDelta { id, piece },
                    Flow::Reasoning => Chunk::ReasoningDelta { id, piece },
                });
            }
        }
        if part.state() != "streaming" {
            self.push(flow.end(), &[("id", Json::string(&id))]);
        }
    }

    /// A part that one chunk makes.
    fn whole(&mut self, part: &Part) {
        let fields = part.fields.iter().filter(|(name, _)| *name != "type");
        let values: Vec<(&str, Json)> =
            fields.filter_map(|(name, value)| Some((name, value.to_json(self.streams())?))).collect();
        let chunk = Chunk::of(part.fields.text("type").unwrap_or_default(), &values);
        self.chunks.push(chunk);
    }

    fn tool(&mut self, part: &Part) {
        let state = ToolState::of(part.state()).unwrap_or(ToolState::InputStreaming);
        let has = |name: &str| part.fields.has(name);
        let streaming = state == ToolState::InputStreaming;
        let partial = matches!(part.fields.get("input"), Some(Value::Partial { .. }));
        let approval = part.fields.json("approval");
        let unread = part.kind == PartKind::StaticTool && has("rawInput");
        let failed_at_once = !has("input") && (unread || state == ToolState::OutputError && approval.is_none());
        // The package keeps the order in which fields first came.
        let place = |name: &str| part.fields.iter().position(|(key, _)| key == name);
        let said_again = streaming || state == ToolState::InputAvailable;
        let can_follow = said_again || approval.is_some_and(|approval| approval.field("approved").is_some());
        let metadata_first = approval.is_none() || !can_follow || place("callProviderMetadata") < place("approval");
        if failed_at_once && unread {
            if has("title") || has("callProviderMetadata") && metadata_first {
                self.input(part, true, metadata_first);
            }
            self.input_error(part);
        } else {
            self.input(part, streaming || partial, metadata_first);
        }
        let result_kept = has("output") || has("errorText");
        if has("resultProviderMetadata") && !result_kept {
            // Left over from an output that the same input, sent again, took away.
            self.emptied_result(part);
            self.input(part, streaming || partial, false);
        }
        if state == ToolState::ApprovalRequested {
            self.result(part);
        }
        if let Some(approval) = approval {
            self.request(part, approval);
            if state == ToolState::ApprovalResponded {
                self.result(part);
            }
            self.response(part, approval, metadata_first);
            if said_again {
                self.input(part, streaming, !metadata_first);
            }
        }
        if state.is_final() && !(failed_at_once && unread && approval.is_none() && state == ToolState::OutputError) {
            self.result(part);
        }
        if state == ToolState::OutputDenied {
            self.push("tool-output-denied", &[("toolCallId", Json::string(part.call_id()))]);
        }
    }

    /// What every chunk about the input of a tool call begins with.
    fn call(part: &Part) -> Vec<(&'static str, Json)> {
        let mut fields =
            vec![("toolCallId", Json::string(part.call_id())), ("toolName", Json::string(part.tool_name()))];
        for name in ["providerExecuted", "title", "toolMetadata"] {
            if let Some(value) = part.fields.json(name) {
                fields.push((name, value.clone()));
            }
        }
        if part.kind == PartKind::DynamicTool {
            fields.push(("dynamic", Json::boolean(true)));
        }
        fields
    }

    fn input(&mut self, part: &Part, streaming: bool, with_metadata: bool) {
        let mut fields = Self::call(part);
        if let Some(metadata) = part.fields.json("callProviderMetadata").filter(|_| with_metadata) {
            fields.push(("providerMetadata", metadata.clone()));
        }
        let input = part.fields.get("input").filter(|_| part.fields.has("input"));
        match input {
            Some(value) if !streaming => {
                fields.push(("input", value.to_json(self.streams()).unwrap_or_else(Json::null)));
                self.push("tool-input-available", &fields);
            }
            None => self.push("tool-input-start", &fields),
            Some(value) => {
                self.push("tool-input-start", &fields);
                let text = match value {
                    Value::Partial { stream, len } => {
                        let whole = self.streams().get(*stream).filter(|text| text.text().len() == *len);
                        whole
                            .cloned()
                            .unwrap_or_else(|| Growing::new(partial_text(self.streams(), *stream, *len).into()))
                    }
                    other => Growing::new(other.to_json(&[]).map_or_else(String::new, |json| json.as_str().into())),
                };
                for piece in pieces(&text) {
                    self.chunks.push(Chunk::ToolInputDelta { tool_call_id: part.call_id().into(), piece });
                }
            }
        }
    }

    fn input_error(&mut self, part: &Part) {
        let mut fields = Self::call(part);
        fields.retain(|(name, _)| *name != "title");
        let read = |name: &str| part.fields.json(name).cloned();
        fields.push(("input", read("rawInput").unwrap_or_else(Json::null)));
        fields.push(("errorText", read("errorText").unwrap_or_else(|| Json::string(""))));
        if let Some(metadata) = read("resultProviderMetadata") {
            fields.push(("providerMetadata", metadata));
        }
        self.push("tool-input-error", &fields);
    }

    fn request(&mut self, part: &Part, approval: &Json) {
        let mut fields = vec![("toolCallId", Json::string(part.call_id()))];
        for (name, chunk_name) in [
            ("id", "approvalId"),
            ("descriptor", "approvalDescriptor"),
            ("requestReason", "reason"),
            ("isAutomatic", "isAutomatic"),
            ("signature", "signature"),
        ] {
            if let Some(value) = approval.field(name) {
                fields.push((chunk_name, value));
            }
        }
        self.push("tool-approval-request", &fields);
    }

    fn response(&mut self, part: &Part, approval: &Json, metadata_first: bool) {
        let (Some(id), Some(approved)) = (approval.field("id"), approval.field("approved")) else { return };
        let mut fields = vec![("approvalId", id), ("approved", approved)];
        if let Some(reason) = approval.field("reason") {
            fields.push(("reason", reason));
        }
        if let Some(metadata) = part.fields.json("callProviderMetadata").filter(|_| !metadata_first) {
            fields.push(("providerMetadata", metadata.clone()));
        }
        self.push("tool-approval-response", &fields);
    }

    fn emptied_result(&mut self, part: &Part) {
        let mut fields = vec![("toolCallId", Json::string(part.call_id())), ("output", Json::null())];
        if let Some(metadata) = part.fields.json("resultProviderMetadata") {
            fields.push(("providerMetadata", metadata.clone()));
        }
        self.push("tool-output-available", &fields);
    }

    fn result(&mut self, part: &Part) {
        let read = |name: &str| part.fields.json(name).cloned();
        let mut fields = vec![("toolCallId", Json::string(part.call_id()))];
        let kind = if let Some(output) = read("output") {
            fields.push(("output", output));
            if let Some(preliminary) = read("preliminary") {
                fields.push(("preliminary", preliminary));
            }
            "tool-output-available"
        } else if let Some(error) = read("errorText") {
            fields.push(("errorText", error));
            "tool-output-error"
        } else {
            return;
        };
        if let Some(metadata) = read("resultProviderMetadata") {
            fields.push(("providerMetadata", metadata));
        }
        self.push(kind, &fields);
    }
}

/// A text as deltas. A half held back is left open, to be completed by what follows.
fn pieces(text: &Growing) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut rest = text.text();
    while !rest.is_empty() {
        let mut end = rest.len().min(DELTA_BYTES);
        while !rest.is_char_boundary(end) {
            end -= 1;
        }
        let (piece, after) = rest.split_at(end);
        pieces.push(Piece::whole(piece));
        rest = after;
    }
    if let Some(half) = text.high() {
        pieces.push(Piece { trail: Some(half), ..Piece::default() });
    }
    pieces
}
