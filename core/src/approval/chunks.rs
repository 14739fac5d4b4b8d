//! The chunks that the engine itself adds to a stream.

use alloc::string::String;
use alloc::vec::Vec;

use crate::effect::Answer;
use crate::input::AnswerBody;
use crate::json::Json;

fn chunk(kind: &str, fields: &[(&str, &Json)]) -> String {
    let kind = Json::string(kind);
    let mut all = Vec::from([("type", &kind)]);
    all.extend_from_slice(fields);
    Json::object(all).as_str().into()
}

/// The start of a turn, with the id under which its message is kept.
pub(crate) fn start(message_id: &str) -> String {
    chunk("start", &[("messageId", &Json::string(message_id))])
}

/// The end of a turn that was cut short.
pub(crate) fn abort(reason: &str) -> String {
    chunk("abort", &[("reason", &Json::string(reason))])
}

/// The end of a turn that failed.
pub(crate) fn error(message: &str) -> String {
    chunk("error", &[("errorText", &Json::string(message))])
}

/// How an answer shows in the stream, before the agent acts on it.
pub(crate) fn answered(answer: &Answer) -> String {
    let approval = Json::string(&answer.approval_id);
    let response = |approved: bool, reason: Option<&String>| {
        let approved = Json::boolean(approved);
        let reason = reason.map(|reason| Json::string(reason));
        let mut fields = Vec::from([("approvalId", &approval), ("approved", &approved)]);
        fields.extend(reason.as_ref().map(|reason| ("reason", reason)));
        chunk("tool-approval-response", &fields)
    };
    match &answer.answer {
        AnswerBody::Allow(allow) => response(true, allow.reason.as_ref()),
        AnswerBody::Deny(deny) => response(false, deny.reason.as_ref()),
        AnswerBody::Result(result) => {
            let call = Json::string(&answer.tool_call_id);
            let output = Json::parse(&result.output).unwrap_or_else(|_| Json::string(&result.output));
            if result.is_error {
                let text = output.as_string().unwrap_or_else(|| output.as_str().into());
                chunk("tool-output-error", &[("toolCallId", &call), ("errorText", &Json::string(&text))])
            } else {
                chunk("tool-output-available", &[("toolCallId", &call), ("output", &output)])
            }
        }
    }
}
