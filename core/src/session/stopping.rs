//! Interrupt, suspend, close and delete: in flight they leave the status and show as `stopping`.
//!
//! The first terminal event of a turn wins. Delete supersedes close, close supersedes suspend and interrupt. What does not
//! confirm in time is killed.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::cx::{Cx, Kind};
use crate::effect::{AgentRef, DeleteSession, EffectBody, ResumeChange};
use crate::event::Event;
use crate::record::{AuditEntry, AuditWho, Status, Stopping};
use crate::rejection::Rejection;
use crate::session::Session;
use crate::session::runtime::Runtime;
use crate::session::turn::{Turn, TurnState};
use crate::session::turn_end::TurnEnd;
use crate::session::writer::After;
use crate::timers::TimerKey;

/// Why a session is being stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    Asked,
    TurnTimeout,
    Idle,
    Room,
    Shutdown,
    Exited,
}

/// What is under way to end the turn or the session.
#[derive(Debug)]
pub(crate) struct Ending {
    pub(crate) kind: Stopping,
    pub(crate) commands: Vec<u64>,
    pub(crate) cause: Cause,
    /// Whether the session is to be suspended once its turn has ended.
    pub(crate) then_suspend: bool,
}

impl Session {
    fn begin(&mut self, cx: &mut Cx, kind: Stopping, commands: Vec<u64>, cause: Cause) {
        self.leave_candidates(cx);
        self.ending = Some(Ending { kind, commands, cause, then_suspend: false });
        self.touch(cx);
    }

    /// Cuts the turn under way short; the session is idle once the agent has confirmed.
    pub(crate) fn begin_interrupt(&mut self, cx: &mut Cx, commands: Vec<u64>, cause: Cause) {
        self.begin(cx, Stopping::Interrupt, commands, cause);
        let at_ms = cx.in_ms(cx.config.limits.interrupt_timeout_ms);
        cx.timers.set(TimerKey::Stopping(self.id.clone()), at_ms);
        let Runtime::Live { agent, .. } = self.runtime else { return };
        match self.turn.as_ref().map(|turn| turn.state) {
            Some(TurnState::Running(_)) => {
                self.emit_interrupt(cx, agent);
            }
            Some(TurnState::Paused | TurnState::Approving) => self.give_pause_up(cx),
            // A prompt or answers on their way are stopped before the agent gets them.
            _ => {}
        }
    }

    /// The pause will not be answered: the agent is told to give it up, and its answer ends the turn.
    pub(crate) fn give_pause_up(&mut self, cx: &mut Cx) {
        let Runtime::Live { agent, .. } = self.runtime else { return };
        if let Some(turn) = &mut self.turn {
            for (effect, _) in core::mem::take(&mut turn.approving) {
                cx.settle_effect(effect);
            }
            let pending = Self::pending_of(&turn.message);
            turn.pending = pending;
            turn.state = TurnState::Paused;
        }
        self.emit_interrupt(cx, agent);
    }

    /// The agent has answered an interruption.
    pub(crate) fn interrupted(&mut self, cx: &mut Cx, confirmed: bool) {
        if self.ending.as_ref().is_none_or(|ending| ending.kind != Stopping::Interrupt) {
            return;
        }
        if !confirmed {
            return self.kill_turn(cx);
        }
        // With a slice under way its own end is the confirmation.
        if self.turn.as_ref().is_some_and(|turn| turn.state == TurnState::Paused) {
            self.audit_given_up(cx);
            let end = self.cut_end();
            self.turn_over(cx, end, true);
        }
    }

    /// A prompt that was accepted, but stopped before the agent got it.
    pub(crate) fn cut_unprompted(&mut self, cx: &mut Cx) {
        let end = self.cut_end();
        self.turn_over(cx, end, true);
    }

    /// The turn has not ended in time: its agent is ended instead.
    pub(crate) fn kill_turn(&mut self, cx: &mut Cx) {
        if self.turn.as_ref().is_some_and(|turn| turn.state == TurnState::Paused) {
            self.audit_given_up(cx);
        }
        let end = self.cut_end();
        self.turn_over(cx, end, false);
    }

