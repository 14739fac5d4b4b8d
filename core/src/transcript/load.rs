//! Reading a whole message, from a store or from a client: bounded, and by the package's own schema as far as single
//! fields go. What is wrong only together (an output beside a denial) is read all the same; [`super::settle`] mends it.

use alloc::format;
use alloc::string::String;

use super::error::MessageError;
use super::fields::{Fields, Part, PartKind, Value};
use super::message::{Bounds, Head, Message, Role};
use super::reader::{is_bool, is_object, is_provider_metadata, is_string};
use super::tool::ToolState;
use crate::json::{Json, MAX_DEPTH, decode, fields_of, is_array, items_of};

/// What folding may add to the depth of a chunk when its values come to stand in a message.
const DEPTH_IN_MESSAGE: usize = 4;

type Check = (&'static str, bool, fn(&str) -> bool, &'static str);

const STRING: &str = "a string";
const METADATA: Check = ("providerMetadata", false, is_provider_metadata, "an object of objects");
const TEXT: &[Check] = &[("text", true, is_string, STRING), METADATA];
const REASONING: &[Check] = &[("text", true, is_string, STRING), ("id", false, is_string, STRING), METADATA];
const CUSTOM: &[Check] = &[("kind", true, is_string, STRING), METADATA];
const SOURCE_URL: &[Check] = &[
    ("sourceId", true, is_string, STRING),
    ("url", true, is_string, STRING),
    ("title", false, is_string, STRING),
    METADATA,
];
const SOURCE_DOCUMENT: &[Check] = &[
    ("sourceId", true, is_string, STRING),
    ("mediaType", true, is_string, STRING),
    ("title", true, is_string, STRING),
    ("filename", false, is_string, STRING),
    METADATA,
];
const FILE: &[Check] = &[
    ("mediaType", true, is_string, STRING),
    ("url", true, is_string, STRING),
    ("filename", false, is_string, STRING),
    ("providerReference", false, is_object_of_strings, "an object of strings"),
    METADATA,
];
const REASONING_FILE: &[Check] = &[("mediaType", true, is_string, STRING), ("url", true, is_string, STRING), METADATA];
const DATA: &[Check] = &[("id", false, is_string, STRING), ("data", true, |_| true, "given")];
const TOOL: &[Check] = &[
    ("toolCallId", true, is_string, STRING),
    ("state", true, is_string, STRING),
    ("title", false, is_string, STRING),
    ("toolMetadata", false, is_object, "an object"),
    ("providerExecuted", false, is_bool, "true or false"),
    ("preliminary", false, is_bool, "true or false"),
    ("errorText", false, is_string, STRING),
    ("callProviderMetadata", false, is_provider_metadata, "an object of objects"),
    ("resultProviderMetadata", false, is_provider_metadata, "an object of objects"),
    ("approval", false, is_object, "an object"),
];
const APPROVAL: &[Check] = &[
    ("id", true, is_string, STRING),
    ("approved", false, is_bool, "true or false"),
    ("requestReason", false, is_string, STRING),
    ("reason", false, is_string, STRING),
    ("isAutomatic", false, is_bool, "true or false"),
    ("signature", false, is_string, STRING),
];

fn is_object_of_strings(raw: &str) -> bool {
    fields_of(raw).is_some_and(|fields| fields.iter().all(|(_, value)| is_string(value)))
}

fn wrong<T>(place: impl Into<String>, what: &'static str) -> Result<T, MessageError> {
    Err(MessageError::Wrong(place.into(), what))
}

fn check(place: &str, fields: &[(String, &str)], checks: &[Check]) -> Result<(), MessageError> {
    for (name, required, fits, what) in checks {
        match fields.iter().find(|(key, _)| key == name) {
            Some((_, raw)) if !fits(raw) => return wrong(format!("{place}.{name}"), what),
            None if *required => return wrong(format!("{place}.{name}"), what),
            _ => {}
        }
    }
    Ok(())
}

impl Message {
    /// Reads a message within the default [`Bounds`].
    ///
    /// # Errors
    /// As [`Message::from_json_within`].
    pub fn from_json(text: &str) -> Result<Self, MessageError> {
        Self::from_json_within(text, Bounds::default())
    }

