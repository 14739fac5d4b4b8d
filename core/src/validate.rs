//! Checks of what callers give, each with words that say what was wrong, where, and what would be right.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::input::Send;
use crate::json::{Json, Kind};
use crate::limits::Limits;
use crate::record::Settings;
use crate::rejection::Rejection;
use crate::transcript::{Bounds, Message, Role};

/// Longest id, in bytes.
pub(crate) const ID_BYTES: usize = 128;

/// Whether a text can be a session's id: it names directories and rows, so nothing but letters, digits, `_` and `-`.
pub(crate) fn session_id(id: &str) -> Result<(), Rejection> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if !id.is_empty() && id.len() <= ID_BYTES && id.bytes().all(plain) {
        return Ok(());
    }
    let message = format!("a session's id is 1 to {ID_BYTES} letters, digits, \"_\" or \"-\"; this one is not.");
    Err(Rejection::invalid("id", message))
}

/// Ids of turns and messages: any text without control characters, so that clients may choose them.
fn text_id(field: &str, id: &str) -> Result<(), Rejection> {
    if !id.is_empty() && id.len() <= ID_BYTES && !id.chars().any(char::is_control) {
        return Ok(());
    }
    let message =
        format!("an id has 1 to {ID_BYTES} bytes and no control characters; this one has {} bytes.", id.len());
    Err(Rejection::invalid(field, message))
}

fn object(field: &str, text: &str, most: u32) -> Result<(), Rejection> {
    if text.len() > most as usize {
        return Err(Rejection::invalid(field, format!("it has {} bytes; at most {most} are kept.", text.len())));
    }
    let json = Json::parse(text).map_err(|error| Rejection::invalid(field, format!("it is not JSON: {error}")))?;
    if json.kind() == Kind::Object { Ok(()) } else { Err(Rejection::invalid(field, "it has to be a JSON object.")) }
}

pub(crate) fn metadata(text: &str, limits: &Limits) -> Result<(), Rejection> {
    object("metadata", text, limits.metadata_bytes)
}

pub(crate) fn settings(settings: &Settings, limits: &Limits) -> Result<(), Rejection> {
    let plain = [
        ("workingDirectory", &settings.working_directory),
        ("model", &settings.model),
        ("permissionMode", &settings.permission_mode),
    ];
    for (field, value) in plain {
        let Some(value) = value else { continue };
        if value.is_empty() || value.len() > limits.setting_bytes as usize || value.chars().any(char::is_control) {
            let message = format!("it has 1 to {} bytes and no control characters.", limits.setting_bytes);
            return Err(Rejection::invalid(field, message));
        }
    }
    match &settings.mcp_servers {
        Some(servers) => object("mcpServers", servers, limits.setting_bytes),
        None => Ok(()),
    }
}

/// A user message as it is kept and as the agent gets it.
#[derive(Debug)]
pub(crate) struct UserMessage {
    pub(crate) json: String,
    pub(crate) text: String,
    pub(crate) files: Vec<String>,
}

/// Reads the message of a send.
pub(crate) fn user_message(send: &Send, limits: &Limits) -> Result<UserMessage, Rejection> {
    text_id("turn", &send.turn)?;
    text_id("assistantMessage", &send.assistant_message)?;
    text_id("message.id", &send.user_message)?;
    let longest = send.message.len().max(send.prompt.as_ref().map_or(0, String::len));
    if longest > limits.message_bytes as usize {
        let most = limits.message_bytes;
        return Err(Rejection::invalid("message", format!("it has {longest} bytes; at most {most} are taken.")));
    }
    if let Some(key) = &send.idempotency_key
        && (key.is_empty() || key.len() > limits.key_bytes as usize)
    {
        let message = format!("it has 1 to {} bytes.", limits.key_bytes);
        return Err(Rejection::invalid("idempotencyKey", message));
    }
    let message = if send.message_is_text { of_text(send) } else { of_json(send, limits)? };
    let empty = message.text.trim().is_empty() && message.files.is_empty();
    if empty && send.prompt.as_ref().is_none_or(|prompt| prompt.trim().is_empty()) {
        return Err(Rejection::invalid("message", "it has neither text nor a file."));
    }
    Ok(message)
}

fn of_text(send: &Send) -> UserMessage {
    let (kind, text) = (Json::string("text"), Json::string(&send.message));
    let part = Json::object([("type", &kind), ("text", &text)]);
    let json = kept(&send.user_message, None, &format!("[{}]", part.as_str()));
    UserMessage { json, text: send.message.clone(), files: Vec::new() }
}

fn kept(id: &str, metadata: Option<&Json>, parts: &str) -> String {
    let metadata = metadata.map(|metadata| format!("\"metadata\":{},", metadata.as_str())).unwrap_or_default();
    format!("{{\"id\":{},{metadata}\"role\":\"user\",\"parts\":{parts}}}", Json::string(id).as_str())
}

fn of_json(send: &Send, limits: &Limits) -> Result<UserMessage, Rejection> {
    let invalid = |message: String| Rejection::invalid("message", message);
    let json = Json::parse(&send.message).map_err(|error| invalid(format!("it is not JSON: {error}")))?;
    let parts = json.field("parts").ok_or_else(|| invalid("it has no \"parts\".".into()))?;
    let role = json.field("role").and_then(|role| role.as_string());
    if role.as_deref() != Some("user") {
        return Err(invalid(format!("its role has to be \"user\", not {:?}.", role.unwrap_or_default())));
    }
    let metadata = json.field("metadata");
    let text = kept(&send.user_message, metadata.as_ref(), &parts.canonical());
    let (text_of, files) = read_user_message(&text, limits).map_err(invalid)?;
    Ok(UserMessage { json: text, text: text_of, files })
}

/// The text and the file parts of a kept user message.
pub(crate) fn read_user_message(json: &str, limits: &Limits) -> Result<(String, Vec<String>), String> {
    let bounds = Bounds {
        max_message_bytes: (limits.message_bytes as usize).saturating_add(4_096),
        max_parts: limits.message_parts as usize,
        ..Bounds::default()
    };
    let message = Message::from_json_within(json, bounds).map_err(|error| error.to_string())?;
    if message.role() != Role::User {
        return Err("it is not a user's message.".into());
    }
    let parts = Json::parse(json).ok().and_then(|json| json.field("parts")).and_then(|parts| parts.items());
    let is_file = |part: &Json| part.field("type").and_then(|kind| kind.as_string()).as_deref() == Some("file");
    let files =
        parts.unwrap_or_default().iter().filter(|part| is_file(part)).map(|part| part.as_str().into()).collect();
    Ok((message.text(), files))
}
