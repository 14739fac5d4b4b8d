//! The world of one seed: the loop that a host is, with virtual time, chance, and everything that can go wrong.

use std::collections::BTreeMap;

use tackroom_core::effect::{Effect, EffectBody};
use tackroom_core::event::Event;
use tackroom_core::input::{
    Chunk, Completed, Due, Failure, FailureKind, Input, Outcome, SliceEnd, SliceOutcome, Verdict,
};
use tackroom_core::record::{Status, Usage};
use tackroom_core::step::Step;
use tackroom_core::{Config, Engine, Limits, Now};

use crate::agents::{self, Agent, Held};
use crate::clients::{Clients, Wanted};
use crate::invariants::{self, Broken, Memory, SECRET};
use crate::saboteur::{self, Fault};
use crate::store::Store;
use crate::trace::Trace;
use crate::{Report, Violation};

/// Steps with faults, and the most steps in which a world without faults has to settle.
const STEPS: u64 = 600;
const SETTLE_STEPS: u64 = 60_000;
const SESSIONS: u8 = 5;

/// How an adapter will answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Good,
    Fails(FailureKind),
    /// It takes effect, and the answer is lost or wrong.
    GoodButFails,
    Hangs,
    Late,
    Twice,
    /// The second answer of one that comes twice.
    Again,
}

/// Something that will happen.
#[derive(Debug, Clone)]
#[expect(clippy::large_enum_variant, reason = "a world holds a few hundred of them")]
enum Action {
    Answer {
        host: u32,
        effect: Effect,
        fate: Fate,
    },
    Push {
        agent: u64,
        slice: u64,
        chunks: Vec<Chunk>,
    },
    EndSlice {
        agent: u64,
        slice: u64,
        outcome: SliceOutcome,
        not_taken: Vec<String>,
    },
    /// A lease whose adapter has not answered no longer counts.
    Overdue {
        host: u32,
        lease: u64,
    },
    Client,
    Crash,
    TakeOver,
}

/// See the module.
#[derive(Debug)]
pub struct World<'t> {
    seed: u64,
    rng: fastrand::Rng,
    trace: &'t mut Trace,
    fault: Option<Fault>,
    engine: Engine,
    config: Config,
    host: u32,
    now: Now,
    deadline: Option<u64>,
    queue: BTreeMap<(u64, u64), Action>,
    order: u64,
    store: Store,
    held: Held,
    clients: Clients,
    memory: Memory,
    calls: u64,
    faults_on: bool,
    steps: u64,
    crashes: u64,
    ended: bool,
}

fn config(rng: &mut fastrand::Rng) -> Config {
    let sometimes = |rng: &mut fastrand::Rng, ms: u64| rng.bool().then_some(ms);
    Config {
        epoch: "e0".into(),
        capacity: if rng.u8(..3) > 0 { Some(u32::from(rng.u8(1..4))) } else { None },
        approver: rng.bool(),
        idle_timeout_ms: sometimes(rng, 20_000),
        close_suspended_after_ms: if rng.u8(..4) == 0 { Some(600_000) } else { None },
        turn_timeout_ms: sometimes(rng, 60_000),
        suspend_idle_when_full: rng.u8(..4) > 0,
        suspend_waiting_when_full: rng.bool(),
        limits: Limits { slice_timeout_ms: 300_000, claim_page: 2, ..Limits::default() },
        ..Config::default()
    }
}

impl<'t> World<'t> {
    /// The world of this seed.
    pub fn new(seed: u64, fault: Option<Fault>, trace: &'t mut Trace) -> Self {
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut config = config(&mut rng);
        if fault == Some(Fault::TooManyLeases) {
            config.capacity = Some(1);
        }
        if fault == Some(Fault::LeakedLease) {
            // With a bound, a leaked lease shows as one too many.
            config.capacity = None;
        }
        Self {
            seed,
            engine: Engine::new(config.clone()),
            rng,
            trace,
            fault,
            config,
            host: 0,
            now: Now { wall_ms: 1_700_000_000_000, monotonic_ms: 0 },
            deadline: None,
            queue: BTreeMap::new(),
            order: 0,
            store: Store::default(),
            held: Held::default(),
            clients: Clients::default(),
            memory: Memory::default(),
            calls: 0,
            faults_on: true,
            steps: 0,
            crashes: 0,
            ended: false,
        }
    }

