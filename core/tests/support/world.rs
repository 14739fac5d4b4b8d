//! A little host in memory: it keeps what the engine asked for and answers when a test says so.
#![allow(dead_code, reason = "each test uses its part of it")]

use std::collections::BTreeMap;

use tackroom_core::effect::{Effect, EffectBody, ResumeChange, Save};
use tackroom_core::event::Event;
use tackroom_core::input::{
    AnswerInput, Chunk, ClaimedPage, Command, CommandBody, Completed, Continue, Create, Delta, Due, Failure,
    FailureKind, Input, Outcome, Piece, Send, SliceEnd, SliceFailure, SliceOutcome, WhenBusy,
};
use tackroom_core::record::{Settings, Status, StoredMessage, StoredSession, Usage};
use tackroom_core::step::{Pushed, Step};
use tackroom_core::{Config, Engine, Now, Rejection};

/// What the store holds of a session.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) session: StoredSession,
    pub(crate) messages: BTreeMap<u32, StoredMessage>,
    pub(crate) tail_from: u32,
    pub(crate) last_write: String,
}

pub(crate) struct World {
    pub(crate) engine: Engine,
    pub(crate) config: Config,
    pub(crate) now: Now,
    pub(crate) open: Vec<Effect>,
    pub(crate) events: Vec<Event>,
    pub(crate) rows: BTreeMap<String, Row>,
    next_command: u64,
    next_turn: u64,
}

impl World {
    pub(crate) fn new(config: Config) -> Self {
        let mut world = Self {
            engine: Engine::new(config.clone()),
            config,
            now: Now { wall_ms: 1_000_000, monotonic_ms: 0 },
            open: Vec::new(),
            events: Vec::new(),
            rows: BTreeMap::new(),
            next_command: 1,
            next_turn: 1,
        };
        world.input(Input::Start).expect("start is never refused");
        world.drain();
        world
    }

    /// The host dies and a new one starts on the same store.
    pub(crate) fn crash(&mut self) {
        self.engine = Engine::new(Config { epoch: format!("{}x", self.config.epoch), ..self.config.clone() });
        self.open.clear();
        self.events.clear();
        self.input(Input::Start).expect("start is never refused");
        self.drain();
    }

    pub(crate) fn take(&mut self, step: Step) {
        self.open.extend(step.effects);
        self.events.extend(step.events);
        self.engine.check().expect("the invariants hold");
    }

    pub(crate) fn input(&mut self, input: Input) -> Result<(), Rejection> {
        let step = self.engine.step(self.now, input)?;
        self.take(step);
        Ok(())
    }

    pub(crate) fn command(&mut self, session: &str, body: CommandBody) -> Result<u64, Rejection> {
        let id = self.next_command;
        self.next_command += 1;
        self.input(Input::Command(Command { id, session: session.into(), body }))?;
        Ok(id)
    }

    pub(crate) fn create(&mut self, session: &str) -> u64 {
        let create = Create { metadata: "{}".into(), settings: Settings::default(), fork: None };
        self.command(session, CommandBody::Create(create)).expect("create is taken")
    }

    pub(crate) fn message(&mut self, text: &str) -> Send {
        let n = self.next_turn;
        self.next_turn += 1;
        Send {
            turn: format!("turn{n}"),
            assistant_message: format!("answer{n}"),
            user_message: format!("user{n}"),
            message: text.into(),
            message_is_text: true,
            prompt: None,
            model: None,
            idempotency_key: None,
            when_busy: WhenBusy::Reject,
        }
    }

    pub(crate) fn send(&mut self, session: &str, text: &str) -> Result<u64, Rejection> {
        let send = self.message(text);
        self.command(session, CommandBody::Send(send))
    }

    pub(crate) fn answer(&mut self, session: &str, answers: Vec<AnswerInput>) -> Result<u64, Rejection> {
        self.command(session, CommandBody::Continue(Continue { answers, message: None, who: "ann".into() }))
    }

    pub(crate) fn push(&mut self, session: &str, cursor: u64, chunks: Vec<Chunk>) -> Pushed {
        let turn = self.engine.summary(session).and_then(|s| s.turn).unwrap_or_default();
        let mut pushed = self.engine.push(self.now, session, &turn, cursor, chunks);
        if let Some(step) = pushed.step.take() {
            self.take(step);
        }
        pushed
    }

