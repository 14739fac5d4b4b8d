//! Conversions between the contract's types and the ports': field by field, so that a change of either does not compile.

use crate::engine::types::{input, session};
use crate::manager::{AnswerInput, PersonsAnswer};
use crate::ports::SessionSettings;

pub(super) fn settings_in(settings: SessionSettings) -> session::Settings {
    let SessionSettings { working_directory, model, permission_mode, mcp_servers } = settings;
    session::Settings { working_directory, model, permission_mode, mcp_servers }
}

pub(super) fn answer_in(answer: AnswerInput) -> input::AnswerInput {
    let AnswerInput { id, answer } = answer;
    let answer = match answer {
        PersonsAnswer::Allow { reason, edited_input } => {
            input::AnswerBody::Allow(input::Allow { reason, edited_input })
        }
        PersonsAnswer::Deny { reason } => input::AnswerBody::Deny(input::Deny { reason }),
        PersonsAnswer::Result { output, is_error } => input::AnswerBody::Result(input::ResultBody { output, is_error }),
    };
    input::AnswerInput { id, answer }
}
