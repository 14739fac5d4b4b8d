//! What callers ask of a session: the shapes of the calls that change something.

use super::turn_stream::TurnStream;
use crate::ports::{AuditRecord, PendingInput, SessionSettings, SessionSummary};

/// A new session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CreateSession {
    /// Its id: 1 to 128 of `A-Z a-z 0-9 _ -`. Minted (a UUID of version 7) where absent.
    pub id: Option<String>,
    /// The application's metadata, a JSON object as text, at most 64 KiB. `{}` where absent.
    pub metadata: Option<String>,
    /// How its agent is run.
    pub settings: SessionSettings,
}

/// What a user says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UserMessage {
    /// Plain text.
    Text(String),
    /// A UI message of the user, JSON text, at most 4 MiB. Its `id` is kept where it has one.
    Json(String),
}

/// A message that starts a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SendMessage {
    /// What is kept and shown.
    pub message: UserMessage,
    /// What the agent is given, where it differs from the message's text.
    pub prompt: Option<String>,
    /// Model from this turn on.
    pub model: Option<String>,
    /// The same key again, of the last 64 of the session, is the same turn. At most 255 bytes.
    pub idempotency_key: Option<String>,
}

impl From<&str> for SendMessage {
    fn from(text: &str) -> Self {
        Self { message: UserMessage::Text(text.to_owned()), prompt: None, model: None, idempotency_key: None }
    }
}

/// An answer to a call that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerInput {
    /// The approval's id; the tool call's id for a result.
    pub id: String,
    /// The answer.
    pub answer: PersonsAnswer,
}

/// What a person, or the application, answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PersonsAnswer {
    /// The call may run.
    Allow {
        /// A reason, for the record.
        reason: Option<String>,
        /// Input to run with instead, JSON text, where the agent takes one.
        edited_input: Option<String>,
    },
    /// The call must not run.
    Deny {
        /// A reason, which the agent reads.
        reason: Option<String>,
    },
    /// The result of the call.
    Result {
        /// The output, JSON text; the error's words where it is an error.
        output: String,
        /// Whether it is an error.
        is_error: bool,
    },
}

/// Answers to a pause, in any number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answers {
    /// The answers.
    pub answers: Vec<AnswerInput>,
    /// The assistant message as `useChat` sends it back, JSON text: answers are read out of it.
    pub message: Option<String>,
    /// Who answers, for the audit log; empty where the application does not say.
    pub who: String,
}

/// What became of answers.
#[derive(Debug)]
pub struct Continued {
    /// The session; `pending` says what still waits.
    pub session: SessionSummary,
    /// The turn's next stream, where nothing waits any more.
    pub turn: Option<TurnStream>,
    /// Whether the answers were given before and nothing was done.
    pub repeated: bool,
}

/// A change of what the application keeps with a session. Absent fields stay.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UpdateSession {
    /// The new metadata, a JSON object as text.
    pub metadata: Option<String>,
    /// The new settings, used from the next start of the agent on.
    pub settings: Option<SessionSettings>,
    /// A conflict unless the metadata stands at this revision.
    pub metadata_revision: Option<u64>,
}

/// A tool call that the `approve` callback is asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalRequest {
    /// The session as it stands.
    pub session: SessionSummary,
    /// The turn.
    pub turn: String,
    /// The call.
    pub call: PendingInput,
}

/// A verdict of the `approve` callback.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Yes or no.
    pub approved: bool,
    /// A reason, which the agent reads when it is a no.
    pub reason: Option<String>,
    /// Input to run with instead, JSON text.
    pub edited_input: Option<String>,
    /// The rule that decided, for the audit log.
    pub rule: Option<String>,
}

impl Verdict {
    /// A plain yes.
    #[must_use]
    pub fn allow() -> Self {
        Self { approved: true, ..Self::default() }
    }

    /// A no with its reason.
    #[must_use]
    pub fn deny(reason: impl Into<String>) -> Self {
        Self { approved: false, reason: Some(reason.into()), ..Self::default() }
    }
}

/// A line of a session's audit log: `json` holds `turn`, `approvalId`, `toolCallId`, `toolName`, `who`, `verdict`,
/// `reason` and `rule`.
pub type AuditEntry = AuditRecord;