    pub(crate) fn complete(&mut self, effect: u64, outcome: Outcome) {
        self.open.retain(|open| open.id != effect);
        self.input(Input::Completed(Completed { effect, outcome })).expect("a completion is never refused");
    }

    /// The first open effect for which this holds.
    pub(crate) fn find(&self, wanted: impl Fn(&EffectBody) -> bool) -> Option<Effect> {
        self.open.iter().find(|effect| wanted(&effect.body)).cloned()
    }

    /// Fails the first open effect for which this holds.
    pub(crate) fn fail(&mut self, kind: FailureKind, wanted: impl Fn(&EffectBody) -> bool) {
        let effect = self.find(wanted).expect("the effect to fail is open");
        self.complete(effect.id, Outcome::Failed(Failure { kind, message: "as planned".into() }));
    }

    /// Answers everything with success, slices and callbacks aside, until nothing is left.
    pub(crate) fn drain(&mut self) {
        while let Some(effect) = self.find(|body| {
            !matches!(body, EffectBody::StartTurn(_) | EffectBody::ContinueTurn(_) | EffectBody::Approve(_))
        }) {
            let outcome = self.good(&effect);
            self.complete(effect.id, outcome);
        }
    }

    pub(crate) fn good(&mut self, effect: &Effect) -> Outcome {
        match &effect.body {
            EffectBody::SaveSession(save) => self.save(save),
            EffectBody::LoadSession(_) => {
                let row = self.rows.get_mut(&effect.session).map(|row| {
                    row.session.generation += 1;
                    stored(row)
                });
                Outcome::Loaded(row)
            }
            EffectBody::ClaimLive(_) => {
                let live = self.rows.values_mut().filter(|row| row.session.summary.status.is_live());
                let sessions = live
                    .map(|row| {
                        row.session.generation += 1;
                        stored(row)
                    })
                    .collect();
                Outcome::Claimed(ClaimedPage { sessions, more: false })
            }
            EffectBody::RenewLeases(_) => Outcome::Renewed(Vec::new()),
            EffectBody::ListDue(due) => {
                let now_ms = self.now.wall_ms;
                let is_due =
                    |row: &&Row| row.session.summary.suspended_at_ms.is_some_and(|at| at + due.for_ms <= now_ms);
                let sessions = self.rows.values().filter(is_due).map(|row| row.session.summary.id.clone()).collect();
                Outcome::Due(Due { now_ms, sessions })
            }
            EffectBody::DeleteSession(_) => {
                self.rows.remove(&effect.session);
                Outcome::Done
            }
            EffectBody::AcquireSandbox(_) => Outcome::Acquired,
            EffectBody::StartAgent(_) => Outcome::Started(Some("resume-1".into())),
            EffectBody::StopAgent(_) => Outcome::Stopped(Some("resume-2".into())),
            _ => Outcome::Done,
        }
    }

    fn save(&mut self, save: &Save) -> Outcome {
        let id = &save.summary.id;
        let row = self.rows.get(id);
        if row.is_some_and(|row| row.last_write == save.write_id) {
            return Outcome::Done;
        }
        let refuse = |kind| Outcome::Failed(Failure { kind, message: "refused".into() });
        if row.is_some_and(|row| row.session.generation > save.generation) {
            return refuse(FailureKind::Fenced);
        }
        let at = row.map_or(0, |row| row.session.revision);
        if at > 0 && save.revision == 1 {
            return refuse(FailureKind::Exists);
        }
        if at + 1 != save.revision {
            return refuse(FailureKind::Stale);
        }
        let old = self.rows.remove(id);
        let mut messages = old.as_ref().map(|row| row.messages.clone()).unwrap_or_default();
        for message in &save.messages {
            messages.insert(message.index, message.clone());
        }
        let kept = old.and_then(|row| row.session.resume);
        let resume = match &save.resume {
            ResumeChange::Keep => kept,
            ResumeChange::Replace(resume) => Some(resume.clone()),
            ResumeChange::Drop => None,
        };
        let session = StoredSession {
            generation: save.generation,
            revision: save.revision,
            summary: save.summary.clone(),
            engine_state: save.engine_state.clone(),
            tail: Vec::new(),
            resume,
        };
        let row = Row { session, messages, tail_from: save.tail_from, last_write: save.write_id.clone() };
        self.rows.insert(id.clone(), row);
        Outcome::Done
    }

