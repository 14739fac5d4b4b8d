//! What the host says to the CLI, one JSON line at a time.

use serde_json::value::RawValue;
use serde_json::{Value, json};

/// The hook's callback id.
const CALLBACK: &str = "tackroom";

/// How long the CLI waits for the hook, in seconds: a day, since the host lets go long before.
const HOOK_TIMEOUT: u32 = 86_400;

/// Opens the conversation and registers the hook before every tool call.
pub(in super::super) fn initialize(request_id: &str) -> String {
    let hook = json!({"matcher": "", "hookCallbackIds": [CALLBACK], "timeout": HOOK_TIMEOUT});
    request(request_id, &json!({"subtype": "initialize", "hooks": {"PreToolUse": [hook]}}))
}

/// Cuts the turn short.
pub(in super::super) fn interrupt(request_id: &str) -> String {
    request(request_id, &json!({"subtype": "interrupt"}))
}

/// Changes the model from the next request on.
pub(in super::super) fn set_model(request_id: &str, model: &str) -> String {
    request(request_id, &json!({"subtype": "set_model", "model": model}))
}

fn request(request_id: &str, request: &Value) -> String {
    json!({"type": "control_request", "request_id": request_id, "request": request}).to_string()
}

/// A prompt. An id that the CLI has seen is ignored by it.
pub(in super::super) fn prompt(id: &str, session: &str, content: &[Value]) -> String {
    json!({
        "type": "user", "uuid": id, "session_id": session, "parent_tool_use_id": null,
        "message": {"role": "user", "content": content},
    })
    .to_string()
}

/// Refuses a request that this host does not know.
pub(in super::super) fn refuse(request_id: &str, subtype: &str) -> String {
    json!({"type": "control_response", "response": {
        "subtype": "error", "request_id": request_id, "error": format!("This host does not know {subtype}."),
    }})
    .to_string()
}

/// What the hook answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum HookAnswer<'a> {
    /// Leaves the decision to the CLI's own rules.
    Pass,
    /// Runs it with this input, JSON text.
    Allow(&'a str),
    /// Makes the CLI ask by `can_use_tool`, whose answer reaches the model without the hook's own words around it.
    Ask,
    /// Keeps it in the session's file and ends the turn.
    Defer,
}

/// Answers a hook.
pub(in super::super) fn hook_answer(request_id: &str, answer: HookAnswer<'_>) -> String {
    let decision = match answer {
        HookAnswer::Pass => return response(request_id, "{}"),
        HookAnswer::Allow(input) => format!(r#""allow","updatedInput":{}"#, object(input)),
        HookAnswer::Ask => r#""ask""#.to_owned(),
        HookAnswer::Defer => r#""defer""#.to_owned(),
    };
    let body = format!(r#"{{"hookSpecificOutput":{{"hookEventName":"PreToolUse","permissionDecision":{decision}}}}}"#);
    response(request_id, &body)
}

/// Keeps a call from running; the model reads the message, in one version after words of the hook's own.
pub(in super::super) fn hook_deny(request_id: &str, message: &str) -> String {
    let body = json!({"hookSpecificOutput": {
        "hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": message,
    }});
    response(request_id, &body.to_string())
}

/// Lets a call run with this input, JSON text. Without an input one version takes it for a denial.
pub(in super::super) fn allow(request_id: &str, input: &str) -> String {
    response(request_id, &format!(r#"{{"behavior":"allow","updatedInput":{}}}"#, object(input)))
}

/// Keeps a call from running; the model reads the message. `interrupt` ends the turn with it.
pub(in super::super) fn deny(request_id: &str, message: &str, interrupt: bool) -> String {
    response(request_id, &json!({"behavior": "deny", "message": message, "interrupt": interrupt}).to_string())
}

fn response(request_id: &str, body: &str) -> String {
    let request_id = Value::from(request_id);
    format!(
        r#"{{"type":"control_response","response":{{"subtype":"success","request_id":{request_id},"response":{body}}}}}"#
    )
}

/// The text itself where it is JSON, on one line; an empty object otherwise, which no tool runs on.
fn object(text: &str) -> String {
    match serde_json::from_str::<&RawValue>(text) {
        // A line break in JSON stands between its parts, never inside a string.
        Ok(raw) => raw.get().replace(['\n', '\r'], " "),
        Err(_) => "{}".to_owned(),
    }
}
