//! Makes a session durable: builds writes, tries them again, settles those whose outcome is not known.

use alloc::vec::Vec;

use crate::cx::{Cx, Kind, Later};
use crate::effect::{EffectBody, LoadSession, ResumeChange, Save};
use crate::event::{Accepted, Audited, Event, StreamEnd, StreamEnded};
use crate::input::{Failure, FailureKind};
use crate::record::{StoredMessage, StoredSession};
use crate::rejection::Rejection;
use crate::session::Session;
use crate::session::notes::Notes;
use crate::session::writer::{Acknowledge, After, InFlight, Then, Undo};
use crate::timers::TimerKey;

impl Session {
    /// Wants a write of the session as it stands, and these things done once it is durable.
    pub(crate) fn write(&mut self, cx: &mut Cx, afters: impl IntoIterator<Item = After>) {
        self.writer.afters.extend(afters);
        self.writer.wanted = true;
        self.pump(cx);
    }

    /// Wants a write that a caller waits for.
    pub(crate) fn acknowledge(&mut self, cx: &mut Cx, acknowledge: Acknowledge) {
        self.write(cx, [After::Acknowledge(acknowledge)]);
        self.arm_acknowledge(cx);
    }

    pub(crate) fn acknowledgement(&self, cx: &Cx, command: u64, undo: Undo, then: Then) -> Acknowledge {
        Acknowledge {
            command,
            turn: self.turn.as_ref().map(|turn| turn.id.clone()),
            incomplete: false,
            repeated: false,
            deadline_ms: cx.in_ms(cx.config.limits.acknowledge_timeout_ms),
            undo,
            then,
        }
    }

    pub(crate) fn arm_acknowledge(&mut self, cx: &mut Cx) {
        let key = TimerKey::Acknowledge(self.id.clone());
        match self.writer.first_deadline() {
            Some(deadline_ms) => cx.timers.set(key, deadline_ms),
            None => cx.timers.cancel(&key),
        }
    }

    /// Starts the next write if one is wanted and none is on its way.
    pub(crate) fn pump(&mut self, cx: &mut Cx) {
        if self.writer.in_flight.is_some() || !self.writer.wanted || self.gone {
            return;
        }
        let save = self.build_save(cx);
        self.writer.wanted = false;
        let afters = core::mem::take(&mut self.writer.afters);
        let effect = self.emit_save(cx, save.clone());
        self.writer.in_flight = Some(InFlight { save, effect: Some(effect), unknown: false, afters });
    }

    fn emit_save(&self, cx: &mut Cx, save: Save) -> u64 {
        let timeout = cx.config.limits.store_timeout_ms;
        cx.emit(&self.id, Kind::Save, timeout, EffectBody::SaveSession(save))
    }

    fn build_save(&mut self, cx: &mut Cx) -> Save {
        let write_id = cx.write_id();
        self.notes.write.clone_from(&write_id);
        let mut messages = core::mem::take(&mut self.writer.messages);
        messages.extend(self.answer_to_write());
        self.notes.turn = self.turn.as_ref().map(|turn| turn.noted());
        let revision = self.writer.revision + 1;
        let mut summary = self.summary();
        summary.revision = revision;
        summary.stopping = None;
        summary.degraded = false;
        let held = self.status.is_live() || !self.runtime.is_none();
        Save {
            write_id,
            generation: self.generation,
            revision,
            engine_state: self.notes.to_json(),
            messages,
            tail_from: self.tail_from(),
            audit: core::mem::take(&mut self.writer.audit),
            resume: self.writer.resume.take().unwrap_or(ResumeChange::Keep),
            owner: held.then(|| cx.config.owner.clone()),
            lease_ms: cx.config.limits.lease_ms,
            summary,
        }
    }

    /// The turn's message, if it changed and has something to keep.
    fn answer_to_write(&mut self) -> Option<StoredMessage> {
        let changed = core::mem::take(&mut self.writer.answer_changed);
        let next = self.message_count;
        let turn = self.turn.as_mut()?;
        if !changed || turn.message.part_count() == 0 {
            return None;
        }
        let index = *turn.index.get_or_insert_with(|| {
            self.message_count = next + 1;
            next
        });
        Some(StoredMessage { index, id: turn.assistant.clone(), json: turn.message.to_json() })
    }

    /// The write has taken effect.
    pub(crate) fn saved(&mut self, cx: &mut Cx) {
        let Some(in_flight) = self.writer.in_flight.take() else { return };
        self.writer.revision = in_flight.save.revision;
        for entry in in_flight.save.audit {
            cx.event(Event::Audited(Audited { session: self.id.clone(), entry }));
        }
        if core::mem::take(&mut self.writer.failures) > 0 {
            self.touch(cx);
        }
        cx.timers.cancel(&TimerKey::Retry(self.id.clone()));
        for after in in_flight.afters {
            self.after(cx, after);
        }
        self.pump(cx);
        self.arm_acknowledge(cx);
    }

