//! Random journals: a little host played by dice, so that sequences reach far into the engine. The same seed gives the
//! same journal.

use fastrand::Rng;
use serde_json::json;
use tackroom_core::{
    Config, Limits, Now,
    effect::{Effect, EffectBody},
    input::{FailureKind, Input, Notice, NoticeBody, Outcome, SliceEnd, SliceFailure, SliceOutcome, Verdict},
    record::{Status, Usage},
};

use crate::{
    host::{PlayHost, failed, slice_end},
    journal::{Answer, Call, Entry, Push},
    store::PlayStore,
};

mod commands;
mod talk;

use talk::Talk;

/// Sessions that a journal plays with.
const SESSIONS: [&str; 5] = ["s0", "s1", "s2", "s3", "s4"];

/// A journal with what the engine was made with, and the crate's answers.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// What the engine was made with.
    pub config: Config,
    /// The calls.
    pub journal: Vec<Entry>,
    /// The crate's answer to each.
    pub answers: Vec<Answer>,
}

/// Plays `length` calls by the dice of `seed`. Some journals begin on what a host that died left in the store.
#[must_use]
pub fn record(seed: u64, length: usize) -> Recorded {
    let mut dice = Dice::new(seed);
    while dice.host.journal.len() < length {
        dice.turn();
    }
    dice.host.journal.truncate(length);
    dice.host.answers.truncate(length);
    Recorded { config: dice.host.config, journal: dice.host.journal, answers: dice.host.answers }
}

/// The little host and its dice. For those who want to go on from a moment within a journal.
#[derive(Debug)]
pub struct Dice {
    /// The host.
    pub host: PlayHost,
    rng: Rng,
    /// How many sessions it plays with: the fewer, the further each comes.
    sessions: usize,
    talk: Talk,
    ids: u64,
    answered: Vec<(u64, Outcome)>,
}

