//! Conversions between the contract's types and the ports': field by field, so that a change of either does not compile.

use crate::engine::types::{Rejection, Status as EngineStatus, Summary, effect, input, session};
use crate::manager::{AnswerInput, PersonsAnswer, SessionError, Verdict};
use crate::ports::{
    AuditRecord, Decision, MessageRecord, Ownership, PendingInput, PendingKind, ResumeChange, ResumeState, Save,
    SessionSettings, SessionSummary, Status, Stopping, StoredSession, TurnError, Usage,
};

pub(super) fn settings_in(settings: SessionSettings) -> session::Settings {
    let SessionSettings { working_directory, model, permission_mode, mcp_servers } = settings;
    session::Settings { working_directory, model, permission_mode, mcp_servers }
}

pub(super) fn settings_out(settings: session::Settings) -> SessionSettings {
    let session::Settings { working_directory, model, permission_mode, mcp_servers } = settings;
    SessionSettings { working_directory, model, permission_mode, mcp_servers }
}

pub(super) fn answer_in(answer: AnswerInput) -> input::AnswerInput {
    let AnswerInput { id, answer } = answer;
    let answer = match answer {
        PersonsAnswer::Allow { reason, edited_input } => {
            input::AnswerBody::Allow(input::Allow { reason, edited_input })
        }
        PersonsAnswer::Deny { reason } => input::AnswerBody::Deny(input::Deny { reason }),
        PersonsAnswer::Result { output, is_error } => input::AnswerBody::Result(input::ResultBody { output, is_error }),
    };
    input::AnswerInput { id, answer }
}

pub(super) fn verdict_in(verdict: Verdict) -> input::Verdict {
    let Verdict { approved, reason, edited_input, rule } = verdict;
    input::Verdict { approved, reason, edited_input, rule }
}

pub(super) fn status_out(status: EngineStatus) -> Status {
    match status {
        EngineStatus::Preparing => Status::Preparing,
        EngineStatus::Idle => Status::Idle,
        EngineStatus::Busy => Status::Busy,
        EngineStatus::AwaitingInput => Status::AwaitingInput,
        EngineStatus::Suspended => Status::Suspended,
        EngineStatus::Closed => Status::Closed,
        EngineStatus::Failed => Status::Failed,
        EngineStatus::Interrupted => Status::Interrupted,
    }
}

fn status_in(status: Status) -> EngineStatus {
    match status {
        Status::Preparing => EngineStatus::Preparing,
        Status::Idle => EngineStatus::Idle,
        Status::Busy => EngineStatus::Busy,
        Status::AwaitingInput => EngineStatus::AwaitingInput,
        Status::Suspended => EngineStatus::Suspended,
        Status::Closed => EngineStatus::Closed,
        Status::Failed => EngineStatus::Failed,
        Status::Interrupted => EngineStatus::Interrupted,
    }
}

pub(super) fn usage_in(usage: Usage) -> session::Usage {
    let Usage { input_tokens, output_tokens, total_tokens, cost_micro_usd } = usage;
    session::Usage { input_tokens, output_tokens, total_tokens, cost_micro_usd }
}

fn usage_out(usage: session::Usage) -> Usage {
    let session::Usage { input_tokens, output_tokens, total_tokens, cost_micro_usd } = usage;
    Usage { input_tokens, output_tokens, total_tokens, cost_micro_usd }
}

pub(super) fn pending_out(pending: session::PendingInput) -> PendingInput {
    let session::PendingInput { kind, approval_id, tool_call_id, tool_name, input, decision } = pending;
    let kind = match kind {
        session::PendingKind::Approval => PendingKind::Approval,
        session::PendingKind::Result => PendingKind::Result,
    };
    let decision = decision.map(|session::Decision { approved, reason }| Decision { approved, reason });
    PendingInput { kind, approval_id, tool_call_id, tool_name, input, decision }
}

fn pending_in(pending: PendingInput) -> session::PendingInput {
    let PendingInput { kind, approval_id, tool_call_id, tool_name, input, decision } = pending;
    let kind = match kind {
        PendingKind::Approval => session::PendingKind::Approval,
        PendingKind::Result => session::PendingKind::Result,
    };
    let decision = decision.map(|Decision { approved, reason }| session::Decision { approved, reason });
    session::PendingInput { kind, approval_id, tool_call_id, tool_name, input, decision }
}

fn stopping_out(stopping: session::Stopping) -> Stopping {
    match stopping {
        session::Stopping::Interrupt => Stopping::Interrupt,
        session::Stopping::Suspend => Stopping::Suspend,
        session::Stopping::Close => Stopping::Close,
        session::Stopping::Delete => Stopping::Delete,
    }
}

fn stopping_in(stopping: Stopping) -> session::Stopping {
    match stopping {
        Stopping::Interrupt => session::Stopping::Interrupt,
        Stopping::Suspend => session::Stopping::Suspend,
        Stopping::Close => session::Stopping::Close,
        Stopping::Delete => session::Stopping::Delete,
    }
}

