//! The sandbox and the agent of a session: got on demand, given back exactly once.

use alloc::string::String;
use alloc::vec::Vec;

use crate::cx::{Cx, Kind, Later};
use crate::effect::{AcquireSandbox, AgentRef, EffectBody, ResumeChange, StartAgent};
use crate::event::{Event, Undelivered as UndeliveredEvent};
use crate::input::Failure;
use crate::record::Status;
use crate::rejection::Rejection;
use crate::session::Session;
use crate::session::notes;
use crate::session::stopping::Cause;
use crate::session::turn::TurnState;
use crate::session::writer::{After, Then};

/// What a session holds of a sandbox and an agent. An agent is named by the effect that started it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Runtime {
    None,
    /// It waits for a lease.
    Queued,
    Acquiring {
        lease: u64,
    },
    Starting {
        lease: u64,
        agent: u64,
    },
    Live {
        lease: u64,
        agent: u64,
    },
    Stopping {
        lease: u64,
        agent: u64,
        effect: u64,
    },
    /// The agent is gone; the lease goes back once that is durable.
    Held {
        lease: u64,
    },
}

impl Runtime {
    pub(crate) fn is_none(&self) -> bool {
        matches!(self, Self::None)
    }

    pub(crate) fn is_live(&self) -> bool {
        matches!(self, Self::Live { .. })
    }

    pub(crate) fn lease(&self) -> Option<u64> {
        match *self {
            Self::None | Self::Queued => None,
            Self::Acquiring { lease }
            | Self::Starting { lease, .. }
            | Self::Live { lease, .. }
            | Self::Stopping { lease, .. }
            | Self::Held { lease } => Some(lease),
        }
    }

    pub(crate) fn agent(&self) -> Option<u64> {
        match *self {
            Self::Starting { agent, .. } | Self::Live { agent, .. } | Self::Stopping { agent, .. } => Some(agent),
            _ => None,
        }
    }
}

impl Session {
    /// Makes sure that a lease will come, suspending another session for it if that is allowed and needed.
    pub(crate) fn reserve(&self, cx: &mut Cx) -> Result<(), Rejection> {
        let Some(capacity) = cx.slots.capacity else { return Ok(()) };
        if cx.slots.spare() > 0 {
            return Ok(());
        }
        let waiting_too = cx.config.suspend_waiting_when_full;
        let victim = if cx.config.suspend_idle_when_full { cx.slots.victim(waiting_too, &self.id) } else { None };
        match victim {
            Some(victim) => cx.later.push_back(Later::SuspendForRoom(victim)),
            None => return Err(Rejection::Capacity(capacity)),
        }
        Ok(())
    }

    /// Gets a sandbox and an agent, unless they are there or on their way, or the old ones are still going.
    pub(crate) fn want_agent(&mut self, cx: &mut Cx) {
        if let Some(turn) = &mut self.turn
            && matches!(turn.state, TurnState::Waiting | TurnState::Answered)
        {
            turn.durable = true;
        }
        if self.status != Status::Preparing || self.ending.is_some() || !self.runtime.is_none() {
            return;
        }
        self.runtime = Runtime::Queued;
        cx.slots.queue.push_back(self.id.clone());
        cx.later.push_back(Later::ServeQueue);
    }

    /// It is this session's turn in the queue and a lease is free.
    pub(crate) fn acquire(&mut self, cx: &mut Cx) {
        let body = AcquireSandbox { resume: self.notes.started, generation: self.generation };
        let timeout = cx.config.limits.acquire_timeout_ms;
        let lease = cx.emit(&self.id, Kind::Acquire, timeout, EffectBody::AcquireSandbox(body));
        cx.take_slot(lease, &self.id);
        self.runtime = Runtime::Acquiring { lease };
    }

    pub(crate) fn acquired(&mut self, cx: &mut Cx, lease: u64) {
        let body = StartAgent {
            lease,
            generation: self.generation,
            settings: self.settings.clone(),
            metadata: self.metadata.clone(),
            resume: self.resume.clone(),
        };
        let timeout = cx.config.limits.start_timeout_ms;
        let agent = cx.emit(&self.id, Kind::Start, timeout, EffectBody::StartAgent(body));
        self.runtime = Runtime::Starting { lease, agent };
    }

    /// The agent is there: what waits for it is made durable as being given to it, then given.
    pub(crate) fn started(&mut self, cx: &mut Cx, resume: Option<String>) {
        let Runtime::Starting { lease, agent } = self.runtime else { return };
        self.runtime = Runtime::Live { lease, agent };
        self.notes.started = true;
        if let Some(resume) = resume {
            self.keep_resume(resume);
        }
        self.error = None;
        let state = self.turn.as_ref().filter(|turn| turn.durable).map(|turn| turn.state);
        let (status, next, then) = match state {
            Some(TurnState::Waiting) => (Status::Busy, Some(TurnState::Prompting), Then::Prompt),
            Some(TurnState::Answered) => (Status::Busy, Some(TurnState::Delivering), Then::Deliver),
            Some(_) => (Status::AwaitingInput, None, Then::Nothing),
            None if self.turn.is_some() => (Status::Preparing, None, Then::Nothing),
            None => (Status::Idle, None, Then::Nothing),
        };
        if let (Some(turn), Some(next)) = (&mut self.turn, next) {
            turn.state = next;
        }
        self.set_status(cx, status);
        self.write(cx, [After::Then(then)]);
    }

