//! What a chunk needs so that it can be folded and forwarded: agents leave starts out after a resume, open a part twice,
//! and report the end of a denied call as if it had run. Mended as it arrives, the message never becomes one that only a
//! change to the stored copy could make valid.

use alloc::vec;
use alloc::vec::Vec;

use super::chunk::Chunk;
use super::fold::Flow;
use super::message::Message;
use super::validity::{Standing, Verdict};
use crate::json::Json;

/// What to do with a chunk before it is folded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mend {
    /// Chunks to fold and forward first, in this order.
    pub before: Vec<Chunk>,
    /// Whether the chunk itself is neither folded nor forwarded: what stands before takes its place.
    pub drop: bool,
}

/// Says what `chunk` needs before it is given to [`Message::apply`] on `message`. Usually nothing.
///
/// A delta of text or reasoning whose part is not open gets its start; a start of a part that is open closes it first; an
/// output or error of a call that was denied is replaced by `tool-output-denied`.
#[must_use]
pub fn mend(message: &Message, chunk: &Chunk) -> Mend {
    match chunk {
        Chunk::TextDelta { id, .. } => missing_start(message, Flow::Text, id),
        Chunk::ReasoningDelta { id, .. } => missing_start(message, Flow::Reasoning, id),
        Chunk::ToolInputDelta { .. } => Mend::default(),
        Chunk::Json(json) => mend_json(message, json),
    }
}

fn mend_json(message: &Message, json: &Json) -> Mend {
    let text = |name: &str| json.field(name).and_then(|value| value.as_string()).unwrap_or_default();
    match &*text("type") {
        "text-delta" => missing_start(message, Flow::Text, &text("id")),
        "reasoning-delta" => missing_start(message, Flow::Reasoning, &text("id")),
        "text-start" => still_open(message, Flow::Text, &text("id")),
        "reasoning-start" => still_open(message, Flow::Reasoning, &text("id")),
        "tool-output-available" | "tool-output-error" => denied(message, &text("toolCallId")),
        _ => Mend::default(),
    }
}

fn chunk_of(kind: &str, id: &str) -> Mend {
    Mend { before: vec![Chunk::of(kind, &[("id", Json::string(id))])], drop: false }
}

fn is_open(message: &Message, flow: Flow, id: &str) -> bool {
    match flow {
        Flow::Text => message.open_text.contains_key(id),
        Flow::Reasoning => message.open_reasoning.contains_key(id),
    }
}

fn missing_start(message: &Message, flow: Flow, id: &str) -> Mend {
    if is_open(message, flow, id) { Mend::default() } else { chunk_of(flow.start(), id) }
}

fn still_open(message: &Message, flow: Flow, id: &str) -> Mend {
    if is_open(message, flow, id) { chunk_of(flow.end(), id) } else { Mend::default() }
}

fn denied(message: &Message, call_id: &str) -> Mend {
    let Some(at) = message.call_part(call_id) else { return Mend::default() };
    let standing = Standing::of(&message.parts[at], &message.streams);
    if standing.verdict != Verdict::No || standing.output || standing.error {
        return Mend::default();
    }
    Mend { before: vec![Chunk::of("tool-output-denied", &[("toolCallId", Json::string(call_id))])], drop: true }
}
