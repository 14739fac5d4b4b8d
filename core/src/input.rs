//! Everything that can reach the engine: commands, completions, notices and ticks.

use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

use crate::record::{Settings, StoredSession, Usage};

/// One input of [`crate::Engine::step`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::large_enum_variant, reason = "inputs are moved once, into the engine")]
pub enum Input {
    /// The host is up: recover what a crash left and become ready.
    Start,
    /// Somebody wants something of a session.
    Command(Command),
    /// An adapter answers an effect.
    Completed(Completed),
    /// An agent says something of itself.
    Notice(Notice),
    /// Time has passed.
    Tick,
    /// End everything in order; new commands are refused from now on.
    Shutdown,
}

/// A command, with the host's own number for its reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    /// The host's number of this command: its replies carry it. Never used twice.
    pub id: u64,
    /// The session: 1 to 128 of `A-Z a-z 0-9 _ -`.
    pub session: String,
    /// What is wanted.
    pub body: CommandBody,
}

/// What is wanted of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum CommandBody {
    /// Open a new session.
    Create(Create),
    /// Start a turn with a user message.
    Send(Send),
    /// Answer what the paused turn waits for.
    Continue(Continue),
    /// Change metadata or settings.
    Update(Update),
    /// Cut the turn short.
    Interrupt,
    /// Stop the session and keep its state.
    Suspend,
    /// End the session for good.
    Close,
    /// End the session and forget it.
    Delete,
}

/// A new session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Create {
    /// The application's metadata, a JSON object.
    pub metadata: String,
    /// How its agent is run.
    pub settings: Settings,
    /// A fork of another session at a message. Reserved: refused.
    pub fork: Option<Fork>,
}

/// Where a forked session would start. Reserved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fork {
    /// The session to fork.
    pub session: String,
    /// The last message to take over.
    pub message: String,
}

/// What to do with a message to a busy session. Only `Reject` is served; the others are reserved.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum WhenBusy {
    /// Refuse it.
    #[default]
    Reject,
    /// Reserved: let it wait.
    Queue,
    /// Reserved: give it to the running turn.
    Steer,
}

/// A user message that starts a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Send {
    /// The turn's id, minted by the host.
    pub turn: String,
    /// The id of the answer to come, minted by the host.
    pub assistant_message: String,
    /// The user message's id, minted by the host or the client.
    pub user_message: String,
    /// The UI message, JSON text, or plain text: see `message_is_text`.
    pub message: String,
    /// Whether `message` is plain text.
    pub message_is_text: bool,
    /// What the agent is given, where it differs from the message's text.
    pub prompt: Option<String>,
    /// Model from this turn on.
    pub model: Option<String>,
    /// The same key again is the same turn.
    pub idempotency_key: Option<String>,
    /// What to do when the session is busy.
    pub when_busy: WhenBusy,
}

/// Answers to a pause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Continue {
    /// The answers, by approval id or tool call id.
    pub answers: Vec<AnswerInput>,
    /// The assistant message as `useChat` sends it back, JSON text: answers are read out of it.
    pub message: Option<String>,
    /// Who answers, for the audit log; empty where the application does not say.
    pub who: String,
}

/// One answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerInput {
    /// The approval's id, or the tool call's id for a result.
    pub id: String,
    /// The answer.
    pub answer: AnswerBody,
}

/// What was answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum AnswerBody {
    /// The call may run.
    Allow(Allow),
    /// The call must not run.
    Deny(Deny),
    /// The call's result.
    Result(ResultBody),
}

/// A yes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Allow {
    /// The reason given.
    pub reason: Option<String>,
    /// Input to run with instead, JSON text.
    pub edited_input: Option<String>,
}

/// A no.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deny {
    /// A reason that the agent reads.
    pub reason: Option<String>,
}

/// A result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResultBody {
    /// The output, JSON text; the error's words where it is an error.
    pub output: String,
    /// Whether it is an error.
    pub is_error: bool,
}

/// A change of what the application keeps with a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Update {
    /// The new metadata, a JSON object.
    pub metadata: Option<String>,
    /// The new settings, used from the next start of the agent on.
    pub settings: Option<Settings>,
    /// Refused with a conflict unless the metadata stands at this revision (`update` by function is retried on it).
    pub metadata_revision: Option<u64>,
}

/// An adapter's answer to an effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Completed {
    /// The effect's id.
    pub effect: u64,
    /// What came of it.
    pub outcome: Outcome,
}

