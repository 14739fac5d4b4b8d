//! How a host ends: by dying, or in order once the world has come to rest.

use tackroom_core::Engine;
use tackroom_core::effect::{Effect, EffectBody};
use tackroom_core::input::Input;
use tackroom_core::record::Status;

use crate::agents::Held;
use crate::invariants::{self, Broken};
use crate::world::{Action, SESSIONS, SETTLE_STEPS, World};

impl World<'_> {
    /// The host dies, with everything it held, and another one starts.
    pub(crate) fn crash(&mut self) -> Result<(), Broken> {
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
    pub(crate) fn settle(&mut self) -> Result<(), Broken> {
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

    pub(crate) fn unblock(&mut self, session: &str) -> Result<(), Broken> {
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

    pub(crate) fn is_settled(&self) -> bool {
        let rests = |n: u8| {
            let Some(summary) = self.engine.summary(&format!("s{n}")) else { return true };
            let resting = !matches!(summary.status, Status::Preparing | Status::Busy | Status::AwaitingInput);
            resting && summary.stopping.is_none() && !summary.degraded
        };
        self.engine.stats().ready && self.clients.waiting.is_empty() && (0..SESSIONS).all(rests)
    }

    /// A clean end leaves nothing behind.
    pub(crate) fn shut_down(&mut self) -> Result<(), Broken> {
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
