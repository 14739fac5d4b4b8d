//! What the engine tells goes to whom it concerns: callers, readers of turns, subscribers, the log.

use std::sync::Arc;

use super::caught::caught;
use super::message::{Accepted, Joined};
use super::replies::Wanted;
use super::streams::TurnChannel;
use super::{Driver, convert};
use crate::engine::types::Event;
use crate::engine::types::event::{self, StreamEnd, StreamEnded, Undelivered, Warned};
use crate::manager::{SessionError, SessionEvent, Start};
use crate::ports::SessionSummary;

impl Driver {
    /// Tells the events of one step, in order.
    pub(super) fn tell_all(&mut self, events: Vec<Event>) {
        let ended: Vec<String> = events
            .iter()
            .filter_map(|event| match event {
                Event::StreamEnded(ended) => Some(ended.session.clone()),
                _ => None,
            })
            .collect();
        // A session that leaves memory in this step can be shown only as the step itself shows it.
        let shown: Vec<SessionSummary> = events
            .iter()
            .filter_map(|event| match event {
                Event::SessionUpdated(summary) if ended.contains(&summary.id) => {
                    Some(convert::summary_out(summary.clone()))
                }
                _ => None,
            })
            .collect();
        for event in events {
            self.tell(event, &shown);
        }
    }

    fn tell(&mut self, event: Event, shown: &[SessionSummary]) {
        match event {
            Event::Ready => {
                self.ready = true;
                self.faults_in_a_row = 0;
                for waiter in self.ready_waiters.drain(..) {
                    // A caller that has gone away needs no answer.
                    let _ = waiter.send(());
                }
                self.hub.tell(SessionEvent::Ready);
            }
            Event::Accepted(accepted) => self.accepted(accepted),
            Event::Refused(refused) => {
                self.totals.refused += 1;
                self.replies.answer(refused.command, Err(convert::rejection_out(refused.rejection)));
            }
            Event::TurnStarted(started) => {
                self.totals.streams_opened += 1;
                self.turns.channel(&started.session, &started.turn).open(started.next_seq);
            }
            Event::Undelivered(undelivered) => self.undelivered(undelivered),
            Event::SessionUpdated(summary) => self.hub.tell(SessionEvent::Updated(convert::summary_out(summary))),
            Event::SessionDeleted(session) => {
                self.turns.forget(&session, &SessionError::NotFound { session: session.clone() });
                self.hub.tell(SessionEvent::Deleted { session });
            }
            Event::SessionReleased(session) => {
                let words = "The session has left this host before its turn was over; look at it to see how it stands.";
                self.turns.release(&session, &SessionError::unavailable(words));
            }
            Event::ChunksInjected(injected) => {
                self.totals.chunks += injected.chunks.len() as u64;
                if let Some(channel) = self.turns.find(&injected.session, &injected.turn) {
                    let chunks = injected.chunks.into_iter().map(Arc::from);
                    channel.add(injected.first_seq, chunks, injected.replay_from);
                }
            }
            Event::StreamEnded(ended) => self.stream_ended(&ended, shown),
            Event::Audited(audited) => {
                let entry = convert::audit_out(audited.entry);
                self.hub.tell(SessionEvent::Audited { session: audited.session, entry });
            }
            Event::Warned(warned) => self.warned(warned),
            Event::ShutDown => self.ended = true,
        }
    }

    fn accepted(&mut self, accepted: event::Accepted) {
        let event::Accepted { command, summary, turn, incomplete, repeated } = accepted;
        let summary = convert::summary_out(summary);
        let joined = match (self.replies.wanted(command), turn) {
            (Some(Wanted::Turn), Some(turn)) => Some(self.join_sent(&summary, &turn, repeated)),
            (Some(Wanted::Continued), Some(turn)) if !incomplete => self.join_continued(&summary, &turn, repeated),
            _ => None,
        };
        self.replies.answer(command, Ok(Accepted { summary, turn: joined, repeated }));
    }

    /// The stream of a turn whose message was accepted now, or was before.
    fn join_sent(&mut self, summary: &SessionSummary, turn: &str, repeated: bool) -> Joined {
        if !repeated {
            let channel = self.turns.channel(&summary.id, turn);
            channel.expect();
            return Joined::fresh(channel);
        }
        if summary.turn.as_deref() == Some(turn) {
            if let Some(joined) = self.rebuilt(&summary.id, turn) {
                return joined;
            }
            let channel = self.turns.channel(&summary.id, turn);
            if channel.part() == 0 {
                channel.expect();
            }
            return Joined::fresh(channel);
        }
        let channel = match self.turns.find_over(&summary.id, turn) {
            Some(channel) => Arc::clone(channel),
            None => Arc::new(TurnChannel::new(&summary.id, turn)),
        };
        if channel.part() == 0 {
            channel.open(0);
            channel.end(Ok(Arc::new(summary.clone())));
        }
        let part = channel.part().saturating_sub(1);
        Joined { channel, part, start: Start::Resync }
    }

