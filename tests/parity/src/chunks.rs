//! The chunks that agents give, in short words.

use serde_json::{Value, json};
use tackroom_core::input::{Chunk, Delta, Piece};

/// Text that is whole.
#[must_use]
pub fn piece(text: &str) -> Piece {
    Piece { lead: None, text: text.to_owned(), trail: None }
}

/// Any chunk, from JSON.
#[must_use]
#[expect(clippy::needless_pass_by_value, reason = "callers write the value in place")]
pub fn any(value: Value) -> Chunk {
    Chunk::Json(value.to_string())
}

/// `text-delta`.
#[must_use]
pub fn text_delta(id: &str, text: &str) -> Chunk {
    Chunk::TextDelta(Delta { id: id.to_owned(), piece: piece(text) })
}

/// A whole text part in three chunks.
#[must_use]
pub fn text(id: &str, text: &str) -> Vec<Chunk> {
    vec![any(json!({"type": "text-start", "id": id})), text_delta(id, text), any(json!({"type": "text-end", "id": id}))]
}

/// A whole reasoning part in three chunks.
#[must_use]
pub fn reasoning(id: &str, text: &str) -> Vec<Chunk> {
    vec![
        any(json!({"type": "reasoning-start", "id": id})),
        Chunk::ReasoningDelta(Delta { id: id.to_owned(), piece: piece(text) }),
        any(json!({"type": "reasoning-end", "id": id})),
    ]
}

/// A tool call up to its whole input: start, the input in two pieces, the input.
#[must_use]
#[expect(clippy::needless_pass_by_value, reason = "callers write the value in place")]
pub fn tool_call(id: &str, name: &str, input: Value) -> Vec<Chunk> {
    let text = input.to_string();
    let (first, second) = text.split_at(text.ceil_char_boundary(text.len() / 2));
    let delta = |text: &str| Chunk::ToolInputDelta(Delta { id: id.to_owned(), piece: piece(text) });
    vec![
        any(json!({"type": "tool-input-start", "toolCallId": id, "toolName": name})),
        delta(first),
        delta(second),
        any(json!({"type": "tool-input-available", "toolCallId": id, "toolName": name, "input": input})),
    ]
}

/// A tool call that waits for an approval, which is named `approval-<id of the call>`.
#[must_use]
pub fn asked(id: &str, name: &str, input: Value) -> Vec<Chunk> {
    let mut chunks = tool_call(id, name, input);
    chunks.push(any(json!({"type": "tool-approval-request", "approvalId": approval_of(id), "toolCallId": id})));
    chunks
}

/// The name of the approval that [`asked`] asks for.
#[must_use]
pub fn approval_of(call: &str) -> String {
    format!("approval-{call}")
}

/// A tool call's output.
#[must_use]
#[expect(clippy::needless_pass_by_value, reason = "callers write the value in place")]
pub fn output(id: &str, output: Value) -> Chunk {
    any(json!({"type": "tool-output-available", "toolCallId": id, "output": output}))
}

/// A tool call's error.
#[must_use]
pub fn output_error(id: &str, text: &str) -> Chunk {
    any(json!({"type": "tool-output-error", "toolCallId": id, "errorText": text}))
}

/// A tool call that was denied.
#[must_use]
pub fn output_denied(id: &str) -> Chunk {
    any(json!({"type": "tool-output-denied", "toolCallId": id}))
}
