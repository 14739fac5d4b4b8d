//! The message that chunks are folded into, and what is kept beside it so that a chunk finds its part at once.

use alloc::borrow::ToOwned as _;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use super::error::FoldError;
use super::fields::{Part, PartKind, Value, write_parts, write_text};
use super::piece::Growing;
use super::tool::ToolPart;
use crate::json::{Json, ObjectWriter};

/// Who wrote a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The application, to set the scene.
    System,
    /// A user.
    User,
    /// The agent.
    Assistant,
}

impl Role {
    /// The role as it is written.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }

    pub(crate) fn of(text: &str) -> Option<Self> {
        [Self::System, Self::User, Self::Assistant].into_iter().find(|role| role.as_str() == text)
    }
}

/// How large a message and its chunks may become.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Bytes of a message: its texts, JSON values and field names. Default 16 MiB.
    pub max_message_bytes: usize,
    /// Parts of a message. Default 10 000.
    pub max_parts: usize,
    /// Bytes of one chunk. Default 1 MiB.
    pub max_chunk_bytes: usize,
    /// Arrays and objects inside each other in one chunk. Default 128, and at most that.
    pub max_json_depth: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            max_message_bytes: 16 << 20,
            max_parts: 10_000,
            max_chunk_bytes: 1 << 20,
            max_json_depth: crate::json::MAX_DEPTH,
        }
    }
}

/// A field of the message itself, to keep their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Head {
    Id,
    Metadata,
    Role,
    Parts,
    Other(String, Json),
}

/// The input of a tool call that arrives in pieces.
#[derive(Clone, Debug)]
pub(crate) struct PartialCall {
    /// Which of the message's streams holds its text.
    pub(crate) stream: usize,
    /// The part that its last piece changed.
    pub(crate) part: Option<usize>,
    pub(crate) tool_name: String,
    pub(crate) dynamic: bool,
    pub(crate) title: Option<Json>,
    pub(crate) tool_metadata: Option<Json>,
}

/// A message, and the state of folding chunks into it.
#[derive(Clone, Debug)]
pub struct Message {
    pub(crate) bounds: Bounds,
    pub(crate) head: Vec<Head>,
    pub(crate) id: String,
    pub(crate) role: Role,
    pub(crate) metadata: Option<Json>,
    pub(crate) parts: Vec<Part>,
    /// What the message counts for, streams included.
    pub(crate) bytes: usize,
    /// The index after the last step-start.
    pub(crate) step: usize,
    pub(crate) open_text: BTreeMap<String, usize>,
    pub(crate) open_reasoning: BTreeMap<String, usize>,
    pub(crate) partial: BTreeMap<String, PartialCall>,
    pub(crate) streams: Vec<Growing>,
    /// The tool parts of each tool call id, ascending.
    pub(crate) calls: BTreeMap<String, Vec<usize>>,
    /// The first data part of each type and id; see [`data_key`].
    pub(crate) data: BTreeMap<String, usize>,
}

/// One key of a data part's type and id, so that the map is of a kind that is there already.
pub(crate) fn data_key(kind: &str, id: &str) -> String {
    alloc::format!("{}:{kind}{id}", kind.len())
}

impl Message {
    /// An empty message of the assistant, within the default [`Bounds`].
    #[must_use]
    pub fn new(id: impl Into<String>) -> Self {
        Self::new_within(id, Bounds::default())
    }

    /// An empty message of the assistant.
    #[must_use]
    pub fn new_within(id: impl Into<String>, bounds: Bounds) -> Self {
        let id = id.into();
        Self {
            bounds,
            head: [Head::Id, Head::Metadata, Head::Role, Head::Parts].into(),
            bytes: 64 + id.len(),
            id,
            role: Role::Assistant,
            metadata: None,
            parts: Vec::new(),
            step: 0,
            open_text: BTreeMap::new(),
            open_reasoning: BTreeMap::new(),
            partial: BTreeMap::new(),
            streams: Vec::new(),
            calls: BTreeMap::new(),
            data: BTreeMap::new(),
        }
    }

