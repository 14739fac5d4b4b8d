//! What reaches the loop: one queue for everything, so that its order is the order of the world.

use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};

use super::inbox::Inbox;
use super::streams::TurnChannel;
use crate::engine::types::input::{Failure, NoticeBody};
use crate::engine::types::{CommandBody, LiveMessage, Outcome};
use crate::manager::{Cursor, SessionError, Start, Stats};
use crate::ports::{Lease, SessionSummary, StartedAgent};

/// A turn's stream and where to start reading it.
#[derive(Debug)]
pub(super) struct Joined {
    pub(super) channel: Arc<TurnChannel>,
    pub(super) part: usize,
    pub(super) start: Start,
}

/// A command's good answer.
#[derive(Debug)]
pub(super) struct Accepted {
    pub(super) summary: SessionSummary,
    pub(super) turn: Option<Joined>,
    pub(super) repeated: bool,
}

/// Where a command's answer goes. It stays with the driver: the engine knows the command's number alone.
pub(super) type Reply = oneshot::Sender<Result<Accepted, SessionError>>;

/// A session in memory, and the message of its turn.
pub(super) type Live = (SessionSummary, Option<LiveMessage>);

/// A question that the engine's state answers.
#[derive(Debug)]
pub(super) enum Query {
    /// Joins a turn's stream.
    Follow { session: String, after: Option<Cursor>, reply: oneshot::Sender<Option<Joined>> },
    /// The message of a turn under way and the number of the next chunk.
    Message { channel: Arc<TurnChannel>, reply: oneshot::Sender<Option<(String, u64)>> },
    /// The session as it stands in memory.
    Live { session: String, reply: oneshot::Sender<Option<Live>> },
    /// Sessions as they stand in memory.
    Summaries { sessions: Vec<String>, reply: oneshot::Sender<Vec<Option<SessionSummary>>> },
    /// Counts.
    Stats { reply: oneshot::Sender<Stats> },
    /// Resolves when commands are taken.
    Ready { reply: oneshot::Sender<()> },
}

/// What an adapter answers.
pub(super) enum Report {
    /// An effect's outcome.
    Completed(u64, Outcome),
    /// A sandbox, named by the effect that asked for it.
    Acquired(u64, Result<Lease, Failure>),
    /// An agent, named by the effect that started it.
    Started(u64, Result<StartedAgent, Failure>),
    /// What the agent of this name says of itself.
    Notice(u64, NoticeBody),
    /// An operation has taken longer than the engine waits for it: those behind it may start.
    Overdue(u64),
}

/// One thing for the loop.
pub(super) enum Message {
    /// A call of the application.
    Command { session: String, body: CommandBody, reply: Reply },
    /// An adapter's answer, to the engine of this era.
    Report { era: u32, report: Report },
    /// A slice has chunks.
    Chunks(Arc<Inbox>),
    /// A question.
    Query(Query),
    /// What an engine's breakdown left has been ended: begin with a new one.
    Restart { session: Option<String> },
    /// End everything in order; answered when it has ended.
    Shutdown(oneshot::Sender<()>),
}

/// The way for adapters' answers. Effects of an engine that broke down have the same numbers as those of the next one:
/// the era tells them apart.
#[derive(Clone)]
pub(super) struct Reporter {
    pub(super) queue: mpsc::UnboundedSender<Message>,
    pub(super) era: u32,
}

impl Reporter {
    /// Reports to the loop; without effect once it has ended.
    pub(super) fn report(&self, report: Report) {
        let _ = self.queue.send(Message::Report { era: self.era, report });
    }
}
