//! The port behind which coding agents run, so that a command line, a harness or a script can be one.
//!
//! A turn reaches the agent in *slices*: the first is a prompt, each further one brings answers. Within a slice the
//! agent sends chunks; the slice ends finished, paused, failed or interrupted.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::mpsc;

use super::record::{SessionSettings, Usage};
use super::sandbox::Sandbox;
use super::secret::ResumeState;

/// Text that may begin or end in the middle of a UTF-16 surrogate pair, as JavaScript agents cut it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Piece {
    /// A lone low surrogate before the text.
    pub lead: Option<u16>,
    /// The text.
    pub text: String,
    /// A lone high surrogate after the text.
    pub trail: Option<u16>,
}

impl From<&str> for Piece {
    fn from(text: &str) -> Self {
        Self { lead: None, text: text.to_owned(), trail: None }
    }
}

/// One UI message chunk. The three kinds that make up most of a stream are typed; the rest is JSON text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Chunk {
    /// `text-delta`.
    TextDelta {
        /// The text part's id.
        id: String,
        /// What to append.
        delta: Piece,
    },
    /// `reasoning-delta`.
    ReasoningDelta {
        /// The reasoning part's id.
        id: String,
        /// What to append.
        delta: Piece,
    },
    /// `tool-input-delta`.
    ToolInputDelta {
        /// The tool call's id.
        tool_call_id: String,
        /// What to append to the input's JSON text.
        delta: Piece,
    },
    /// Any chunk, as JSON text.
    Json(String),
}

/// What the agent is given at the start of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    /// The turn's id.
    pub turn: String,
    /// An id of this prompt, a UUID: an agent that has seen it ignores it.
    pub id: String,
    /// The text.
    pub text: String,
    /// The user message's file parts, JSON texts, in order.
    pub files: Vec<String>,
    /// Model for this turn on, where it changed.
    pub model: Option<String>,
}

/// One answer to what a paused turn waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The approval's id; the tool call's id for a result.
    pub approval_id: String,
    /// The tool call's id.
    pub tool_call_id: String,
    /// The tool's name.
    pub tool_name: String,
    /// The input that was asked about, JSON text.
    pub input: String,
    /// The answer.
    pub body: AnswerBody,
}

/// What was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnswerBody {
    /// The call may run, perhaps with another input (JSON text).
    Allow {
        /// Input to run with instead.
        edited_input: Option<String>,
    },
    /// The call must not run.
    Deny {
        /// A reason that the agent reads.
        reason: Option<String>,
    },
    /// The result of the call, JSON text.
    Result {
        /// The output.
        output: String,
        /// Whether it is an error.
        is_error: bool,
    },
}

/// Answers to one pause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answers {
    /// The turn's id.
    pub turn: String,
    /// An id of this delivery, a UUID, as [`Prompt::id`].
    pub id: String,
    /// Every answer of the pause.
    pub answers: Vec<Answer>,
    /// The same in words, for an agent that lost its paused turn.
    pub words: String,
}

/// How a slice ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SliceOutcome {
    /// The turn is over.
    Finished,
    /// The turn waits for answers to calls that its chunks have shown.
    Paused,
    /// The turn failed; the agent can take another prompt when `alive`.
    Failed {
        /// A sentence for a person, without secrets.
        message: String,
        /// Whether the agent still runs and can be prompted.
        alive: bool,
    },
    /// The turn was cut short by [`AgentSession::interrupt`].
    Interrupted,
}

/// The end of a slice, with what was learnt in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SliceEnd {
    /// How it ended.
    pub outcome: SliceOutcome,
    /// What this slice used.
    pub usage: Usage,
    /// The resume state as it is now; `None` keeps the last one.
    pub resume: Option<ResumeState>,
    /// Tool calls whose answer could not be given to the waiting call and was told in words or kept back: when the
    /// agent asks again for the same tool and input, the kept answer is given.
    pub not_taken: Vec<String>,
}

/// What an agent says between or beside slices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentNotice {
    /// The resume state changed (a pause was made durable by the agent's own means).
    Checkpoint(ResumeState),
    /// The agent is gone and cannot be prompted.
    Exited {
        /// A sentence for a person, without secrets.
        message: String,
    },
}

/// Why an agent did not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AgentError {
    /// The program is missing or not the right version.
    #[error("The agent {agent} cannot be used: {reason}")]
    Unusable {
        /// The agent's name.
        agent: String,
        /// What is wrong and what would help.
        reason: String,
    },
    /// It did not start, stop or answer.
    #[error("The agent failed: {0}")]
    Failed(String),
    /// It did not do so in time.
    #[error("The agent did not {what} within {seconds} seconds.")]
    TimedOut {
        /// What it should have done, an infinitive.
        what: String,
        /// The deadline in seconds.
        seconds: u64,
    },
}