    /// The message as the package would write it: one line, fields in the package's order, inputs that still arrive
    /// repaired.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut writer = ObjectWriter::new(String::with_capacity(self.bytes + 64));
        for head in &self.head {
            match head {
                Head::Id => write_text(&mut writer, "id", &self.id),
                Head::Role => write_text(&mut writer, "role", self.role.as_str()),
                Head::Metadata => {
                    if let Some(metadata) = &self.metadata {
                        writer.field("metadata").push_str(metadata.as_str());
                    }
                }
                Head::Parts => {
                    let out = writer.field("parts");
                    *out = write_parts(&self.parts, &self.streams, core::mem::take(out));
                }
                Head::Other(name, value) => writer.field(name).push_str(value.as_str()),
            }
        }
        writer.end()
    }

    /// The id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Who wrote it.
    #[must_use]
    pub fn role(&self) -> Role {
        self.role
    }

    /// The metadata, if it has any.
    #[must_use]
    pub fn metadata(&self) -> Option<&Json> {
        self.metadata.as_ref()
    }

    /// How many parts it has.
    #[must_use]
    pub fn part_count(&self) -> usize {
        self.parts.len()
    }

    /// How many bytes it counts for: texts, values and names, and the pieces of inputs that are still held.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// What bounds it.
    #[must_use]
    pub fn bounds(&self) -> &Bounds {
        &self.bounds
    }

    /// Its text parts, one after the other.
    #[must_use]
    pub fn text(&self) -> String {
        let texts = self.parts.iter().filter(|part| part.kind == PartKind::Text);
        texts.filter_map(|part| part.fields.text("text")).collect()
    }

    /// Its tool calls, in their order.
    pub fn tool_parts(&self) -> impl Iterator<Item = ToolPart<'_>> {
        let tools = self.parts.iter().filter(|part| part.kind.is_tool());
        tools.map(|part| ToolPart { part, streams: &self.streams })
    }

    /// Whether a text or reasoning part is open or the input of a tool call is still arriving.
    #[must_use]
    pub fn is_streaming(&self) -> bool {
        self.parts.iter().any(|part| matches!(part.state(), "streaming" | "input-streaming"))
    }

    /// Refuses when the message could not take one more part.
    pub(crate) fn room_for_part(&self) -> Result<(), FoldError> {
        if self.parts.len() >= self.bounds.max_parts {
            return Err(FoldError::TooManyParts(self.bounds.max_parts));
        }
        Ok(())
    }

    /// Appends a part and indexes it. Room was checked by the caller.
    pub(crate) fn push(&mut self, part: Part) -> usize {
        let at = self.parts.len();
        self.bytes += part.fields.bytes();
        match part.kind {
            PartKind::StepStart => self.step = at + 1,
            PartKind::StaticTool | PartKind::DynamicTool => {
                self.calls.entry(part.call_id().to_owned()).or_default().push(at);
            }
            PartKind::Data => {
                let id = part.fields.json("id").and_then(Json::as_string);
                if let (Some(id), Some(kind)) = (id, part.fields.text("type")) {
                    self.data.entry(data_key(kind, &id)).or_insert(at);
                }
            }
            _ => {}
        }
        self.parts.push(part);
        at
    }

    /// Changes a part and keeps count of its bytes.
    pub(crate) fn change<T>(&mut self, at: usize, change: impl FnOnce(&mut Part) -> T) -> T {
        let part = &mut self.parts[at];
        let before = part.fields.bytes();
        let given = change(part);
        self.bytes = (self.bytes + part.fields.bytes()).saturating_sub(before);
        given
    }

    /// Removes the parts from `len` on; none of them may be a step-start.
    pub(crate) fn truncate(&mut self, len: usize) {
        for part in self.parts.drain(len..) {
            self.bytes = self.bytes.saturating_sub(part.fields.bytes());
        }
        self.data.retain(|_, at| *at < len);
        self.calls.retain(|_, places| {
            places.retain(|at| *at < len);
            !places.is_empty()
        });
    }

    /// The part that input chunks for this tool call change: in the current step, and of the same kind.
    pub(crate) fn input_part(&self, call_id: &str, kind: PartKind) -> Option<usize> {
        self.step_parts(call_id).find(|at| self.parts[*at].kind == kind)
    }

    /// The tool parts of the current step with this call id.
    pub(crate) fn step_parts(&self, call_id: &str) -> impl Iterator<Item = usize> {
        let places = self.calls.get(call_id).map_or(&[][..], Vec::as_slice);
        places[places.partition_point(|at| *at < self.step)..].iter().copied()
    }

    /// The part that output chunks for this tool call change: the first in the current step, else the last of all.
    pub(crate) fn call_part(&self, call_id: &str) -> Option<usize> {
        self.step_parts(call_id).next().or_else(|| self.calls.get(call_id)?.last().copied())
    }

    /// The part that answers to this approval change: the first of all.
    pub(crate) fn approval_part(&self, approval_id: &str) -> Option<usize> {
        self.parts.iter().position(|part| {
            let approval = part.kind.is_tool().then(|| part.fields.json("approval")).flatten();
            approval.and_then(|approval| approval.field("id")?.as_string()).is_some_and(|id| id == approval_id)
        })
    }

    /// Forgets what is open, so that nothing but whole chunks can follow, and fixes inputs as they were read.
    pub(crate) fn close_fold(&mut self) {
        self.open_text.clear();
        self.open_reasoning.clear();
        self.partial.clear();
        let streams = core::mem::take(&mut self.streams);
        for part in self.parts.iter_mut().filter(|part| part.kind.is_tool()) {
            let read = match part.fields.get("input") {
                Some(input @ Value::Partial { .. }) => input.to_json(&streams),
                _ => continue,
            };
            part.fields.set("input", read);
        }
        self.count_bytes();
    }

    /// Counts anew what the message holds, streams apart.
    pub(crate) fn count_bytes(&mut self) {
        self.bytes = 64 + self.id.len() + self.metadata.as_ref().map_or(0, Json::bytes);
        self.bytes += self.parts.iter().map(|part| part.fields.bytes()).sum::<usize>();
        for head in &self.head {
            if let Head::Other(name, value) = head {
                self.bytes += name.len() + value.bytes() + 4;
            }
        }
    }
}