    /// The stream that goes on after answers.
    fn join_continued(&mut self, summary: &SessionSummary, turn: &str, repeated: bool) -> Option<Joined> {
        if repeated {
            return self.turns.expected(&summary.id).filter(|channel| channel.turn() == turn).map(join_now);
        }
        let channel = self.turns.channel(&summary.id, turn);
        let joined = join_now(&channel);
        channel.expect();
        Some(joined)
    }

    /// A turn under way from the beginning of its message on; its parts before a pause, too.
    pub(super) fn rebuilt(&mut self, session: &str, turn: &str) -> Option<Joined> {
        let rebuilt = self.engine.rebuild(session).ok().flatten().filter(|rebuilt| rebuilt.turn == turn)?;
        let channel = Arc::clone(self.turns.find(session, turn)?);
        let part = if channel.is_expected() { channel.part() } else { channel.part().checked_sub(1)? };
        let start =
            if rebuilt.chunks.is_empty() { Start::Fresh } else { Start::Rebuilt(rebuilt.chunks, rebuilt.next_seq) };
        Some(Joined { channel, part, start })
    }

    fn undelivered(&mut self, undelivered: Undelivered) {
        self.totals.undelivered += 1;
        let Undelivered { session, turn, message } = undelivered;
        let Some(channel) = self.turns.find(&session, &turn).map(Arc::clone) else { return };
        if channel.is_expected() {
            channel.end(Err(SessionError::Undelivered { session: session.clone(), turn: turn.clone(), message }));
        }
        let summary = self.engine.summary(&session).ok().flatten();
        if summary.is_none_or(|summary| summary.turn.as_deref() != Some(turn.as_str())) {
            self.turns.retire(&session);
        }
    }

    fn stream_ended(&mut self, ended: &StreamEnded, shown: &[SessionSummary]) {
        match ended.end {
            StreamEnd::Finished => self.totals.finished += 1,
            StreamEnd::Paused => self.totals.paused += 1,
            StreamEnd::Failed => self.totals.failed += 1,
            StreamEnd::Interrupted => self.totals.interrupted += 1,
        }
        let Some(channel) = self.turns.find(&ended.session, &ended.turn).map(Arc::clone) else { return };
        if channel.is_expected() {
            let in_memory = self.engine.summary(&ended.session).ok().flatten().map(convert::summary_out);
            let summary = in_memory.or_else(|| shown.iter().find(|summary| summary.id == ended.session).cloned());
            match summary {
                Some(summary) => channel.end(Ok(Arc::new(summary))),
                None => self.end_with_stored(channel),
            }
        }
        if ended.end != StreamEnd::Paused {
            self.turns.retire(&ended.session);
        }
    }

    /// Ends a stream whose session has left memory: its end is durable, so the store knows how it stands.
    fn end_with_stored(&self, channel: Arc<TurnChannel>) {
        let ports = Arc::clone(&self.ports);
        tokio::spawn(async move {
            let loaded = caught(ports.store.load(channel.session())).await;
            let words = "The turn has ended, but how its session stands cannot be read; look at it in a moment.";
            let end = match loaded {
                Ok(Ok(Some(record))) => Ok(Arc::new(record.summary)),
                Ok(Ok(None)) => Err(SessionError::NotFound { session: channel.session().to_owned() }),
                Ok(Err(error)) => Err(error.into()),
                Err(_) => Err(SessionError::unavailable(words)),
            };
            channel.end(end);
        });
    }

    fn warned(&mut self, warned: Warned) {
        self.totals.warnings += 1;
        let Warned { session, action, message } = warned;
        tracing::warn!(session, action, "{message}");
        self.hub.tell(SessionEvent::Warned { session, action, message });
    }
}

/// Joins a stream that is open at what comes next, and one that is to come at its beginning.
fn join_now(channel: &Arc<TurnChannel>) -> Joined {
    let start = if channel.is_open() { Start::At(channel.next_seq()) } else { Start::Fresh };
    Joined { channel: Arc::clone(channel), part: channel.part(), start }
}
