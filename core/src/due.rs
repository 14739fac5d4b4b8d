//! Timers that are due, and effects whose adapters have not answered in time.

use alloc::vec::Vec;

use crate::cx::{Cx, Kind};
use crate::engine::Engine;
use crate::input::{Failure, FailureKind, Outcome};
use crate::session::Session;
use crate::session::stopping::Cause;
use crate::timers::TimerKey;

impl Engine {
    pub(crate) fn due_timer(&mut self, key: &TimerKey) {
        match *key {
            TimerKey::Effect(effect) => self.overdue(effect),
            // A lease that still comes is given back all the same.
            TimerKey::Slot(lease) => self.cx.free_slot(lease),
            TimerKey::Renew => self.renew(),
            TimerKey::Due => self.look_for_due(),
            TimerKey::Recover => self.claim_page(),
            TimerKey::Shutdown => self.host.shutdown_overdue = true,
            TimerKey::Idle(ref id)
            | TimerKey::Turn(ref id)
            | TimerKey::Acknowledge(ref id)
            | TimerKey::Retry(ref id)
            | TimerKey::Stopping(ref id) => {
                let id = id.clone();
                let Some(session) = self.sessions.get_mut(&id) else { return };
                self.visited.push(id);
                session_timer(session, &mut self.cx, key);
            }
        }
    }

    pub(crate) fn overdue(&mut self, effect: u64) {
        let Some(outstanding) = self.cx.outstanding.get(&effect).cloned() else { return };
        let failure = Failure { kind: FailureKind::Unavailable, message: overdue_words(&outstanding.kind).into() };
        // What may still come of these two is given back when it comes.
        if !matches!(outstanding.kind, Kind::Acquire | Kind::Start) {
            self.cx.settle_effect(effect);
        }
        self.dispatch(effect, &outstanding.session, outstanding.kind, Outcome::Failed(failure));
    }
}

fn session_timer(session: &mut Session, cx: &mut Cx, key: &TimerKey) {
    match key {
        TimerKey::Idle(_) if session.ending.is_none() => session.begin_suspend(cx, Vec::new(), Cause::Idle),
        TimerKey::Turn(_) if session.ending.is_none() => session.begin_interrupt(cx, Vec::new(), Cause::TurnTimeout),
        TimerKey::Acknowledge(_) => session.acknowledge_overdue(cx),
        TimerKey::Retry(_) => session.retry(cx),
        TimerKey::Stopping(_) => session.stopping_overdue(cx),
        _ => {}
    }
}

fn overdue_words(kind: &Kind) -> &'static str {
    match kind {
        Kind::Load | Kind::Settle | Kind::ClaimLive | Kind::Renew | Kind::Save | Kind::Delete | Kind::ListDue => {
            "The store did not answer in time."
        }
        Kind::Acquire => "The sandbox was not ready in time.",
        Kind::Release { .. } | Kind::Discard => "The sandbox was not given back in time.",
        Kind::Start => "The agent did not start in time.",
        Kind::Slice => "The agent did not end its turn in time.",
        Kind::Interrupt => "The agent did not confirm the interruption in time.",
        Kind::Stop => "The agent did not stop in time.",
        Kind::Destroy => "The agent could not be ended in time.",
        Kind::Approve { .. } => "The approval callback did not answer in time; a person decides.",
    }
}
