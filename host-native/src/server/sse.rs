//! Server-sent events: their framing, and streams of them that tell clients and proxies that they live.

use std::fmt::Write;

use axum::body::{Body, Bytes};
use axum::http::{HeaderName, HeaderValue, Response, header};
use futures_util::stream::{self, Stream};
use std::convert::Infallible;
use std::future::Future;

/// Writes one event. Line breaks in JSON text are white space between its tokens, so blanks take their place.
pub(super) fn event(id: Option<&str>, name: Option<&str>, data: &str) -> Bytes {
    let mut text = String::with_capacity(data.len() + 80);
    if let Some(id) = id {
        // Writing into a string cannot fail.
        let _ = writeln!(text, "id: {id}");
    }
    if let Some(name) = name {
        let _ = writeln!(text, "event: {name}");
    }
    text.push_str("data: ");
    if data.contains(['\n', '\r']) {
        text.push_str(&data.replace(['\n', '\r'], " "));
    } else {
        text.push_str(data);
    }
    text.push_str("\n\n");
    text.into()
}

/// The last event of a UI message stream.
pub(super) const DONE: &[u8] = b"data: [DONE]\n\n";
/// What is sent when there is nothing to send.
pub(super) const ALIVE: &[u8] = b": still here\n\n";

/// A body that asks for its next piece again and again; `None` ends it.
pub(super) fn body<S, F, R>(state: S, next: F) -> Body
where
    S: Send + 'static,
    F: FnMut(S) -> R + Send + 'static,
    R: Future<Output = Option<(Bytes, S)>> + Send + 'static,
{
    Body::from_stream(pieces(state, next))
}

fn pieces<S, F, R>(state: S, mut next: F) -> impl Stream<Item = Result<Bytes, Infallible>> + Send + 'static
where
    S: Send + 'static,
    F: FnMut(S) -> R + Send + 'static,
    R: Future<Output = Option<(Bytes, S)>> + Send + 'static,
{
    stream::unfold(state, move |state| {
        let piece = next(state);
        async move { piece.await.map(|(bytes, state)| (Ok(bytes), state)) }
    })
}

/// An answer of events. `ui` marks it as a UI message stream of the AI SDK.
pub(super) fn response(body: Body, ui: bool) -> Response<Body> {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    if ui {
        let name = HeaderName::from_static("x-vercel-ai-ui-message-stream");
        headers.insert(name, HeaderValue::from_static("v1"));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::event;

    #[test]
    fn an_event_is_framed_on_lines_of_its_own() {
        assert_eq!(event(Some("t:1"), None, "{\"a\":1}"), "id: t:1\ndata: {\"a\":1}\n\n");
        assert_eq!(event(None, Some("resync"), "{}"), "event: resync\ndata: {}\n\n");
    }

    #[test]
    fn a_line_break_between_tokens_does_not_end_the_event() {
        assert_eq!(event(None, None, "{\r\n \"a\":\n1}"), "data: {   \"a\": 1}\n\n");
    }
}
