//! Conversions of what goes to agents and comes back from them.

use std::fmt::Write as _;
use std::sync::Arc;

use super::{convert, ids};
use crate::engine::types::{Chunk as EngineChunk, Piece as EnginePiece, effect, input, transcript};
use crate::ports::{
    AgentError, AgentNotice, Answer, AnswerBody, Answers, Chunk, Piece, Prompt, SandboxError, SliceEnd, SliceOutcome,
    StoreError,
};

pub(super) fn prompt_out(start: effect::StartTurn) -> Prompt {
    let effect::StartTurn { agent: _, turn, prompt_id, text, files, model } = start;
    Prompt { turn, id: ids::uuid_of(&prompt_id), text, files, model }
}

pub(super) fn answers_out(answers: effect::ContinueTurn) -> Answers {
    let effect::ContinueTurn { agent: _, turn, delivery_id, answers, words } = answers;
    let answers = answers.into_iter().map(answer_out).collect();
    Answers { turn, id: ids::uuid_of(&delivery_id), answers, words }
}

fn answer_out(answer: effect::Answer) -> Answer {
    let effect::Answer { approval_id, tool_call_id, tool_name, input, answer } = answer;
    let body = match answer {
        // A reason for a yes is for the record alone.
        input::AnswerBody::Allow(input::Allow { reason: _, edited_input }) => AnswerBody::Allow { edited_input },
        input::AnswerBody::Deny(input::Deny { reason }) => AnswerBody::Deny { reason },
        input::AnswerBody::Result(input::ResultBody { output, is_error }) => AnswerBody::Result { output, is_error },
    };
    Answer { approval_id, tool_call_id, tool_name, input, body }
}

pub(super) fn slice_end_in(end: SliceEnd) -> input::SliceEnd {
    let SliceEnd { outcome, usage, resume, not_taken } = end;
    let outcome = match outcome {
        SliceOutcome::Finished => input::SliceOutcome::Finished,
        SliceOutcome::Paused => input::SliceOutcome::Paused,
        SliceOutcome::Failed { message, alive } => input::SliceOutcome::Failed(input::SliceFailure { message, alive }),
        SliceOutcome::Interrupted => input::SliceOutcome::Interrupted,
    };
    input::SliceEnd { outcome, usage: convert::usage_in(usage), resume: resume.map(convert::resume_in), not_taken }
}

pub(super) fn notice_in(notice: AgentNotice) -> input::NoticeBody {
    match notice {
        AgentNotice::Checkpoint(resume) => input::NoticeBody::Checkpoint(convert::resume_in(resume)),
        AgentNotice::Exited { message } => input::NoticeBody::Exited(message),
    }
}

fn piece_in(piece: Piece) -> EnginePiece {
    let Piece { lead, text, trail } = piece;
    EnginePiece { lead, text, trail }
}

pub(super) fn chunk_in(chunk: Chunk) -> EngineChunk {
    let delta = |id, piece| transcript::Delta { id, piece: piece_in(piece) };
    match chunk {
        Chunk::TextDelta { id, delta: piece } => EngineChunk::TextDelta(delta(id, piece)),
        Chunk::ReasoningDelta { id, delta: piece } => EngineChunk::ReasoningDelta(delta(id, piece)),
        Chunk::ToolInputDelta { tool_call_id, delta: piece } => EngineChunk::ToolInputDelta(delta(tool_call_id, piece)),
        Chunk::Json(json) => EngineChunk::Json(json),
    }
}

