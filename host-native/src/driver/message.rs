//! What reaches the loop: one queue for everything, so that its order is the order of the world.

use std::sync::Arc;

use tokio::sync::oneshot;

use super::inbox::Inbox;
use super::streams::TurnChannel;
use crate::engine::types::{CommandBody, LiveMessage, Outcome, input::NoticeBody};
use crate::manager::{Cursor, SessionError, Start, Stats};
use crate::ports::SessionSummary;

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

/// One thing for the loop.
#[derive(Debug)]
pub(super) enum Message {
    /// A call of the application.
    Command { session: String, body: CommandBody, reply: Reply },
    /// An adapter's answer to an effect.
    Completed { effect: u64, outcome: Outcome },
    /// What an agent says of itself.
    Notice { agent: u64, body: NoticeBody },
    /// A slice has chunks.
    Chunks(Arc<Inbox>),
    /// A question.
    Query(Query),
    /// End everything in order; answered when it has ended.
    Shutdown(oneshot::Sender<()>),
}