    /// The slice under way ends so.
    pub(crate) fn end_slice(&mut self, outcome: SliceOutcome) {
        self.end_slice_with(outcome, Vec::new());
    }

    pub(crate) fn end_slice_with(&mut self, outcome: SliceOutcome, not_taken: Vec<String>) {
        let effect = self
            .find(|body| matches!(body, EffectBody::StartTurn(_) | EffectBody::ContinueTurn(_)))
            .expect("a slice is under way");
        let usage = Usage { input_tokens: 3, output_tokens: 4, total_tokens: 7, cost_micro_usd: 5 };
        self.complete(effect.id, Outcome::SliceEnded(SliceEnd { outcome, usage, resume: None, not_taken }));
    }

    pub(crate) fn fail_slice(&mut self, alive: bool) {
        self.end_slice(SliceOutcome::Failed(SliceFailure { message: "The agent broke.".into(), alive }));
    }

    pub(crate) fn tick(&mut self, ms: u64) {
        self.now.monotonic_ms += ms;
        self.now.wall_ms += ms;
        self.input(Input::Tick).expect("a tick is never refused");
    }

    pub(crate) fn status(&self, session: &str) -> Status {
        match self.engine.summary(session) {
            Some(summary) => summary.status,
            None => self.rows[session].session.summary.status,
        }
    }

    pub(crate) fn accepted(&self, command: u64) -> bool {
        self.events.iter().any(|event| matches!(event, Event::Accepted(accepted) if accepted.command == command))
    }

    pub(crate) fn refused(&self, command: u64) -> Option<Rejection> {
        self.events.iter().find_map(|event| match event {
            Event::Refused(refused) if refused.command == command => Some(refused.rejection.clone()),
            _ => None,
        })
    }

    /// A session that is idle.
    pub(crate) fn idle(&mut self, session: &str) {
        self.create(session);
        self.drain();
        assert_eq!(self.status(session), Status::Idle);
    }

    /// A session that waits for an approval of a call.
    pub(crate) fn paused(&mut self, session: &str, calls: &[&str]) {
        if self.engine.summary(session).is_none() {
            self.idle(session);
        }
        self.send(session, "do it").expect("taken");
        self.drain();
        self.push(session, 0, asks(calls));
        self.end_slice(SliceOutcome::Paused);
        self.drain();
        assert_eq!(self.status(session), Status::AwaitingInput);
    }

    pub(crate) fn stream(&self, session: &str) -> String {
        self.rows[session].messages.values().map(|message| message.json.clone()).collect::<Vec<_>>().join("\n")
    }
}

fn stored(row: &Row) -> StoredSession {
    let tail = row.messages.values().filter(|message| message.index >= row.tail_from).cloned().collect();
    StoredSession { tail, ..row.session.clone() }
}

pub(crate) fn text(id: &str, text: &str) -> Chunk {
    Chunk::TextDelta(Delta { id: id.into(), piece: Piece { lead: None, text: text.into(), trail: None } })
}

pub(crate) fn json(text: &str) -> Chunk {
    Chunk::Json(text.into())
}

/// Chunks that ask for an approval of each call.
pub(crate) fn asks(calls: &[&str]) -> Vec<Chunk> {
    let mut chunks = vec![json(r#"{"type":"start"}"#), json(r#"{"type":"start-step"}"#)];
    for call in calls {
        chunks.push(json(&format!(
            r#"{{"type":"tool-input-available","toolCallId":"{call}","toolName":"bash","input":{{"command":"{call}"}},"providerExecuted":true}}"#
        )));
        chunks.push(json(&format!(
            r#"{{"type":"tool-approval-request","approvalId":"ask-{call}","toolCallId":"{call}"}}"#
        )));
    }
    chunks.push(json(r#"{"type":"finish-step"}"#));
    chunks.push(json(r#"{"type":"finish"}"#));
    chunks
}
