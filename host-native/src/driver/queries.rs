//! Questions that the engine's state answers, between two inputs.

use std::sync::Arc;

use super::message::{Joined, Query};
use super::{Driver, convert};
use crate::manager::{Cursor, Stats};

impl Driver {
    /// Answers a question. A caller that has gone away needs no answer.
    pub(super) fn answer(&mut self, query: Query) {
        match query {
            Query::Follow { session, after, reply } => {
                let joined = self.follow(&session, after.as_ref());
                let _ = reply.send(joined);
            }
            Query::Message { channel, reply } => {
                let live = self.engine.live_message(channel.session()).ok().flatten();
                let live = live.filter(|live| live.turn == channel.turn());
                let _ = reply.send(live.map(|live| (live.json, live.next_seq)));
            }
            Query::Live { session, reply } => {
                let summary = self.engine.summary(&session).ok().flatten();
                let live = summary.map(|summary| {
                    let message = self.engine.live_message(&session).ok().flatten();
                    (convert::summary_out(summary), message)
                });
                let _ = reply.send(live);
            }
            Query::Summaries { sessions, reply } => {
                let summary = |session: &String| self.engine.summary(session).ok().flatten().map(convert::summary_out);
                let _ = reply.send(sessions.iter().map(summary).collect());
            }
            Query::Stats { reply } => {
                let _ = reply.send(self.stats());
            }
            Query::Ready { reply } => {
                if self.ready {
                    let _ = reply.send(());
                } else {
                    self.ready_waiters.push(reply);
                }
            }
        }
    }

    fn follow(&mut self, session: &str, after: Option<&Cursor>) -> Option<Joined> {
        if let Some(after) = after {
            return self.turns.join_at(session, after);
        }
        let channel = Arc::clone(self.turns.expected(session)?);
        if channel.is_open() {
            let turn = channel.turn().to_owned();
            return self.rebuilt(session, &turn);
        }
        Some(Joined::fresh(channel))
    }

    fn stats(&mut self) -> Stats {
        let mut stats = Stats { capacity: self.config.capacity, totals: self.totals, ..Stats::default() };
        if let Ok(counts) = self.engine.stats() {
            stats.sessions = counts.sessions;
            stats.live = counts.live;
            stats.leases = counts.leases;
            stats.waiting = counts.waiting;
            stats.effects = counts.effects;
            stats.ready = counts.ready && self.broken.is_none();
        }
        stats
    }
}