/// A chunk as it is forwarded: JSON text.
pub(super) fn chunk_json(chunk: EngineChunk) -> Arc<str> {
    let (kind, id_field, delta_field, delta) = match chunk {
        EngineChunk::TextDelta(delta) => ("text-delta", "id", "delta", delta),
        EngineChunk::ReasoningDelta(delta) => ("reasoning-delta", "id", "delta", delta),
        EngineChunk::ToolInputDelta(delta) => ("tool-input-delta", "toolCallId", "inputTextDelta", delta),
        EngineChunk::Json(json) => return json.into(),
    };
    let transcript::Delta { id, piece } = delta;
    let mut json = String::with_capacity(64 + id.len() + piece.text.len());
    json.push_str("{\"type\":\"");
    json.push_str(kind);
    json.push_str("\",\"");
    json.push_str(id_field);
    json.push_str("\":");
    push_quoted(&mut json, None, &id, None);
    json.push_str(",\"");
    json.push_str(delta_field);
    json.push_str("\":");
    push_quoted(&mut json, piece.lead, &piece.text, piece.trail);
    json.push('}');
    json.into()
}

/// A JSON string; a half of a surrogate pair at either end is written as its escape.
fn push_quoted(json: &mut String, lead: Option<u16>, text: &str, trail: Option<u16>) {
    let half = |json: &mut String, half: Option<u16>| {
        if let Some(half) = half {
            // Writing into a string cannot fail.
            let _ = write!(json, "\\u{half:04x}");
        }
    };
    json.push('"');
    half(json, lead);
    let mut plain = 0;
    for (at, byte) in text.bytes().enumerate() {
        let escape = match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            b'\n' => "\\n",
            b'\r' => "\\r",
            b'\t' => "\\t",
            0..=0x1f => "",
            _ => continue,
        };
        json.push_str(&text[plain..at]);
        plain = at + 1;
        if escape.is_empty() {
            let _ = write!(json, "\\u{byte:04x}");
        } else {
            json.push_str(escape);
        }
    }
    json.push_str(&text[plain..]);
    half(json, trail);
    json.push('"');
}

fn failure(kind: input::FailureKind, message: impl Into<String>) -> input::Failure {
    input::Failure { kind, message: message.into() }
}

/// The failure of an adapter that broke down.
pub(super) fn broke_down(what: &str, panic: &str) -> input::Failure {
    failure(input::FailureKind::Other, format!("The {what} broke down: {panic}"))
}

pub(super) fn store_failure(error: &StoreError) -> input::Failure {
    use input::FailureKind as Kind;
    let kind = match error {
        StoreError::Exists(_) => Kind::Exists,
        StoreError::Stale { .. } => Kind::Stale,
        StoreError::Fenced { .. } => Kind::Fenced,
        StoreError::Held { .. } => Kind::Held,
        StoreError::Unavailable(_) => Kind::Unavailable,
        StoreError::Broken(_) => Kind::Broken,
        StoreError::Invalid(_) => Kind::Other,
    };
    failure(kind, error.to_string())
}

pub(super) fn sandbox_failure(error: &SandboxError) -> input::Failure {
    use input::FailureKind as Kind;
    let kind = match error {
        SandboxError::Capacity(_) => Kind::Capacity,
        SandboxError::Gone(_) => Kind::Gone,
        _ => Kind::Other,
    };
    failure(kind, error.to_string())
}

pub(super) fn agent_failure(error: &AgentError) -> input::Failure {
    failure(input::FailureKind::Other, error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delta_is_forwarded_as_json_with_what_needs_escapes() {
        let piece = Piece { lead: Some(0xdc00), text: "a\"\\\n\u{1}é".to_owned(), trail: Some(0xd83d) };
        let chunk = chunk_in(Chunk::ToolInputDelta { tool_call_id: "c\"1".to_owned(), delta: piece });
        let json = chunk_json(chunk);
        assert_eq!(
            &*json,
            r#"{"type":"tool-input-delta","toolCallId":"c\"1","inputTextDelta":"\udc00a\"\\\n\u0001é\ud83d"}"#
        );
    }

    #[test]
    fn text_between_comes_back_as_it_was() {
        let all: String = (0..0x250u32).filter_map(char::from_u32).collect();
        let json = chunk_json(chunk_in(Chunk::TextDelta { id: "t".to_owned(), delta: all.as_str().into() }));
        let read: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(read["delta"], all.as_str());
    }
}
