//! The fields of a message part, in the order in which JavaScript would keep them. A field that was set to `undefined`
//! keeps its place for a later value and is not written, as `JSON.stringify` does it.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

use super::partial_json;
use super::piece::Growing;
use crate::json::{Json, ObjectWriter, write_string};

/// What a field holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    /// Set to nothing: the place is kept.
    Undefined,
    /// A JSON text without white space.
    Json(Json),
    /// A string, decoded.
    Text(Growing),
    /// The input of a tool call so far: the first `len` bytes of a stream of JSON text, repaired when read.
    Partial { stream: usize, len: usize },
}

impl Value {
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::Text(Growing::new(text.into()))
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Undefined | Self::Partial { .. } => 0,
            Self::Json(json) => json.bytes(),
            Self::Text(text) => text.bytes() + 2,
        }
    }

    /// The value as JSON; `None` for nothing, and for a partial input that no repair makes readable.
    pub(crate) fn to_json(&self, streams: &[Growing]) -> Option<Json> {
        match self {
            Self::Undefined => None,
            Self::Json(json) => Some(json.clone()),
            Self::Text(text) => {
                let mut out = String::with_capacity(text.bytes() + 2);
                text.write(&mut out);
                Some(Json::trusted(&out))
            }
            Self::Partial { stream, len } => {
                let text = partial_text(streams, *stream, *len);
                if !ends_in_half(streams, *stream, *len) {
                    return partial_json::repair(text);
                }
                let mut text = String::from(text);
                text.push(char::REPLACEMENT_CHARACTER);
                partial_json::repair(&text)
            }
        }
    }
}

/// The text that a partial value stands for.
pub(crate) fn partial_text(streams: &[Growing], stream: usize, len: usize) -> &str {
    streams.get(stream).and_then(|text| text.text().get(..len)).unwrap_or_default()
}

/// Whether half of a character stands at the end of that text: to the package it is a character like any other.
fn ends_in_half(streams: &[Growing], stream: usize, len: usize) -> bool {
    streams.get(stream).is_some_and(|text| text.high().is_some() && text.text().len() == len)
}

impl From<Json> for Value {
    fn from(json: Json) -> Self {
        Self::Json(json)
    }
}

impl From<Option<Json>> for Value {
    fn from(json: Option<Json>) -> Self {
        json.map_or(Self::Undefined, Self::Json)
    }
}

/// The fields of a part, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fields(Vec<(Cow<'static, str>, Value)>);

impl Fields {
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(name, value)| (&**name, value))
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Value> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    pub(crate) fn get_mut(&mut self, name: &str) -> Option<&mut Value> {
        self.0.iter_mut().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// Whether the field has a value.
    pub(crate) fn has(&self, name: &str) -> bool {
        !matches!(self.get(name), None | Some(Value::Undefined))
    }

    pub(crate) fn json(&self, name: &str) -> Option<&Json> {
        match self.get(name) {
            Some(Value::Json(json)) => Some(json),
            _ => None,
        }
    }

    /// The text of a field that is a decoded string, without a half held back.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        match self.get(name) {
            Some(Value::Text(text)) => Some(text.text()),
            _ => None,
        }
    }

    /// Sets a field, at its place or at the end.
    pub(crate) fn set(&mut self, name: impl Into<Cow<'static, str>>, value: impl Into<Value>) {
        let name = name.into();
        match self.get_mut(&name) {
            Some(slot) => *slot = value.into(),
            None => self.0.push((name, value.into())),
        }
    }

    /// Sets a field if there is something to set.
    pub(crate) fn set_some(&mut self, name: &'static str, value: Option<&Json>) {
        if let Some(json) = value {
            self.set(name, json.clone());
        }
    }

    /// What the fields count for: names and values, with their quotes and separators.
    pub(crate) fn bytes(&self) -> usize {
        let set = self.0.iter().filter(|(_, value)| *value != Value::Undefined);
        2 + set.map(|(name, value)| name.len() + 4 + value.bytes()).sum::<usize>()
    }

    pub(crate) fn write(&self, out: String, streams: &[Growing]) -> String {
        let mut writer = ObjectWriter::new(out);
        for (name, value) in self.iter() {
            match value {
                Value::Undefined => {}
                Value::Json(json) => writer.field(name).push_str(json.as_str()),
                Value::Text(text) => text.write(writer.field(name)),
                Value::Partial { .. } => {
                    if let Some(json) = value.to_json(streams) {
                        writer.field(name).push_str(json.as_str());
                    }
                }
            }
        }
        writer.end()
    }
}

/// Which kind of part it is, as far as folding tells them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PartKind {
    Text,
    Reasoning,
    StepStart,
    StaticTool,
    DynamicTool,
    Data,
    Other,
}

impl PartKind {
    pub(crate) fn of(kind: &str) -> Self {
        match kind {
            "text" => Self::Text,
            "reasoning" => Self::Reasoning,
            "step-start" => Self::StepStart,
            "dynamic-tool" => Self::DynamicTool,
            _ if kind.starts_with("tool-") => Self::StaticTool,
            _ if kind.starts_with("data-") => Self::Data,
            _ => Self::Other,
        }
    }

    pub(crate) fn is_tool(self) -> bool {
        matches!(self, Self::StaticTool | Self::DynamicTool)
    }
}

/// A part of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) kind: PartKind,
    pub(crate) fields: Fields,
}

impl Part {
    /// A part of this `type` and no other fields yet.
    pub(crate) fn new(kind: &str) -> Self {
        let mut fields = Fields::default();
        fields.set("type", Value::text(kind));
        Self { kind: PartKind::of(kind), fields }
    }

    pub(crate) fn call_id(&self) -> &str {
        self.fields.text("toolCallId").unwrap_or_default()
    }

    pub(crate) fn state(&self) -> &str {
        self.fields.text("state").unwrap_or_default()
    }

    pub(crate) fn tool_name(&self) -> &str {
        match self.kind {
            PartKind::StaticTool => self.fields.text("type").and_then(|kind| kind.get(5..)).unwrap_or_default(),
            _ => self.fields.text("toolName").unwrap_or_default(),
        }
    }

    pub(crate) fn set_state(&mut self, state: &str) {
        self.fields.set("state", Value::text(state));
    }
}

/// Appends a list of parts.
pub(crate) fn write_parts(parts: &[Part], streams: &[Growing], mut out: String) -> String {
    out.push('[');
    for (at, part) in parts.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        out = part.fields.write(out, streams);
    }
    out.push(']');
    out
}

/// Appends a field that is a string.
pub(crate) fn write_text(writer: &mut ObjectWriter, name: &str, value: &str) {
    write_string(writer.field(name), value);
}