    /// Plays the world to its end.
    ///
    /// # Errors
    /// The first invariant seen broken.
    pub fn run(&mut self) -> Result<Report, Violation> {
        self.play().map_err(|(invariant, words)| Violation { seed: self.seed, step: self.steps, invariant, words })?;
        Ok(Report { seed: self.seed, steps: self.steps, crashes: self.crashes, mark: self.trace.mark() })
    }

    fn play(&mut self) -> Result<(), Broken> {
        self.input(Input::Start)?;
        self.later(10, Action::Client);
        while self.steps < STEPS {
            self.advance()?;
        }
        self.faults_on = false;
        self.queue.retain(|_, action| !matches!(action, Action::Crash | Action::TakeOver | Action::Client));
        self.settle()?;
        self.shut_down()
    }

    fn later(&mut self, in_ms: u64, action: Action) {
        self.order += 1;
        self.queue.insert((self.now.monotonic_ms + in_ms, self.order), action);
    }

    /// The next thing that happens: an action, or the engine's deadline.
    fn advance(&mut self) -> Result<(), Broken> {
        let next = self.queue.keys().next().map(|(at, _)| *at);
        let tick = match (next, self.deadline) {
            (Some(next), Some(deadline)) => deadline <= next,
            (None, _) => true,
            _ => false,
        };
        let at = if tick { self.deadline.unwrap_or(self.now.monotonic_ms + 1_000) } else { next.unwrap_or(0) };
        let passed = at.saturating_sub(self.now.monotonic_ms);
        self.now.monotonic_ms += passed;
        // The wall clock jumps now and then; no session may end by it.
        let jump = if self.faults_on && self.rng.u8(..200) == 0 { 7_200_000 } else { 0 };
        self.now.wall_ms += passed + jump;
        if tick {
            return self.input(Input::Tick);
        }
        let Some((_, action)) = self.queue.pop_first() else { return Ok(()) };
        self.act(action)
    }

    fn act(&mut self, action: Action) -> Result<(), Broken> {
        match action {
            Action::Answer { host, effect, fate } => self.answer(host, &effect, fate),
            Action::Push { agent, slice, chunks } => self.push(agent, slice, chunks),
            Action::EndSlice { agent, slice, outcome, not_taken } => self.end_slice(agent, slice, outcome, not_taken),
            Action::Overdue { host, lease } => {
                if host == self.host {
                    // A release that hangs has let go of the lease all the same.
                    self.held.counted.remove(&lease);
                    self.held.leases.remove(&lease);
                }
                Ok(())
            }
            Action::Client => self.client(),
            Action::Crash => self.crash(),
            Action::TakeOver => {
                let session = self.any_session();
                self.store.take_over(&session);
                Ok(())
            }
        }
    }

    fn any_session(&mut self) -> String {
        format!("s{}", self.rng.u8(..SESSIONS))
    }

    fn client(&mut self) -> Result<(), Broken> {
        let session = self.any_session();
        let pending = self.engine.summary(&session).map(|summary| summary.pending);
        let kept = self.store.rows.get(&session).map(|row| row.session.summary.pending.clone());
        let pending = pending.or(kept).unwrap_or_default();
        let command = self.clients.any(&session, &pending, &mut self.rng);
        self.command(command)?;
        let pause = self.rng.u64(1..3_000);
        self.later(pause, Action::Client);
        if self.rng.u8(..80) == 0 {
            self.later(self.order % 50, Action::Crash);
        }
        if self.rng.u8(..150) == 0 {
            self.later(1, Action::TakeOver);
        }
        Ok(())
    }

