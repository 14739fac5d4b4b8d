//! What a client is told when something is not done: one JSON shape for every refusal, with the code that fits.

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, Response, StatusCode, header};
use axum::response::IntoResponse;
use serde_json::{Map, Value};

use crate::manager::SessionError;

/// Seconds after which a client may try again what the moment refused.
const RETRY_AFTER: u32 = 1;

/// A refusal as it is answered: `{ "error": { "code", "message", ... } }`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ApiError {
    status: StatusCode,
    code: &'static str,
    message: String,
    details: Map<String, Value>,
    header: Option<(HeaderName, HeaderValue)>,
}

impl ApiError {
    pub(super) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), details: Map::new(), header: None }
    }

    /// What was sent is wrong: where, what, and what would be right.
    pub(super) fn invalid(field: &str, message: impl Into<String>) -> Self {
        let message = message.into();
        Self::new(StatusCode::BAD_REQUEST, "invalid", message).with("field", field)
    }

    pub(super) fn not_found(session: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not-found", format!("There is no session {session:?}."))
    }

    pub(super) fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.details.insert(key.to_owned(), value.into());
        self
    }

    pub(super) fn header(mut self, name: HeaderName, value: &'static str) -> Self {
        self.header = Some((name, HeaderValue::from_static(value)));
        self
    }

    pub(super) fn retry_after(mut self) -> Self {
        self.header = Some((header::RETRY_AFTER, HeaderValue::from(RETRY_AFTER)));
        self
    }

    /// The words, for a stream whose headers are gone already.
    pub(super) fn message(&self) -> &str {
        &self.message
    }
}

impl From<SessionError> for ApiError {
    fn from(error: SessionError) -> Self {
        let code = error.code();
        let message = error.to_string();
        match error {
            SessionError::NotFound { .. } => Self::new(StatusCode::NOT_FOUND, code, message),
            SessionError::Conflict { status, .. } => {
                Self::new(StatusCode::CONFLICT, code, message).with("status", status.as_str())
            }
            SessionError::Capacity { capacity } => {
                Self::new(StatusCode::SERVICE_UNAVAILABLE, code, message).with("capacity", capacity).retry_after()
            }
            SessionError::Invalid { field, .. } => {
                Self::new(StatusCode::BAD_REQUEST, code, message).with("field", field)
            }
            SessionError::Undelivered { turn, .. } => {
                Self::new(StatusCode::SERVICE_UNAVAILABLE, code, message).with("turn", turn)
            }
            SessionError::Store { .. } | SessionError::Unavailable { .. } => {
                Self::new(StatusCode::SERVICE_UNAVAILABLE, code, message).retry_after()
            }
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response<Body> {
        let mut error = Map::new();
        error.insert("code".to_owned(), self.code.into());
        error.insert("message".to_owned(), self.message.into());
        error.extend(self.details);
        let body = Value::Object(Map::from_iter([("error".to_owned(), Value::Object(error))])).to_string();
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = self.status;
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some((name, value)) = self.header {
            response.headers_mut().insert(name, value);
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::Status;

    #[test]
    fn every_kind_of_refusal_has_its_status_code_and_details() {
        let session = || "a".to_owned();
        let conflict = SessionError::Conflict { session: session(), status: Status::Busy, message: "wait.".to_owned() };
        let table = [
            (SessionError::NotFound { session: session() }, 404, None),
            (conflict, 409, Some(("status", Value::from("busy")))),
            (SessionError::Capacity { capacity: 3 }, 503, Some(("capacity", Value::from(3)))),
            (
                SessionError::Invalid { field: "model".to_owned(), message: "no.".to_owned() },
                400,
                Some(("field", Value::from("model"))),
            ),
            (SessionError::Store { message: "full".to_owned() }, 503, None),
            (SessionError::unavailable("stopping"), 503, None),
        ];
        for (error, status, detail) in table {
            let answer = ApiError::from(error.clone());
            assert_eq!(answer.status.as_u16(), status, "{error}");
            assert_eq!(answer.code, error.code());
            if let Some((key, value)) = detail {
                assert_eq!(answer.details.get(key), Some(&value), "{error}");
            }
        }
    }
}
