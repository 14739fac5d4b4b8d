//! Tool calls: which part a chunk means, and how the package changes it.

use alloc::borrow::ToOwned as _;
use alloc::string::String;

use super::{BOUNDARY, WRITTEN};
use crate::json::{Json, fields_of};
use crate::transcript::error::{Applied, FoldError};
use crate::transcript::fields::{Fields, Part, PartKind, Value};
use crate::transcript::message::{Message, PartialCall};
use crate::transcript::piece::{Growing, Piece};
use crate::transcript::reader::Reader;

/// What the package's two update functions are given. A field that is `None` is `undefined` there.
#[derive(Default)]
struct Update {
    state: &'static str,
    input: Option<Value>,
    output: Option<Json>,
    raw_input: Option<Value>,
    error_text: Option<Json>,
    preliminary: Option<Json>,
    title: Option<Json>,
    tool_metadata: Option<Json>,
    provider_executed: Option<Json>,
    provider_metadata: Option<Json>,
}

impl Update {
    fn metadata_field(&self) -> &'static str {
        match self.state {
            "output-available" | "output-error" => "resultProviderMetadata",
            _ => "callProviderMetadata",
        }
    }

    fn change(self, part: &mut Part, tool_name: Option<&str>) {
        let dynamic = part.kind == PartKind::DynamicTool;
        let metadata_field = self.metadata_field();
        let fields = &mut part.fields;
        fields.set("state", Value::text(self.state));
        if let Some(name) = tool_name.filter(|_| dynamic) {
            fields.set("toolName", Value::text(name));
        }
        fields.set("input", self.input.unwrap_or(Value::Undefined));
        fields.set("output", self.output);
        fields.set("errorText", self.error_text);
        let kept = if dynamic { fields.get("rawInput").cloned() } else { None };
        fields.set("rawInput", self.raw_input.or(kept).unwrap_or(Value::Undefined));
        fields.set("preliminary", self.preliminary);
        fields.set_some("title", self.title.as_ref());
        fields.set_some("toolMetadata", self.tool_metadata.as_ref());
        let executed = self.provider_executed.or_else(|| fields.json("providerExecuted").cloned());
        fields.set("providerExecuted", executed);
        fields.set_some(metadata_field, self.provider_metadata.as_ref());
    }

    fn create(self, kind: PartKind, tool_name: &str, call_id: &str) -> Part {
        let metadata_field = self.metadata_field();
        let dynamic = kind == PartKind::DynamicTool;
        let mut part = if dynamic { Part::new("dynamic-tool") } else { Part::new(&alloc::format!("tool-{tool_name}")) };
        let fields = &mut part.fields;
        if dynamic {
            fields.set("toolName", Value::text(tool_name));
        }
        fields.set("toolCallId", Value::text(call_id));
        fields.set("state", Value::text(self.state));
        if !dynamic {
            fields.set("title", self.title.clone());
            fields.set_some("toolMetadata", self.tool_metadata.as_ref());
        }
        fields.set("input", self.input.unwrap_or(Value::Undefined));
        fields.set("output", self.output);
        if dynamic {
            fields.set("errorText", self.error_text);
            fields.set("preliminary", self.preliminary);
            fields.set("providerExecuted", self.provider_executed);
            fields.set("title", self.title);
            fields.set_some("toolMetadata", self.tool_metadata.as_ref());
        } else {
            fields.set("rawInput", self.raw_input.unwrap_or(Value::Undefined));
            fields.set("errorText", self.error_text);
            fields.set("providerExecuted", self.provider_executed);
            fields.set("preliminary", self.preliminary);
        }
        fields.set_some(metadata_field, self.provider_metadata.as_ref());
        part
    }
}

fn kind_if(dynamic: bool) -> PartKind {
    if dynamic { PartKind::DynamicTool } else { PartKind::StaticTool }
}

fn is_dynamic(chunk: &Reader<'_>) -> Result<bool, FoldError> {
    Ok(chunk.flag_if("dynamic")?.is_some_and(|flag| flag.as_bool() == Some(true)))
}

impl Message {
    /// Changes the part of the current step that an input chunk means, or appends one.
    fn update_input(&mut self, kind: PartKind, name: &str, call_id: &str, update: Update) -> Result<usize, FoldError> {
        if let Some(at) = self.input_part(call_id, kind) {
            self.change(at, |part| update.change(part, Some(name)));
            return Ok(at);
        }
        self.room_for_part()?;
        Ok(self.push(update.create(kind, name, call_id)))
    }

