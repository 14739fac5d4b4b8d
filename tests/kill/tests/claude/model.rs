//! What the model says. All sessions of a server reach it under one name, so that each reply says what it answers.

use std::path::Path;

use serde_json::json;
use tackroom_model_server::{Reply, Script, Step};

/// How often a call can be asked for again.
const CALLS: usize = 4;

/// The call that appends a line to `file`, as the model makes it for a session.
fn gated(session: &str, number: usize, file: &Path) -> Step {
    // The output holds the session's mark, the command does not: the model can tell one from the other.
    let command = format!("echo ran >> '{}'; printf '[%s %s]' ran {session}", file.display());
    Step::tool(&format!("call-{session}-{number}"), "Bash", json!({ "command": command, "description": "adds a line" }))
}

/// The replies for sessions whose gated call adds a line to a file.
pub(crate) fn script<'a>(sessions: impl IntoIterator<Item = (&'a str, &'a Path)>) -> Script {
    // The first, because an agent may put a message together with an earlier one that was never answered.
    let mut replies = vec![Reply::text("Good.").when_last("[text]").repeated()];
    for (session, file) in sessions {
        replies.push(Reply::text("The line is there.").when_last(&format!("[ran {session}]")).repeated());
        replies.push(Reply::new([gated(session, 0, file)]).when_last(&format!("[gated {session}]")));
        // Told in words, it makes its call again.
        for number in 1..CALLS {
            replies.push(Reply::new([gated(session, number, file)]).when_last(&format!("ran {session}")));
        }
    }
    let slow = Step::Text { text: "One word after the other. ".repeat(40), chunk: 10, delay_ms: 100 };
    replies.push(Reply::new([slow]).when_last("[slow]").repeated());
    replies.push(Reply::text("Good.").repeated());
    Script::new(replies)
}

/// The message that leads to a session's gated call.
pub(crate) fn gate(session: &str) -> String {
    format!("[gated {session}] Add the line, please.")
}