    pub(crate) fn stopping_overdue(&mut self, cx: &mut Cx) {
        if self.ending.as_ref().is_some_and(|ending| ending.kind == Stopping::Interrupt) {
            cx.warn(&self.id, "stop", "The agent did not confirm the interruption in time and was ended.");
            self.kill_turn(cx);
        }
    }

    /// How the turn ends when it is cut short, by what cut it.
    pub(crate) fn cut_end(&self) -> TurnEnd {
        let cause = self.ending.as_ref().map(|ending| ending.cause);
        match cause {
            Some(Cause::TurnTimeout) => {
                let message = "The turn took longer than allowed and was cut short.".to_string();
                TurnEnd::Cut { reason: message.clone(), error: Some(("turn-timeout", message)) }
            }
            Some(Cause::Shutdown) => {
                let message = "The host stopped while the turn was under way.".to_string();
                TurnEnd::Cut { reason: message.clone(), error: Some(("host-stopped", message)) }
            }
            _ => TurnEnd::Cut { reason: "interrupted".into(), error: None },
        }
    }

    /// Takes an interruption off the session, with its timer.
    pub(crate) fn end_interrupt(&mut self, cx: &mut Cx) -> Option<Ending> {
        cx.timers.cancel(&TimerKey::Stopping(self.id.clone()));
        match &self.ending {
            Some(ending) if ending.kind == Stopping::Interrupt => self.ending.take(),
            _ => None,
        }
    }

    pub(crate) fn audit_given_up(&mut self, cx: &mut Cx) {
        let Some(turn) = &self.turn else { return };
        for waits in turn.pending.iter().filter(|waits| !turn.answers.contains_key(&waits.approval_id)) {
            let entry = AuditEntry {
                seq: self.notes.audit_seq,
                at_ms: cx.now.wall_ms,
                turn: turn.id.clone(),
                approval_id: waits.approval_id.clone(),
                tool_call_id: waits.tool_call_id.clone(),
                tool_name: waits.tool_name.clone(),
                who: AuditWho::Engine,
                verdict: "interrupted".into(),
                reason: None,
                rule: None,
            };
            self.notes.audit_seq += 1;
            self.writer.audit.push(entry);
        }
    }

    /// Stops the agent and keeps its state; a pause is kept with it.
    pub(crate) fn begin_suspend(&mut self, cx: &mut Cx, commands: Vec<u64>, cause: Cause) {
        let Runtime::Live { lease, agent } = self.runtime else { return };
        self.begin(cx, Stopping::Suspend, commands, cause);
        if let Some(turn) = &mut self.turn
            && turn.state == TurnState::Approving
        {
            for (effect, _) in core::mem::take(&mut turn.approving) {
                cx.settle_effect(effect);
            }
            turn.state = TurnState::Paused;
        }
        let timeout = cx.config.limits.stop_timeout_ms;
        let effect = cx.emit(&self.id, Kind::Stop, timeout, EffectBody::StopAgent(AgentRef { agent }));
        self.runtime = Runtime::Stopping { lease, agent, effect };
        cx.slots.mark_returning(lease, true);
    }