    fn command(&mut self, command: tackroom_core::input::Command) -> Result<(), Broken> {
        let id = command.id;
        let before = self.engine.stats();
        let now = self.now;
        self.trace.line(format!("{} {command:?}", now.monotonic_ms));
        match self.engine.step(now, Input::Command(command)) {
            Ok(step) => self.took(step),
            Err(rejection) => {
                invariants::no_secret(&rejection)?;
                self.clients.replied(id);
                if self.engine.stats() != before {
                    return Err((7, format!("a refused command changed the engine: {rejection}")));
                }
                self.check()
            }
        }
    }

    fn input(&mut self, input: Input) -> Result<(), Broken> {
        self.trace.line(format!("{} {input:?}", self.now.monotonic_ms));
        match self.engine.step(self.now, input) {
            Ok(step) => self.took(step),
            Err(rejection) => Err((7, format!("an input that is no command was refused: {rejection}"))),
        }
    }

    fn check(&mut self) -> Result<(), Broken> {
        self.steps += 1;
        self.engine.check().map_err(|words| {
            let number = words.split(' ').nth(1).and_then(|number| number.parse().ok()).unwrap_or(0);
            (number, words)
        })?;
        if self.engine.stats().effects > 0 && self.deadline.is_none() {
            return Err((9, "an effect is out and the host knows no deadline".into()));
        }
        if self.steps.is_multiple_of(16) {
            invariants::acknowledged(&self.clients, &self.store)?;
        }
        Ok(())
    }

    /// A step of the engine: its events are told, its effects begin.
    fn took(&mut self, mut step: Step) -> Result<(), Broken> {
        if let Some(fault) = self.fault {
            saboteur::sabotage(fault, &mut step, &mut self.rng);
        }
        self.trace.line(format!("  {step:?}"));
        if step.deadline.is_some() {
            self.deadline = step.deadline;
        }
        for event in step.events {
            self.event(event)?;
        }
        for effect in step.effects {
            self.effect(effect)?;
        }
        self.check()
    }

    fn event(&mut self, event: Event) -> Result<(), Broken> {
        invariants::no_secret(&event)?;
        match event {
            Event::Accepted(accepted) => {
                if self.clients.waiting.contains_key(&accepted.command) {
                    self.accepted(accepted.command, accepted.repeated)?;
                } else {
                    return Err((7, format!("command {} has two replies", accepted.command)));
                }
            }
            Event::Refused(refused) => {
                let replied = self.clients.replied(refused.command);
                if replied.is_none() {
                    return Err((7, format!("command {} has two replies", refused.command)));
                }
            }
            Event::TurnStarted(started) => self.memory.turn_started(&started),
            Event::ChunksInjected(injected) => self.memory.injected(&injected)?,
            Event::StreamEnded(ended) => self.memory.stream_ended(&ended, &self.store)?,
            Event::SessionReleased(session) => self.memory.released(&session),
            Event::SessionDeleted(session) => self.clients.forgot(&session),
            Event::ShutDown => self.ended = true,
            _ => {}
        }
        Ok(())
    }

    fn accepted(&mut self, command: u64, repeated: bool) -> Result<(), Broken> {
        let Some((session, wanted)) = self.clients.replied(command) else { return Ok(()) };
        match wanted {
            Wanted::Send(message) if !repeated => self.clients.messages.entry(session).or_default().push(message),
            Wanted::Continue(ids) if !repeated => {
                let known = self.clients.answers.entry(session).or_default();
                known.extend(ids.into_iter().filter(|id| !known.contains(id)).collect::<Vec<_>>());
            }
            Wanted::Delete => self.clients.forgot(&session),
            _ => {}
        }
        invariants::acknowledged(&self.clients, &self.store)
    }

