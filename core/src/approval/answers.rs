//! Reads answers out of what a caller gives, and checks each against what the turn waits for.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::input::{Allow, AnswerBody, AnswerInput, Continue, Deny, ResultBody};
use crate::json::Json;
use crate::limits::Limits;
use crate::record::{PendingInput, PendingKind};
use crate::rejection::Rejection;
use crate::session::notes::Settled;
use crate::session::turn::{Turn, bounds};
use crate::session::writer::same_answer;
use crate::transcript::{Message, ToolState};

/// What a continue brings.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    /// Answers not recorded yet, by the id of what they answer.
    pub(crate) fresh: Vec<(String, AnswerBody)>,
    /// Whether something was answered that is recorded or settled already.
    pub(crate) repeats: bool,
}

/// Reads every answer of a continue, or says what is wrong with the first that is.
pub(crate) fn read(
    turn: Option<&Turn>,
    settled: &[Settled],
    given: &Continue,
    limits: &Limits,
) -> Result<Reading, Problem> {
    let pending = turn.map(|turn| turn.pending.as_slice()).unwrap_or_default();
    let mut answers = given.answers.clone();
    let mut reading = Reading::default();
    if let Some(text) = &given.message {
        let (found, repeats) = from_message(pending, settled, text, limits)?;
        reading.repeats |= repeats;
        answers.extend(found);
    }
    for AnswerInput { id, answer } in answers {
        let known = turn.and_then(|turn| turn.answers.get(&id)).map(|recorded| &recorded.answer);
        let known = known.or_else(|| reading.fresh.iter().find(|(other, _)| *other == id).map(|(_, answer)| answer));
        let waits = pending.iter().find(|pending| pending.approval_id == id || pending.tool_call_id == id);
        match (waits, known) {
            (_, Some(known)) if same_answer(known, &answer) => reading.repeats = true,
            (_, Some(_)) => return Err(Problem::Contradicts(id)),
            (Some(waits), None) => {
                check(waits, &answer, limits)?;
                reading.fresh.push((waits.approval_id.clone(), answer));
            }
            (None, None) => match settled.iter().rev().find(|settled| settled.id == id) {
                Some(settled) if settled.approved == is_yes(&answer) => reading.repeats = true,
                Some(_) => return Err(Problem::Contradicts(id)),
                None => return Err(Problem::Invalid(unknown(&id, pending))),
            },
        }
    }
    Ok(reading)
}

/// What is wrong with an answer.
#[derive(Debug)]
pub(crate) enum Problem {
    /// It contradicts an answer given before: the id.
    Contradicts(String),
    Invalid(Rejection),
}

fn is_yes(answer: &AnswerBody) -> bool {
    !matches!(answer, AnswerBody::Deny(_))
}

fn unknown(id: &str, pending: &[PendingInput]) -> Rejection {
    let waiting: Vec<String> = pending.iter().map(|pending| format!("{:?}", pending.approval_id)).collect();
    let waiting = if waiting.is_empty() { "nothing waits for an answer".into() } else { waiting.join(", ") };
    Rejection::invalid("answers", format!("nothing waits under the id {id:?}; these wait: {waiting}."))
}

fn check(waits: &PendingInput, answer: &AnswerBody, limits: &Limits) -> Result<(), Problem> {
    let invalid = |message: String| Err(Problem::Invalid(Rejection::invalid("answers", message)));
    let most = limits.answer_input_bytes as usize;
    let (text, json) = match answer {
        AnswerBody::Allow(allow) => (allow.reason.as_deref(), allow.edited_input.as_deref()),
        AnswerBody::Deny(deny) => (deny.reason.as_deref(), None),
        AnswerBody::Result(result) => (None, Some(result.output.as_str())),
    };
    let fits = matches!(answer, AnswerBody::Result(_)) == (waits.kind == PendingKind::Result);
    if !fits {
        let wanted = if waits.kind == PendingKind::Result { "a result" } else { "an approval or a denial" };
        return invalid(format!("{:?} waits for {wanted}, not for what was given.", waits.approval_id));
    }
    if text.map_or(0, str::len).max(json.map_or(0, str::len)) > most {
        return invalid(format!("the answer to {:?} is longer than {most} bytes.", waits.approval_id));
    }
    match json.map(Json::parse) {
        Some(Err(error)) => invalid(format!("the answer to {:?} is not JSON: {error}", waits.approval_id)),
        _ => Ok(()),
    }
}

/// Answers in the assistant message that `useChat` sends back. Only its answers are read, by the ids that wait here.
fn from_message(
    pending: &[PendingInput],
    settled: &[Settled],
    text: &str,
    limits: &Limits,
) -> Result<(Vec<AnswerInput>, bool), Problem> {
    let message = Message::from_json_within(text, bounds(limits))
        .map_err(|error| Problem::Invalid(Rejection::invalid("message", error.to_string())))?;
    let mut found: Vec<AnswerInput> = Vec::new();
    let mut repeats = false;
    for part in message.tool_parts() {
        let approval = part.approval();
        let asked = approval.as_ref().map(|approval| approval.id.as_str());
        let waits = pending.iter().find(|pending| match pending.kind {
            PendingKind::Approval => Some(pending.approval_id.as_str()) == asked,
            PendingKind::Result => pending.tool_call_id == part.tool_call_id(),
        });
        let Some(waits) = waits else {
            let id = asked.unwrap_or(part.tool_call_id());
            repeats |= settled.iter().any(|settled| settled.id == id);
            continue;
        };
        let answer = match waits.kind {
            PendingKind::Approval => approval.and_then(|approval| {
                let reason = approval.reason;
                Some(if approval.approved? {
                    AnswerBody::Allow(Allow { reason, edited_input: None })
                } else {
                    AnswerBody::Deny(Deny { reason })
                })
            }),
            PendingKind::Result => result_in(&part),
        };
        found.extend(answer.map(|answer| AnswerInput { id: waits.approval_id.clone(), answer }));
    }
    Ok((found, repeats))
}

fn result_in(part: &crate::transcript::ToolPart<'_>) -> Option<AnswerBody> {
    let (output, is_error) = match part.state() {
        ToolState::OutputAvailable => (part.output()?.as_str().to_string(), false),
        ToolState::OutputError => (Json::string(&part.error_text()?).as_str().to_string(), true),
        _ => return None,
    };
    Some(AnswerBody::Result(ResultBody { output, is_error }))
}
