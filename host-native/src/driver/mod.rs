//! The one loop: inputs in, effects out. It does what the engine tells it, at once, and decides nothing.

mod caught;
mod chains;
mod convert;
mod convert_agent;
mod dispatch;
mod events;
mod fault;
mod handle;
mod ids;
mod inbox;
mod journal;
mod message;
mod queries;
mod redact;
mod replies;
mod runtime;
mod slices;
mod start;
pub(crate) mod streams;
mod timer;
mod turns;

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

pub(crate) use handle::Handle;
pub(crate) use start::start;

use crate::engine::types::{Command, CommandBody, Completed, Config, Input, Outcome, Rejection, Step, input::Notice};
use crate::engine::{CompiledEngine, EngineInstance};
use crate::manager::{Approver, Hub, SessionError, Totals};
use crate::ports::{Agent, Sandboxes, Store};

use fault::{Broken, broken_down};
use journal::Journal;
use message::{Message, Reply, Report, Reporter};
use replies::{Replies, Wanted};
use runtime::Runtime;
use slices::Slice;
use timer::Timer;
use turns::Turns;

/// Messages taken in before readers have their turn.
const BATCH: usize = 64;
/// What a shutdown gets beyond the engine's own deadline.
const SHUTDOWN_GRACE: Duration = Duration::from_millis(500);

/// The adapters.
struct Ports {
    store: Arc<dyn Store>,
    sandboxes: Arc<dyn Sandboxes>,
    agent: Arc<dyn Agent>,
    approver: Option<Approver>,
}

/// The loop's state. It belongs to one task: nothing in it is shared but what readers read.
struct Driver {
    engine: EngineInstance,
    compiled: CompiledEngine,
    config: Config,
    ports: Arc<Ports>,
    hub: Arc<Hub>,
    queue: mpsc::UnboundedSender<Message>,
    /// Counts the engines: answers to one that broke down do not reach the next.
    era: u32,
    timer: Timer,
    replies: Replies,
    turns: Turns,
    runtime: Runtime,
    slices: HashMap<u64, Slice>,
    /// Writes under way.
    saving: HashSet<u64>,
    ready: bool,
    ready_waiters: Vec<oneshot::Sender<()>>,
    shutdown_waiters: Vec<oneshot::Sender<()>>,
    /// When a shutdown is given up.
    stop_at: Option<Instant>,
    ended: bool,
    broken: Option<Broken>,
    faults_in_a_row: u32,
    totals: Totals,
    journal: Option<Journal>,
    fault_reports: Option<PathBuf>,
    fault_on: Option<String>,
}

impl Driver {
    async fn run(mut self, mut inbox: mpsc::UnboundedReceiver<Message>) {
        // A start is no command: nothing can refuse it.
        let _ = self.step(&Input::Start);
        let mut batch = Vec::with_capacity(BATCH);
        while !self.ended {
            let wake = self.stop_at.map_or_else(|| self.timer.wake(), |stop| stop.min(self.timer.wake()));
            tokio::select! {
                biased;
                _ = inbox.recv_many(&mut batch, BATCH) => {}
                () = tokio::time::sleep_until(wake) => {}
            }
            for message in batch.drain(..) {
                self.take(message);
            }
            if self.timer.take_due() && self.broken.is_none() {
                // A tick is no command: nothing can refuse it.
                let _ = self.step(&Input::Tick);
            }
            if let Some(journal) = &mut self.journal {
                journal.flush();
            }
            self.ended |= self.stop_at.is_some_and(|stop| stop <= Instant::now());
            // Readers that were woken are to run before the next batch.
            tokio::task::yield_now().await;
        }
        inbox.close();
        self.wind_up(inbox).await;
    }

    fn reporter(&self) -> Reporter {
        Reporter { queue: self.queue.clone(), era: self.era }
    }

    fn take(&mut self, message: Message) {
        match message {
            Message::Command { session, body, reply } => self.command(session, body, reply),
            Message::Report { era, report } => self.report(era, report),
            Message::Chunks(inbox) => self.chunks(&inbox),
            Message::Query(query) => self.answer(query),
            Message::Restart { session } => self.restart(session),
            Message::Shutdown(reply) => self.shut_down(reply),
        }
    }

    fn command(&mut self, session: String, body: CommandBody, reply: Reply) {
        self.totals.commands += 1;
        let id = self.replies.wait(Wanted::of(&body), reply);
        if self.broken.is_some() {
            return self.replies.answer(id, Err(broken_down()));
        }
        if let Err(rejection) = self.step(&Input::Command(Command { id, session, body })) {
            self.totals.refused += 1;
            self.replies.answer(id, Err(convert::rejection_out(rejection)));
        }
    }

