//! What concerns the whole host: recovery at the start, claims and their renewal, the queue for sandboxes, sessions
//! suspended for long, and the shutdown.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use crate::cx::{Kind, Later};
use crate::effect::{ClaimLive, EffectBody, HeldSession, ListDue, RenewLeases};
use crate::engine::Engine;
use crate::event::Event;
use crate::input::Outcome;
use crate::session::outcome::failure_of;
use crate::session::runtime::Runtime;
use crate::session::stopping::Cause;
use crate::timers::TimerKey;

/// Two readings of the store's clock have to be this far apart, in milliseconds, or as far as the timeout if that is less.
const READINGS_APART_MS: u64 = 60_000;

/// Sessions looked at in one reading.
const DUE_PAGE: u32 = 256;

/// What the engine knows of its host.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "four independent facts, each set once")]
pub(crate) struct Host {
    pub(crate) started: bool,
    pub(crate) ready: bool,
    failures: u32,
    /// The last session claimed so far.
    claimed_to: Option<String>,
    /// Sessions seen as suspended for too long, and when they were first seen so.
    due_since: BTreeMap<String, u64>,
    pub(crate) shutdown_overdue: bool,
    shut_down: bool,
}

impl Engine {
    pub(crate) fn start(&mut self) {
        if core::mem::replace(&mut self.host.started, true) {
            return;
        }
        self.claim_page();
    }

    /// Claims the next page of sessions that a crash left live.
    pub(crate) fn claim_page(&mut self) {
        let limits = &self.cx.config.limits;
        let after = self.host.claimed_to.clone();
        let body = ClaimLive {
            after,
            owner: self.cx.config.owner.clone(),
            lease_ms: limits.lease_ms,
            limit: limits.claim_page,
        };
        let timeout = limits.store_timeout_ms;
        self.cx.emit("", Kind::ClaimLive, timeout, EffectBody::ClaimLive(body));
    }

    pub(crate) fn claimed(&mut self, outcome: Outcome) {
        let Outcome::Claimed(page) = outcome else {
            let failure = failure_of(outcome);
            self.cx.warn("", "load", failure.message);
            self.host.failures = self.host.failures.saturating_add(1);
            let limits = &self.cx.config.limits;
            let doubled = limits.retry_first_ms.saturating_mul(1 << self.host.failures.min(20));
            let at_ms = self.cx.in_ms(doubled.min(limits.retry_longest_ms));
            return self.cx.timers.set(TimerKey::Recover, at_ms);
        };
        if let Some(last) = page.sessions.last() {
            self.host.claimed_to = Some(last.summary.id.clone());
        }
        for stored in page.sessions {
            self.take_in(stored);
        }
        if page.more {
            return self.claim_page();
        }
        self.host.ready = true;
        self.cx.event(Event::Ready);
        let renew = self.cx.in_ms(self.cx.config.limits.renew_every_ms);
        self.cx.timers.set(TimerKey::Renew, renew);
        if self.cx.config.close_suspended_after_ms.is_some() {
            self.look_for_due();
        }
    }

    pub(crate) fn renew(&mut self) {
        let again = self.cx.in_ms(self.cx.config.limits.renew_every_ms);
        self.cx.timers.set(TimerKey::Renew, again);
        let held = self.sessions.values().filter(|session| session.writer.is_durable() && session.status.is_live());
        let sessions: Vec<HeldSession> =
            held.map(|session| HeldSession { session: session.id.clone(), generation: session.generation }).collect();
        if sessions.is_empty() {
            return;
        }
        let lease_ms = self.cx.config.limits.lease_ms;
        let body = RenewLeases { owner: self.cx.config.owner.clone(), lease_ms, sessions };
        let timeout = self.cx.config.limits.store_timeout_ms;
        self.cx.emit("", Kind::Renew, timeout, EffectBody::RenewLeases(body));
    }

