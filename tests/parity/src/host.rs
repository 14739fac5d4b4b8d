//! A host in play: it keeps the effects that the engine asks for until somebody says how they end, has a store, and
//! writes down every call. Scenarios and random journals are both played on it.

use std::collections::BTreeMap;

use tackroom_core::{
    Config, Now,
    effect::{Effect, EffectBody},
    event::Event,
    input::{
        Chunk, Command, CommandBody, Completed, Due, Failure, FailureKind, Input, Outcome, SliceEnd, SliceOutcome,
    },
    record::{Summary, Usage},
    step::Step,
};

use crate::{
    face::CrateFace,
    journal::{Answer, Call, Entry, Push},
    store::PlayStore,
};

/// A slice of a turn that an agent is at work on.
#[derive(Debug, Clone)]
pub struct Slice {
    /// The effect that its end completes.
    pub effect: u64,
    /// The agent.
    pub agent: u64,
    /// The session.
    pub session: String,
    /// The turn.
    pub turn: String,
    /// Chunks given so far.
    pub cursor: u64,
    /// Whether it was asked to end.
    pub interrupted: bool,
}

/// A host in play.
#[derive(Debug)]
pub struct PlayHost {
    /// What the engine was made with.
    pub config: Config,
    /// The moment.
    pub now: Now,
    /// Effects without a completion, in the order in which they came; those of slices included.
    pub pending: Vec<Effect>,
    /// Slices at work, by the effect that their end completes.
    pub slices: BTreeMap<u64, Slice>,
    /// What is kept.
    pub store: PlayStore,
    /// Every call.
    pub journal: Vec<Entry>,
    /// The answer to each.
    pub answers: Vec<Answer>,
    /// Every event.
    pub events: Vec<Event>,
    /// When the engine wants to be ticked next.
    pub deadline: Option<u64>,
    face: CrateFace,
    commands: u64,
}

impl PlayHost {
    /// A host that has not started yet, on what an earlier one left in the store.
    #[must_use]
    pub fn new(config: Config, now: Now, store: PlayStore) -> Self {
        Self {
            face: CrateFace::new(config.clone()),
            config,
            now,
            pending: Vec::new(),
            slices: BTreeMap::new(),
            store,
            journal: Vec::new(),
            answers: Vec::new(),
            events: Vec::new(),
            deadline: None,
            commands: 0,
        }
    }

    /// Plays one call.
    ///
    /// # Panics
    /// Never: an answer that was just kept is there.
    pub fn play(&mut self, call: Call) -> &Answer {
        let entry = Entry { now: self.now, call };
        let answer = self.face.answer(&entry);
        if let Some(step) = answer.step() {
            self.take(&step.clone());
        }
        self.journal.push(entry);
        self.answers.push(answer);
        self.answers.last().expect("one was pushed")
    }

    fn take(&mut self, step: &Step) {
        for effect in &step.effects {
            let (agent, turn) = match &effect.body {
                EffectBody::StartTurn(start) => (start.agent, &start.turn),
                EffectBody::ContinueTurn(next) => (next.agent, &next.turn),
                _ => {
                    self.pending.push(effect.clone());
                    continue;
                }
            };
            let slice = Slice {
                effect: effect.id,
                agent,
                session: effect.session.clone(),
                turn: turn.clone(),
                cursor: 0,
                interrupted: false,
            };
            self.slices.insert(effect.id, slice);
            self.pending.push(effect.clone());
        }
        self.events.extend(step.events.iter().cloned());
        self.deadline = step.deadline.or(self.deadline);
    }

    /// Gives a command its number and plays it.
    pub fn command(&mut self, session: &str, body: CommandBody) -> u64 {
        self.commands += 1;
        let command = Command { id: self.commands, session: session.to_owned(), body };
        self.play(Call::Input(Input::Command(command)));
        self.commands
    }

    /// Completes an effect, known or not.
    pub fn complete(&mut self, effect: u64, outcome: Outcome) {
        self.pending.retain(|pending| pending.id != effect);
        self.slices.remove(&effect);
        self.play(Call::Input(Input::Completed(Completed { effect, outcome })));
    }

    /// Gives chunks of a slice at work. Nothing happens where there is no such slice.
    pub fn push(&mut self, slice: u64, chunks: Vec<Chunk>) {
        let Some(slice) = self.slices.get_mut(&slice) else { return };
        let push = Push { session: slice.session.clone(), turn: slice.turn.clone(), cursor: slice.cursor, chunks };
        slice.cursor += push.chunks.len() as u64;
        self.play(Call::Push(push));
    }

