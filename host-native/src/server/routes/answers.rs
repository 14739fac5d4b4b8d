//! Answers to a pause: by id, or read out of the message that `useChat` sends back.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{Response, StatusCode};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{json, turn};
use crate::manager::{AnswerInput, Answers, PersonsAnswer};
use crate::server::error::ApiError;
use crate::server::path::SessionId;
use crate::server::shapes::Session;
use crate::server::{App, body};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Given {
    #[serde(default)]
    answers: Vec<One>,
    message: Option<Box<RawValue>>,
    #[serde(default)]
    who: String,
}

/// A yes or no (`approved`), or a result (`output`).
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct One {
    id: String,
    approved: Option<bool>,
    reason: Option<String>,
    edited_input: Option<Box<RawValue>>,
    output: Option<Box<RawValue>>,
    is_error: Option<bool>,
}

pub(super) async fn answer(
    State(app): State<App>,
    SessionId(id): SessionId,
    request: Request,
) -> Result<Response<Body>, ApiError> {
    let given: Given = body::json(&app, request).await?;
    if given.answers.is_empty() && given.message.is_none() {
        let message = "answers: the body has to hold `answers`, or the `message` that holds them.";
        return Err(ApiError::invalid("answers", message));
    }
    let message = given.message.map(|message| Box::<str>::from(message).into_string());
    if message.as_ref().is_some_and(|message| !message.starts_with('{')) {
        return Err(ApiError::invalid("message", "message: it has to be a UI message (an object)."));
    }
    let answers =
        given.answers.into_iter().enumerate().map(|(place, one)| read(place, one)).collect::<Result<_, _>>()?;
    let continued = app.manager.continue_turn(&id, Answers { answers, message, who: given.who }).await?;
    if let Some(stream) = continued.turn {
        return Ok(turn::response(&app, stream));
    }
    let waits = continued.session.pending.iter().any(|call| call.decision.is_none());
    let status = if waits { StatusCode::ACCEPTED } else { StatusCode::OK };
    Ok(json(status, &Session::from(continued.session)))
}

fn read(place: usize, one: One) -> Result<AnswerInput, ApiError> {
    let wrong = |field: &str, words: &str| {
        let field = format!("answers[{place}].{field}");
        Err(ApiError::invalid(&field, format!("{field}: {words}")))
    };
    let text = |raw: Box<RawValue>| Box::<str>::from(raw).into_string();
    let One { id, approved, reason, edited_input, output, is_error } = one;
    let answer = match (approved, output) {
        (Some(_), Some(_)) => return wrong("output", "an answer has `approved` or `output`, not both."),
        (None, None) => return wrong("approved", "an answer needs `approved` (a yes or no) or `output` (a result)."),
        (Some(_), None) if is_error.is_some() => return wrong("isError", "it goes with `output` alone."),
        (Some(true), None) => PersonsAnswer::Allow { reason, edited_input: edited_input.map(text) },
        (_, _) if edited_input.is_some() => return wrong("editedInput", "it goes with `approved: true` alone."),
        (Some(false), None) => PersonsAnswer::Deny { reason },
        (None, Some(_)) if reason.is_some() => return wrong("reason", "it goes with `approved` alone."),
        (None, Some(output)) => {
            let is_error = is_error.unwrap_or(false);
            PersonsAnswer::Result { output: output_text(&output, is_error), is_error }
        }
    };
    Ok(AnswerInput { id, answer })
}

/// A result is JSON text; an error is its words, which clients send as a JSON string.
fn output_text(output: &RawValue, is_error: bool) -> String {
    let words = if is_error { serde_json::from_str(output.get()).ok() } else { None };
    words.unwrap_or_else(|| output.get().to_owned())
}