    fn after(&mut self, cx: &mut Cx, after: After) {
        match after {
            After::Acknowledge(acknowledge) => {
                if let Some(turn) = &mut self.turn
                    && acknowledge.turn.as_deref() == Some(&turn.id)
                {
                    turn.durable = true;
                }
                cx.event(Event::Accepted(Accepted {
                    command: acknowledge.command,
                    summary: self.summary(),
                    turn: acknowledge.turn,
                    incomplete: acknowledge.incomplete,
                    repeated: acknowledge.repeated,
                }));
                if matches!(acknowledge.undo, Undo::Create) {
                    self.touch(cx);
                }
                self.then(cx, acknowledge.then);
            }
            After::Then(then) => self.then(cx, then),
            After::Reply(command) => cx.accept(command, self.summary(), None, false),
            // A pause that was over before it became durable ends no stream: the next end does.
            After::EndStream { turn, end: StreamEnd::Paused, .. }
                if self.turn.as_ref().is_none_or(|now| now.id != turn || now.stream_open) => {}
            After::EndStream { turn, next_seq, end } => {
                cx.event(Event::StreamEnded(StreamEnded { session: self.id.clone(), turn, end, next_seq }));
            }
            After::Release { keep } => self.release_lease(cx, keep),
            After::Discard => self.discard_sandbox(cx),
            // The deletion is the last write.
            After::Forget if self.writer.wanted => self.writer.afters.push(After::Forget),
            After::Forget => self.forget(cx),
        }
    }

    fn then(&mut self, cx: &mut Cx, then: Then) {
        match then {
            Then::Nothing => {}
            Then::Prepare => self.waiter_durable(cx),
            Then::Prompt => self.prompt(cx),
            Then::Deliver => self.deliver(cx),
        }
    }

    /// The write has failed, or its outcome is not known.
    pub(crate) fn save_failed(&mut self, cx: &mut Cx, failure: &Failure) {
        let Some(in_flight) = &mut self.writer.in_flight else { return };
        in_flight.effect = None;
        let (first, unknown) = (in_flight.save.revision == 1, in_flight.unknown);
        in_flight.unknown |= failure.kind != FailureKind::Broken;
        match failure.kind {
            FailureKind::Exists => self.already_there(cx),
            // A session kept under this id is of a higher generation than a new one.
            FailureKind::Fenced | FailureKind::Stale if first => self.already_there(cx),
            FailureKind::Fenced | FailureKind::Held | FailureKind::Stale => {
                cx.later.push_back(Later::Fenced(self.id.clone()));
            }
            FailureKind::Broken if !unknown => {
                self.note_failure(cx, &failure.message);
                self.take_back(cx, |_| true, &failure.message);
                self.drop_write_or_retry(cx);
            }
            _ => {
                self.note_failure(cx, &failure.message);
                self.retry_later(cx);
            }
        }
    }

    /// A definite failure: what is left of the write is tried again with what stands now.
    fn drop_write_or_retry(&mut self, cx: &mut Cx) {
        if self.gone {
            self.writer.in_flight = None;
            self.writer.wanted = false;
            return;
        }
        let Some(in_flight) = self.writer.in_flight.take() else { return };
        let answer = self.turn.as_ref().and_then(|turn| turn.index);
        self.writer.put_back(in_flight.save, self.message_count, answer);
        let mut afters = in_flight.afters;
        afters.append(&mut self.writer.afters);
        self.writer.afters = afters;
        self.retry_later(cx);
    }

    fn note_failure(&mut self, cx: &mut Cx, message: &str) {
        if self.writer.failures == 0 {
            self.touch(cx);
        }
        self.writer.failures = self.writer.failures.saturating_add(1);
        cx.warn(&self.id, "save", message);
        if let Some(lease) = self.runtime.lease() {
            // A lease that waits for this write does not come back soon: those who wait need another one.
            cx.slots.mark_returning(lease, false);
            cx.later.push_back(Later::ServeQueue);
        }
    }

    fn retry_later(&mut self, cx: &mut Cx) {
        let limits = &cx.config.limits;
        let doubled = limits.retry_first_ms.saturating_mul(1 << self.writer.failures.saturating_sub(1).min(20));
        let at_ms = cx.in_ms(doubled.min(limits.retry_longest_ms));
        cx.timers.set(TimerKey::Retry(self.id.clone()), at_ms);
    }

