//! Which turn's stream is whose: the live one of each session, and a few that are over for readers that come back late.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use super::message::Joined;
use super::streams::TurnChannel;
use crate::manager::{Cursor, SessionError, Start};

/// Streams of turns that are over, kept for readers that come back.
const KEPT: usize = 32;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Turns {
    live: HashMap<String, Arc<TurnChannel>>,
    over: VecDeque<Arc<TurnChannel>>,
}

impl Turns {
    /// The stream of a turn, made where there is none.
    pub(super) fn channel(&mut self, session: &str, turn: &str) -> Arc<TurnChannel> {
        if let Some(channel) = self.find(session, turn) {
            return Arc::clone(channel);
        }
        self.retire(session);
        let channel = Arc::new(TurnChannel::new(session, turn));
        self.live.insert(session.to_owned(), Arc::clone(&channel));
        channel
    }

    /// The stream of a session's live turn, if it is this one.
    pub(super) fn find(&self, session: &str, turn: &str) -> Option<&Arc<TurnChannel>> {
        self.live.get(session).filter(|channel| channel.turn() == turn)
    }

    /// The stream of a turn that is over.
    pub(super) fn find_over(&self, session: &str, turn: &str) -> Option<&Arc<TurnChannel>> {
        self.over.iter().find(|channel| channel.turn() == turn && channel.session() == session)
    }

    /// The turn of the session is over.
    pub(super) fn retire(&mut self, session: &str) {
        if let Some(channel) = self.live.remove(session) {
            self.over.truncate(KEPT - 1);
            self.over.push_front(channel);
        }
    }

    /// The session has left this host: who still waits for its turn is told.
    pub(super) fn release(&mut self, session: &str, error: &SessionError) {
        if let Some(channel) = self.live.remove(session)
            && channel.is_expected()
        {
            channel.end(Err(error.clone()));
        }
    }

    /// The session is forgotten.
    pub(super) fn forget(&mut self, session: &str, error: &SessionError) {
        self.release(session, error);
        self.over.retain(|channel| channel.session() != session);
    }

    /// Nothing goes on.
    pub(super) fn end_all(&mut self, error: &SessionError) {
        for (_, channel) in self.live.drain() {
            if channel.is_expected() {
                channel.end(Err(error.clone()));
            }
        }
    }

    /// Joins at a cursor. `None` where nothing follows it.
    pub(super) fn join_at(&self, session: &str, after: &Cursor) -> Option<Joined> {
        let known = self.find(session, &after.turn).or_else(|| self.find_over(session, &after.turn));
        if let Some(channel) = known {
            return join_known(channel, after.n);
        }
        let channel = self.live.get(session).filter(|channel| channel.is_expected())?;
        let start = if channel.is_open() { Start::Resync } else { Start::Fresh };
        Some(Joined { channel: Arc::clone(channel), part: channel.part(), start })
    }

    /// The stream of the session's live turn, where a part is open or will be.
    pub(super) fn expected(&self, session: &str) -> Option<&Arc<TurnChannel>> {
        self.live.get(session).filter(|channel| channel.is_expected())
    }
}

fn join_known(channel: &Arc<TurnChannel>, n: u64) -> Option<Joined> {
    let (next, part) = (n.saturating_add(1), channel.part());
    if channel.is_expected() {
        return Some(Joined { channel: Arc::clone(channel), part, start: Start::At(next) });
    }
    // The part has ended: what the reader has not seen of it is still told.
    let part = part.checked_sub(1)?;
    (next < channel.next_seq()).then(|| Joined { channel: Arc::clone(channel), part, start: Start::At(next) })
}
