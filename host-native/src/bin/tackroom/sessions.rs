//! `tackroom sessions`: list, show, close and export.

use std::fmt::Write as _;
use std::io::Write;

use hyper::Method;
use serde_json::{Value, json};

use crate::cli::{Sessions, SessionsCommand, Where};
use crate::client::Client;
use crate::connect::Connection;
use crate::exit::Failure;

/// Sessions asked for at once.
const PAGE: usize = 500;

pub(crate) async fn run(sessions: Sessions) -> Result<(), Failure> {
    let at = match &sessions.command {
        SessionsCommand::List { at, .. }
        | SessionsCommand::Show { at, .. }
        | SessionsCommand::Close { at, .. }
        | SessionsCommand::Export { at, .. } => Where::clone(at),
    };
    let connection = Connection::open(&at).await?;
    let outcome = answer(&connection.client, sessions.command).await;
    connection.end().await;
    outcome
}

async fn answer(client: &Client, command: SessionsCommand) -> Result<(), Failure> {
    match command {
        SessionsCommand::List { status, metadata, limit, json, .. } => {
            let sessions = list(client, status.as_deref(), &metadata, limit.unwrap_or(usize::MAX)).await?;
            if json { print(&json!({ "sessions": sessions }).to_string()) } else { print(&table(&sessions)) }
        }
        SessionsCommand::Show { id, json, .. } => {
            let session = client.json(Method::GET, &path(&id), None).await?;
            if json { print(&session.to_string()) } else { print(&shown(&session)) }
        }
        SessionsCommand::Close { id, json, .. } => {
            let session = client.json(Method::POST, &format!("{}/close", path(&id)), None).await?;
            if json { print(&session.to_string()) } else { print(&format!("Session {id} is closed.")) }
        }
        SessionsCommand::Export { id, output, .. } => {
            let session = client.json(Method::GET, &path(&id), None).await?;
            let audit = audit(client, &id).await?;
            let text = json!({ "format": "tackroom-session-1", "session": session, "audit": audit }).to_string();
            match output {
                None => print(&text),
                Some(file) => std::fs::write(&file, format!("{text}\n"))
                    .map_err(|error| Failure::failed(format!("{} cannot be written: {error}.", file.display()))),
            }
        }
    }
}

/// The path of a session, its id escaped: the server says what is wrong with it.
pub(crate) fn path(id: &str) -> String {
    let id: String = form_urlencoded::byte_serialize(id.as_bytes()).collect();
    format!("/v1/sessions/{}", id.replace('+', "%20"))
}

async fn list(client: &Client, status: Option<&str>, metadata: &[String], most: usize) -> Result<Vec<Value>, Failure> {
    let mut sessions: Vec<Value> = Vec::new();
    let mut cursor: Option<String> = None;
    while sessions.len() < most {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.append_pair("limit", &PAGE.min(most - sessions.len()).to_string());
        if let Some(status) = status {
            query.append_pair("status", status);
        }
        for pair in metadata {
            let wrong = || Failure::usage(format!("--metadata: {pair:?} cannot be used; it has to be KEY=VALUE."));
            let (key, value) = pair.split_once('=').ok_or_else(wrong)?;
            query.append_pair(&format!("metadata.{key}"), value);
        }
        if let Some(cursor) = &cursor {
            query.append_pair("cursor", cursor);
        }
        let mut page = client.json(Method::GET, &format!("/v1/sessions?{}", query.finish()), None).await?;
        if let Value::Array(more) = page["sessions"].take() {
            sessions.extend(more);
        }
        cursor = page["nextCursor"].as_str().map(str::to_owned);
        if cursor.is_none() {
            break;
        }
    }
    Ok(sessions)
}

async fn audit(client: &Client, id: &str) -> Result<Vec<Value>, Failure> {
    let mut entries: Vec<Value> = Vec::new();
    loop {
        let after = entries.last().and_then(|entry| entry["seq"].as_u64());
        let after = after.map(|seq| format!("?after={seq}")).unwrap_or_default();
        let mut page = client.json(Method::GET, &format!("{}/audit{after}", path(id)), None).await?;
        match page["entries"].take() {
            Value::Array(more) if !more.is_empty() => entries.extend(more),
            _ => return Ok(entries),
        }
    }
}

fn print(text: &str) -> Result<(), Failure> {
    match writeln!(std::io::stdout(), "{}", text.trim_end()) {
        // Whoever read it has had enough.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        other => Ok(other?),
    }
}

fn table(sessions: &[Value]) -> String {
    if sessions.is_empty() {
        return "There are no sessions.".to_owned();
    }
    let mut text = format!("{:<38} {:<15} {:>5}  {}\n", "SESSION", "STATUS", "TURNS", "UPDATED");
    for session in sessions {
        let field = |name: &str| session[name].as_str().unwrap_or_default();
        let turns = session["turns"].as_u64().unwrap_or_default();
        // Writing into a string cannot fail.
        let _ = writeln!(text, "{:<38} {:<15} {turns:>5}  {}", field("id"), field("status"), field("updatedAt"));
    }
    text
}

fn shown(session: &Value) -> String {
    let mut lines = Vec::new();
    for name in ["id", "status", "model", "workingDirectory", "permissionMode", "createdAt", "updatedAt", "turns"] {
        match &session[name] {
            Value::Null => {}
            Value::String(value) => lines.push(format!("{name}: {}", plain(value))),
            value => lines.push(format!("{name}: {value}")),
        }
    }
    for name in ["metadata", "usage", "error", "pendingInput"] {
        if !session[name].is_null() {
            lines.push(format!("{name}: {}", session[name]));
        }
    }
    for message in session["messages"].as_array().into_iter().flatten() {
        lines.push(format!("\n{}:", message["role"].as_str().unwrap_or("?")));
        lines.extend(message["parts"].as_array().into_iter().flatten().filter_map(part));
    }
    lines.join("\n")
}

/// One part of a message, indented; nothing for what only divides.
fn part(part: &Value) -> Option<String> {
    let kind = part["type"].as_str().unwrap_or_default();
    let indented = |words: &str| plain(words).replace('\n', "\n  ");
    match part["text"].as_str() {
        Some(words) if kind == "text" => Some(format!("  {}", indented(words))),
        Some(words) if kind == "reasoning" => Some(format!("  ({})", indented(words))),
        _ if kind == "step-start" => None,
        _ => {
            let state = part["state"].as_str().unwrap_or_default();
            let input = part.get("input").map(Value::to_string).unwrap_or_default();
            Some(format!("  [{} {state}] {input}", plain(kind)))
        }
    }
}

/// Text of strangers without what a terminal would obey.
pub(crate) fn plain(text: &str) -> String {
    text.chars().filter(|c| !c.is_control() || *c == '\n' || *c == '\t').collect()
}