    /// Lets time pass on both clocks, and ticks.
    pub fn tick(&mut self, ms: u64) {
        self.pass(ms);
        self.play(Call::Input(Input::Tick));
    }

    /// Lets time pass on both clocks.
    pub fn pass(&mut self, ms: u64) {
        self.now.wall_ms += ms;
        self.now.monotonic_ms += ms;
    }

    /// A session in the engine's memory.
    #[must_use]
    pub fn summary(&self, session: &str) -> Option<Summary> {
        self.face.engine().summary(session)
    }

    /// The message of the session's turn, JSON text.
    #[must_use]
    pub fn live_message(&self, session: &str) -> Option<String> {
        self.face.engine().live_message(session).map(|message| message.json)
    }

    /// The outcome of an effect that goes well; what it does to the store is done. A slice just ends.
    pub fn good_outcome(&mut self, effect: &Effect) -> Outcome {
        match &effect.body {
            EffectBody::LoadSession(load) => Outcome::Loaded(self.store.claim(&effect.session, &load.owner)),
            EffectBody::ClaimLive(claim) => {
                Outcome::Claimed(self.store.claim_live(&claim.owner, claim.after.as_deref(), claim.limit))
            }
            EffectBody::RenewLeases(_) => Outcome::Renewed(Vec::new()),
            EffectBody::SaveSession(save) => match self.store.save(&effect.session, save) {
                Ok(()) => Outcome::Done,
                Err(kind) => failed(kind),
            },
            EffectBody::DeleteSession(_) => {
                self.store.delete(&effect.session);
                Outcome::Done
            }
            EffectBody::ListDue(due) => {
                Outcome::Due(Due { now_ms: self.now.wall_ms, sessions: self.store.suspended(due.limit) })
            }
            EffectBody::AcquireSandbox(_) => Outcome::Acquired,
            EffectBody::StartAgent(_) => Outcome::Started(Some(format!("resume-{}", effect.id))),
            EffectBody::StopAgent(stop) => {
                self.slices.retain(|_, slice| slice.agent != stop.agent);
                Outcome::Stopped(Some(format!("resume-{}", effect.id)))
            }
            EffectBody::StartTurn(_) | EffectBody::ContinueTurn(_) => {
                let interrupted = self.slices.get(&effect.id).is_some_and(|slice| slice.interrupted);
                slice_end(if interrupted { SliceOutcome::Interrupted } else { SliceOutcome::Finished })
            }
            EffectBody::InterruptTurn(interrupt) => {
                for slice in self.slices.values_mut().filter(|slice| slice.agent == interrupt.agent) {
                    slice.interrupted = true;
                }
                Outcome::Done
            }
            EffectBody::Approve(_) => Outcome::Verdict(None),
            EffectBody::ReleaseSandbox(_) | EffectBody::DiscardSandbox | EffectBody::DestroyAgent(_) => Outcome::Done,
        }
    }
}

/// A failure in words.
#[must_use]
pub fn failed(kind: FailureKind) -> Outcome {
    Outcome::Failed(Failure { kind, message: format!("The adapter says {kind:?}.") })
}

/// The end of a slice that used a little and keeps its resume state.
#[must_use]
pub fn slice_end(outcome: SliceOutcome) -> Outcome {
    let usage = Usage { input_tokens: 10, output_tokens: 5, total_tokens: 15, cost_micro_usd: 100 };
    Outcome::SliceEnded(SliceEnd { outcome, usage, resume: None, not_taken: Vec::new() })
}

/// The name of an effect's kind, as in the engine: `AcquireSandbox`.
#[must_use]
pub fn effect_name(body: &EffectBody) -> &'static str {
    match body {
        EffectBody::LoadSession(_) => "LoadSession",
        EffectBody::ClaimLive(_) => "ClaimLive",
        EffectBody::RenewLeases(_) => "RenewLeases",
        EffectBody::SaveSession(_) => "SaveSession",
        EffectBody::DeleteSession(_) => "DeleteSession",
        EffectBody::ListDue(_) => "ListDue",
        EffectBody::AcquireSandbox(_) => "AcquireSandbox",
        EffectBody::ReleaseSandbox(_) => "ReleaseSandbox",
        EffectBody::DiscardSandbox => "DiscardSandbox",
        EffectBody::StartAgent(_) => "StartAgent",
        EffectBody::StartTurn(_) => "StartTurn",
        EffectBody::ContinueTurn(_) => "ContinueTurn",
        EffectBody::InterruptTurn(_) => "InterruptTurn",
        EffectBody::StopAgent(_) => "StopAgent",
        EffectBody::DestroyAgent(_) => "DestroyAgent",
        EffectBody::Approve(_) => "Approve",
    }
}