pub(super) fn summary_out(summary: Summary) -> SessionSummary {
    let Summary {
        id,
        status,
        metadata,
        settings,
        created_at_ms,
        updated_at_ms,
        suspended_at_ms,
        turns,
        usage,
        error,
        pending,
        message_count,
        turn,
        revision,
        metadata_revision,
        stopping,
        degraded,
    } = summary;
    SessionSummary {
        id,
        status: status_out(status),
        metadata,
        settings: settings_out(settings),
        created_at_ms,
        updated_at_ms,
        suspended_at_ms,
        turns,
        usage: usage_out(usage),
        error: error.map(|session::TurnError { code, message }| TurnError { code, message }),
        pending: pending.into_iter().map(pending_out).collect(),
        message_count,
        turn,
        revision,
        metadata_revision,
        stopping: stopping.map(stopping_out),
        degraded,
    }
}

fn summary_in(summary: SessionSummary) -> Summary {
    let SessionSummary {
        id,
        status,
        metadata,
        settings,
        created_at_ms,
        updated_at_ms,
        suspended_at_ms,
        turns,
        usage,
        error,
        pending,
        message_count,
        turn,
        revision,
        metadata_revision,
        stopping,
        degraded,
    } = summary;
    Summary {
        id,
        status: status_in(status),
        metadata,
        settings: settings_in(settings),
        created_at_ms,
        updated_at_ms,
        suspended_at_ms,
        turns,
        usage: usage_in(usage),
        error: error.map(|TurnError { code, message }| session::TurnError { code, message }),
        pending: pending.into_iter().map(pending_in).collect(),
        message_count,
        turn,
        revision,
        metadata_revision,
        stopping: stopping.map(stopping_in),
        degraded,
    }
}

fn message_out(message: session::StoredMessage) -> MessageRecord {
    let session::StoredMessage { index, id, json } = message;
    MessageRecord { index, id, json }
}

fn message_in(message: MessageRecord) -> session::StoredMessage {
    let MessageRecord { index, id, json } = message;
    session::StoredMessage { index, id, json }
}

pub(super) fn audit_out(entry: session::AuditEntry) -> AuditRecord {
    let session::AuditEntry { seq, at_ms, turn, approval_id, tool_call_id, tool_name, who, verdict, reason, rule } =
        entry;
    let (who, name) = match who {
        session::AuditWho::Person(name) => ("person", Some(name).filter(|name| !name.is_empty())),
        session::AuditWho::Approver => ("approver", None),
        session::AuditWho::Kept => ("kept", None),
        session::AuditWho::Engine => ("engine", None),
    };
    let mut json = serde_json::json!({
        "turn": turn, "approvalId": approval_id, "toolCallId": tool_call_id, "toolName": tool_name, "who": who,
        "verdict": verdict,
    });
    for (field, value) in [("name", name), ("reason", reason), ("rule", rule)] {
        if let Some(value) = value {
            json[field] = value.into();
        }
    }
    AuditRecord { seq, at_ms, json: json.to_string() }
}

pub(super) fn save_out(save: effect::Save) -> Save {
    let effect::Save {
        write_id,
        generation,
        revision,
        summary,
        engine_state,
        messages,
        tail_from,
        audit,
        resume,
        owner,
        lease_ms,
    } = save;
    Save {
        write_id,
        generation,
        revision,
        summary: summary_out(summary),
        engine_state,
        messages: messages.into_iter().map(message_out).collect(),
        tail_from,
        audit: audit.into_iter().map(audit_out).collect(),
        resume: match resume {
            effect::ResumeChange::Keep => ResumeChange::Keep,
            effect::ResumeChange::Replace(state) => ResumeChange::Replace(ResumeState::new(state)),
            effect::ResumeChange::Drop => ResumeChange::Drop,
        },
        ownership: match owner {
            Some(owner) => Ownership::Held { owner, lease_ms },
            None => Ownership::Released,
        },
    }
}

pub(super) fn stored_in(stored: StoredSession) -> session::StoredSession {
    let StoredSession { generation, revision, summary, engine_state, tail, resume } = stored;
    session::StoredSession {
        generation,
        revision,
        summary: summary_in(summary),
        engine_state,
        tail: tail.into_iter().map(message_in).collect(),
        resume: resume.map(resume_in),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the secret is not to live on in two places")]
pub(super) fn resume_in(resume: ResumeState) -> String {
    resume.expose().to_owned()
}

pub(super) fn rejection_out(rejection: Rejection) -> SessionError {
    match rejection {
        Rejection::NotFound(session) => SessionError::NotFound { session },
        Rejection::Conflict(conflict) => SessionError::Conflict {
            session: conflict.session,
            status: status_out(conflict.status),
            message: conflict.message,
        },
        Rejection::Capacity(capacity) => SessionError::Capacity { capacity },
        Rejection::Invalid(invalid) => SessionError::Invalid { field: invalid.field, message: invalid.message },
        Rejection::Store(message) => SessionError::Store { message },
        Rejection::Unavailable(message) => SessionError::Unavailable { message },
    }
}