/// Takes a slice's chunks, waiting while it has no room.
#[async_trait]
pub(crate) trait Intake: Send + Sync {
    /// Takes chunks; drops them where the slice has been given up.
    async fn take(&self, chunks: Vec<Chunk>);
}

/// Where a slice's chunks go. Dropped when the slice ends.
#[derive(Clone)]
pub struct TurnSink(Sink);

#[derive(Clone)]
enum Sink {
    Channel(mpsc::Sender<Vec<Chunk>>),
    Intake(Arc<dyn Intake>),
}

impl fmt::Debug for TurnSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TurnSink").finish_non_exhaustive()
    }
}

impl TurnSink {
    /// A sink into this channel.
    #[must_use]
    pub fn new(sender: mpsc::Sender<Vec<Chunk>>) -> Self {
        Self(Sink::Channel(sender))
    }

    pub(crate) fn into_intake(intake: Arc<dyn Intake>) -> Self {
        Self(Sink::Intake(intake))
    }

    /// Sends chunks on, waiting while the host is behind. Batches are cheaper than single chunks.
    ///
    /// Chunks sent after the host has let go of the turn are dropped without an error.
    pub async fn send(&self, chunks: Vec<Chunk>) {
        match &self.0 {
            Sink::Channel(sender) => {
                // A closed channel means that the turn was given up: there is nobody left to tell.
                let _ = sender.send(chunks).await;
            }
            Sink::Intake(intake) => intake.take(chunks).await,
        }
    }
}

/// Where an agent's notices go.
#[derive(Clone)]
pub struct Notices(Arc<dyn Fn(AgentNotice) + Send + Sync>);

impl fmt::Debug for Notices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Notices").finish_non_exhaustive()
    }
}

impl Notices {
    /// Notices into this channel.
    #[must_use]
    pub fn new(sender: mpsc::UnboundedSender<AgentNotice>) -> Self {
        Self::with(move |notice| {
            // A closed channel means that the agent was given up: there is nobody left to tell.
            let _ = sender.send(notice);
        })
    }

    /// Notices into this function, which must not wait.
    #[must_use]
    pub fn with(tell: impl Fn(AgentNotice) + Send + Sync + 'static) -> Self {
        Self(Arc::new(tell))
    }

    /// Tells the host; without effect once the host has let go of the agent.
    pub fn tell(&self, notice: AgentNotice) {
        (self.0)(notice);
    }
}

/// What is needed to start an agent or to bring it back.
pub struct StartAgent {
    /// The session's id.
    pub session: String,
    /// The generation under which the host holds the session.
    pub generation: u64,
    /// Where the agent works.
    pub sandbox: Arc<dyn Sandbox>,
    /// How it is run.
    pub settings: SessionSettings,
    /// What it gave when it was last saved; `None` starts it new.
    pub resume: Option<ResumeState>,
    /// Where it tells what happens outside a slice.
    pub notices: Notices,
}

/// A started agent.
pub struct StartedAgent {
    /// The running agent.
    pub agent: Arc<dyn AgentSession>,
    /// What would bring it back if the host died now; saved before the first prompt.
    pub resume: Option<ResumeState>,
}

/// A kind of coding agent.
#[async_trait]
pub trait Agent: Send + Sync + 'static {
    /// Its name, as in `--agent`.
    fn name(&self) -> &str;
    /// Starts it, or brings it back, in a sandbox.
    async fn start(&self, start: StartAgent) -> Result<StartedAgent, AgentError>;
}

/// A coding agent that runs in a session's sandbox. Slices come one at a time; the other calls at any moment.
#[async_trait]
pub trait AgentSession: Send + Sync + 'static {
    /// Starts a turn and returns at the end of its first slice. Returns in bounded time.
    async fn prompt(&self, prompt: Prompt, sink: TurnSink) -> SliceEnd;
    /// Goes on with a paused turn and returns at the end of the slice. After a resume without the paused turn, the
    /// agent is told in words, and the answers are listed in [`SliceEnd::not_taken`].
    async fn answer(&self, answers: Answers, sink: TurnSink) -> SliceEnd;
    /// Cuts the slice under way short; it then ends [`SliceOutcome::Interrupted`]. With a pause open, gives it up.
    async fn interrupt(&self) -> Result<(), AgentError>;
    /// Stops it and says what brings it back.
    async fn stop(&self) -> Result<Option<ResumeState>, AgentError>;
    /// Ends it at once, with everything it started. Nothing is kept.
    async fn destroy(&self);
}
