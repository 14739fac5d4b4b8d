//! What a model was given, in the few words that tests ask about.

use serde_json::Value;

/// What a request was for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A turn of the conversation: it offers tools.
    Main,
    /// Something beside it (a title, a topic, a suggestion): it offers none.
    Side,
    /// A count of tokens.
    Count,
    /// Any other path.
    Other,
}

/// A tool result as the model read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolResult {
    /// The tool call's id.
    pub id: String,
    /// Its text.
    pub text: String,
    /// Whether it is marked as an error.
    pub is_error: bool,
}

/// One request.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    /// What it was for.
    pub kind: Kind,
    /// Method and path.
    pub path: String,
    /// The model asked for.
    pub model: String,
    /// Texts of all user messages, in order.
    pub user_texts: Vec<String>,
    /// All tool results, in order.
    pub tool_results: Vec<ToolResult>,
    /// Text of the last message that is not a system message.
    pub last: String,
    /// The whole body.
    pub body: Value,
}

impl Recorded {
    /// Reads a request's body.
    pub(crate) fn read(path: String, body: Value) -> Self {
        let mut user_texts = Vec::new();
        let mut tool_results = Vec::new();
        let messages = body["messages"].as_array().map_or(&[][..], Vec::as_slice);
        for message in messages.iter().filter(|message| message["role"] == "user") {
            read_user(&message["content"], &mut user_texts, &mut tool_results);
        }
        // Agents put instructions of their own, as system messages, behind what was said last.
        let said = messages.iter().rev().find(|message| message["role"] != "system");
        let last = said.map(|message| text_of(&message["content"])).unwrap_or_default();
        let offers_tools = body["tools"].as_array().is_some_and(|tools| !tools.is_empty());
        let kind = if path.ends_with("/count_tokens") {
            Kind::Count
        } else if !path.ends_with("/v1/messages") {
            Kind::Other
        } else if offers_tools {
            Kind::Main
        } else {
            Kind::Side
        };
        let model = body["model"].as_str().unwrap_or_default().to_owned();
        Self { kind, path, model, user_texts, tool_results, last, body }
    }
}

fn read_user(content: &Value, texts: &mut Vec<String>, results: &mut Vec<ToolResult>) {
    if let Some(text) = content.as_str() {
        texts.push(text.to_owned());
    }
    for part in content.as_array().map_or(&[][..], Vec::as_slice) {
        match part["type"].as_str() {
            Some("text") => texts.push(text_of(&part["text"])),
            Some("tool_result") => results.push(ToolResult {
                id: part["tool_use_id"].as_str().unwrap_or_default().to_owned(),
                text: text_of(&part["content"]),
                is_error: part["is_error"] == true,
            }),
            _ => {}
        }
    }
}

fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(text_of).filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n"),
        Value::Object(part) => part.get("text").or_else(|| part.get("content")).map(text_of).unwrap_or_default(),
        _ => String::new(),
    }
}
