//! A pause that outlives its process: the last call is deferred into the agent's own file, the others are told to be
//! asked for again, and the process is let go.

use tokio::sync::oneshot;
use tokio::time::Instant;

use super::asks::Via;
use super::{Actor, Todo};
use crate::agents::claude::protocol::frames::Outcome;
use crate::agents::claude::protocol::outgoing::{self, HookAnswer};
use crate::agents::claude::usage;
use crate::ports::{AgentError, AgentNotice, ResumeState};

/// What the model reads of a call that was not decided in time and could not be kept.
pub(super) const NOT_DECIDED: &str =
    "This call was not decided yet, and it did not run. Make the same call again when you go on.";

/// How long the CLI may take to write a deferral.
const WRITE_DEADLINE: std::time::Duration = std::time::Duration::from_secs(10);

/// A process whose input is closed.
pub(super) struct Leaving {
    /// When it is killed instead.
    pub(super) deadline: Instant,
}

impl Actor {
    /// Nobody answered in time: the process is let go, if its calls can be kept without it. One that was told to give
    /// its calls up and did not is killed.
    pub(super) async fn hold_ended(&mut self) {
        if !self.interrupts.is_empty() {
            self.kill().await;
            return self.idle_now();
        }
        if self.can_defer() {
            self.begin_deferral();
        }
    }

    fn can_defer(&self) -> bool {
        !self.held.is_empty() && self.held.iter().all(|held| held.via == Via::Hook && !held.subagent)
    }

    fn begin_deferral(&mut self) {
        let Some(last) = self.held.pop() else { return };
        for held in std::mem::take(&mut self.held) {
            self.send(outgoing::hook_deny(&held.request_id, NOT_DECIDED));
        }
        self.send(outgoing::hook_answer(&last.request_id, HookAnswer::Defer));
        self.hold_until = None;
        self.deferring = Some(Instant::now() + WRITE_DEADLINE);
    }

    /// The CLI ended its turn after a deferral.
    pub(super) fn deferred(&mut self, outcome: &Outcome) {
        let used = self.meter.since_last(outcome);
        self.parts.state.carried = usage::add(self.parts.state.carried, used);
        self.active.clear();
        self.deferring = None;
        self.parts.state.deferred = outcome.deferred_tool_use.as_ref().map(|call| call.id.clone());
        if self.parts.state.abandoned {
            self.parts.state.give_up_pause();
        }
        self.parts.notices.tell(AgentNotice::Checkpoint(self.parts.state.save()));
        self.leave();
    }

    /// The CLI did not say that it kept the call; it may have done so all the same, and is asked when it is resumed.
    pub(super) async fn deferral_failed(&mut self) {
        self.kill().await;
        self.left().await;
    }

    /// Closes the process's input, which ends it, once nothing is asked any more.
    fn leave(&mut self) {
        let deadline = Instant::now() + self.grace();
        if let Some(cli) = &mut self.cli {
            cli.close_stdin();
            self.leaving = Some(Leaving { deadline });
        }
    }

    /// The process has left, or has to now.
    pub(super) async fn left(&mut self) {
        self.kill().await;
        self.leaving = None;
        self.deferring = None;
        if self.todo.is_some() {
            return self.ensure_process().await;
        }
        self.idle_now();
    }

    /// Gives up a pause that no slice is waiting in.
    pub(super) fn give_up_pause(&mut self, reply: oneshot::Sender<Result<(), AgentError>>) {
        if !self.held.is_empty() && self.cli.is_some() {
            self.hold_until = Some(Instant::now() + self.grace());
            self.parts.state.clear_pause();
            self.interrupts.push(reply);
            let id = self.request_id();
            return self.send(outgoing::interrupt(&id));
        }
        if self.deferring.is_none() {
            self.parts.state.give_up_pause();
        }
        self.parts.state.abandoned = true;
        self.parts.notices.tell(AgentNotice::Checkpoint(self.parts.state.save()));
        // The caller may have gone; the pause is given up all the same.
        let _ = reply.send(Ok(()));
    }

    /// Stops the process and keeps what brings it back.
    pub(super) async fn stop(&mut self, reply: oneshot::Sender<Result<Option<ResumeState>, AgentError>>) {
        self.stops.push(reply);
        if self.slice.is_some() {
            if self.slice.as_ref().is_some_and(|slice| slice.sent) {
                return self.cut(Instant::now(), None);
            }
            return self.stop_unsent().await;
        }
        self.stop_idle().await;
    }

    async fn stop_unsent(&mut self) {
        let answering = matches!(self.todo, Some(Todo::Answers { .. }));
        let state = self.parts.state.clone();
        self.kill().await;
        self.end_failed("The agent was stopped before it was given this.".to_owned(), true);
        if answering {
            self.parts.state = state;
        }
    }

    async fn stop_idle(&mut self) {
        if self.leaving.is_some() || self.deferring.is_some() {
            return;
        }
        if self.can_defer() {
            return self.begin_deferral();
        }
        if !self.held.is_empty() || self.launch.is_some() {
            self.kill().await;
        }
        if self.cli.is_some() {
            return self.leave();
        }
        self.idle_now();
    }

    /// Nothing is under way any more: answers those who waited for that.
    pub(super) fn idle_now(&mut self) {
        for reply in self.interrupts.drain(..) {
            // The callers may have gone; what they asked for is done.
            let _ = reply.send(Ok(()));
        }
        if self.stops.is_empty() || self.leaving.is_some() || self.deferring.is_some() {
            return;
        }
        if self.cli.is_some() {
            return self.leave();
        }
        for reply in self.stops.drain(..) {
            let _ = reply.send(Ok(Some(self.parts.state.save())));
        }
    }
}
