//! Reads the CLI's lines into frames. The lines' own shapes stay in here, so that they can differ by version.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::frames::{Ask, AskKind, Block, Content, Event, Frame, Message, Outcome, Stream, ToolAsk};
use super::json;
use crate::ports::Piece;

/// Reads one line. `None` when it is no JSON object with a type.
pub(in super::super) fn parse(line: &str) -> Option<Frame> {
    let wire: Line<'_> = serde_json::from_str(line).ok()?;
    Some(match (&*wire.kind, wire.subtype.as_deref()) {
        ("system", Some("init")) => Frame::Init,
        ("stream_event", _) => Frame::Stream(Stream {
            parent: wire.parent_tool_use_id.map(Cow::into_owned),
            event: wire.event.and_then(read_event).unwrap_or(Event::Other),
        }),
        ("assistant", _) => Frame::Assistant(read_message(wire)),
        ("user", _) => Frame::User(read_message(wire)),
        ("result", _) => Frame::Result(Box::new(lenient::<Outcome>(line).unwrap_or_else(unreadable))),
        ("control_request", _) => read_ask(&wire).map_or(Frame::Other, Frame::Ask),
        ("control_cancel_request", _) => Frame::Cancel { request_id: text(wire.request_id) },
        ("control_response", _) => wire.response.and_then(read_reply).unwrap_or(Frame::Other),
        ("keep_alive", _) => Frame::KeepAlive,
        _ => Frame::Other,
    })
}

/// A turn that is over, but nobody can tell how.
fn unreadable() -> Outcome {
    Outcome { is_error: true, errors: vec!["its result could not be read".to_owned()], ..Outcome::default() }
}

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    subtype: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    uuid: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    parent_tool_use_id: Option<Cow<'a, str>>,
    #[serde(default, rename = "isReplay")]
    replay: Option<bool>,
    #[serde(borrow, default)]
    request_id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    event: Option<&'a RawValue>,
    #[serde(borrow, default)]
    message: Option<&'a RawValue>,
    #[serde(borrow, default)]
    request: Option<&'a RawValue>,
    #[serde(borrow, default)]
    response: Option<&'a RawValue>,
}

/// Reads JSON text that may hold lone halves of surrogate pairs.
fn lenient<T: DeserializeOwned>(text: &str) -> Option<T> {
    serde_json::from_str(text).or_else(|_| serde_json::from_str(&json::mend(text))).ok()
}

fn text(value: Option<Cow<'_, str>>) -> String {
    value.map(Cow::into_owned).unwrap_or_default()
}

#[derive(Deserialize)]
struct WireEvent<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(default)]
    index: u64,
    #[serde(borrow, default)]
    message: Option<&'a RawValue>,
    #[serde(borrow, default)]
    content_block: Option<&'a RawValue>,
    #[serde(borrow, default)]
    delta: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct WireDelta<'a> {
    #[serde(borrow, default)]
    text: Option<&'a RawValue>,
    #[serde(borrow, default)]
    thinking: Option<&'a RawValue>,
    #[serde(borrow, default)]
    partial_json: Option<&'a RawValue>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct WireBlock {
    #[serde(rename = "type")]
    kind: String,
    id: Option<String>,
    name: Option<String>,
    text: Option<String>,
    input: Option<Box<RawValue>>,
    tool_use_id: Option<String>,
    content: Option<Box<RawValue>>,
    is_error: Option<bool>,
}

fn read_event(raw: &RawValue) -> Option<Event> {
    let event: WireEvent<'_> = serde_json::from_str(raw.get()).ok()?;
    let index = event.index;
    Some(match &*event.kind {
        "message_start" => Event::MessageStart { id: lenient::<WireMessage>(event.message?.get())?.id? },
        "content_block_start" => {
            Event::BlockStart { index, block: read_block_start(lenient(event.content_block?.get())?) }
        }
        "content_block_delta" => Event::Delta { index, piece: read_delta(event.delta?)? },
        "content_block_stop" => Event::BlockStop { index },
        "message_stop" => Event::MessageStop,
        _ => Event::Other,
    })
}

fn read_delta(raw: &RawValue) -> Option<Piece> {
    let delta: WireDelta<'_> = serde_json::from_str(raw.get()).ok()?;
    json::piece(delta.text.or(delta.thinking).or(delta.partial_json)?.get())
}