    /// The part that an output chunk means.
    fn invocation(&self, chunk: &Reader<'_>) -> Result<usize, FoldError> {
        let call_id = chunk.id("toolCallId")?;
        self.call_part(&call_id).ok_or(FoldError::NoToolCall(call_id))
    }

    pub(super) fn tool_input_start(&mut self, chunk: &Reader<'_>) -> Result<Applied, FoldError> {
        let call_id = chunk.id("toolCallId")?;
        let tool_name = chunk.id("toolName")?;
        let dynamic = is_dynamic(chunk)?;
        let update = Update {
            state: "input-streaming",
            title: chunk.string_if("title")?,
            tool_metadata: chunk.tool_metadata()?,
            provider_executed: chunk.flag_if("providerExecuted")?,
            provider_metadata: chunk.provider_metadata()?,
            ..Update::default()
        };
        let (title, tool_metadata) = (update.title.clone(), update.tool_metadata.clone());
        self.update_input(kind_if(dynamic), &tool_name, &call_id, update)?;
        let stream = self.streams.len();
        self.streams.push(Growing::default());
        self.partial.insert(call_id, PartialCall { stream, part: None, tool_name, dynamic, title, tool_metadata });
        Ok(BOUNDARY)
    }

    pub(super) fn tool_input_delta(&mut self, call_id: &str, piece: &Piece) -> Result<Applied, FoldError> {
        let call = self.partial.get(call_id).ok_or_else(|| FoldError::InputNotBegun(call_id.to_owned()))?;
        let (stream, kind) = (call.stream, kind_if(call.dynamic));
        // Nothing but the input changes when the part was last changed by a piece of the same input in the same step.
        if let Some(at) = call.part.filter(|at| *at >= self.step)
            && self.parts.get(at).is_some_and(|part| part.state() == "input-streaming")
            && let Some(Value::Partial { stream: same, .. }) = self.parts[at].fields.get("input")
            && *same == stream
        {
            let grown = self.grow(stream, piece);
            self.parts[at].fields.set("input", grown);
            return Ok(WRITTEN);
        }
        let update = Update {
            state: "input-streaming",
            title: call.title.clone(),
            tool_metadata: call.tool_metadata.clone(),
            ..Update::default()
        };
        let tool_name = call.tool_name.clone();
        if self.input_part(call_id, kind).is_none() {
            self.room_for_part()?;
        }
        let update = Update { input: Some(self.grow(stream, piece)), ..update };
        let at = self.update_input(kind, &tool_name, call_id, update)?;
        if let Some(call) = self.partial.get_mut(call_id) {
            call.part = Some(at);
        }
        Ok(WRITTEN)
    }

    /// Appends to an input that arrives in pieces, and gives what it is now.
    fn grow(&mut self, stream: usize, piece: &Piece) -> Value {
        let text = &mut self.streams[stream];
        let before = text.bytes();
        text.push(piece);
        self.bytes = self.bytes + text.bytes() - before;
        Value::Partial { stream, len: text.text().len() }
    }

    pub(super) fn tool_input_available(&mut self, chunk: &Reader<'_>) -> Result<Applied, FoldError> {
        let update = Update {
            state: "input-available",
            input: Some(Value::Json(chunk.value("input")?)),
            title: chunk.string_if("title")?,
            tool_metadata: chunk.tool_metadata()?,
            provider_executed: chunk.flag_if("providerExecuted")?,
            provider_metadata: chunk.provider_metadata()?,
            ..Update::default()
        };
        let kind = kind_if(is_dynamic(chunk)?);
        self.update_input(kind, &chunk.id("toolName")?, &chunk.id("toolCallId")?, update)?;
        Ok(BOUNDARY)
    }

    pub(super) fn tool_input_error(&mut self, chunk: &Reader<'_>) -> Result<Applied, FoldError> {
        let call_id = chunk.id("toolCallId")?;
        chunk.string_if("title")?;
        let chunk_kind = kind_if(is_dynamic(chunk)?);
        let kind = self.step_parts(&call_id).next().map_or(chunk_kind, |at| self.parts[at].kind);
        let given = Some(Value::Json(chunk.value("input")?));
        let (input, raw_input) = if kind == PartKind::DynamicTool { (given, None) } else { (None, given) };
        let update = Update {
            state: "output-error",
            input,
            raw_input,
            error_text: Some(chunk.string("errorText")?),
            tool_metadata: chunk.tool_metadata()?,
            provider_executed: chunk.flag_if("providerExecuted")?,
            provider_metadata: chunk.provider_metadata()?,
            ..Update::default()
        };
        self.update_input(kind, &chunk.id("toolName")?, &call_id, update)?;
        Ok(BOUNDARY)
    }

