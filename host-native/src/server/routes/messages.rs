//! A user's message: durable first, then the turn that it starts, as a stream.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Response};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::turn;
use crate::manager::{SendMessage, UserMessage};
use crate::server::error::ApiError;
use crate::server::path::SessionId;
use crate::server::{App, body};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Message {
    message: Box<RawValue>,
    prompt: Option<String>,
    model: Option<String>,
}

pub(super) async fn send(
    State(app): State<App>,
    SessionId(id): SessionId,
    request: Request,
) -> Result<Response<Body>, ApiError> {
    let idempotency_key = key(request.headers())?;
    let body: Message = body::json(&app, request).await?;
    let message = read(&body.message)?;
    let send = SendMessage { message, prompt: body.prompt, model: body.model, idempotency_key };
    let stream = app.manager.send(&id, send).await?;
    Ok(turn::response(&app, stream))
}

fn read(message: &RawValue) -> Result<UserMessage, ApiError> {
    let text = message.get();
    match text.as_bytes().first() {
        Some(b'"') => {
            let text = serde_json::from_str(text)
                .map_err(|error| ApiError::invalid("message", format!("message: it is not a JSON string: {error}.")))?;
            Ok(UserMessage::Text(text))
        }
        Some(b'{') => Ok(UserMessage::Json(text.to_owned())),
        _ => Err(ApiError::invalid("message", "message: it has to be a text or a UI message (an object).")),
    }
}

fn key(headers: &HeaderMap) -> Result<Option<String>, ApiError> {
    let name = "idempotency-key";
    let mut keys = headers.get_all(name).iter();
    let Some(key) = keys.next() else { return Ok(None) };
    match key.to_str() {
        Ok(key) if keys.next().is_none() => Ok(Some(key.to_owned())),
        _ => Err(ApiError::invalid(name, "idempotency-key: it has to be given once, in visible ASCII characters.")),
    }
}
