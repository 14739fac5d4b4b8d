//! The world of one seed: the loop that a host is, with virtual time, chance, and everything that can go wrong.

use std::collections::BTreeMap;

use tackroom_core::effect::Effect;
use tackroom_core::event::Event;
use tackroom_core::input::{Chunk, FailureKind, Input, SliceOutcome};
use tackroom_core::step::Step;
use tackroom_core::{Config, Engine, Limits, Now};

use crate::agents::Held;
use crate::clients::{Clients, Wanted};
use crate::invariants::{self, Broken, Memory};
use crate::saboteur::{self, Fault};
use crate::store::Store;
use crate::trace::Trace;
use crate::{Report, Violation};

/// Steps with faults, and the most steps in which a world without faults has to settle.
const STEPS: u64 = 600;
pub(crate) const SETTLE_STEPS: u64 = 60_000;
pub(crate) const SESSIONS: u8 = 5;

/// How an adapter will answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
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
pub(crate) enum Action {
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
    pub(crate) seed: u64,
    pub(crate) rng: fastrand::Rng,
    pub(crate) trace: &'t mut Trace,
    pub(crate) fault: Option<Fault>,
    pub(crate) engine: Engine,
    pub(crate) config: Config,
    pub(crate) host: u32,
    pub(crate) now: Now,
    pub(crate) deadline: Option<u64>,
    pub(crate) queue: BTreeMap<(u64, u64), Action>,
    pub(crate) order: u64,
    pub(crate) store: Store,
    pub(crate) held: Held,
    pub(crate) clients: Clients,
    pub(crate) memory: Memory,
    pub(crate) calls: u64,
    pub(crate) faults_on: bool,
    pub(crate) steps: u64,
    pub(crate) crashes: u64,
    pub(crate) ended: bool,
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

    pub(crate) fn play(&mut self) -> Result<(), Broken> {
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

    pub(crate) fn later(&mut self, in_ms: u64, action: Action) {
        self.order += 1;
        self.queue.insert((self.now.monotonic_ms + in_ms, self.order), action);
    }

    /// The next thing that happens: an action, or the engine's deadline.
    pub(crate) fn advance(&mut self) -> Result<(), Broken> {
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

    pub(crate) fn act(&mut self, action: Action) -> Result<(), Broken> {
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

    pub(crate) fn any_session(&mut self) -> String {
        format!("s{}", self.rng.u8(..SESSIONS))
    }

    pub(crate) fn client(&mut self) -> Result<(), Broken> {
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

    pub(crate) fn command(&mut self, command: tackroom_core::input::Command) -> Result<(), Broken> {
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

    pub(crate) fn input(&mut self, input: Input) -> Result<(), Broken> {
        self.trace.line(format!("{} {input:?}", self.now.monotonic_ms));
        match self.engine.step(self.now, input) {
            Ok(step) => self.took(step),
            Err(rejection) => Err((7, format!("an input that is no command was refused: {rejection}"))),
        }
    }

    pub(crate) fn check(&mut self) -> Result<(), Broken> {
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
    pub(crate) fn took(&mut self, mut step: Step) -> Result<(), Broken> {
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

    pub(crate) fn event(&mut self, event: Event) -> Result<(), Broken> {
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

    pub(crate) fn accepted(&mut self, command: u64, repeated: bool) -> Result<(), Broken> {
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
}
