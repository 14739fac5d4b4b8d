//! The JSON shapes that clients read. What is JSON text inside is passed through as it stands.

use serde::Serialize;
use serde_json::value::RawValue;

use super::time::iso;
use crate::ports::{
    AuditRecord, Decision, MessageRecord, PendingInput, PendingKind, SessionRecord, SessionSummary, Status, Stopping,
    TurnError, Usage,
};

/// A session, as every route shows it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Session {
    id: String,
    status: Status,
    metadata: Box<RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    working_directory: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    permission_mode: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mcp_servers: Option<Box<RawValue>>,
    created_at: String,
    updated_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    suspended_at: Option<String>,
    turns: u64,
    usage: Usage,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<TurnError>,
    pending_input: Pending,
    message_count: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    turn: Option<String>,
    revision: u64,
    metadata_revision: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    stopping: Option<Stopping>,
    degraded: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    messages: Option<Vec<Box<RawValue>>>,
}

/// What a paused turn waits for.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Pending {
    approvals: Vec<Approval>,
    tool_calls: Vec<ToolCall>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Approval {
    approval_id: String,
    tool_call_id: String,
    tool_name: String,
    input: Box<RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<Decision>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolCall {
    tool_call_id: String,
    tool_name: String,
    input: Box<RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<Decision>,
}

/// A page of sessions.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Page {
    pub(super) sessions: Vec<Session>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) next_cursor: Option<String>,
}

/// A part of a session's audit log.
#[derive(Debug, Serialize)]
pub(super) struct Audit {
    pub(super) entries: Vec<serde_json::Value>,
}

/// JSON text as it stands; `null` for text that is none, which only a damaged store gives.
pub(super) fn raw(text: String) -> Box<RawValue> {
    RawValue::from_string(text).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

impl From<SessionSummary> for Session {
    fn from(summary: SessionSummary) -> Self {
        Self {
            id: summary.id,
            status: summary.status,
            metadata: raw(summary.metadata),
            working_directory: summary.settings.working_directory,
            model: summary.settings.model,
            permission_mode: summary.settings.permission_mode,
            mcp_servers: summary.settings.mcp_servers.map(raw),
            created_at: iso(summary.created_at_ms),
            updated_at: iso(summary.updated_at_ms),
            suspended_at: summary.suspended_at_ms.map(iso),
            turns: summary.turns,
            usage: summary.usage,
            error: summary.error,
            pending_input: pending(summary.pending),
            message_count: summary.message_count,
            turn: summary.turn,
            revision: summary.revision,
            metadata_revision: summary.metadata_revision,
            stopping: summary.stopping,
            degraded: summary.degraded,
            messages: None,
        }
    }
}

impl From<SessionRecord> for Session {
    fn from(record: SessionRecord) -> Self {
        let message = |message: MessageRecord| raw(message.json);
        let messages = Some(record.messages.into_iter().map(message).collect());
        Self { messages, ..Self::from(record.summary) }
    }
}

fn pending(calls: Vec<PendingInput>) -> Pending {
    let (mut approvals, mut tool_calls) = (Vec::new(), Vec::new());
    for call in calls {
        let PendingInput { kind, approval_id, tool_call_id, tool_name, input, decision } = call;
        let input = raw(input);
        match kind {
            PendingKind::Approval => {
                approvals.push(Approval { approval_id, tool_call_id, tool_name, input, decision });
            }
            PendingKind::Result => tool_calls.push(ToolCall { tool_call_id, tool_name, input, decision }),
        }
    }
    Pending { approvals, tool_calls }
}

/// A line of the audit log with its number and time.
pub(super) fn audit_entry(record: &AuditRecord) -> serde_json::Value {
    let mut entry = serde_json::Map::new();
    entry.insert("seq".to_owned(), record.seq.into());
    entry.insert("at".to_owned(), iso(record.at_ms).into());
    if let Ok(serde_json::Value::Object(fields)) = serde_json::from_str(&record.json) {
        entry.extend(fields.into_iter().filter(|(_, value)| !value.is_null()));
    }
    entry.into()
}
