//! Sandboxes and agents: what is held of them under the engine's numbers, and their operations.

use std::collections::{HashMap, HashSet};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::AbortHandle;

use super::caught::caught;
use super::chains::Chains;
use super::message::{Report, Reporter};
use super::{Ports, convert, convert_agent};
use crate::engine::types::effect::{AcquireSandbox, ReleaseSandbox, StartAgent};
use crate::engine::types::input::{Failure, FailureKind, Outcome};
use crate::engine::types::{Effect, EffectBody, Limits};
use crate::ports::{self, AgentSession, Lease, Notices, Sandbox, StartedAgent};

/// A sandbox that is held.
struct Held {
    sandbox: Arc<dyn Sandbox>,
    lease: Lease,
}

/// How long the engine waits for each kind of operation.
#[derive(Debug, Clone, Copy)]
struct Deadlines {
    acquire: Duration,
    release: Duration,
    start: Duration,
    stop: Duration,
}

/// See the module.
pub(super) struct Runtime {
    ports: Arc<Ports>,
    reporter: Reporter,
    deadlines: Deadlines,
    chains: Chains,
    leases: HashMap<u64, Held>,
    agents: HashMap<u64, Arc<dyn AgentSession>>,
    starting: HashMap<u64, AbortHandle>,
    /// Agents being stopped: the effect and its task.
    stopping: HashMap<u64, (u64, AbortHandle)>,
    /// Agents that were ended while they started: what is still told of them is ended, too.
    unwanted: HashSet<u64>,
}

fn gone(what: &str) -> Failure {
    Failure { kind: FailureKind::Other, message: format!("{what} is not there any more.") }
}

impl Runtime {
    pub(super) fn new(ports: Arc<Ports>, reporter: Reporter, limits: &Limits) -> Self {
        let deadlines = Deadlines {
            acquire: Duration::from_millis(limits.acquire_timeout_ms),
            release: Duration::from_millis(limits.release_timeout_ms),
            start: Duration::from_millis(limits.start_timeout_ms),
            stop: Duration::from_millis(limits.stop_timeout_ms),
        };
        Self {
            ports,
            reporter,
            deadlines,
            chains: Chains::default(),
            leases: HashMap::new(),
            agents: HashMap::new(),
            starting: HashMap::new(),
            stopping: HashMap::new(),
            unwanted: HashSet::new(),
        }
    }

    /// The agent of this number.
    pub(super) fn agent(&self, agent: u64) -> Option<&Arc<dyn AgentSession>> {
        self.agents.get(&agent)
    }

    /// Takes an operation in. An agent that is to be destroyed loses what it is at first.
    pub(super) fn take(&mut self, effect: Effect) {
        if let EffectBody::DestroyAgent(agent) = &effect.body {
            self.cut_off(&effect.session, agent.agent);
        }
        if let Some(effect) = self.chains.push(effect) {
            self.begin(effect);
        }
    }

    /// An operation is over, or has had its time.
    pub(super) fn over(&mut self, effect: u64) {
        if let Some(next) = self.chains.over(effect) {
            self.begin(next);
        }
    }

    /// Keeps a lease that was got.
    pub(super) fn acquired(&mut self, effect: u64, got: Result<Lease, Failure>) -> Outcome {
        self.over(effect);
        match got {
            Ok(lease) => {
                self.leases.insert(effect, Held { sandbox: lease.sandbox(), lease });
                Outcome::Acquired
            }
            Err(failure) => Outcome::Failed(failure),
        }
    }

    /// Keeps an agent that was started. `None` where it was ended meanwhile.
    pub(super) fn started(&mut self, effect: u64, got: Result<StartedAgent, Failure>) -> Option<Outcome> {
        self.starting.remove(&effect);
        self.over(effect);
        let unwanted = self.unwanted.remove(&effect);
        match got {
            Ok(started) if unwanted => {
                tokio::spawn(async move { caught(started.agent.destroy()).await });
                None
            }
            Ok(started) => {
                self.agents.insert(effect, started.agent);
                Some(Outcome::Started(started.resume.map(convert::resume_in)))
            }
            Err(failure) => Some(Outcome::Failed(failure)),
        }
    }