    fn report(&mut self, era: u32, report: Report) {
        if era != self.era {
            return runtime::let_go(report);
        }
        let (effect, outcome) = match report {
            Report::Completed(effect, outcome) => {
                self.end_slice(effect);
                self.runtime.completed(effect, &outcome);
                (effect, outcome)
            }
            Report::Acquired(effect, got) => (effect, self.runtime.acquired(effect, got)),
            Report::Started(effect, got) => match self.runtime.started(effect, got) {
                Some(outcome) => (effect, outcome),
                None => return,
            },
            Report::Notice(agent, body) => {
                // Notices and completions are no commands: nothing can refuse them.
                let _ = self.step(&Input::Notice(Notice { agent, body }));
                return;
            }
            Report::Overdue(effect) => return self.runtime.over(effect),
        };
        self.count(effect, &outcome);
        let _ = self.step(&Input::Completed(Completed { effect, outcome }));
    }

    fn count(&mut self, effect: u64, outcome: &Outcome) {
        use crate::engine::types::input::FailureKind as Kind;
        if self.saving.remove(&effect) {
            match outcome {
                Outcome::Done => self.totals.saves += 1,
                _ => self.totals.store_failures += 1,
            }
        } else if let Outcome::Failed(failure) = outcome
            && matches!(failure.kind, Kind::Unavailable | Kind::Broken)
        {
            self.totals.store_failures += 1;
        }
    }

    /// Gives the engine one input and does what comes of it.
    fn step(&mut self, input: &Input) -> Result<(), Rejection> {
        if self.broken.is_some() {
            return Ok(());
        }
        let now = self.timer.now();
        if let Some(journal) = &mut self.journal {
            journal.input(now, input);
        }
        let result = match self.fault_wanted(input) {
            Some(fault) => Err(fault),
            None => self.engine.step(now, input),
        };
        match result {
            Ok(Ok(step)) => {
                self.carry_out(step);
                Ok(())
            }
            Ok(Err(rejection)) => Err(rejection),
            Err(fault) => {
                let session = self.session_of(input);
                self.break_down(fault, now, session, &redact::report(input));
                Ok(())
            }
        }
    }

    /// Events are told before effects are done.
    fn carry_out(&mut self, step: Step) {
        if let Some(deadline) = step.deadline {
            self.timer.set(deadline);
        }
        self.tell_all(step.events);
        for effect in step.effects {
            self.dispatch(effect);
        }
    }

    /// The session that an input is about, as far as is known.
    fn session_of(&self, input: &Input) -> Option<String> {
        match input {
            Input::Command(command) => Some(command.session.clone()),
            Input::Completed(completed) => self.slices.get(&completed.effect).map(|slice| slice.session.clone()),
            Input::Notice(_) | Input::Start | Input::Tick | Input::Shutdown => None,
        }
    }

    /// The breakdown that a test has ordered.
    fn fault_wanted(&mut self, input: &Input) -> Option<crate::engine::EngineFault> {
        let Input::Command(Command { session, body: CommandBody::Send(_), .. }) = input else { return None };
        self.fault_on.take_if(|wanted| wanted == session)?;
        Some(crate::engine::EngineFault { function: "step", message: "A test ordered it.".to_owned() })
    }

    fn shut_down(&mut self, reply: oneshot::Sender<()>) {
        self.shutdown_waiters.push(reply);
        if self.stop_at.is_some() {
            return;
        }
        self.ready = false;
        self.ready_waiters.clear();
        let deadline = Duration::from_millis(self.config.limits.shutdown_timeout_ms) + SHUTDOWN_GRACE;
        self.stop_at = Some(Instant::now() + deadline);
        if self.broken.is_some() {
            self.ended = true;
            return;
        }
        // A shutdown is no command: nothing can refuse it.
        let _ = self.step(&Input::Shutdown);
    }

    /// Ends what the engine could not end in time, and everybody's waiting.
    async fn wind_up(mut self, mut inbox: mpsc::UnboundedReceiver<Message>) {
        let error = SessionError::stopped();
        self.replies.fail_all(&error);
        self.turns.end_all(&error);
        for (_, slice) in self.slices.drain() {
            slice.give_up();
        }
        while let Ok(message) = inbox.try_recv() {
            match message {
                Message::Report { report, .. } => runtime::let_go(report),
                Message::Shutdown(reply) => self.shutdown_waiters.push(reply),
                // Dropped, which tells whoever waits for an answer.
                _ => {}
            }
        }
        self.hub.close();
        if let Some(journal) = &mut self.journal {
            journal.flush();
        }
        let Self { runtime, ports, shutdown_waiters, .. } = self;
        let end = async move {
            runtime.end_all().await;
            if let Err(error) = ports.sandboxes.shutdown().await {
                tracing::warn!(%error, "the sandboxes did not end");
            }
        };
        if tokio::time::timeout(Duration::from_secs(5), end).await.is_err() {
            tracing::warn!("the sandboxes did not end in time");
        }
        for waiter in shutdown_waiters {
            // A caller that has gone away needs no answer.
            let _ = waiter.send(());
        }
    }
}
