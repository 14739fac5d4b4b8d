//! Turns what the CLI streams into UI message chunks. It knows nothing of processes, deadlines or decisions.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::{Value, json};

use super::gate::QUESTION;
use super::protocol::frames::{Block, Content, Event, Message, Stream};
use super::state::Call;
use crate::ports::{Chunk, Piece};

/// How far a tool call has been shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shown {
    /// Its input streams.
    Started,
    /// Its input is whole; it has no result yet.
    Available,
    /// It was denied; its result says so.
    Denied,
}

/// The translation of one session, over its slices.
#[derive(Debug, Default)]
pub(super) struct Translator {
    out: Vec<Chunk>,
    step_open: bool,
    message: String,
    streaming: bool,
    streamed: HashSet<String>,
    blocks: BTreeMap<u64, (Block, String)>,
    calls: HashMap<String, Shown>,
    wrote_text: bool,
    whole_parts: u64,
}

impl Translator {
    /// Takes the chunks made since the last time.
    pub(super) fn take(&mut self) -> Vec<Chunk> {
        std::mem::take(&mut self.out)
    }

    /// Whether a message of the main conversation is streaming.
    pub(super) fn is_streaming(&self) -> bool {
        self.streaming
    }

    /// Opens a slice.
    pub(super) fn begin(&mut self) {
        self.wrote_text = false;
        self.push(&json!({"type": "start"}));
    }

    /// Ends a slice in good order: with the turn over, or with a pause.
    pub(super) fn finish(&mut self, paused: bool) {
        self.close_blocks();
        self.close_step();
        self.push(&json!({"type": "finish", "finishReason": if paused { "tool-calls" } else { "stop" }}));
    }

    /// Ends a slice with an error.
    pub(super) fn fail(&mut self, message: &str) {
        self.close_blocks();
        self.push(&json!({"type": "error", "errorText": message}));
        self.step_open = false;
    }

    /// Ends a slice that was cut short.
    pub(super) fn abort(&mut self) {
        self.close_blocks();
        self.push(&json!({"type": "abort", "reason": "interrupted"}));
        self.step_open = false;
    }

    /// Tells something that is neither the agent's text nor an error.
    pub(super) fn notice(&mut self, code: &str, message: &str) {
        self.push(&json!({"type": "data-tackroom-notice", "data": {"code": code, "message": message}}));
    }

    /// Text that was not streamed.
    pub(super) fn whole_text(&mut self, text: &str) {
        self.whole_parts += 1;
        let id = format!("whole:{}", self.whole_parts);
        self.open_step();
        self.push(&json!({"type": "text-start", "id": id}));
        self.wrote_text = true;
        self.out.push(Chunk::TextDelta { id: id.clone(), delta: Piece::from(text) });
        self.push(&json!({"type": "text-end", "id": id}));
    }

    /// Whether text was shown in this slice.
    pub(super) fn wrote_text(&self) -> bool {
        self.wrote_text
    }

    /// A streamed event. Subagents' own words are not shown: their caller reads them as its tool's result.
    pub(super) fn stream(&mut self, stream: Stream) {
        if stream.parent.is_some() {
            return;
        }
        match stream.event {
            Event::MessageStart { id } => self.message_start(id),
            Event::BlockStart { index, block } => self.block_start(index, block),
            Event::Delta { index, piece } => self.delta(index, piece),
            Event::BlockStop { index } => self.block_stop(index),
            Event::MessageStop => {
                self.close_blocks();
                self.streaming = false;
            }
            Event::Other => {}
        }
    }

    /// A whole message of the model, or one block of it.
    pub(super) fn assistant(&mut self, message: Message) {
        if message.synthetic {
            return;
        }
        let streamed = message.id.as_ref().is_some_and(|id| self.streamed.contains(id));
        for content in message.content {
            match content {
                Content::ToolUse { id, name, input } if message.parent.is_none() => {
                    self.show_call(&Call { id, name, input });
                }
                Content::Text(text) if !streamed && message.parent.is_none() => self.whole_text(&text),
                _ => {}
            }
        }
    }

    /// A message to the model: the results of tools in it are shown. Gives the ids of the calls that ended.
    pub(super) fn results(&mut self, message: Message) -> Vec<String> {
        let mut ended = Vec::new();
        for content in message.content {
            if let Content::ToolResult { id, content, is_error } = content {
                self.result(&id, &content, is_error);
                ended.push(id);
            }
        }
        ended
    }