    /// The pause before another attempt is over.
    pub(crate) fn retry(&mut self, cx: &mut Cx) {
        if self.writer.settling {
            return self.read_back(cx);
        }
        let Some(in_flight) = &self.writer.in_flight else { return self.pump(cx) };
        if in_flight.effect.is_some() {
            return;
        }
        let save = in_flight.save.clone();
        let effect = self.emit_save(cx, save);
        if let Some(in_flight) = &mut self.writer.in_flight {
            in_flight.effect = Some(effect);
        }
    }

    /// A caller has waited long enough.
    pub(crate) fn acknowledge_overdue(&mut self, cx: &mut Cx) {
        let now_ms = cx.now.monotonic_ms;
        let overdue = |after: &After| matches!(after, After::Acknowledge(a) if a.deadline_ms <= now_ms);
        let unknown = self.writer.in_flight.as_ref().is_some_and(|in_flight| in_flight.afters.iter().any(overdue));
        if unknown && !self.writer.settling {
            // The write may have taken effect: what the store holds decides what the caller is told.
            if let Some(effect) = self.writer.in_flight.as_mut().and_then(|in_flight| in_flight.effect.take()) {
                cx.settle_effect(effect);
            }
            self.writer.settling = true;
            self.read_back(cx);
        } else if !unknown {
            self.take_back(cx, |a| a.deadline_ms <= now_ms, "The store did not take the write in time.");
        }
        self.arm_acknowledge(cx);
        if unknown {
            // Read back first; the load has a deadline of its own.
            cx.timers.cancel(&TimerKey::Acknowledge(self.id.clone()));
        }
    }

    fn read_back(&mut self, cx: &mut Cx) {
        cx.timers.cancel(&TimerKey::Retry(self.id.clone()));
        let timeout = cx.config.limits.store_timeout_ms;
        let body = LoadSession { owner: cx.config.owner.clone(), lease_ms: cx.config.limits.lease_ms };
        cx.emit(&self.id, Kind::Settle, timeout, EffectBody::LoadSession(body));
    }

    /// What the store holds is known again.
    pub(crate) fn read_back_done(&mut self, cx: &mut Cx, stored: Option<StoredSession>) {
        self.writer.settling = false;
        let Some(in_flight) = &self.writer.in_flight else { return };
        let (write_id, revision) = (in_flight.save.write_id.clone(), in_flight.save.revision);
        let last_write = |stored: &StoredSession| Notes::from_json(&stored.engine_state).map(|notes| notes.write);
        let committed = stored.as_ref().is_some_and(|stored| last_write(stored).as_ref() == Some(&write_id));
        let others = stored.as_ref().is_some_and(|stored| !committed && stored.revision >= revision);
        if others && revision == 1 {
            return self.already_there(cx);
        }
        if others {
            return cx.later.push_back(Later::Fenced(self.id.clone()));
        }
        if let Some(stored) = &stored {
            self.generation = self.generation.max(stored.generation);
        }
        if committed {
            self.writer.wanted = true;
            return self.saved(cx);
        }
        let now_ms = cx.now.monotonic_ms;
        self.take_back(cx, |a| a.deadline_ms <= now_ms, "The store did not take the write in time.");
        self.writer.revision = stored.map_or(0, |stored| stored.revision);
        self.drop_write_or_retry(cx);
        self.arm_acknowledge(cx);
    }

    /// What the store holds cannot be learnt now: the callers are told no, and it is asked again.
    pub(crate) fn read_back_failed(&mut self, cx: &mut Cx, failure: &Failure) {
        if matches!(failure.kind, FailureKind::Fenced | FailureKind::Held) {
            cx.later.push_back(Later::Fenced(self.id.clone()));
            return;
        }
        self.note_failure(cx, &failure.message);
        let now_ms = cx.now.monotonic_ms;
        self.take_back(cx, |a| a.deadline_ms <= now_ms, &failure.message);
        if self.gone {
            self.writer.in_flight = None;
            self.writer.wanted = false;
            return;
        }
        self.retry_later(cx);
    }

    /// Refuses callers who wait for a write and takes back what their commands changed, the newest first.
    fn take_back(&mut self, cx: &mut Cx, wanted: impl Fn(&Acknowledge) -> bool, message: &str) {
        let taken: Vec<Acknowledge> = self.writer.take_acknowledgements(wanted);
        for acknowledge in taken.into_iter().rev() {
            cx.refuse(acknowledge.command, Rejection::Store(message.into()));
            self.undo(cx, acknowledge.undo);
        }
    }

    fn already_there(&mut self, cx: &mut Cx) {
        // The callers are told the status that the kept session has.
        let commands = self.drain_commands();
        cx.later.push_back(Later::AlreadyThere(self.id.clone(), commands));
        self.gone = true;
        self.writer.in_flight = None;
        self.writer.wanted = false;
    }
}
