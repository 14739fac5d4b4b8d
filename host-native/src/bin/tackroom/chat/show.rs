//! Makes the text of a terminal out of a turn's chunks.

use serde_json::Value;

use crate::client::Event;
use crate::sessions::plain;

/// The most characters of a tool's input or output that are shown.
const SHOWN: usize = 300;

/// What is being shown.
#[derive(Debug, Default)]
pub(super) struct Shower {
    /// Whether the cursor stands behind text.
    midline: bool,
}

impl Shower {
    /// The text of one event.
    pub(super) fn show(&mut self, event: &Event) -> String {
        let Ok(chunk) = serde_json::from_str::<Value>(&event.data) else { return String::new() };
        if event.name == "resync" {
            return self.line("(some of the answer was missed; `tackroom sessions show` has all of it)");
        }
        let field = |name: &str| plain(chunk[name].as_str().unwrap_or_default());
        match chunk["type"].as_str().unwrap_or_default() {
            "text-delta" => self.words(&field("delta")),
            "text-end" | "reasoning-end" | "finish" => self.end(),
            "reasoning-start" => self.line("(thinking)"),
            "tool-input-available" => self.line(&format!("[{}] {}", field("toolName"), brief(&chunk["input"]))),
            "tool-output-available" => self.line(&format!("[done] {}", brief(&chunk["output"]))),
            "tool-output-error" | "error" => self.line(&format!("[error] {}", field("errorText"))),
            "tool-output-denied" => self.line("[denied]"),
            "abort" => self.line("[cut short]"),
            _ => String::new(),
        }
    }

    /// Ends the line that is open.
    pub(super) fn end(&mut self) -> String {
        if std::mem::take(&mut self.midline) { "\n".to_owned() } else { String::new() }
    }

    fn words(&mut self, words: &str) -> String {
        self.midline = !words.ends_with('\n') && (self.midline || !words.is_empty());
        words.to_owned()
    }

    fn line(&mut self, line: &str) -> String {
        format!("{}{line}\n", self.end())
    }
}

/// JSON on one line of bounded length; a command by itself.
pub(super) fn brief(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Object(fields) if fields.len() == 1 && fields.contains_key("command") => {
            value["command"].as_str().map_or_else(|| value.to_string(), str::to_owned)
        }
        other => other.to_string(),
    };
    let text = plain(text.trim()).replace('\n', " | ");
    if text.chars().count() <= SHOWN { text } else { format!("{}...", text.chars().take(SHOWN).collect::<String>()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_become_lines_and_nothing_that_a_terminal_obeys() {
        let mut shower = Shower::default();
        let show = |data: &str| shower.show(&Event { name: String::new(), data: data.to_owned() });
        let text = [
            r#"{"type":"start"}"#,
            r#"{"type":"text-delta","id":"1","delta":"Hel"}"#,
            r#"{"type":"text-delta","id":"1","delta":"lo\u001b[31m"}"#,
            r#"{"type":"tool-input-available","toolCallId":"a","toolName":"bash","input":{"command":"ls\nrm"}}"#,
            r#"{"type":"tool-output-available","toolCallId":"a","output":"x"}"#,
            "[DONE]",
        ]
        .map(show)
        .concat();
        assert_eq!(text, "Hello[31m\n[bash] ls | rm\n[done] x\n");
    }
}