    /// Shows a call with its whole input, if it was not shown yet.
    pub(super) fn show_call(&mut self, call: &Call) {
        let shown = self.calls.get(&call.id).copied();
        if matches!(shown, Some(Shown::Available | Shown::Denied)) {
            return;
        }
        self.open_step();
        if shown.is_none() {
            self.push(&tool_chunk("tool-input-start", &call.id, &call.name));
        }
        let input = super::protocol::json::mend(&call.input);
        let id = Value::from(call.id.as_str());
        let name = Value::from(call.name.as_str());
        let executed = if call.name == QUESTION { "" } else { r#","providerExecuted":true"# };
        self.out.push(Chunk::Json(format!(
            r#"{{"type":"tool-input-available","toolCallId":{id},"toolName":{name},"input":{input}{executed}}}"#
        )));
        self.calls.insert(call.id.clone(), Shown::Available);
    }

    /// Marks a call as shown in an earlier slice, so that it is not shown again.
    pub(super) fn known_call(&mut self, id: &str) {
        self.calls.entry(id.to_owned()).or_insert(Shown::Available);
    }

    /// Asks for an approval of a call.
    pub(super) fn request_approval(&mut self, call: &str) {
        let id = approval_id(call);
        self.push(&json!({"type": "tool-approval-request", "approvalId": id, "toolCallId": call}));
    }

    /// Shows that a call was denied; its result is then not shown as well.
    pub(super) fn deny(&mut self, call: &str) {
        if self.calls.insert(call.to_owned(), Shown::Denied) != Some(Shown::Denied) {
            self.push(&json!({"type": "tool-output-denied", "toolCallId": call}));
        }
    }

    /// Marks a question as answered: its result is the host's own.
    pub(super) fn answered(&mut self, call: &str) {
        self.calls.insert(call.to_owned(), Shown::Denied);
    }

    fn message_start(&mut self, id: String) {
        self.close_blocks();
        self.close_step();
        self.open_step();
        self.streamed.insert(id.clone());
        self.message = id;
        self.streaming = true;
    }

    fn block_start(&mut self, index: u64, block: Block) {
        let part = format!("{}:{index}", self.message);
        match &block {
            Block::Text => {
                self.wrote_text = true;
                self.push(&json!({"type": "text-start", "id": part}));
            }
            Block::Thinking => self.push(&json!({"type": "reasoning-start", "id": part})),
            Block::Tool { id, name } => {
                if !self.calls.contains_key(id) {
                    self.push(&tool_chunk("tool-input-start", id, name));
                    self.calls.insert(id.clone(), Shown::Started);
                }
            }
            Block::Other => {}
        }
        self.blocks.insert(index, (block, part));
    }

    fn delta(&mut self, index: u64, delta: Piece) {
        let Some((block, part)) = self.blocks.get(&index) else { return };
        let id = part.clone();
        self.out.push(match block {
            Block::Text => Chunk::TextDelta { id, delta },
            Block::Thinking => Chunk::ReasoningDelta { id, delta },
            Block::Tool { id, .. } if self.calls.get(id) == Some(&Shown::Started) => {
                Chunk::ToolInputDelta { tool_call_id: id.clone(), delta }
            }
            Block::Tool { .. } | Block::Other => return,
        });
    }

    fn block_stop(&mut self, index: u64) {
        match self.blocks.remove(&index) {
            Some((Block::Text, id)) => self.push(&json!({"type": "text-end", "id": id})),
            Some((Block::Thinking, id)) => self.push(&json!({"type": "reasoning-end", "id": id})),
            _ => {}
        }
    }

    fn close_blocks(&mut self) {
        while let Some(index) = self.blocks.keys().next().copied() {
            self.block_stop(index);
        }
        self.streaming = false;
    }

    fn result(&mut self, id: &str, content: &str, is_error: bool) {
        // Calls that were never shown are a subagent's own.
        match self.calls.remove(id) {
            None | Some(Shown::Denied) => return,
            Some(Shown::Started | Shown::Available) => {}
        }
        let text = plain_text(content);
        let id = Value::from(id);
        self.out.push(Chunk::Json(if is_error {
            let text = Value::from(text.unwrap_or_else(|| content.to_owned()));
            format!(r#"{{"type":"tool-output-error","toolCallId":{id},"errorText":{text},"providerExecuted":true}}"#)
        } else {
            let output = text.map_or_else(|| content.to_owned(), |text| Value::from(text).to_string());
            format!(r#"{{"type":"tool-output-available","toolCallId":{id},"output":{output},"providerExecuted":true}}"#)
        }));
    }

    fn open_step(&mut self) {
        if !self.step_open {
            self.step_open = true;
            self.push(&json!({"type": "start-step"}));
        }
    }

    fn close_step(&mut self) {
        if self.step_open {
            self.step_open = false;
            self.push(&json!({"type": "finish-step"}));
        }
    }

    fn push(&mut self, chunk: &Value) {
        self.out.push(Chunk::Json(chunk.to_string()));
    }
}

/// The id of a call's approval.
pub(super) fn approval_id(call: &str) -> String {
    format!("approval-{call}")
}

fn tool_chunk(kind: &str, id: &str, name: &str) -> Value {
    let mut chunk = json!({"type": kind, "toolCallId": id, "toolName": name});
    if name != QUESTION {
        chunk["providerExecuted"] = true.into();
    }
    chunk
}

/// The text of a result that is text alone.
fn plain_text(content: &str) -> Option<String> {
    match serde_json::from_str::<Value>(content).ok()? {
        Value::String(text) => Some(text),
        Value::Array(parts) => {
            let texts = parts.iter().map(|part| if part["type"] == "text" { part["text"].as_str() } else { None });
            Some(texts.collect::<Option<Vec<_>>>()?.join("\n"))
        }
        _ => None,
    }
}

#[cfg(test)]
#[path = "translate_tests.rs"]
mod tests;
