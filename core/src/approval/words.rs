//! Answers in words, for an agent that came back without its paused turn.

use alloc::format;
use alloc::string::String;
use core::fmt::Write;

use crate::effect::Answer;
use crate::input::AnswerBody;

/// Longest input repeated in words, in bytes: the agent knows what it asked for.
const INPUT_BYTES: usize = 2_000;

fn shortened(text: &str) -> &str {
    if text.len() <= INPUT_BYTES {
        return text;
    }
    let end = (0..=INPUT_BYTES).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    &text[..end]
}

/// One message that tells the agent every answer.
pub(crate) fn words(answers: &[Answer]) -> String {
    let mut text = String::from("You were stopped while tool calls of yours waited for an answer. The answers are:\n");
    for answer in answers {
        let said = said(&answer.answer);
        // Writing to a string cannot fail.
        let _ = write!(text, "\n- {} with the input {}{said}", answer.tool_name, shortened(&answer.input));
    }
    text.push_str("\n\nThen go on with what you were doing.");
    text
}

fn said(answer: &AnswerBody) -> String {
    match answer {
        AnswerBody::Allow(allow) => match &allow.edited_input {
            None => String::from(": allowed. Make this call again now."),
            Some(input) => format!(": allowed with another input. Make the call now with {}.", shortened(input)),
        },
        AnswerBody::Deny(deny) => match &deny.reason {
            None => String::from(": denied. Do not make this call."),
            Some(reason) => format!(": denied. Do not make this call. The reason: {reason}"),
        },
        AnswerBody::Result(result) if result.is_error => format!(": failed with {}", result.output),
        AnswerBody::Result(result) => format!(": the result is {}", result.output),
    }
}