    /// An operation that gives nothing to hold is over.
    pub(super) fn completed(&mut self, effect: u64, outcome: &Outcome) {
        if let Some(agent) = self.stopping.iter().find(|(_, (stop, _))| *stop == effect).map(|(agent, _)| *agent) {
            self.stopping.remove(&agent);
            if matches!(outcome, Outcome::Stopped(_)) {
                self.agents.remove(&agent);
            }
        }
        self.over(effect);
    }

    /// Ends the start or the stop of an agent that is under way or waits.
    fn cut_off(&mut self, session: &str, agent: u64) {
        let failure = || Outcome::Failed(gone("The agent"));
        if let Some(start) = self.starting.remove(&agent) {
            start.abort();
            self.unwanted.insert(agent);
            self.reporter.report(Report::Completed(agent, failure()));
        }
        if let Some((stop, task)) = self.stopping.remove(&agent) {
            task.abort();
            self.reporter.report(Report::Completed(stop, failure()));
        }
        let of_agent = |effect: &Effect| match &effect.body {
            EffectBody::StartAgent(_) => effect.id == agent,
            EffectBody::StopAgent(stop) => stop.agent == agent,
            _ => false,
        };
        for effect in self.chains.take(session, of_agent) {
            self.reporter.report(Report::Completed(effect.id, failure()));
        }
    }

    fn begin(&mut self, effect: Effect) {
        let Effect { id, session, body } = effect;
        match body {
            EffectBody::AcquireSandbox(acquire) => self.acquire(id, session, &acquire),
            EffectBody::ReleaseSandbox(release) => self.release(id, &release),
            EffectBody::DiscardSandbox => self.discard(id, session),
            EffectBody::StartAgent(start) => self.start(id, session, start),
            EffectBody::StopAgent(agent) => self.stop(id, agent.agent),
            EffectBody::DestroyAgent(agent) => self.destroy(id, agent.agent),
            // Nothing else is given to `take`.
            _ => self.over(id),
        }
    }