impl Dice {
    /// A host at its start. In some journals it finds what a host that died left in the store.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed);
        let now = Now { wall_ms: 1_700_000_000_000, monotonic_ms: 1_000 };
        let mut dice = Self::life(&mut rng, "epoch-0", now, PlayStore::default());
        if dice.rng.u8(..) < 80 {
            for _ in 0..dice.rng.usize(10..80) {
                dice.turn();
            }
            let Self { host, mut rng, ids, .. } = dice;
            let now = Now { wall_ms: host.now.wall_ms + rng.u64(0..200_000), monotonic_ms: rng.u64(0..5_000) };
            dice = Self::life(&mut rng, "epoch-1", now, host.store);
            dice.ids = ids;
        }
        dice
    }

    fn life(rng: &mut Rng, epoch: &str, now: Now, store: PlayStore) -> Self {
        let config = config(rng, epoch);
        let mut host = PlayHost::new(config, now, store);
        host.play(Call::Input(Input::Start));
        let sessions = rng.usize(1..=SESSIONS.len());
        Self { host, rng: rng.fork(), sessions, talk: Talk::default(), ids: 0, answered: Vec::new() }
    }

    /// One or a few calls.
    pub fn turn(&mut self) {
        let pass = if self.rng.u8(..) < 100 { 0 } else { self.rng.u64(0..400) };
        self.host.pass(pass);
        match self.rng.u8(0..100) {
            0..54 => self.answer(),
            54..74 => self.talk(),
            74..88 => self.command(),
            88..92 => self.tick(),
            92 => self.notice(),
            93..95 => self.late(),
            95..97 => self.garbage(),
            97..99 => self.view(),
            _ => self.rare(),
        }
    }

    fn session(&mut self) -> String {
        SESSIONS[self.rng.usize(..self.sessions)].to_owned()
    }

    fn id(&mut self, kind: &str) -> String {
        self.ids += 1;
        format!("{kind}-{}", self.ids)
    }

    /// Answers one of the pending effects, mostly well.
    fn answer(&mut self) {
        let waiting: Vec<Effect> = self.host.pending.clone();
        if waiting.is_empty() {
            return self.command();
        }
        let effect = &waiting[self.rng.usize(..waiting.len())];
        if self.host.slices.contains_key(&effect.id) && self.rng.u8(..) < 90 {
            return self.talk_on(effect.id);
        }
        let outcome = if self.rng.u8(..) < 14 { self.bad_outcome(effect) } else { self.fair_outcome(effect) };
        self.answered.push((effect.id, outcome.clone()));
        self.host.complete(effect.id, outcome);
    }

    fn fair_outcome(&mut self, effect: &Effect) -> Outcome {
        match &effect.body {
            EffectBody::StartTurn(_) | EffectBody::ContinueTurn(_) => self.end_of_slice(effect.id),
            EffectBody::Approve(_) if self.rng.bool() => Outcome::Verdict(Some(Verdict {
                approved: self.rng.bool(),
                reason: self.rng.bool().then(|| "because".into()),
                edited_input: (self.rng.u8(..) < 40).then(|| r#"{"edited":1}"#.into()),
                rule: self.rng.bool().then(|| "rule-1".into()),
            })),
            EffectBody::StartAgent(_) if self.rng.u8(..) < 60 => Outcome::Started(None),
            EffectBody::StopAgent(_) if self.rng.u8(..) < 30 => Outcome::Stopped(None),
            EffectBody::RenewLeases(renew) if self.rng.u8(..) < 20 => {
                Outcome::Renewed(renew.sessions.iter().take(1).map(|held| held.session.clone()).collect())
            }
            _ => self.host.good_outcome(effect),
        }
    }

    fn end_of_slice(&mut self, slice: u64) -> Outcome {
        let interrupted = self.host.slices.get(&slice).is_some_and(|slice| slice.interrupted);
        let asked = self.talk.asks(slice);
        let outcome = match self.rng.u8(0..100) {
            0..70 if interrupted => SliceOutcome::Interrupted,
            0..80 if asked => SliceOutcome::Paused,
            0..88 => SliceOutcome::Finished,
            88..92 => SliceOutcome::Paused,
            92..94 => SliceOutcome::Interrupted,
            _ => SliceOutcome::Failed(SliceFailure { message: "The model is down.".into(), alive: self.rng.bool() }),
        };
        let tokens = self.rng.u64(0..1_000);
        Outcome::SliceEnded(SliceEnd {
            outcome,
            usage: Usage { input_tokens: tokens, output_tokens: 3, total_tokens: tokens + 3, cost_micro_usd: tokens },
            resume: self.rng.bool().then(|| format!("resume-{slice}")),
            not_taken: if self.rng.u8(..) < 20 { self.talk.calls(slice) } else { Vec::new() },
        })
    }

    /// A failure, or an outcome of another kind of effect.
    fn bad_outcome(&mut self, effect: &Effect) -> Outcome {
        const KINDS: [FailureKind; 9] = [
            FailureKind::Unavailable,
            FailureKind::Broken,
            FailureKind::Exists,
            FailureKind::Stale,
            FailureKind::Fenced,
            FailureKind::Held,
            FailureKind::Capacity,
            FailureKind::Gone,
            FailureKind::Other,
        ];
        match self.rng.u8(0..12) {
            // It took effect, and nobody was told.
            0..2 => {
                self.host.good_outcome(effect);
                failed(FailureKind::Unavailable)
            }
            2 => {
                self.host.store.steal(&effect.session);
                self.host.good_outcome(effect)
            }
            3 => Outcome::Done,
            4 => Outcome::Acquired,
            5 => Outcome::Started(Some("stray".into())),
            6 => slice_end(SliceOutcome::Finished),
            _ => failed(KINDS[self.rng.usize(..KINDS.len())]),
        }
    }

    /// An effect is completed again, or one that nobody asked for.
    fn late(&mut self) {
        if self.answered.is_empty() || self.rng.u8(..) < 60 {
            let effect = self.rng.u64(0..200);
            if self.host.pending.iter().all(|pending| pending.id != effect) {
                self.host.complete(effect, Outcome::Acquired);
            }
            return;
        }
        let (effect, outcome) = self.answered[self.rng.usize(..self.answered.len())].clone();
        self.host.complete(effect, outcome);
    }

    fn tick(&mut self) {
        let deadline = self.host.deadline.unwrap_or(0).saturating_sub(self.host.now.monotonic_ms);
        let pass = match self.rng.u8(0..10) {
            0..5 => deadline,
            5..7 => deadline.saturating_sub(1),
            7 => deadline + self.rng.u64(0..100_000),
            8 => self.rng.u64(0..3_000_000),
            _ => 0,
        };
        // The wall clock jumps now and then; nothing may wait on it.
        if self.rng.u8(..) < 30 {
            self.host.now.wall_ms = self.host.now.wall_ms.wrapping_add(7_200_000);
        }
        self.host.tick(pass.min(90_000_000));
    }

    fn notice(&mut self) {
        let agent = self.host.slices.values().next().map_or_else(|| self.rng.u64(0..100), |slice| slice.agent);
        let body = if self.rng.u8(..) < 200 {
            NoticeBody::Checkpoint(format!("checkpoint-{}", self.rng.u8(..)))
        } else {
            NoticeBody::Exited("The agent was killed.".into())
        };
        self.host.play(Call::Input(Input::Notice(Notice { agent, body })));
    }

    fn garbage(&mut self) {
        let (session, turn) = (self.session(), self.id("turn"));
        let running = self.host.slices.values().next().cloned();
        let cursor = self.rng.u64(0..20);
        let chunks = talk::garbage(&mut self.rng);
        let push = match running {
            Some(slice) if self.rng.bool() => Push { session: slice.session, turn: slice.turn, cursor, chunks },
            _ => Push { session, turn, cursor, chunks },
        };
        self.host.play(Call::Push(push));
    }

    fn view(&mut self) {
        let session = self.session();
        self.host.play(Call::View(session));
    }

    fn rare(&mut self) {
        if self.rng.u8(..) < 40 {
            self.host.play(Call::Input(Input::Shutdown));
        } else {
            self.view();
        }
    }

    /// Some slice goes on.
    fn talk(&mut self) {
        let running: Vec<u64> = self.host.slices.keys().copied().collect();
        match running.as_slice() {
            [] => self.answer(),
            running => {
                let slice = running[self.rng.usize(..running.len())];
                self.talk_on(slice);
            }
        }
    }

    fn talk_on(&mut self, slice: u64) {
        let chunks = self.talk.next(slice, &mut self.rng);
        self.host.push(slice, chunks);
    }

    /// More of what the agent of this slice says, without pushing it.
    pub fn chunks(&mut self, slice: u64) -> Vec<tackroom_core::input::Chunk> {
        self.talk.next(slice, &mut self.rng)
    }

    /// A session, more often one that waits for an answer.
    fn wanted(&mut self) -> String {
        let waits = |id: &&&str| self.status(id) == Some(Status::AwaitingInput);
        match SESSIONS.iter().find(waits) {
            Some(id) if self.rng.bool() => (*id).to_owned(),
            _ => self.session(),
        }
    }

    fn status(&self, session: &str) -> Option<Status> {
        let summary = self.host.summary(session).or_else(|| self.host.store.summary(session));
        summary.map(|summary| summary.status)
    }
}

fn config(rng: &mut Rng, epoch: &str) -> Config {
    let default = Config::default();
    Config {
        epoch: epoch.into(),
        owner: "host".into(),
        capacity: rng.bool().then(|| rng.u32(1..4)),
        faulted: None,
        approver: rng.bool(),
        idle_timeout_ms: rng.bool().then(|| rng.u64(1_000..100_000)),
        close_suspended_after_ms: rng.bool().then(|| rng.u64(1_000..1_000_000)),
        turn_timeout_ms: rng.bool().then(|| rng.u64(1_000..50_000)),
        suspend_idle_when_full: rng.u8(..) < 200,
        suspend_waiting_when_full: rng.bool(),
        limits: Limits { pending: rng.u32(2..9), idempotency_keys: rng.u32(1..4), ..default.limits },
    }
}

/// Metadata that differs from time to time.
fn metadata(rng: &mut Rng) -> String {
    json!({ "user": rng.u8(0..4), "title": "A talk" }).to_string()
}