    fn effect(&mut self, effect: Effect) -> Result<(), Broken> {
        self.before(&effect)?;
        let session = effect.session.clone();
        match &effect.body {
            EffectBody::StartTurn(start) => return self.slice(effect.id, start.agent, &session, Vec::new()),
            EffectBody::ContinueTurn(given) => {
                let not_taken = given.answers.iter().filter(|_| self.rng.u8(..4) == 0);
                let not_taken = not_taken.map(|answer| answer.tool_call_id.clone()).collect();
                return self.slice(effect.id, given.agent, &session, not_taken);
            }
            EffectBody::InterruptTurn(agent) => self.interrupt(agent.agent),
            EffectBody::DestroyAgent(agent) => {
                self.held.agents.remove(&agent.agent);
            }
            EffectBody::ReleaseSandbox(release) => {
                let overdue = self.config.limits.release_timeout_ms;
                self.later(overdue - 1, Action::Overdue { host: self.host, lease: release.lease });
            }
            _ => {}
        }
        let fate = self.fate(&effect.body);
        let ms = self.rng.u64(1..200);
        let host = self.host;
        match fate {
            Fate::Hangs => {}
            Fate::Late => self.later(900_000, Action::Answer { host, effect, fate }),
            Fate::Twice => {
                self.later(ms, Action::Answer { host, effect: effect.clone(), fate: Fate::Good });
                self.later(ms * 2, Action::Answer { host, effect, fate: Fate::Again });
            }
            fate => self.later(ms, Action::Answer { host, effect, fate }),
        }
        Ok(())
    }