    pub(crate) fn renewed(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Renewed(lost) => self.cx.later.extend(lost.into_iter().map(Later::Fenced)),
            other => self.cx.warn("", "renew", failure_of(other).message),
        }
    }

    pub(crate) fn look_for_due(&mut self) {
        let Some(for_ms) = self.cx.config.close_suspended_after_ms else { return };
        let again = self.cx.in_ms(self.cx.config.limits.due_every_ms.min(for_ms.max(1_000)));
        self.cx.timers.set(TimerKey::Due, again);
        if self.cx.shutting_down {
            return;
        }
        let timeout = self.cx.config.limits.store_timeout_ms;
        self.cx.emit("", Kind::ListDue, timeout, EffectBody::ListDue(ListDue { for_ms, limit: DUE_PAGE }));
    }

    /// A wall clock that jumps once must not end a session: two readings far enough apart have to agree.
    pub(crate) fn due(&mut self, outcome: Outcome) {
        let Outcome::Due(due) = outcome else {
            return self.cx.warn("", "load", failure_of(outcome).message);
        };
        let now_ms = self.cx.now.monotonic_ms;
        let apart_ms = self.cx.config.close_suspended_after_ms.unwrap_or(0).min(READINGS_APART_MS);
        let seen = core::mem::take(&mut self.host.due_since);
        for id in due.sessions {
            let since_ms = seen.get(&id).copied().unwrap_or(now_ms);
            if seen.contains_key(&id) && now_ms.saturating_sub(since_ms) >= apart_ms {
                self.cx.later.push_back(Later::CloseDue(id));
            } else {
                self.host.due_since.insert(id, since_ms);
            }
        }
    }

    /// Gives free leases to those who wait, and makes sure that the others will be served.
    pub(crate) fn serve_queue(&mut self) {
        while self.cx.slots.is_free() {
            let Some(id) = self.cx.slots.queue.pop_front() else { break };
            if let Some(session) = self.sessions.get_mut(&id)
                && session.runtime == Runtime::Queued
            {
                session.acquire(&mut self.cx);
            }
        }
        while self.cx.slots.oversubscribed() {
            self.make_room();
        }
    }

    /// Suspends the longest idle session for those who wait, or tells the last of them that there is no room.
    fn make_room(&mut self) {
        let waiting_too = self.cx.config.suspend_waiting_when_full;
        let victim = if self.cx.config.suspend_idle_when_full { self.cx.slots.victim(waiting_too, "") } else { None };
        if let Some(session) = victim.as_ref().and_then(|id| self.sessions.get_mut(id)) {
            session.begin_suspend(&mut self.cx, Vec::new(), Cause::Room);
            return;
        }
        let Some(id) = self.cx.slots.queue.pop_back() else { return };
        if let Some(session) = self.sessions.get_mut(&id) {
            let capacity = self.cx.slots.capacity.unwrap_or(0);
            session.runtime = Runtime::None;
            let rejection = crate::rejection::Rejection::Capacity(capacity);
            session.give_up_start(&mut self.cx, "capacity", &rejection.message());
            self.visit(Vec::from([id]));
        }
    }

    pub(crate) fn shut_down(&mut self) {
        if core::mem::replace(&mut self.cx.shutting_down, true) {
            return;
        }
        let at_ms = self.cx.in_ms(self.cx.config.limits.shutdown_timeout_ms);
        self.cx.timers.set(TimerKey::Shutdown, at_ms);
        let ids: Vec<String> = self.sessions.keys().cloned().collect();
        for session in self.sessions.values_mut() {
            session.shut_down(&mut self.cx);
        }
        self.visit(ids);
    }

    pub(crate) fn tell_shut_down(&mut self) {
        if !self.cx.shutting_down || self.host.shut_down {
            return;
        }
        let at_work = |kind: &Kind| matches!(kind, Kind::Release { .. } | Kind::Destroy | Kind::Save | Kind::Delete);
        let busy = self.sessions.values().any(|session| !session.can_leave())
            || self.cx.outstanding.values().any(|outstanding| at_work(&outstanding.kind));
        if !busy || self.host.shutdown_overdue {
            self.host.shut_down = true;
            self.cx.event(Event::ShutDown);
        }
    }
}
