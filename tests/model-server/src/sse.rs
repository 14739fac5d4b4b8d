//! Anthropic Messages as server-sent events: what each step of a script becomes on the wire.

use bytes::Bytes;
use serde_json::{Value, json};

use crate::script::{Reply, Step};

/// One event.
pub(crate) fn event(data: &Value) -> Bytes {
    raw_event(data["type"].as_str().unwrap_or_default(), &data.to_string())
}

fn raw_event(name: &str, data: &str) -> Bytes {
    Bytes::from(format!("event: {name}\ndata: {data}\n\n"))
}

/// The events before any content.
pub(crate) fn opening(id: u64, model: &str) -> Bytes {
    event(&json!({"type": "message_start", "message": {
        "id": format!("msg_{id}"), "type": "message", "role": "assistant", "model": model, "content": [],
        "stop_reason": null, "stop_sequence": null,
        "usage": {"input_tokens": 10, "output_tokens": 1, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0},
    }}))
}

/// The events after all content.
pub(crate) fn closing(reply: &Reply) -> [Bytes; 2] {
    let tools = reply.steps.iter().any(|step| matches!(step, Step::Tool { .. }));
    let stop = if tools { "tool_use" } else { "end_turn" };
    [
        event(&json!({"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": null},
            "usage": {"output_tokens": 5}})),
        event(&json!({"type": "message_stop"})),
    ]
}

/// The events of one content block, in the order in which they are sent; `None` where the step is none.
pub(crate) fn block(index: usize, step: &Step) -> Option<Vec<Bytes>> {
    let (start, deltas) = match step {
        Step::Text { text, chunk, .. } => {
            let deltas = pieces(text, *chunk).map(|piece| json!({"type": "text_delta", "text": piece}).to_string());
            (json!({"type": "text", "text": ""}), deltas.collect())
        }
        Step::RawText { deltas } => {
            let deltas = deltas.iter().map(|literal| format!("{{\"type\":\"text_delta\",\"text\":{literal}}}"));
            (json!({"type": "text", "text": ""}), deltas.collect())
        }
        Step::Thinking { text } => {
            let deltas = vec![
                json!({"type": "thinking_delta", "thinking": text}).to_string(),
                json!({"type": "signature_delta", "signature": "c2lnbmVk"}).to_string(),
            ];
            (json!({"type": "thinking", "thinking": "", "signature": ""}), deltas)
        }
        Step::Tool { id, name, input } => {
            let text = input.to_string();
            let half = text.len() / 2;
            let deltas = pieces(&text, half.max(1))
                .map(|piece| json!({"type": "input_json_delta", "partial_json": piece}).to_string());
            (json!({"type": "tool_use", "id": id, "name": name, "input": {}}), deltas.collect::<Vec<_>>())
        }
        Step::Sleep { .. } | Step::Stall | Step::Drop | Step::Error { .. } => return None,
    };
    let mut events = vec![event(&json!({"type": "content_block_start", "index": index, "content_block": start}))];
    events.extend(deltas.iter().map(|delta| {
        raw_event(
            "content_block_delta",
            &format!(r#"{{"type":"content_block_delta","index":{index},"delta":{delta}}}"#),
        )
    }));
    events.push(event(&json!({"type": "content_block_stop", "index": index})));
    Some(events)
}

/// The body of an error.
pub(crate) fn error_body(status: u16, kind: Option<&str>, message: Option<&str>) -> Value {
    let kind = kind.unwrap_or(match status {
        401 => "authentication_error",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        _ => "api_error",
    });
    let message = message.map_or_else(|| format!("scripted error {status}"), str::to_owned);
    json!({"type": "error", "error": {"type": kind, "message": message}})
}

/// An answer that is not streamed.
pub(crate) fn whole(id: u64, model: &str, text: &str) -> Value {
    json!({"id": format!("msg_{id}"), "type": "message", "role": "assistant", "model": model,
        "content": [{"type": "text", "text": text}], "stop_reason": "end_turn", "stop_sequence": null,
        "usage": {"input_tokens": 10, "output_tokens": 5}})
}

fn pieces(text: &str, chunk: usize) -> impl Iterator<Item = String> {
    let characters = text.chars().collect::<Vec<_>>();
    let size = if chunk == 0 { characters.len().max(1) } else { chunk };
    characters.chunks(size).map(|piece| piece.iter().collect()).collect::<Vec<String>>().into_iter()
}