    /// What must hold before an effect is done.
    fn before(&mut self, effect: &Effect) -> Result<(), Broken> {
        match &effect.body {
            EffectBody::StartTurn(start) => {
                if self.fault == Some(Fault::PromptTooEarly) {
                    self.store.rows.remove(&effect.session);
                }
                self.memory.prompt(&effect.session, start, &self.store)
            }
            EffectBody::ContinueTurn(given) => self.memory.deliver(&effect.session, given, &self.store),
            EffectBody::AcquireSandbox(_) => {
                if self.fault == Some(Fault::TooManyLeases) {
                    self.held.counted.insert(u64::MAX);
                }
                let used = self.held.counted.len();
                match self.config.capacity {
                    Some(capacity) if used >= capacity as usize => {
                        Err((4, format!("{} gets a lease where {used} of {capacity} are taken", effect.session)))
                    }
                    _ => Ok(()),
                }
            }
            EffectBody::SaveSession(save) => {
                invariants::no_secret(&(&save.summary, &save.engine_state, &save.audit))?;
                let fenced = self.memory.fenced.contains(&effect.session);
                if fenced && save.revision > 1 && self.engine.summary(&effect.session).is_none() {
                    return Err((10, format!("{} is written after another host took it", effect.session)));
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn fate(&mut self, body: &EffectBody) -> Fate {
        if !self.faults_on {
            return Fate::Good;
        }
        let store = matches!(body, EffectBody::SaveSession(_) | EffectBody::DeleteSession(_));
        match self.rng.u8(..60) {
            0 | 1 => Fate::Fails(FailureKind::Unavailable),
            2 => Fate::Fails(FailureKind::Broken),
            3 => Fate::Fails(FailureKind::Other),
            4 if matches!(body, EffectBody::AcquireSandbox(_)) => Fate::Fails(FailureKind::Capacity),
            // A write that has not landed by its deadline never does.
            5 | 6 | 8 if store => Fate::GoodButFails,
            7 => Fate::Hangs,
            8 if matches!(body, EffectBody::LoadSession(_) | EffectBody::ClaimLive(_)) => Fate::Hangs,
            8 => Fate::Late,
            9 => Fate::Twice,
            _ => Fate::Good,
        }
    }

    fn answer(&mut self, host: u32, effect: &Effect, fate: Fate) -> Result<(), Broken> {
        if host != self.host {
            return Ok(());
        }
        // An answer that comes twice is one operation: a claim is not made again.
        let claims = matches!(effect.body, EffectBody::LoadSession(_) | EffectBody::ClaimLive(_));
        if fate == Fate::Again && claims {
            return Ok(());
        }
        let failed = |kind| Outcome::Failed(Failure { kind, message: "by chance".into() });
        let outcome = match fate {
            Fate::Fails(kind) => {
                self.held.counted.remove(&effect.id);
                if let EffectBody::ReleaseSandbox(release) = &effect.body {
                    // A lease is used up by the attempt to give it back.
                    self.held.counted.remove(&release.lease);
                    self.held.leases.remove(&release.lease);
                }
                failed(kind)
            }
            Fate::GoodButFails => {
                self.good(effect, fate);
                failed(FailureKind::Unavailable)
            }
            _ => self.good(effect, fate),
        };
        if let Outcome::Failed(failure) = &outcome
            && matches!(failure.kind, FailureKind::Fenced | FailureKind::Stale)
        {
            self.memory.fenced.insert(effect.session.clone());
        }
        self.input(Input::Completed(Completed { effect: effect.id, outcome }))?;
        if self.fault == Some(Fault::WritesFenced)
            && self.memory.fenced.contains(&effect.session)
            && let EffectBody::SaveSession(save) = &effect.body
        {
            let mut save = save.clone();
            save.revision += 1;
            let again = Effect { body: EffectBody::SaveSession(save), ..effect.clone() };
            self.before(&again)?;
        }
        Ok(())
    }

    fn good(&mut self, effect: &Effect, fate: Fate) -> Outcome {
        let id = effect.session.as_str();
        match &effect.body {
            EffectBody::SaveSession(save) => self.store.save(save),
            EffectBody::LoadSession(_) => self.store.load(id),
            EffectBody::ClaimLive(claim) => self.store.claim_live(claim.after.as_deref(), claim.limit),
            EffectBody::RenewLeases(renew) => {
                let held = |one: &&tackroom_core::effect::HeldSession| {
                    self.store.rows.get(&one.session).is_some_and(|row| row.session.generation > one.generation)
                };
                Outcome::Renewed(renew.sessions.iter().filter(held).map(|one| one.session.clone()).collect())
            }
            EffectBody::DeleteSession(_) => {
                self.store.rows.remove(id);
                self.clients.forgot(id);
                Outcome::Done
            }
            EffectBody::ListDue(due) => {
                let now_ms = self.now.wall_ms;
                let rows = self.store.rows.values().map(|row| &row.session.summary);
                let due = rows.filter(|s| s.suspended_at_ms.is_some_and(|at| at + due.for_ms <= now_ms));
                Outcome::Due(Due { now_ms, sessions: due.map(|summary| summary.id.clone()).collect() })
            }
            EffectBody::AcquireSandbox(_) if fate == Fate::Again => Outcome::Acquired,
            EffectBody::StartAgent(_) if fate == Fate::Again => Outcome::Started(None),
            EffectBody::AcquireSandbox(_) => {
                self.held.leases.insert(effect.id, id.into());
                // One that comes when nobody waits for it any more is given back at once.
                if fate != Fate::Late {
                    self.held.counted.insert(effect.id);
                }
                Outcome::Acquired
            }
            EffectBody::ReleaseSandbox(release) => {
                self.held.leases.remove(&release.lease);
                self.held.counted.remove(&release.lease);
                Outcome::Done
            }
            EffectBody::StartAgent(_) => {
                let agent = Agent { session: id.into(), slice: None, cursor: 0, interrupted: false };
                self.held.agents.insert(effect.id, agent);
                Outcome::Started(self.rng.bool().then(|| format!("{SECRET}-{id}")))
            }
            EffectBody::StopAgent(agent) => {
                self.held.agents.remove(&agent.agent);
                Outcome::Stopped(Some(format!("{SECRET}-{id}")))
            }
            EffectBody::Approve(_) => Outcome::Verdict(match self.rng.u8(..3) {
                0 => None,
                n => Some(Verdict { approved: n == 1, reason: None, edited_input: None, rule: None }),
            }),
            _ => Outcome::Done,
        }
    }

    /// An agent begins a slice.
    fn slice(&mut self, slice: u64, agent: u64, session: &str, not_taken: Vec<String>) -> Result<(), Broken> {
        let running = self.held.agents.values().any(|agent| agent.session == session && agent.slice.is_some());
        if running {
            return Err((1, format!("{session} runs two turns at once")));
        }
        let Some(found) = self.held.agents.get_mut(&agent) else {
            // The agent died a moment ago: its adapter says so.
            return Ok(());
        };
        found.slice = Some(slice);
        found.cursor = 0;
        found.interrupted = false;
        let plan = agents::plan(&mut self.rng, &mut self.calls, self.faults_on);
        let mut ms = 0;
        for chunks in plan.batches {
            ms += self.rng.u64(1..2_000);
            self.later(ms, Action::Push { agent, slice, chunks });
        }
        if let Some(outcome) = plan.end {
            self.later(ms + 1, Action::EndSlice { agent, slice, outcome, not_taken });
        }
        Ok(())
    }

    fn interrupt(&mut self, agent: u64) {
        let hangs = self.faults_on && self.rng.u8(..8) == 0;
        let Some(found) = self.held.agents.get_mut(&agent) else { return };
        if let (Some(slice), false) = (found.slice, hangs || found.interrupted) {
            found.interrupted = true;
            let ms = self.rng.u64(1..2_000);
            let outcome = SliceOutcome::Interrupted;
            self.later(ms, Action::EndSlice { agent, slice, outcome, not_taken: Vec::new() });
        }
    }

    fn push(&mut self, agent: u64, slice: u64, chunks: Vec<Chunk>) -> Result<(), Broken> {
        let Some(found) = self.held.agents.get_mut(&agent).filter(|agent| agent.slice == Some(slice)) else {
            return Ok(());
        };
        let (session, cursor) = (found.session.clone(), found.cursor);
        found.cursor += chunks.len() as u64;
        let turn = self.engine.summary(&session).and_then(|summary| summary.turn).unwrap_or_default();
        let texts: Vec<String> = chunks.iter().map(chunk_text).collect();
        self.trace.line(format!("{} push {session} {turn} {cursor} {chunks:?}", self.now.monotonic_ms));
        let mut pushed = self.engine.push(self.now, &session, &turn, cursor, chunks);
        let step = pushed.step.take();
        self.trace.line(format!("  {pushed:?}"));
        self.memory.pushed(&session, &turn, &texts, &pushed)?;
        match step {
            Some(step) => self.took(step),
            None => self.check(),
        }
    }

    fn end_slice(
        &mut self,
        agent: u64,
        slice: u64,
        outcome: SliceOutcome,
        not_taken: Vec<String>,
    ) -> Result<(), Broken> {
        let Some(found) = self.held.agents.get_mut(&agent).filter(|agent| agent.slice == Some(slice)) else {
            return Ok(());
        };
        found.slice = None;
        let usage = Usage { input_tokens: 1, output_tokens: 1, total_tokens: 2, cost_micro_usd: 1 };
        let resume = self.rng.bool().then(|| format!("{SECRET}-{slice}"));
        let end = SliceEnd { outcome, usage, resume, not_taken };
        self.input(Input::Completed(Completed { effect: slice, outcome: Outcome::SliceEnded(end) }))
    }

    /// The host dies, with everything it held, and another one starts.
    fn crash(&mut self) -> Result<(), Broken> {
        self.crashes += 1;
        self.host += 1;
        self.trace.line(format!("{} crash", self.now.monotonic_ms));
        // A write under way may have landed; everything else dies with the host.
        for action in self.queue.values() {
            if let Action::Answer { effect: Effect { body: EffectBody::SaveSession(save), .. }, .. } = action
                && self.rng.bool()
            {
                self.store.save(save);
            }
        }
        self.queue.retain(|_, action| !matches!(action, Action::Answer { .. }));
        self.config.epoch = format!("e{}", self.host);
        self.engine = Engine::new(self.config.clone());
        self.deadline = None;
        self.held = Held::default();
        self.clients.waiting.clear();
        self.memory.host_died();
        self.input(Input::Start)
    }

    /// Without faults every session must come to rest and every caller get a reply.
    fn settle(&mut self) -> Result<(), Broken> {
        let limit = self.steps + SETTLE_STEPS;
        while self.steps < limit {
            for n in 0..SESSIONS {
                self.unblock(&format!("s{n}"))?;
            }
            if self.is_settled() {
                return invariants::acknowledged(&self.clients, &self.store);
            }
            self.advance()?;
        }
        let waiting = &self.clients.waiting;
        let live: Vec<_> = (0..SESSIONS).filter_map(|n| self.engine.summary(&format!("s{n}"))).collect();
        Err((7, format!("the world does not settle: {waiting:?} wait, sessions are {live:?}")))
    }

    fn unblock(&mut self, session: &str) -> Result<(), Broken> {
        let Some(summary) = self.engine.summary(session) else { return Ok(()) };
        let open = self.clients.waiting.values().any(|(other, _)| other == session);
        if summary.status != Status::AwaitingInput || summary.stopping.is_some() || open {
            return Ok(());
        }
        let command = if self.rng.bool() {
            self.clients.answer(session, &summary.pending, true, &mut self.rng)
        } else {
            self.clients.interrupt(session)
        };
        self.command(command)
    }

    fn is_settled(&self) -> bool {
        let rests = |n: u8| {
            let Some(summary) = self.engine.summary(&format!("s{n}")) else { return true };
            let resting = !matches!(summary.status, Status::Preparing | Status::Busy | Status::AwaitingInput);
            resting && summary.stopping.is_none() && !summary.degraded
        };
        self.engine.stats().ready && self.clients.waiting.is_empty() && (0..SESSIONS).all(rests)
    }

    /// A clean end leaves nothing behind.
    fn shut_down(&mut self) -> Result<(), Broken> {
        self.input(Input::Shutdown)?;
        let limit = self.steps + SETTLE_STEPS;
        while (!self.ended || !self.queue.is_empty()) && self.steps < limit {
            self.advance()?;
        }
        if !self.ended {
            return Err((7, "the shutdown does not end".into()));
        }
        if let Some((lease, session)) = self.held.leases.first_key_value() {
            return Err((8, format!("lease {lease} of {session} is leaked")));
        }
        if let Some((agent, found)) = self.held.agents.first_key_value() {
            return Err((8, format!("agent {agent} of {} is leaked", found.session)));
        }
        let ours = |row: &&crate::store::Row| !self.store.taken.contains(&row.session.summary.id);
        let live = self.store.rows.values().filter(ours).find(|row| row.session.summary.status.is_live());
        match live {
            Some(row) => Err((8, format!("{} is kept as live after the shutdown", row.session.summary.id))),
            None => invariants::acknowledged(&self.clients, &self.store),
        }
    }
}

fn chunk_text(chunk: &Chunk) -> String {
    let delta = |kind: &str, id: &str, text: &str| {
        let text = serde_json::to_string(text).unwrap_or_default();
        format!(r#"{{"type":"{kind}","id":"{id}","delta":{text}}}"#)
    };
    match chunk {
        Chunk::Json(text) => text.clone(),
        Chunk::TextDelta(one) => delta("text-delta", &one.id, &one.piece.text),
        Chunk::ReasoningDelta(one) => delta("reasoning-delta", &one.id, &one.piece.text),
        Chunk::ToolInputDelta(one) => one.piece.text.clone(),
    }
}
