//! What is written to files of inputs holds no secret; a report of a breakdown does not hold what was said, either.

use serde_json::{Value, json};

use crate::engine::types::session::{Settings, StoredSession};
use crate::engine::types::{Chunk, CommandBody, Input, Outcome, input};

/// Stands where a secret was.
const SECRET: &str = "secret";

fn hide(secret: &mut Option<String>) {
    if let Some(secret) = secret {
        SECRET.clone_into(secret);
    }
}

/// Servers' definitions hold tokens.
fn hide_settings(settings: &mut Settings) {
    if let Some(servers) = &mut settings.mcp_servers {
        "{}".clone_into(servers);
    }
}

fn hide_stored(stored: &mut StoredSession) {
    hide(&mut stored.resume);
    hide_settings(&mut stored.summary.settings);
}

/// The input without secrets: resume states and the definitions of MCP servers.
pub(super) fn without_secrets(input: &Input) -> Input {
    let mut input = input.clone();
    match &mut input {
        Input::Command(command) => match &mut command.body {
            CommandBody::Create(create) => hide_settings(&mut create.settings),
            CommandBody::Update(update) => {
                if let Some(settings) = &mut update.settings {
                    hide_settings(settings);
                }
            }
            _ => {}
        },
        Input::Completed(completed) => match &mut completed.outcome {
            Outcome::Loaded(Some(stored)) => hide_stored(stored),
            Outcome::Claimed(page) => page.sessions.iter_mut().for_each(hide_stored),
            Outcome::Started(resume) | Outcome::Stopped(resume) => hide(resume),
            Outcome::SliceEnded(end) => hide(&mut end.resume),
            _ => {}
        },
        Input::Notice(notice) => {
            if let input::NoticeBody::Checkpoint(resume) = &mut notice.body {
                SECRET.clone_into(resume);
            }
        }
        Input::Start | Input::Tick | Input::Shutdown => {}
    }
    input
}

/// The input for a report: without secrets, and every text longer than an id replaced by its length.
pub(super) fn report(input: &Input) -> Value {
    let mut value = serde_json::to_value(without_secrets(input)).unwrap_or(Value::Null);
    shorten(&mut value);
    value
}

/// A batch of chunks for a report.
pub(super) fn push_report(session: &str, turn: &str, cursor: u64, chunks: &[Chunk]) -> Value {
    let mut chunks = serde_json::to_value(chunks).unwrap_or(Value::Null);
    shorten(&mut chunks);
    json!({ "push": { "session": session, "turn": turn, "cursor": cursor, "chunks": chunks } })
}

fn shorten(value: &mut Value) {
    match value {
        Value::String(text) if !is_name(text) => *text = format!("<{} bytes>", text.len()),
        Value::Array(items) => items.iter_mut().for_each(shorten),
        Value::Object(fields) => fields.values_mut().for_each(shorten),
        _ => {}
    }
}

/// Ids and names are of a few plain characters; what people and agents say is not.
fn is_name(text: &str) -> bool {
    text.len() <= 64 && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_holds_neither_resume_states_nor_what_was_said() {
        let outcome = Outcome::Started(Some("the-key".to_owned()));
        let input = Input::Completed(input::Completed { effect: 7, outcome });
        assert!(!report(&input).to_string().contains("the-key"));
        let send = input::Send {
            turn: "t-1".to_owned(),
            assistant_message: "a-1".to_owned(),
            user_message: "u-1".to_owned(),
            message: "My name is Ada.".to_owned(),
            message_is_text: true,
            prompt: None,
            model: None,
            idempotency_key: None,
            when_busy: input::WhenBusy::Reject,
        };
        let body = CommandBody::Send(send);
        let text = report(&Input::Command(input::Command { id: 1, session: "s-1".to_owned(), body })).to_string();
        assert!(!text.contains("Ada") && text.contains("<15 bytes>") && text.contains("t-1"), "{text}");
    }
}
