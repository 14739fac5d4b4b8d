//! The stream of a turn as one reader sees it: join late, leave, come back at a cursor, never slow the turn.

use std::collections::VecDeque;
use std::sync::Arc;

use super::cursor::Cursor;
use super::error::SessionError;
use crate::driver::Handle;
use crate::driver::streams::{Read, TurnChannel};
use crate::ports::SessionSummary;

/// One item of a turn's stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnItem {
    /// The next UI message chunk.
    Chunk {
        /// Its place, to come back at. None while the message so far is being rebuilt for a reader that came without a
        /// cursor: such a reader comes back without one.
        cursor: Option<Cursor>,
        /// The chunk, JSON text.
        json: Arc<str>,
    },
    /// The reader has missed chunks: this is the whole message as it stands. The chunks that follow go on from there.
    Resync {
        /// The place that the message stands at.
        cursor: Cursor,
        /// The assistant's UI message, JSON text.
        message_json: Arc<str>,
    },
}

/// Where a reader starts.
#[derive(Debug)]
pub(crate) enum Start {
    /// At the beginning of the stream that is to come or is open.
    Fresh,
    /// At the chunk of this number.
    At(u64),
    /// With the message as it stands, then at whatever comes next.
    Resync,
    /// With the chunks that rebuild the message, then at the chunk of this number.
    Rebuilt(Vec<String>, u64),
}

/// Reads one stream of a turn: from its start, or from where the reader joined, to the turn's end or its next pause.
/// Dropping it does not end the turn.
#[derive(Debug)]
pub struct TurnStream {
    handle: Handle,
    channel: Arc<TurnChannel>,
    /// Which of the turn's streams is read: pauses end one, answers open the next.
    part: usize,
    next: Option<u64>,
    resync: bool,
    rebuilt: VecDeque<String>,
    ready: VecDeque<Arc<str>>,
}

impl TurnStream {
    pub(crate) fn new(handle: Handle, channel: Arc<TurnChannel>, part: usize, start: Start) -> Self {
        let mut stream =
            Self { handle, channel, part, next: None, resync: false, rebuilt: VecDeque::new(), ready: VecDeque::new() };
        match start {
            Start::Fresh => {}
            Start::At(n) => stream.next = Some(n),
            Start::Resync => stream.resync = true,
            Start::Rebuilt(chunks, n) => {
                stream.rebuilt = chunks.into();
                stream.next = Some(n);
            }
        }
        stream
    }

    /// The session's id.
    #[must_use]
    pub fn session_id(&self) -> &str {
        self.channel.session()
    }

    /// The turn's id.
    #[must_use]
    pub fn turn_id(&self) -> &str {
        self.channel.turn()
    }

    /// Waits for the next item; `None` when the turn is over, waits for a person, or did not come. [`done`](Self::done)
    /// says which.
    ///
    /// Cancel safe: dropping the future loses nothing.
    pub async fn next(&mut self) -> Option<TurnItem> {
        if let Some(chunk) = self.rebuilt.pop_front() {
            return Some(TurnItem::Chunk { cursor: None, json: chunk.into() });
        }
        loop {
            if let Some(json) = self.ready.pop_front() {
                let n = self.next?.wrapping_sub(self.ready.len() as u64 + 1);
                return Some(TurnItem::Chunk { cursor: Some(self.cursor(n)), json });
            }
            if !self.resync {
                match self.channel.read(self.part, &mut self.next, &mut self.ready).await {
                    Read::Chunks => continue,
                    Read::End => return None,
                    Read::Behind => {}
                }
            }
            let (message_json, next) = self.handle.message_of_turn(&self.channel).await?;
            self.resync = false;
            self.next = Some(next);
            let cursor = self.cursor(next.saturating_sub(1));
            return Some(TurnItem::Resync { cursor, message_json: message_json.into() });
        }
    }

    /// Waits until the turn's end or its pause for a person is durable, and gives the session as it stands then. A turn
    /// that failed resolves too: the session's `error` says why.
    ///
    /// # Errors
    /// [`SessionError::Undelivered`] when the message or the answer did not reach the agent;
    /// [`SessionError::Unavailable`] when the host has stopped.
    pub async fn done(&self) -> Result<SessionSummary, SessionError> {
        self.channel.done(self.part).await.map(|summary| SessionSummary::clone(&summary))
    }

    fn cursor(&self, n: u64) -> Cursor {
        Cursor { turn: Arc::clone(self.channel.turn_arc()), n }
    }
}
