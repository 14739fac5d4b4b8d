//! Sessions themselves: opened, listed, read, changed, stopped, forgotten.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, Response, StatusCode, header};
use axum::response::IntoResponse;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::json;
use crate::manager::{CreateSession, ListQuery, UpdateSession};
use crate::ports::{SessionSettings, SessionSummary, Status};
use crate::server::error::ApiError;
use crate::server::path::{Query, SessionId, check_id};
use crate::server::shapes::{Audit, Page, Session, audit_entry};
use crate::server::{App, body};

type Answer = Result<Response<Body>, ApiError>;

/// Sessions on a page where the client does not say.
const PAGE: u64 = 50;
/// The most sessions on a page, and lines of an audit log.
const LARGEST_PAGE: u64 = 500;

/// A field that tells absent from `null`.
fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Create {
    id: Option<String>,
    metadata: Option<Box<RawValue>>,
    working_directory: Option<String>,
    model: Option<String>,
    permission_mode: Option<String>,
    mcp_servers: Option<Box<RawValue>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Update {
    metadata: Option<Box<RawValue>>,
    metadata_revision: Option<u64>,
    #[serde(default, deserialize_with = "given")]
    working_directory: Option<Option<String>>,
    #[serde(default, deserialize_with = "given")]
    model: Option<Option<String>>,
    #[serde(default, deserialize_with = "given")]
    permission_mode: Option<Option<String>>,
    #[serde(default, deserialize_with = "given")]
    mcp_servers: Option<Option<Box<RawValue>>>,
}

fn text(raw: Box<RawValue>) -> String {
    Box::<str>::from(raw).into_string()
}

pub(super) async fn create(State(app): State<App>, request: Request) -> Answer {
    let create: Create = body::json(&app, request).await?;
    if let Some(id) = &create.id {
        check_id(id)?;
    }
    let settings = SessionSettings {
        working_directory: create.working_directory,
        model: create.model,
        permission_mode: create.permission_mode,
        mcp_servers: create.mcp_servers.map(text),
    };
    let create = CreateSession { id: create.id, metadata: create.metadata.map(text), settings };
    let summary = app.manager.create(create).await?;
    let location = HeaderValue::from_str(&format!("/v1/sessions/{}", summary.id));
    let mut response = shown(StatusCode::CREATED, summary);
    if let Ok(location) = location {
        response.headers_mut().insert(header::LOCATION, location);
    }
    Ok(response)
}

fn shown(status: StatusCode, summary: SessionSummary) -> Response<Body> {
    json(status, &Session::from(summary))
}

pub(super) async fn list(State(app): State<App>, mut query: Query) -> Answer {
    let mut statuses = Vec::new();
    for names in query.all("status") {
        for name in names.split(',') {
            let known = || Status::ALL.map(Status::as_str).join(", ");
            let status = Status::parse(name).ok_or_else(|| {
                let name: String = name.chars().take(40).collect();
                ApiError::invalid("status", format!("status: {name:?} is no status; there are {}.", known()))
            })?;
            statuses.push(status);
        }
    }
    let metadata = query.prefixed("metadata.").into_iter().map(|(key, value)| (key, json_of(value))).collect();
    let limit = query.number("limit", 1, LARGEST_PAGE)?.unwrap_or(PAGE);
    let cursor = query.one("cursor")?;
    query.end("status, metadata.KEY, limit and cursor are")?;
    let limit = u32::try_from(limit).unwrap_or(u32::MAX);
    let page = app.manager.list(ListQuery { statuses, metadata, limit, cursor }).await?;
    let sessions = page.sessions.into_iter().map(Session::from).collect();
    Ok(json(StatusCode::OK, &Page { sessions, next_cursor: page.next }))
}

/// A value of metadata as JSON text: what is JSON is taken as such, anything else is a string.
fn json_of(value: String) -> String {
    if serde_json::from_str::<&RawValue>(&value).is_ok() { value } else { serde_json::Value::from(value).to_string() }
}

pub(super) async fn read(State(app): State<App>, SessionId(id): SessionId, query: Query) -> Answer {
    query.end("")?;
    let record = app.manager.get(&id).await?.ok_or_else(|| ApiError::not_found(&id))?;
    Ok(json(StatusCode::OK, &Session::from(record)))
}

pub(super) async fn update(State(app): State<App>, SessionId(id): SessionId, request: Request) -> Answer {
    let update: Update = body::json(&app, request).await?;
    let changes_settings = update.working_directory.is_some()
        || update.model.is_some()
        || update.permission_mode.is_some()
        || update.mcp_servers.is_some();
    let settings = if changes_settings {
        let record = app.manager.get(&id).await?.ok_or_else(|| ApiError::not_found(&id))?;
        let mut settings = record.summary.settings;
        set(&mut settings.working_directory, update.working_directory);
        set(&mut settings.model, update.model);
        set(&mut settings.permission_mode, update.permission_mode);
        set(&mut settings.mcp_servers, update.mcp_servers.map(|servers| servers.map(text)));
        Some(settings)
    } else {
        None
    };
    let metadata_revision = update.metadata_revision;
    let update = UpdateSession { metadata: update.metadata.map(text), settings, metadata_revision };
    Ok(shown(StatusCode::OK, app.manager.update(&id, update).await?))
}

fn set(setting: &mut Option<String>, given: Option<Option<String>>) {
    if let Some(value) = given {
        *setting = value;
    }
}

pub(super) async fn delete(State(app): State<App>, SessionId(id): SessionId, request: Request) -> Answer {
    body::nothing(&app, request).await?;
    app.manager.delete(&id).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

pub(super) async fn interrupt(State(app): State<App>, SessionId(id): SessionId, request: Request) -> Answer {
    body::nothing(&app, request).await?;
    Ok(shown(StatusCode::OK, app.manager.interrupt(&id).await?))
}

pub(super) async fn suspend(State(app): State<App>, SessionId(id): SessionId, request: Request) -> Answer {
    body::nothing(&app, request).await?;
    Ok(shown(StatusCode::OK, app.manager.suspend(&id).await?))
}

pub(super) async fn close(State(app): State<App>, SessionId(id): SessionId, request: Request) -> Answer {
    body::nothing(&app, request).await?;
    Ok(shown(StatusCode::OK, app.manager.close(&id).await?))
}

pub(super) async fn audit(State(app): State<App>, SessionId(id): SessionId, mut query: Query) -> Answer {
    let after = query.number("after", 0, u64::MAX)?;
    let limit = query.number("limit", 1, LARGEST_PAGE)?.unwrap_or(LARGEST_PAGE);
    query.end("after and limit are")?;
    let limit = u32::try_from(limit).unwrap_or(u32::MAX);
    let entries = app.manager.audit(&id, after, limit).await?;
    Ok(json(StatusCode::OK, &Audit { entries: entries.iter().map(audit_entry).collect() }))
}