    pub(super) fn approval_request(&mut self, chunk: &Reader<'_>) -> Result<Applied, FoldError> {
        let at = self.invocation(chunk)?;
        let mut approval = Fields::default();
        approval.set("id", chunk.string("approvalId")?);
        let descriptor = chunk.value_if("approvalDescriptor")?.filter(|value| !value.is_null());
        approval.set_some("descriptor", descriptor.as_ref());
        approval.set_some("requestReason", chunk.string_if("reason")?.as_ref());
        let automatic = chunk.flag_if("isAutomatic")?.filter(|flag| flag.as_bool() == Some(true));
        approval.set_some("isAutomatic", automatic.as_ref());
        approval.set_some("signature", chunk.string_if("signature")?.as_ref());
        let approval = Json::trusted(&approval.write(String::new(), &[]));
        self.change(at, |part| {
            part.set_state("approval-requested");
            part.fields.set("approval", approval);
        });
        Ok(BOUNDARY)
    }

    pub(super) fn approval_response(&mut self, chunk: &Reader<'_>) -> Result<Applied, FoldError> {
        let approval_id = chunk.id("approvalId")?;
        let at = self.approval_part(&approval_id).ok_or(FoldError::NoApproval(approval_id))?;
        let mut approval = Fields::default();
        let before = self.parts[at].fields.json("approval").and_then(|approval| fields_of(approval.as_str()));
        for (name, raw) in before.unwrap_or_default() {
            approval.set(name, Json::trusted(raw));
        }
        approval.set("id", chunk.string("approvalId")?);
        approval.set("approved", chunk.flag("approved")?);
        approval.set_some("reason", chunk.string_if("reason")?.as_ref());
        let approval = Json::trusted(&approval.write(String::new(), &[]));
        let executed = chunk.flag_if("providerExecuted")?;
        let metadata = chunk.provider_metadata()?;
        self.change(at, |part| {
            part.set_state("approval-responded");
            part.fields.set("approval", approval);
            part.fields.set_some("providerExecuted", executed.as_ref());
            part.fields.set_some("callProviderMetadata", metadata.as_ref());
        });
        Ok(BOUNDARY)
    }

    pub(super) fn tool_output_available(&mut self, chunk: &Reader<'_>) -> Result<Applied, FoldError> {
        let update = Update {
            state: "output-available",
            output: Some(chunk.value("output")?),
            preliminary: chunk.flag_if("preliminary")?,
            provider_executed: chunk.flag_if("providerExecuted")?,
            provider_metadata: chunk.provider_metadata()?,
            ..Update::default()
        };
        self.output(chunk, update, false)
    }

    pub(super) fn tool_output_error(&mut self, chunk: &Reader<'_>) -> Result<Applied, FoldError> {
        let update = Update {
            state: "output-error",
            error_text: Some(chunk.string("errorText")?),
            provider_executed: chunk.flag_if("providerExecuted")?,
            provider_metadata: chunk.provider_metadata()?,
            ..Update::default()
        };
        self.output(chunk, update, true)
    }

    /// An output keeps the input; an error keeps the input that could not be read, too.
    fn output(&mut self, chunk: &Reader<'_>, mut update: Update, keep_raw: bool) -> Result<Applied, FoldError> {
        chunk.tool_metadata()?;
        is_dynamic(chunk)?;
        let at = self.invocation(chunk)?;
        self.change(at, |part| {
            update.input = part.fields.get("input").cloned();
            update.raw_input = part.fields.get("rawInput").filter(|_| keep_raw).cloned();
            update.change(part, None);
        });
        Ok(BOUNDARY)
    }

    pub(super) fn tool_output_denied(&mut self, chunk: &Reader<'_>) -> Result<Applied, FoldError> {
        let at = self.invocation(chunk)?;
        self.change(at, |part| part.set_state("output-denied"));
        Ok(BOUNDARY)
    }
}