/// What came of an effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::large_enum_variant, reason = "inputs are moved once, into the engine")]
pub enum Outcome {
    /// It is done, and there is nothing to tell: saves, deletions, releases, interruptions.
    Done,
    /// It failed.
    Failed(Failure),
    /// `LoadSession`: the session, now claimed, or nothing.
    Loaded(Option<StoredSession>),
    /// `ClaimLive`: a page of claimed sessions.
    Claimed(ClaimedPage),
    /// `RenewLeases`: the ids of sessions that another host holds now.
    Renewed(Vec<String>),
    /// `ListDue`.
    Due(Due),
    /// `AcquireSandbox`: the lease is named by the effect's id.
    Acquired,
    /// `StartAgent`: the agent is named by the effect's id; what would bring it back, secret.
    Started(Option<String>),
    /// `StopAgent`: what brings it back, secret.
    Stopped(Option<String>),
    /// `StartTurn`, `ContinueTurn`: the slice is over.
    SliceEnded(SliceEnd),
    /// `Approve`: the callback's verdict, or nothing: a person decides.
    Verdict(Option<Verdict>),
}

/// Why an effect failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The kind of failure.
    pub kind: FailureKind,
    /// A sentence for a person, without secrets.
    pub message: String,
}

/// Kinds of failure that the engine tells apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum FailureKind {
    /// Trying again may help; whether it took effect is not known.
    Unavailable,
    /// Nothing took effect, and trying again helps only after somebody mended it.
    Broken,
    /// A store: the session exists already.
    Exists,
    /// A store: another writer was first.
    Stale,
    /// A store: another host holds the session at a higher generation.
    Fenced,
    /// A store: another host holds the session.
    Held,
    /// A sandbox: no room after all.
    Capacity,
    /// What was to be brought back is gone.
    Gone,
    /// Anything else.
    Other,
}

/// A page of claimed sessions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimedPage {
    /// The sessions.
    pub sessions: Vec<StoredSession>,
    /// Whether more are to be claimed.
    pub more: bool,
}

/// Sessions suspended long ago.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Due {
    /// The store's clock, milliseconds since the Unix epoch.
    pub now_ms: u64,
    /// Ids, the longest suspended first.
    pub sessions: Vec<String>,
}

/// The end of a slice of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SliceEnd {
    /// How it ended.
    pub outcome: SliceOutcome,
    /// What it used.
    pub usage: Usage,
    /// The resume state as it is now, secret; nothing keeps the last one.
    pub resume: Option<String>,
    /// Tool calls whose answer did not reach a waiting call: their answers are kept for a call asked again.
    pub not_taken: Vec<String>,
}

/// How a slice ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum SliceOutcome {
    /// The turn is over.
    Finished,
    /// The turn waits for answers.
    Paused,
    /// The turn failed.
    Failed(SliceFailure),
    /// The turn was cut short.
    Interrupted,
}

/// Why a slice failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SliceFailure {
    /// A sentence for a person, without secrets.
    pub message: String,
    /// Whether the agent can be prompted again.
    pub alive: bool,
}

/// A verdict of the host's `approve` callback.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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

/// What an agent says outside a slice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    /// The agent: the id of the effect that started it.
    pub agent: u64,
    /// What it says.
    pub body: NoticeBody,
}

/// What an agent says outside a slice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum NoticeBody {
    /// Its resume state changed: secret.
    Checkpoint(String),
    /// It is gone: a sentence for a person.
    Exited(String),
}

/// Text that may begin or end in the middle of a UTF-16 surrogate pair, as JavaScript agents cut it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Piece {
    /// A lone low surrogate before the text.
    pub lead: Option<u16>,
    /// The text.
    pub text: String,
    /// A lone high surrogate after the text.
    pub trail: Option<u16>,
}

impl From<Piece> for crate::transcript::Piece {
    fn from(piece: Piece) -> Self {
        Self { lead: piece.lead, text: piece.text, trail: piece.trail }
    }
}

/// A piece of a text, of reasoning, or of a tool call's input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delta {
    /// The part's id; the tool call's id for a tool's input.
    pub id: String,
    /// What to append.
    pub piece: Piece,
}

/// One UI message chunk of an agent. The three kinds that make up most of a stream are typed; the rest is JSON text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Chunk {
    /// `text-delta`.
    TextDelta(Delta),
    /// `reasoning-delta`.
    ReasoningDelta(Delta),
    /// `tool-input-delta`.
    ToolInputDelta(Delta),
    /// Any chunk, as JSON text.
    Json(String),
}