    /// The agent has stopped, or was ended because it did not.
    pub(crate) fn stopped(&mut self, cx: &mut Cx, result: Result<Option<String>, String>) {
        let Runtime::Stopping { lease, agent, .. } = self.runtime else { return };
        match result {
            Ok(Some(resume)) => self.keep_resume(resume),
            Ok(None) => {}
            Err(message) => {
                cx.warn(&self.id, "stop", message);
                cx.destroy(&self.id, agent);
            }
        }
        self.runtime = Runtime::Held { lease };
        let keep = self.resume.is_some();
        let waits =
            self.turn.as_ref().is_some_and(|turn| matches!(turn.state, TurnState::Waiting | TurnState::Answered));
        let commands = self.ending.take().map(|ending| ending.commands).unwrap_or_default();
        let mut afters = Vec::from([After::Release { keep }]);
        afters.extend(commands.into_iter().map(After::Reply));
        if waits && keep {
            self.set_status(cx, Status::Preparing);
        } else if keep {
            self.set_status(cx, Status::Suspended);
        } else {
            self.cancel_waiter(cx, "The session could not be stopped in a way that it can come back from.");
            let end = TurnEnd::Cut { reason: "interrupted".into(), error: None };
            let ended = self.end_turn(cx, end);
            afters.extend(ended);
            self.set_error("agent-failed", "The agent stopped without saying what would bring it back.");
            self.writer.resume = Some(ResumeChange::Drop);
            self.set_status(cx, Status::Interrupted);
        }
        self.write(cx, afters);
    }

    /// Ends the session for good, whatever it is doing.
    pub(crate) fn close(&mut self, cx: &mut Cx, mut afters: Vec<After>) {
        self.supersede(cx);
        self.cancel_waiter(cx, "The session was closed.");
        if self.turn.is_some() {
            self.audit_given_up(cx);
            let end = TurnEnd::Cut { reason: "The session was closed.".into(), error: None };
            afters.extend(self.end_turn(cx, end));
        }
        cx.slots.leave_queue(&self.id);
        match self.runtime {
            Runtime::None | Runtime::Queued => {
                self.runtime = Runtime::None;
                if self.notes.started {
                    afters.push(After::Discard);
                }
            }
            Runtime::Acquiring { lease } => {
                cx.abandon(lease, false);
                self.runtime = Runtime::None;
            }
            Runtime::Starting { lease, agent } | Runtime::Live { lease, agent } => {
                cx.abandon(agent, false);
                self.let_go(cx, lease, agent, &mut afters);
            }
            Runtime::Stopping { lease, agent, effect } => {
                cx.settle_effect(effect);
                self.let_go(cx, lease, agent, &mut afters);
            }
            Runtime::Held { .. } => afters.push(After::Release { keep: false }),
        }
        self.resume = None;
        self.writer.resume = Some(ResumeChange::Drop);
        self.notes.undelivered.clear();
        self.notes.kept.clear();
        self.set_status(cx, Status::Closed);
        self.write(cx, afters);
    }

    fn let_go(&mut self, cx: &mut Cx, lease: u64, agent: u64, afters: &mut Vec<After>) {
        cx.destroy(&self.id, agent);
        cx.slots.mark_returning(lease, true);
        self.runtime = Runtime::Held { lease };
        afters.push(After::Release { keep: false });
    }

    /// Those who asked for less than what happens now are told so.
    fn supersede(&mut self, cx: &mut Cx) {
        cx.timers.cancel(&TimerKey::Stopping(self.id.clone()));
        let Some(ending) = self.ending.take() else { return };
        for command in ending.commands {
            cx.refuse(command, self.conflict("the session was closed meanwhile."));
        }
    }

    /// Closes the session if it is not, then forgets it.
    pub(crate) fn delete(&mut self, cx: &mut Cx, command: u64) {
        if let Some(ending) = &mut self.ending
            && ending.kind == Stopping::Delete
        {
            ending.commands.push(command);
            return;
        }
        if self.status != Status::Closed {
            self.close(cx, Vec::from([After::Forget]));
        } else if self.writer.is_quiet() {
            self.begin(cx, Stopping::Delete, Vec::from([command]), Cause::Asked);
            return self.forget(cx);
        } else {
            self.write(cx, [After::Forget]);
        }
        self.begin(cx, Stopping::Delete, Vec::from([command]), Cause::Asked);
    }

    pub(crate) fn forget(&mut self, cx: &mut Cx) {
        let body = DeleteSession { generation: self.generation };
        let timeout = cx.config.limits.acknowledge_timeout_ms;
        cx.emit(&self.id, Kind::Delete, timeout, EffectBody::DeleteSession(body));
    }

