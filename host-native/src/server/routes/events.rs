//! What happens to all sessions, as server-sent events that a client can come back to.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Response};
use serde_json::json;

use super::turn::{Open, last_event_id};
use crate::manager::{NumberedEvent, SessionEvent, Subscription};
use crate::server::App;
use crate::server::error::ApiError;
use crate::server::path::Query;
use crate::server::shapes::{Session, audit_entry};
use crate::server::sse;

pub(super) async fn events(
    State(app): State<App>,
    mut query: Query,
    headers: HeaderMap,
) -> Result<Response<Body>, ApiError> {
    let mut after = query.number("after", 0, u64::MAX - 1)?;
    query.end("after is")?;
    if let Some(last) = last_event_id(&headers)? {
        let words = "last-event-id: it has to be the number of an event, as this stream gives it.";
        after = Some(last.parse().map_err(|_| ApiError::invalid("last-event-id", words))?);
    }
    let subscription = app.manager.subscribe(after);
    let keep_alive = app.options.keep_alive;
    // The first piece is sent at once: a client sees that it is connected before anything happens.
    let state = (subscription, Open::new(&app), true);
    let body = sse::body(state, move |(mut subscription, open, first)| async move {
        let piece = if first { Bytes::from_static(sse::ALIVE) } else { next(&mut subscription, keep_alive).await? };
        Some((piece, (subscription, open, false)))
    });
    Ok(sse::response(body, false))
}

async fn next(subscription: &mut Subscription, keep_alive: Duration) -> Option<Bytes> {
    loop {
        match tokio::time::timeout(keep_alive, subscription.next()).await {
            Err(_) => return Some(Bytes::from_static(sse::ALIVE)),
            Ok(None) => return None,
            Ok(Some(event)) => {
                if let Some(bytes) = shown(&event) {
                    return Some(bytes);
                }
            }
        }
    }
}

fn shown(event: &NumberedEvent) -> Option<Bytes> {
    let (name, data) = match &*event.event {
        SessionEvent::Ready => ("ready", "{}".to_owned()),
        SessionEvent::Updated(summary) => ("session", serde_json::to_string(&Session::from(summary.clone())).ok()?),
        SessionEvent::Deleted { session } => ("deleted", json!({ "session": session }).to_string()),
        SessionEvent::Audited { session, entry } => {
            ("audit", json!({ "session": session, "entry": audit_entry(entry) }).to_string())
        }
        SessionEvent::Warned { session, action, message } => {
            ("warning", json!({ "session": session, "action": action, "message": message }).to_string())
        }
        SessionEvent::Resync => ("resync", "{}".to_owned()),
    };
    Some(sse::event(Some(&event.n.to_string()), Some(name), &data))
}
