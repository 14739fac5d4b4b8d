//! The adapters of a world: what comes of each effect, by chance, and what agents do in a slice.

use tackroom_core::effect::{Effect, EffectBody};
use tackroom_core::input::{
    Chunk, Completed, Due, Failure, FailureKind, Input, Outcome, SliceEnd, SliceOutcome, Verdict,
};
use tackroom_core::record::Usage;

use crate::agents::{self, Agent};
use crate::invariants::{self, Broken, SECRET};
use crate::saboteur::Fault;
use crate::world::{Action, Fate, World};

impl World<'_> {
    pub(crate) fn effect(&mut self, effect: Effect) -> Result<(), Broken> {
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
    pub(crate) fn before(&mut self, effect: &Effect) -> Result<(), Broken> {
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

    pub(crate) fn fate(&mut self, body: &EffectBody) -> Fate {
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

    pub(crate) fn answer(&mut self, host: u32, effect: &Effect, fate: Fate) -> Result<(), Broken> {
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

    pub(crate) fn good(&mut self, effect: &Effect, fate: Fate) -> Outcome {
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
    pub(crate) fn slice(
        &mut self,
        slice: u64,
        agent: u64,
        session: &str,
        not_taken: Vec<String>,
    ) -> Result<(), Broken> {
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

    pub(crate) fn interrupt(&mut self, agent: u64) {
        let hangs = self.faults_on && self.rng.u8(..8) == 0;
        let Some(found) = self.held.agents.get_mut(&agent) else { return };
        if let (Some(slice), false) = (found.slice, hangs || found.interrupted) {
            found.interrupted = true;
            let ms = self.rng.u64(1..2_000);
            let outcome = SliceOutcome::Interrupted;
            self.later(ms, Action::EndSlice { agent, slice, outcome, not_taken: Vec::new() });
        }
    }

    pub(crate) fn push(&mut self, agent: u64, slice: u64, chunks: Vec<Chunk>) -> Result<(), Broken> {
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

    pub(crate) fn end_slice(
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