    /// The store has forgotten the session, or could not.
    pub(crate) fn forgotten(&mut self, cx: &mut Cx, result: Result<(), String>) {
        let commands = self.ending.take().map(|ending| ending.commands).unwrap_or_default();
        match result {
            Ok(()) => {
                for command in commands {
                    cx.accept(command, self.summary(), None, false);
                }
                for command in self.writer.drain_commands() {
                    cx.refuse(command, Rejection::NotFound(self.id.clone()));
                }
                cx.event(Event::SessionDeleted(self.id.clone()));
                self.gone = true;
            }
            Err(message) => {
                for command in commands {
                    cx.refuse(command, Rejection::Store(message.clone()));
                }
                self.touch(cx);
            }
        }
    }

    /// Another host holds the session: everything local ends, and nothing more is written.
    pub(crate) fn fenced(&mut self, cx: &mut Cx) {
        let message = "Another host holds this session now.";
        cx.warn(&self.id, "save", message);
        for command in self.drain_commands() {
            cx.refuse(command, Rejection::Unavailable(message.into()));
        }
        cx.event(Event::SessionReleased(self.id.clone()));
        self.cancel_waiter(cx, message);
        let running = |turn: &Turn| match turn.state {
            TurnState::Running(effect) => Some(effect),
            _ => None,
        };
        if let Some(effect) = self.turn.as_deref().and_then(running) {
            cx.settle_effect(effect);
        }
        if let Some(turn) = self.turn.take()
            && turn.stream_open
        {
            cx.event(Event::StreamEnded(crate::event::StreamEnded {
                session: self.id.clone(),
                turn: turn.id.clone(),
                end: crate::event::StreamEnd::Failed,
                next_seq: turn.next_seq,
            }));
        }
        match self.runtime {
            Runtime::Acquiring { lease } => cx.abandon(lease, true),
            Runtime::Starting { lease, agent } => {
                cx.abandon(agent, true);
                cx.destroy(&self.id, agent);
                cx.release(&self.id, lease, true);
            }
            Runtime::Live { lease, agent } | Runtime::Stopping { lease, agent, .. } => {
                cx.destroy(&self.id, agent);
                cx.release(&self.id, lease, true);
            }
            Runtime::Held { lease } => cx.release(&self.id, lease, true),
            Runtime::None | Runtime::Queued => {}
        }
        self.runtime = Runtime::None;
        self.ending = None;
        self.gone = true;
    }

    /// The host is stopping.
    pub(crate) fn shut_down(&mut self, cx: &mut Cx) {
        let message = "The host stopped before the session was ready.";
        match self.status {
            _ if self.ending.as_ref().is_some_and(|ending| ending.kind != Stopping::Interrupt) => {}
            Status::Preparing if self.runtime.is_live() => self.begin_suspend(cx, Vec::new(), Cause::Shutdown),
            Status::Preparing => self.stop_preparing(cx, message),
            Status::Idle | Status::AwaitingInput if self.ending.is_none() => {
                self.begin_suspend(cx, Vec::new(), Cause::Shutdown);
            }
            Status::Busy | Status::Idle | Status::AwaitingInput => {
                if self.ending.is_none() {
                    self.begin_interrupt(cx, Vec::new(), Cause::Shutdown);
                }
                if let Some(ending) = &mut self.ending {
                    ending.then_suspend = true;
                }
            }
            _ => {}
        }
    }

    fn stop_preparing(&mut self, cx: &mut Cx, message: &str) {
        match self.runtime {
            Runtime::Acquiring { lease } => {
                cx.abandon(lease, self.notes.started);
                self.runtime = Runtime::None;
            }
            Runtime::Starting { agent, .. } => {
                cx.abandon(agent, true);
                cx.destroy(&self.id, agent);
            }
            _ => {}
        }
        let message: String = message.into();
        self.give_up_start(cx, "host-stopped", &message);
    }
}
