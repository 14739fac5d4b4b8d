//! What agents say, by dice: parts that open, grow and close, tool calls that run, wait or fail, and garbage.

use std::collections::BTreeMap;

use fastrand::Rng;
use serde_json::json;
use tackroom_core::input::{Chunk, Delta, Piece};

use crate::chunks;

/// What each slice has said, as far as the next words depend on it.
#[derive(Debug, Default)]
pub(super) struct Talk {
    slices: BTreeMap<u64, Said>,
}

#[derive(Debug, Default)]
struct Said {
    parts: u32,
    open_text: Option<String>,
    open_calls: Vec<String>,
    asked: Vec<String>,
}

impl Talk {
    /// Whether calls of the slice wait for an answer.
    pub(super) fn asks(&self, slice: u64) -> bool {
        self.slices.get(&slice).is_some_and(|said| !said.asked.is_empty())
    }

    /// The calls of the slice that wait for an answer.
    pub(super) fn calls(&self, slice: u64) -> Vec<String> {
        self.slices.get(&slice).map(|said| said.asked.clone()).unwrap_or_default()
    }

    /// The next few chunks of a slice.
    pub(super) fn next(&mut self, slice: u64, rng: &mut Rng) -> Vec<Chunk> {
        let said = self.slices.entry(slice).or_default();
        let mut out = Vec::new();
        if said.parts == 0 && rng.u8(..) < 200 {
            out.push(chunks::any(json!({"type": "start"})));
            out.push(chunks::any(json!({"type": "start-step"})));
        }
        for _ in 0..rng.usize(1..5) {
            said.say(slice, rng, &mut out);
        }
        out
    }
}

impl Said {
    fn say(&mut self, slice: u64, rng: &mut Rng, out: &mut Vec<Chunk>) {
        self.parts += 1;
        let id = format!("{slice}-{}", self.parts);
        match rng.u8(0..100) {
            0..40 => self.text(&id, rng, out),
            40..48 => out.extend(chunks::reasoning(&id, "Hm.")),
            48..62 => {
                out.extend(chunks::tool_call(&id, "bash", json!({"command": "ls", "n": 1})));
                self.open_calls.push(id);
            }
            62..82 => {
                out.extend(chunks::asked(&id, "write", json!({"path": "a"})));
                self.asked.push(id);
            }
            82..93 => match self.open_calls.pop() {
                Some(call) if rng.bool() => out.push(chunks::output(&call, json!({"ok": true}))),
                Some(call) => out.push(chunks::output_error(&call, "No such file.")),
                None => out.push(chunks::any(json!({"type": "data-note", "data": {"n": 1.50}}))),
            },
            93..96 => out.push(chunks::any(json!({"type": "finish-step"}))),
            96..98 => out.push(chunks::any(json!({"type": "start-step"}))),
            _ => out.push(chunks::any(json!({"type": "message-metadata", "messageMetadata": {"k": slice}}))),
        }
    }

    /// A text part opens, grows by pieces that may cut a character in two, or closes.
    fn text(&mut self, id: &str, rng: &mut Rng, out: &mut Vec<Chunk>) {
        let Some(open) = self.open_text.clone() else {
            out.push(chunks::any(json!({"type": "text-start", "id": id})));
            out.push(chunks::text_delta(id, "Well, "));
            self.open_text = Some(id.to_owned());
            return;
        };
        match rng.u8(0..10) {
            0 => {
                out.push(chunks::any(json!({"type": "text-end", "id": open})));
                self.open_text = None;
            }
            1 => {
                let high = Piece { lead: None, text: "cut ".into(), trail: Some(0xd83d) };
                let low = Piece { lead: Some(0xdc0e), text: " here".into(), trail: None };
                out.push(Chunk::TextDelta(Delta { id: open.clone(), piece: high }));
                if rng.u8(..) < 200 {
                    out.push(Chunk::TextDelta(Delta { id: open, piece: low }));
                }
            }
            _ => out.push(chunks::text_delta(&open, "and so on, \u{e9}t cetera. ")),
        }
    }
}

/// Chunks that no agent should give.
pub(super) fn garbage(rng: &mut Rng) -> Vec<Chunk> {
    let some = [
        Chunk::Json("{".into()),
        Chunk::Json("null".into()),
        Chunk::Json(r#"{"type":"text-delta"}"#.into()),
        Chunk::Json(r#"{"type":"unheard-of","deep":[[[1e400]]]}"#.into()),
        Chunk::Json(r#"{"type":"tool-output-available","toolCallId":"nobody","output":"\ud800"}"#.into()),
        chunks::text_delta("nobody", "text"),
        Chunk::ToolInputDelta(Delta { id: "nobody".into(), piece: chunks::piece("{}") }),
        chunks::any(json!({"type": "tool-approval-request", "approvalId": "a", "toolCallId": "nobody"})),
        chunks::any(json!({"type": "abort"})),
        chunks::any(json!({"type": "error", "errorText": "broken"})),
    ];
    (0..rng.usize(1..4)).map(|_| some[rng.usize(..some.len())].clone()).collect()
}
