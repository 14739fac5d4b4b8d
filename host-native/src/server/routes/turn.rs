//! The stream of a turn as server-sent events.

use std::sync::atomic::Ordering;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use axum::response::IntoResponse;

use crate::manager::{Cursor, TurnItem, TurnStream};
use crate::server::App;
use crate::server::error::ApiError;
use crate::server::path::{Query, SessionId};
use crate::server::sse;

/// Follows the turn under way.
pub(super) async fn follow(
    State(app): State<App>,
    SessionId(id): SessionId,
    mut query: Query,
    headers: HeaderMap,
) -> Result<Response<Body>, ApiError> {
    let after = query.one("after")?;
    query.end("after is")?;
    // A browser that reconnects repeats the address it began with and says in the header how far it came.
    let after = match last_event_id(&headers)? {
        Some(last) => Some(last),
        None => after,
    };
    let after = match after {
        Some(text) => {
            let cursor = text.parse::<Cursor>();
            Some(cursor.map_err(|error| ApiError::invalid("after", format!("after: {error}")))?)
        }
        None => None,
    };
    match app.manager.follow(&id, after).await? {
        Some(stream) => Ok(response(&app, stream)),
        None => Ok(StatusCode::NO_CONTENT.into_response()),
    }
}

/// The header with which a client comes back.
pub(super) fn last_event_id(headers: &HeaderMap) -> Result<Option<String>, ApiError> {
    let name = "last-event-id";
    let Some(value) = headers.get(name) else { return Ok(None) };
    match value.to_str() {
        Ok("") => Ok(None),
        Ok(text) => Ok(Some(text.to_owned())),
        Err(_) => Err(ApiError::invalid(name, "last-event-id: it has to be visible ASCII characters.")),
    }
}

/// Counts an open stream for as long as it lives.
pub(super) struct Open(App);

impl Open {
    pub(super) fn new(app: &App) -> Self {
        app.metrics.streams.fetch_add(1, Ordering::Relaxed);
        Self(app.clone())
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.metrics.streams.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Where the answer stands: the end is an event of its own.
enum Reading {
    Live(TurnStream, Open),
    Last,
}

/// The stream as an answer; its headers go out at once.
pub(super) fn response(app: &App, stream: TurnStream) -> Response<Body> {
    let turn = HeaderValue::from_str(stream.turn_id());
    let keep_alive = app.options.keep_alive;
    let body = sse::body(Reading::Live(stream, Open::new(app)), move |state| async move {
        let Reading::Live(mut stream, open) = state else { return None };
        match tokio::time::timeout(keep_alive, stream.next()).await {
            Err(_) => Some((Bytes::from_static(sse::ALIVE), Reading::Live(stream, open))),
            Ok(Some(item)) => Some((event(&item), Reading::Live(stream, open))),
            Ok(None) => Some((end(&stream).await, Reading::Last)),
        }
    });
    let mut response = sse::response(body, true);
    if let Ok(turn) = turn {
        response.headers_mut().insert(HeaderName::from_static("x-tackroom-turn"), turn);
    }
    response
}

fn event(item: &TurnItem) -> Bytes {
    match item {
        TurnItem::Chunk { cursor, json } => {
            let id = cursor.as_ref().map(ToString::to_string);
            sse::event(id.as_deref(), None, json)
        }
        TurnItem::Resync { cursor, message_json } => {
            sse::event(Some(&cursor.to_string()), Some("resync"), message_json)
        }
    }
}

/// The end of the stream; before it the reason, where the turn never reached the agent.
async fn end(stream: &TurnStream) -> Bytes {
    let Err(error) = stream.done().await else { return Bytes::from_static(sse::DONE) };
    let error = serde_json::json!({ "type": "error", "errorText": ApiError::from(error).message() });
    let mut bytes = sse::event(None, None, &error.to_string()).to_vec();
    bytes.extend_from_slice(sse::DONE);
    bytes.into()
}