    /// A message that was accepted while the agent started is durable, and the agent is there.
    pub(crate) fn waiter_durable(&mut self, cx: &mut Cx) {
        if !self.runtime.is_live() || self.status != Status::Preparing {
            return self.want_agent(cx);
        }
        let Some(turn) = &mut self.turn else { return };
        turn.durable = true;
        let then = match turn.state {
            TurnState::Waiting => Then::Prompt,
            TurnState::Answered => Then::Deliver,
            _ => return,
        };
        turn.state = if then == Then::Prompt { TurnState::Prompting } else { TurnState::Delivering };
        self.set_status(cx, Status::Busy);
        self.write(cx, [After::Then(then)]);
    }

    /// The agent is there and nothing waits for it any more.
    pub(crate) fn settle_ready(&mut self, cx: &mut Cx) {
        let status = if self.turn.is_some() { Status::AwaitingInput } else { Status::Idle };
        self.set_status(cx, status);
    }

    /// The sandbox or the agent did not come.
    pub(crate) fn start_failed(&mut self, cx: &mut Cx, failure: &Failure) {
        match self.runtime {
            // Overdue: what may still come is given back.
            Runtime::Starting { agent, .. } if cx.outstanding.contains_key(&agent) => {
                cx.abandon(agent, true);
                cx.destroy(&self.id, agent);
            }
            Runtime::Acquiring { lease } if cx.outstanding.contains_key(&lease) => {
                cx.abandon(lease, self.notes.started);
            }
            Runtime::Acquiring { lease } => cx.free_slot(lease),
            _ => {}
        }
        let resumable = self.resume.is_some();
        let (code, action) = if resumable { ("resume-failed", "resume") } else { ("start-failed", "start") };
        cx.warn(&self.id, action, failure.message.clone());
        self.give_up_start(cx, code, &failure.message);
    }

    /// Ends `preparing` without an agent: what waited is kept, and nothing is prompted by itself.
    pub(crate) fn give_up_start(&mut self, cx: &mut Cx, code: &str, message: &str) {
        cx.slots.leave_queue(&self.id);
        let resumable = self.resume.is_some();
        match self.runtime {
            Runtime::Starting { lease, .. } | Runtime::Held { lease } => cx.release(&self.id, lease, resumable),
            _ => {}
        }
        self.runtime = Runtime::None;
        self.cancel_waiter(cx, message);
        self.set_error(code, message);
        self.set_status(cx, if resumable { Status::Suspended } else { Status::Failed });
        self.write(cx, []);
    }

    /// The waiting message becomes undelivered, a waiting final answer waits again; the caller is told.
    pub(crate) fn cancel_waiter(&mut self, cx: &mut Cx, message: &str) {
        let Some(turn) = &mut self.turn else { return };
        match turn.state {
            TurnState::Answered => turn.state = TurnState::Paused,
            TurnState::Waiting | TurnState::Prompting => {}
            _ => return,
        }
        let waited_for_prompt = turn.state != TurnState::Paused;
        cx.event(Event::Undelivered(UndeliveredEvent {
            session: self.id.clone(),
            turn: turn.id.clone(),
            message: message.into(),
        }));
        if waited_for_prompt {
            self.keep_undelivered();
        }
        self.touch(cx);
    }

    fn keep_undelivered(&mut self) {
        let Some(turn) = self.turn.take() else { return };
        self.notes.undelivered = turn.messages;
        notes::keep_newest(&mut self.notes.undelivered, notes::UNDELIVERED);
    }

    pub(crate) fn release_lease(&mut self, cx: &mut Cx, keep: bool) {
        if let Runtime::Held { lease } = self.runtime {
            cx.release(&self.id, lease, keep);
            self.runtime = Runtime::None;
        }
        let waits = |turn: &alloc::boxed::Box<crate::session::turn::Turn>| {
            turn.durable && matches!(turn.state, TurnState::Waiting | TurnState::Answered)
        };
        if self.turn.as_ref().is_some_and(waits) {
            self.want_agent(cx);
        }
    }

    pub(crate) fn discard_sandbox(&mut self, cx: &mut Cx) {
        cx.emit(&self.id, Kind::Discard, cx.config.limits.release_timeout_ms, EffectBody::DiscardSandbox);
    }

    /// The agent is gone or must go: the session is suspended if it can come back, interrupted if not.
    pub(crate) fn agent_lost(&mut self, cx: &mut Cx, afters: &mut Vec<After>) {
        let keep = self.resume.is_some();
        if let (Some(lease), Some(agent)) = (self.runtime.lease(), self.runtime.agent()) {
            cx.destroy(&self.id, agent);
            cx.slots.mark_returning(lease, true);
            self.runtime = Runtime::Held { lease };
            afters.push(After::Release { keep });
        }
        if !keep {
            self.writer.resume = Some(ResumeChange::Drop);
        }
        self.set_status(cx, if keep { Status::Suspended } else { Status::Interrupted });
    }

    pub(crate) fn emit_interrupt(&self, cx: &mut Cx, agent: u64) -> u64 {
        let timeout = cx.config.limits.interrupt_timeout_ms;
        cx.emit(&self.id, Kind::Interrupt, timeout, EffectBody::InterruptTurn(AgentRef { agent }))
    }

    /// An agent says that it is gone.
    pub(crate) fn agent_exited(&mut self, cx: &mut Cx, agent: u64, message: &str) {
        if self.runtime.agent() != Some(agent) || !self.runtime.is_live() {
            return;
        }
        cx.warn(&self.id, "turn", message);
        match self.turn.as_ref().map(|turn| turn.state) {
            // The slice's own end follows.
            Some(TurnState::Running(_)) => {}
            _ if self.resume.is_some() => self.begin_suspend(cx, Vec::new(), Cause::Exited),
            _ => {
                let mut afters = Vec::new();
                self.agent_lost(cx, &mut afters);
                self.set_error("agent-failed", message);
                self.write(cx, afters);
            }
        }
    }
}
