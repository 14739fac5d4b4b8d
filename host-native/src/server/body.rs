//! Reads what clients send: bounded, JSON alone, and every mistake named with its place.

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::de::DeserializeOwned;

use super::App;
use super::error::ApiError;

/// Reads a body that has to be a JSON object of this shape.
pub(super) async fn json<T: DeserializeOwned>(app: &App, request: Request) -> Result<T, ApiError> {
    let (parts, body) = request.into_parts();
    let bytes = bytes(app, &parts.headers, body).await?;
    if bytes.is_empty() {
        return Err(ApiError::invalid("body", "The body is empty; it has to be a JSON object."));
    }
    check_type(&parts.headers)?;
    parse(&bytes)
}

/// Reads a body that may be empty, else has to be an empty JSON object.
pub(super) async fn nothing(app: &App, request: Request) -> Result<(), ApiError> {
    #[derive(serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Nothing {}
    let (parts, body) = request.into_parts();
    let bytes = bytes(app, &parts.headers, body).await?;
    if bytes.is_empty() {
        return Ok(());
    }
    check_type(&parts.headers)?;
    parse::<Nothing>(&bytes).map(|_| ())
}

fn check_type(headers: &HeaderMap) -> Result<(), ApiError> {
    let given = headers.get(header::CONTENT_TYPE).map_or("", |value| value.to_str().unwrap_or_default());
    let kind = given.split(';').next().unwrap_or_default().trim();
    if kind.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    let given: String = given.chars().take(100).collect();
    let message = format!("The body has to be JSON: send `Content-Type: application/json`, not {given:?}.");
    Err(ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported-media-type", message))
}

/// The refusal of a body beyond the bound.
pub(super) fn too_large(most: usize) -> ApiError {
    let message = format!(
        "The body is too large: at most {most} bytes are taken. Answers can be given as `answers`, without the message."
    );
    ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", message).with("limit", most)
}

/// The length that a request says its body has.
pub(super) fn announced(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

async fn bytes(app: &App, headers: &HeaderMap, body: Body) -> Result<Vec<u8>, ApiError> {
    let most = app.options.max_body;
    if announced(headers).is_some_and(|length| length > most as u64) {
        return Err(too_large(most));
    }
    let reading = Limited::new(body, most).collect();
    match tokio::time::timeout(app.options.body_timeout, reading).await {
        Ok(Ok(collected)) => Ok(collected.to_bytes().into()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large(most)),
        Ok(Err(_)) => Err(ApiError::invalid("body", "The body ended before its end.")),
        Err(_) => {
            let seconds = app.options.body_timeout.as_secs();
            let message = format!("The body did not come whole within {seconds} seconds.");
            Err(ApiError::new(StatusCode::REQUEST_TIMEOUT, "timeout", message))
        }
    }
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ApiError> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let place = error.valid_up_to();
        ApiError::invalid("body", format!("The body is not JSON: it is not UTF-8 from byte {place} on."))
    })?;
    // Derived readers take an array of a struct's fields for the struct; clients are not meant to.
    if !text.trim_ascii_start().starts_with('{') {
        let error = serde_json::from_str::<serde::de::IgnoredAny>(text).err();
        let message = error.map(|error| format!("The body is not JSON: {error}."));
        return Err(ApiError::invalid("body", message.unwrap_or("The body has to be a JSON object.".to_owned())));
    }
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let path = error.path().to_string();
        let inner = error.inner();
        if inner.is_syntax() || inner.is_eof() {
            return ApiError::invalid("body", format!("The body is not JSON: {inner}."));
        }
        if path == "." {
            return ApiError::invalid("body", format!("The body is not what is taken here: {inner}."));
        }
        ApiError::invalid(&path, format!("{path}: {inner}."))
    })?;
    reader.end().map_err(|error| ApiError::invalid("body", format!("The body is not JSON: {error}.")))?;
    Ok(value)
}