    /// Reads a message. Fields that the package does not know are kept.
    ///
    /// # Errors
    /// When the text is too long, has too many parts, is not JSON or nested too deeply, or when a field is missing or of
    /// the wrong kind: the error names the place.
    pub fn from_json_within(text: &str, bounds: Bounds) -> Result<Self, MessageError> {
        if text.len() > bounds.max_message_bytes {
            return Err(MessageError::TooLong(text.len(), bounds.max_message_bytes));
        }
        let depth = bounds.max_json_depth.min(MAX_DEPTH) + DEPTH_IN_MESSAGE;
        let json = Json::parse_within(text, depth).map_err(MessageError::NotJson)?;
        let Some(fields) = fields_of(json.as_str()) else { return wrong("the whole", "an object") };
        let mut message = Self::new_within("", bounds);
        message.head.clear();
        for (name, raw) in &fields {
            let head = match &**name {
                "id" if is_string(raw) => {
                    message.id = decode(raw);
                    Head::Id
                }
                "id" => return wrong("id", STRING),
                "role" => {
                    let role = is_string(raw).then(|| Role::of(&decode(raw))).flatten();
                    let Some(role) = role else { return wrong("role", "system, user or assistant") };
                    message.role = role;
                    Head::Role
                }
                "metadata" => {
                    message.metadata = Some(Json::trusted(raw).compact());
                    Head::Metadata
                }
                "parts" => {
                    message.load_parts(raw)?;
                    Head::Parts
                }
                _ => Head::Other(name.clone(), Json::trusted(raw).compact()),
            };
            message.head.push(head);
        }
        for (head, name, what) in
            [(Head::Id, "id", STRING), (Head::Role, "role", STRING), (Head::Parts, "parts", "an array")]
        {
            if !message.head.contains(&head) {
                return wrong(name, what);
            }
        }
        message.count_bytes();
        Ok(message)
    }

    fn load_parts(&mut self, raw: &str) -> Result<(), MessageError> {
        if !is_array(raw) {
            return wrong("parts", "an array");
        }
        let count = items_of(raw).count();
        if count > self.bounds.max_parts {
            return Err(MessageError::TooManyParts(count, self.bounds.max_parts));
        }
        for (at, raw) in items_of(raw).enumerate() {
            let part = load_part(&format!("parts[{at}]"), raw)?;
            self.push(part);
        }
        Ok(())
    }
}

fn load_part(place: &str, raw: &str) -> Result<Part, MessageError> {
    let Some(fields) = fields_of(raw) else { return wrong(place, "an object") };
    check(place, &fields, &[("type", true, is_string, STRING)])?;
    let name = fields.iter().find(|(key, _)| key == "type").map(|(_, raw)| decode(raw)).unwrap_or_default();
    let kind = PartKind::of(&name);
    let checks = match &*name {
        "text" => TEXT,
        "reasoning" => REASONING,
        "custom" => CUSTOM,
        "source-url" => SOURCE_URL,
        "source-document" => SOURCE_DOCUMENT,
        "file" => FILE,
        "reasoning-file" => REASONING_FILE,
        "step-start" => &[],
        _ if kind.is_tool() => TOOL,
        _ if kind == PartKind::Data => DATA,
        _ => return wrong(format!("{place}.type"), "a type of part that is known"),
    };
    check(place, &fields, checks)?;
    if kind == PartKind::DynamicTool {
        check(place, &fields, &[("toolName", true, is_string, STRING)])?;
    }
    let mut part = Part { kind, fields: Fields::default() };
    for (name, raw) in &fields {
        let decoded = match &**name {
            "type" => true,
            "text" | "state" => {
                matches!(kind, PartKind::Text | PartKind::Reasoning) || kind.is_tool() && name == "state"
            }
            "toolCallId" => kind.is_tool(),
            "toolName" => kind == PartKind::DynamicTool,
            _ => false,
        };
        let value = if decoded && is_string(raw) {
            Value::text(decode(raw))
        } else {
            Value::Json(Json::trusted(raw).compact())
        };
        part.fields.set(name.clone(), value);
    }
    check_state(place, &part)?;
    Ok(part)
}

fn check_state(place: &str, part: &Part) -> Result<(), MessageError> {
    match part.kind {
        PartKind::Text | PartKind::Reasoning => match part.fields.get("state") {
            None => Ok(()),
            Some(_) if matches!(part.state(), "streaming" | "done") => Ok(()),
            Some(_) => wrong(format!("{place}.state"), "streaming or done"),
        },
        PartKind::StaticTool | PartKind::DynamicTool => {
            let Some(state) = ToolState::of(part.state()) else {
                return wrong(format!("{place}.state"), "a state of a tool call");
            };
            let approval = part.fields.json("approval").and_then(|approval| fields_of(approval.as_str()));
            let place = format!("{place}.approval");
            match approval {
                Some(fields) => {
                    check(&place, &fields, APPROVAL)?;
                    let answered = fields.iter().any(|(name, _)| name == "approved");
                    if state == ToolState::ApprovalResponded && !answered {
                        return wrong(format!("{place}.approved"), "true or false");
                    }
                    Ok(())
                }
                None if matches!(state, ToolState::ApprovalRequested | ToolState::ApprovalResponded) => {
                    wrong(place, "an object")
                }
                None => Ok(()),
            }
        }
        _ => Ok(()),
    }
}
