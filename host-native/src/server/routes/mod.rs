//! The routes: which handler answers what, and what holds for all of them.

mod answers;
mod events;
mod health;
mod messages;
mod sessions;
mod turn;

use axum::Router;
use axum::body::Body;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderValue, Method, Response, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::IntoResponse;
use axum::routing::{get, post};
use serde::Serialize;

use super::error::ApiError;
use super::{App, body, guard};

/// Every route, as the router and the `OpenAPI` document name it, with its methods.
pub(super) fn router(app: App) -> Router {
    Router::new()
        .route("/v1/sessions", get(sessions::list).post(sessions::create))
        .route("/v1/sessions/{id}", get(sessions::read).patch(sessions::update).delete(sessions::delete))
        .route("/v1/sessions/{id}/messages", post(messages::send))
        .route("/v1/sessions/{id}/answers", post(answers::answer))
        .route("/v1/sessions/{id}/turn", get(turn::follow))
        .route("/v1/sessions/{id}/interrupt", post(sessions::interrupt))
        .route("/v1/sessions/{id}/suspend", post(sessions::suspend))
        .route("/v1/sessions/{id}/close", post(sessions::close))
        .route("/v1/sessions/{id}/audit", get(sessions::audit))
        .route("/v1/events", get(events::events))
        .route("/healthz", get(health::healthz))
        .route("/readyz", get(health::readyz))
        .route("/metrics", get(health::metrics))
        .route("/openapi.json", get(health::openapi))
        .fallback(no_route)
        .method_not_allowed_fallback(no_method)
        .layer(middleware::from_fn_with_state(app.clone(), bounded))
        .layer(middleware::from_fn_with_state(app.clone(), guard::guard))
        .layer(middleware::from_fn_with_state(app.clone(), counted))
        .with_state(app)
}

async fn no_route(request: Request) -> ApiError {
    let path: String = request.uri().path().chars().take(200).collect();
    let message = format!("There is nothing at {path:?}. /openapi.json describes what there is.");
    ApiError::new(StatusCode::NOT_FOUND, "no-such-route", message)
}

async fn no_method(method: Method) -> ApiError {
    let method: String = method.as_str().chars().take(40).collect();
    let message = format!("This route does not take {method}; the header `Allow` says what it takes.");
    ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "method-not-allowed", message)
}

/// Refuses a body that says beforehand that it is too large, also where none is read.
async fn bounded(State(app): State<App>, request: Request, next: Next) -> Response<Body> {
    if body::announced(request.headers()).is_some_and(|length| length > app.options.max_body as u64) {
        return body::too_large(app.options.max_body).header(header::CONNECTION, "close").into_response();
    }
    next.run(request).await
}

/// Counts and logs every answer.
async fn counted(State(app): State<App>, request: Request, next: Next) -> Response<Body> {
    let known = [Method::GET, Method::POST, Method::PATCH, Method::DELETE, Method::PUT, Method::HEAD, Method::OPTIONS];
    let method = known.iter().find(|method| *method == request.method()).map_or("OTHER", Method::as_str).to_owned();
    let route = request.extensions().get::<MatchedPath>().map_or("none", MatchedPath::as_str).to_owned();
    let response = next.run(request).await;
    let status = response.status().as_u16();
    app.metrics.count(&method, &route, status);
    tracing::debug!(method, route, status, "answered");
    response
}

/// An answer in JSON.
fn json(status: StatusCode, value: &impl Serialize) -> Response<Body> {
    let text = match serde_json::to_vec(value) {
        Ok(text) => text,
        Err(error) => {
            let message = format!("The answer could not be written as JSON: {error}.");
            return ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", message).into_response();
        }
    };
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
