//! Says what a scripted turn does as UI message chunks, with steps opened and closed where they belong.

use std::time::Duration;

use serde_json::{Value, json};

use super::program::Pace;
use crate::ports::{Chunk, TurnSink};

/// Chunks that go out together at most, where nothing asks for a pause between them.
const BATCH: usize = 64;

/// The chunks of one slice.
pub(super) struct Emitter {
    sink: TurnSink,
    step_open: bool,
}

impl Emitter {
    pub(super) fn new(sink: TurnSink) -> Self {
        Self { sink, step_open: false }
    }

    pub(super) async fn start(&mut self) {
        self.sink.send(vec![chunk(&json!({ "type": "start" }))]).await;
    }

    /// Ends the slice's chunks.
    pub(super) async fn finish(&mut self, reason: &str) {
        let mut chunks = self.close_step();
        chunks.push(chunk(&json!({ "type": "finish", "finishReason": reason })));
        self.sink.send(chunks).await;
    }

    /// Streams text or reasoning in pieces.
    pub(super) async fn say(&mut self, id: String, reasoning: bool, text: &str, pace: Pace) {
        let kind = if reasoning { "reasoning" } else { "text" };
        let mut chunks = self.open_step();
        chunks.push(chunk(&json!({ "type": format!("{kind}-start"), "id": id })));
        for piece in pieces(text, pace.chars) {
            chunks.push(delta(&id, reasoning, piece));
            if pace.delay > Duration::ZERO {
                self.sink.send(std::mem::take(&mut chunks)).await;
                tokio::time::sleep(pace.delay).await;
            } else if chunks.len() >= BATCH {
                self.sink.send(std::mem::take(&mut chunks)).await;
            }
        }
        chunks.push(chunk(&json!({ "type": format!("{kind}-end"), "id": id })));
        self.sink.send(chunks).await;
    }

    /// Streams `count` pieces of `size` bytes as fast as they are taken.
    pub(super) async fn burst(&mut self, id: String, count: u64, size: usize, batch: usize) {
        let text = "x".repeat(size);
        let mut chunks = self.open_step();
        chunks.push(chunk(&json!({ "type": "text-start", "id": id })));
        self.sink.send(chunks).await;
        let mut left = count;
        while left > 0 {
            let now = left.min(u64::try_from(batch).unwrap_or(u64::MAX));
            self.sink.send((0..now).map(|_| delta(&id, false, &text)).collect()).await;
            left -= now;
        }
        self.sink.send(vec![chunk(&json!({ "type": "text-end", "id": id }))]).await;
    }

    /// Shows a call with its input. A call that this agent runs itself is `provider_executed`.
    pub(super) async fn call(&mut self, id: &str, tool: &str, input: &Value, provider_executed: bool) {
        let text = input.to_string();
        let mut start = json!({ "type": "tool-input-start", "toolCallId": id, "toolName": tool });
        let mut available =
            json!({ "type": "tool-input-available", "toolCallId": id, "toolName": tool, "input": input });
        if provider_executed {
            start["providerExecuted"] = json!(true);
            available["providerExecuted"] = json!(true);
        }
        let mut chunks = self.open_step();
        chunks.push(chunk(&start));
        for piece in pieces(&text, 64) {
            chunks.push(Chunk::ToolInputDelta { tool_call_id: id.to_owned(), delta: piece.into() });
        }
        chunks.push(chunk(&available));
        self.sink.send(chunks).await;
    }

    pub(super) async fn ask(&mut self, approval_id: &str, call: &str) {
        let request = json!({ "type": "tool-approval-request", "approvalId": approval_id, "toolCallId": call });
        self.sink.send(vec![chunk(&request)]).await;
    }

    pub(super) async fn output(&mut self, call: &str, output: &Value) {
        let available = json!({ "type": "tool-output-available", "toolCallId": call, "output": output });
        self.sink.send(vec![chunk(&available)]).await;
    }

    pub(super) async fn output_error(&mut self, call: &str, words: &str) {
        let error = json!({ "type": "tool-output-error", "toolCallId": call, "errorText": words });
        self.sink.send(vec![chunk(&error)]).await;
    }

    pub(super) async fn denied(&mut self, call: &str) {
        self.sink.send(vec![chunk(&json!({ "type": "tool-output-denied", "toolCallId": call }))]).await;
    }

    /// A chunk as the scenario gives it.
    pub(super) async fn raw(&mut self, text: &str) {
        let mut chunks = self.open_step();
        chunks.push(Chunk::Json(text.to_owned()));
        self.sink.send(chunks).await;
    }

    /// Ends the step under way, so that what follows is the agent's answer to its tools.
    pub(super) async fn end_step(&mut self) {
        let chunks = self.close_step();
        if !chunks.is_empty() {
            self.sink.send(chunks).await;
        }
    }

    fn open_step(&mut self) -> Vec<Chunk> {
        if std::mem::replace(&mut self.step_open, true) {
            return Vec::new();
        }
        vec![chunk(&json!({ "type": "start-step" }))]
    }

    fn close_step(&mut self) -> Vec<Chunk> {
        if std::mem::replace(&mut self.step_open, false) {
            return vec![chunk(&json!({ "type": "finish-step" }))];
        }
        Vec::new()
    }
}

fn chunk(value: &Value) -> Chunk {
    Chunk::Json(value.to_string())
}

fn delta(id: &str, reasoning: bool, text: &str) -> Chunk {
    let (id, delta) = (id.to_owned(), text.into());
    if reasoning { Chunk::ReasoningDelta { id, delta } } else { Chunk::TextDelta { id, delta } }
}

/// Cuts text into pieces of so many characters.
fn pieces(text: &str, chars: usize) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = rest.char_indices().nth(chars).map_or(rest.len(), |(index, _)| index);
        let (piece, after) = rest.split_at(end);
        rest = after;
        Some(piece)
    })
}
