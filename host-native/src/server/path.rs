//! Ids and parameters of a request: checked in words, before anything is asked of the manager.

use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::request::Parts;

use super::error::ApiError;

/// The longest id of a session, in bytes.
const ID_BYTES: usize = 128;

/// The session's id in the path.
#[derive(Debug)]
pub(super) struct SessionId(pub(super) String);

impl<S: Send + Sync> FromRequestParts<S> for SessionId {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let Ok(params) = RawPathParams::from_request_parts(parts, state).await else {
            return Err(ApiError::invalid("id", "id: the session's id in the path is not UTF-8."));
        };
        let id = params.iter().find(|(name, _)| *name == "id").map_or("", |(_, id)| id);
        check_id(id)?;
        Ok(Self(id.to_owned()))
    }
}

/// Ids name directories and rows, so they are plain.
pub(super) fn check_id(id: &str) -> Result<(), ApiError> {
    let wrong = id.chars().find(|c| !(c.is_ascii_alphanumeric() || *c == '_' || *c == '-'));
    let message = match wrong {
        Some(wrong) => {
            format!("id: a session's id has letters, digits, \"_\" and \"-\" alone; this one has {wrong:?}.")
        }
        None if id.is_empty() => format!("id: a session's id has 1 to {ID_BYTES} characters; this one is empty."),
        None if id.len() > ID_BYTES => {
            format!("id: a session's id has 1 to {ID_BYTES} characters; this one has {}.", id.len())
        }
        None => return Ok(()),
    };
    Err(ApiError::invalid("id", message))
}

/// The query's parameters, in order.
#[derive(Debug)]
pub(super) struct Query(Vec<(String, String)>);

impl<S: Send + Sync> FromRequestParts<S> for Query {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let text = parts.uri.query().unwrap_or_default();
        Ok(Self(form_urlencoded::parse(text.as_bytes()).into_owned().collect()))
    }
}

impl Query {
    /// Takes every value of a parameter.
    pub(super) fn all(&mut self, name: &str) -> Vec<String> {
        self.0.extract_if(.., |(key, _)| key == name).map(|(_, value)| value).collect()
    }

    /// Takes the parameters whose name begins so, without that beginning.
    pub(super) fn prefixed(&mut self, prefix: &str) -> Vec<(String, String)> {
        let taken = self.0.extract_if(.., |(key, _)| key.starts_with(prefix));
        taken.map(|(key, value)| (key[prefix.len()..].to_owned(), value)).collect()
    }

    /// Takes a parameter that is given once at most.
    pub(super) fn one(&mut self, name: &str) -> Result<Option<String>, ApiError> {
        let mut values = self.all(name);
        if values.len() > 1 {
            return Err(ApiError::invalid(name, format!("{name}: the parameter is given {} times.", values.len())));
        }
        Ok(values.pop())
    }

    /// Takes a number within bounds.
    pub(super) fn number(&mut self, name: &str, least: u64, most: u64) -> Result<Option<u64>, ApiError> {
        let Some(text) = self.one(name)? else { return Ok(None) };
        match text.parse() {
            Ok(number) if (least..=most).contains(&number) => Ok(Some(number)),
            _ => {
                let text: String = text.chars().take(40).collect();
                let message = format!("{name}: it has to be a whole number from {least} to {most}, not {text:?}.");
                Err(ApiError::invalid(name, message))
            }
        }
    }

    /// Refuses what nobody took.
    pub(super) fn end(self, known: &str) -> Result<(), ApiError> {
        let Some((name, _)) = self.0.first() else { return Ok(()) };
        let name: String = name.chars().take(40).collect();
        let known = if known.is_empty() { "none is" } else { known };
        Err(ApiError::invalid(&name, format!("{name}: this parameter is not known here; {known} taken.")))
    }
}