fn read_block_start(block: WireBlock) -> Block {
    match (block.kind.as_str(), block.id, block.name) {
        ("text", ..) => Block::Text,
        ("thinking", ..) => Block::Thinking,
        ("tool_use", Some(id), Some(name)) => Block::Tool { id, name },
        _ => Block::Other,
    }
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct WireMessage {
    id: Option<String>,
    model: Option<String>,
    content: Option<Box<RawValue>>,
}

fn read_message(line: Line<'_>) -> Message {
    let message = line.message.and_then(|raw| lenient::<WireMessage>(raw.get())).unwrap_or_default();
    Message {
        uuid: line.uuid.map(Cow::into_owned),
        parent: line.parent_tool_use_id.map(Cow::into_owned),
        replay: line.replay.unwrap_or(false),
        id: message.id,
        synthetic: message.model.as_deref() == Some("<synthetic>"),
        content: message.content.map(|raw| read_content(&raw)).unwrap_or_default(),
    }
}

fn read_content(raw: &RawValue) -> Vec<Content> {
    if let Some(text) = lenient::<String>(raw.get()) {
        return vec![Content::Text(text)];
    }
    let blocks = lenient::<Vec<WireBlock>>(raw.get()).unwrap_or_default();
    blocks.into_iter().filter_map(read_block).collect()
}

fn read_block(block: WireBlock) -> Option<Content> {
    Some(match block.kind.as_str() {
        "text" => Content::Text(block.text?),
        "tool_use" => Content::ToolUse { id: block.id?, name: block.name?, input: raw_text(block.input, "{}") },
        "tool_result" => Content::ToolResult {
            id: block.tool_use_id?,
            content: raw_text(block.content, "\"\""),
            is_error: block.is_error.unwrap_or(false),
        },
        _ => return None,
    })
}

fn raw_text(raw: Option<Box<RawValue>>, default: &str) -> String {
    raw.map_or_else(|| default.to_owned(), |raw| json::mend(raw.get()).into_owned())
}

#[derive(Deserialize)]
struct WireAsk<'a> {
    #[serde(borrow)]
    subtype: Cow<'a, str>,
    #[serde(borrow, default)]
    tool_name: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    tool_use_id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    agent_id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    input: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct WireHook<'a> {
    #[serde(borrow)]
    tool_name: Cow<'a, str>,
    #[serde(borrow)]
    tool_input: &'a RawValue,
    #[serde(borrow, default)]
    tool_use_id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    permission_mode: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    agent_id: Option<&'a RawValue>,
}

fn read_ask(line: &Line<'_>) -> Option<Ask> {
    let request_id = line.request_id.as_deref()?.to_owned();
    let raw = line.request?.get();
    let kind = match serde_json::from_str::<WireAsk<'_>>(raw) {
        Ok(ask) => read_ask_kind(ask),
        Err(_) => AskKind::Unknown { subtype: "unreadable".to_owned() },
    };
    Some(Ask { request_id, kind })
}

fn read_ask_kind(ask: WireAsk<'_>) -> AskKind {
    let subtype = ask.subtype.into_owned();
    let read = match (subtype.as_str(), ask.input) {
        ("hook_callback", Some(input)) => read_hook(input, ask.tool_use_id).map(AskKind::Hook),
        ("can_use_tool", Some(input)) => ask.tool_name.map(|name| {
            AskKind::Permission(ToolAsk {
                id: text(ask.tool_use_id),
                name: name.into_owned(),
                input: input.get().to_owned(),
                mode: None,
                subagent: ask.agent_id.is_some(),
            })
        }),
        _ => None,
    };
    read.unwrap_or(AskKind::Unknown { subtype })
}

fn read_hook(raw: &RawValue, outer_id: Option<Cow<'_, str>>) -> Option<ToolAsk> {
    let hook: WireHook<'_> = serde_json::from_str(raw.get()).ok()?;
    Some(ToolAsk {
        id: text(hook.tool_use_id.or(outer_id)),
        name: hook.tool_name.into_owned(),
        input: hook.tool_input.get().to_owned(),
        mode: hook.permission_mode.map(Cow::into_owned),
        subagent: hook.agent_id.is_some(),
    })
}

#[derive(Deserialize)]
struct WireReply<'a> {
    #[serde(borrow)]
    request_id: Cow<'a, str>,
    #[serde(borrow)]
    subtype: Cow<'a, str>,
    #[serde(default)]
    error: Option<String>,
}

fn read_reply(raw: &RawValue) -> Option<Frame> {
    let reply: WireReply<'_> = serde_json::from_str(raw.get()).ok()?;
    let failed = (reply.subtype == "error").then(|| reply.error.unwrap_or_else(|| "no reason given".to_owned()));
    Some(Frame::Reply { request_id: reply.request_id.into_owned(), error: failed })
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
