//! How the server is, and what it can do.

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderValue, Response, StatusCode, header};
use serde_json::json as value;

use super::json;
use crate::server::App;
use crate::server::error::ApiError;
use crate::server::path::Query;

/// The document, but for its version, which is the program's.
const OPENAPI: &str = include_str!("../openapi.json");

/// Alive: it answers.
pub(super) async fn healthz(query: Query) -> Result<Response<Body>, ApiError> {
    query.end("")?;
    Ok(json(StatusCode::OK, &value!({ "status": "ok" })))
}

/// Ready: calls are taken, and the store can be read and written.
pub(super) async fn readyz(State(app): State<App>, query: Query) -> Result<Response<Body>, ApiError> {
    query.end("")?;
    app.manager.ready().await?;
    Ok(json(StatusCode::OK, &value!({ "status": "ready" })))
}

/// Counts for Prometheus.
pub(super) async fn metrics(State(app): State<App>, query: Query) -> Result<Response<Body>, ApiError> {
    query.end("")?;
    let stats = app.manager.stats().await?;
    let mut response = Response::new(Body::from(app.metrics.page(&stats)));
    let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    Ok(response)
}

/// What this server serves.
pub(super) async fn openapi(query: Query) -> Result<Response<Body>, ApiError> {
    query.end("")?;
    let document = OPENAPI.replace("\"0.0.0\"", concat!("\"", env!("CARGO_PKG_VERSION"), "\""));
    let mut response = Response::new(Body::from(document));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(response)
}