    /// Runs an operation. One that takes longer than the engine waits for it no longer holds up those behind it.
    fn run<T, F>(
        &self,
        effect: u64,
        deadline: Duration,
        operation: F,
        report: impl FnOnce(Result<T, String>) -> Report + Send + 'static,
    ) -> AbortHandle
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        let reporter = self.reporter.clone();
        let task = tokio::spawn(async move {
            let mut operation = pin!(caught(operation));
            let result = tokio::select! {
                result = &mut operation => result,
                () = tokio::time::sleep(deadline) => {
                    reporter.report(Report::Overdue(effect));
                    operation.await
                }
            };
            reporter.report(report(result));
        });
        task.abort_handle()
    }

    fn acquire(&self, id: u64, session: String, acquire: &AcquireSandbox) {
        let (ports, resume) = (Arc::clone(&self.ports), acquire.resume);
        let operation = async move { ports.sandboxes.acquire(&session, resume).await };
        self.run(id, self.deadlines.acquire, operation, move |result| {
            let result = result.map_err(|panic| convert_agent::broke_down("sandbox", &panic));
            Report::Acquired(id, result.and_then(|got| got.map_err(|error| convert_agent::sandbox_failure(&error))))
        });
    }

    fn release(&mut self, id: u64, release: &ReleaseSandbox) {
        let held = self.leases.remove(&release.lease);
        let keep = release.keep;
        let operation = async move {
            // One that is given back already is not held.
            let Some(Held { sandbox, lease }) = held else { return Ok(()) };
            drop(sandbox);
            if keep { lease.suspend().await } else { lease.close().await }
        };
        self.run(id, self.deadlines.release, operation, move |result| Report::Completed(id, sandbox_outcome(result)));
    }

    fn discard(&self, id: u64, session: String) {
        let ports = Arc::clone(&self.ports);
        let operation = async move { ports.sandboxes.discard(&session).await };
        self.run(id, self.deadlines.release, operation, move |result| Report::Completed(id, sandbox_outcome(result)));
    }

    fn start(&mut self, id: u64, session: String, start: StartAgent) {
        let Some(held) = self.leases.get(&start.lease) else {
            return self.reporter.report(Report::Started(id, Err(gone("The sandbox"))));
        };
        let reporter = self.reporter.clone();
        let start = ports::StartAgent {
            session,
            generation: start.generation,
            sandbox: Arc::clone(&held.sandbox),
            settings: convert::settings_out(start.settings),
            resume: start.resume.map(ports::ResumeState::new),
            notices: Notices::with(move |notice| {
                reporter.report(Report::Notice(id, convert_agent::notice_in(notice)));
            }),
        };
        let ports = Arc::clone(&self.ports);
        let operation = async move { ports.agent.start(start).await };
        let task = self.run(id, self.deadlines.start, operation, move |result| {
            let result = result.map_err(|panic| convert_agent::broke_down("agent", &panic));
            Report::Started(id, result.and_then(|got| got.map_err(|error| convert_agent::agent_failure(&error))))
        });
        self.starting.insert(id, task);
    }

    fn stop(&mut self, id: u64, agent: u64) {
        let Some(running) = self.agents.get(&agent).cloned() else {
            return self.reporter.report(Report::Completed(id, Outcome::Failed(gone("The agent"))));
        };
        let operation = async move { running.stop().await };
        let task = self.run(id, self.deadlines.stop, operation, move |result| {
            let outcome = match result {
                Ok(Ok(resume)) => Outcome::Stopped(resume.map(convert::resume_in)),
                Ok(Err(error)) => Outcome::Failed(convert_agent::agent_failure(&error)),
                Err(panic) => Outcome::Failed(convert_agent::broke_down("agent", &panic)),
            };
            Report::Completed(id, outcome)
        });
        self.stopping.insert(agent, (id, task));
    }

    fn destroy(&mut self, id: u64, agent: u64) {
        let running = self.agents.remove(&agent);
        let operation = async move {
            if let Some(running) = running {
                running.destroy().await;
            }
        };
        self.run(id, self.deadlines.stop, operation, move |result| {
            let outcome = match result {
                Ok(()) => Outcome::Done,
                Err(panic) => Outcome::Failed(convert_agent::broke_down("agent", &panic)),
            };
            Report::Completed(id, outcome)
        });
    }

    /// Ends everything at once, files kept: agents first, then what they worked in. Resolves in bounded time.
    pub(super) fn end_all(self) -> impl Future<Output = ()> + Send + 'static {
        const GRACE: Duration = Duration::from_secs(10);
        for task in self.starting.into_values().chain(self.stopping.into_values().map(|(_, task)| task)) {
            task.abort();
        }
        let (agents, leases) = (self.agents, self.leases);
        async move {
            let mut tasks = tokio::task::JoinSet::new();
            for agent in agents.into_values() {
                tasks.spawn(async move { caught(agent.destroy()).await.map(|()| true) });
            }
            let _ = tokio::time::timeout(GRACE, async { while tasks.join_next().await.is_some() {} }).await;
            for held in leases.into_values() {
                let Held { sandbox, lease } = held;
                drop(sandbox);
                tasks.spawn(async move { caught(lease.suspend()).await.map(|ended| ended.is_ok()) });
            }
            let _ = tokio::time::timeout(GRACE, async { while tasks.join_next().await.is_some() {} }).await;
        }
    }
}

/// Ends what an engine had asked for that has broken down since.
pub(super) fn let_go(report: Report) {
    match report {
        Report::Acquired(_, Ok(lease)) => {
            tokio::spawn(async move { caught(lease.suspend()).await.is_ok() });
        }
        Report::Started(_, Ok(started)) => {
            tokio::spawn(async move { caught(started.agent.destroy()).await.is_ok() });
        }
        Report::Acquired(..)
        | Report::Started(..)
        | Report::Completed(..)
        | Report::Notice(..)
        | Report::Overdue(_) => {}
    }
}

fn sandbox_outcome(result: Result<Result<(), ports::SandboxError>, String>) -> Outcome {
    match result {
        Ok(Ok(())) => Outcome::Done,
        Ok(Err(error)) => Outcome::Failed(convert_agent::sandbox_failure(&error)),
        Err(panic) => Outcome::Failed(convert_agent::broke_down("sandbox", &panic)),
    }
}
