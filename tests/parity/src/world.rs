//! A world in which a person writes a scenario in few words: commands, chunks, ends of slices, failures, time and
//! crashes. It plays them on the crate and gives the journal as a vector.
//!
//! Ids are counted: the first send is turn `t1`, user message `u1`, answer `a1`. Effects wait until [`World::drain`]
//! answers them well, oldest first; slices of turns and the `approve` callback wait for words of their own.

use std::collections::{BTreeMap, BTreeSet};

use tackroom_core::{
    Config, Now,
    effect::{Effect, EffectBody},
    input::{
        Allow, AnswerBody, AnswerInput, Chunk, CommandBody, Continue, Create, Deny, FailureKind, Input, Notice,
        NoticeBody, Outcome, ResultBody, Send, SliceOutcome, Update, Verdict, WhenBusy,
    },
    record::{Settings, Status, Summary},
};

use crate::{
    host::{PlayHost, effect_name, failed, slice_end},
    journal::Call,
    store::PlayStore,
    vector::Vector,
};

/// A scenario under way.
#[derive(Debug)]
pub struct World {
    /// The host in play, to look into or to play a rare call on.
    pub host: PlayHost,
    sends: u32,
    lives: u32,
    failures: BTreeMap<String, Vec<Outcome>>,
    held: BTreeSet<String>,
}

impl World {
    /// A host that has started on an empty store.
    #[must_use]
    pub fn new(config: Config) -> Self {
        let mut world = Self::asleep(config);
        world.start();
        world
    }

    /// A host that has not started.
    #[must_use]
    pub fn asleep(config: Config) -> Self {
        let now = Now { wall_ms: 1_700_000_000_000, monotonic_ms: 1_000 };
        Self {
            host: PlayHost::new(config, now, PlayStore::default()),
            sends: 0,
            lives: 1,
            failures: BTreeMap::new(),
            held: BTreeSet::new(),
        }
    }

    /// The scenario so far, as a vector with the answers that the crate gave.
    #[must_use]
    pub fn vector(&self, name: &str) -> Vector {
        Vector::blessed(name, &self.host.config, self.host.journal.clone())
    }

    /// Starts the host and lets it recover.
    pub fn start(&mut self) -> &mut Self {
        self.host.play(Call::Input(Input::Start));
        self.drain()
    }

    /// The host dies. The next one has the same store; the scenario begins anew, with nothing played yet.
    pub fn crash(&mut self) -> &mut Self {
        self.lives += 1;
        let config = Config { epoch: format!("epoch{}", self.lives), ..self.host.config.clone() };
        let now = Now { wall_ms: self.host.now.wall_ms + 10_000, monotonic_ms: 1_000 };
        let store = std::mem::take(&mut self.host.store);
        self.host = PlayHost::new(config, now, store);
        self.failures.clear();
        self.held.clear();
        self
    }

    /// The host dies and the next one starts.
    pub fn restart(&mut self) -> &mut Self {
        self.crash().start()
    }
}

/// Commands.
impl World {
    /// Plays a command.
    pub fn command(&mut self, session: &str, body: CommandBody) -> &mut Self {
        self.host.command(session, body);
        self
    }

    /// `create` with no settings.
    pub fn create(&mut self, session: &str) -> &mut Self {
        let create = Create { metadata: "{}".into(), settings: Settings::default(), fork: None };
        self.command(session, CommandBody::Create(create))
    }

    /// `send` with a plain text.
    pub fn send(&mut self, session: &str, text: &str) -> &mut Self {
        self.send_as(session, text, |_| {})
    }

    /// `send` with a plain text and an idempotency key.
    pub fn send_keyed(&mut self, session: &str, text: &str, key: &str) -> &mut Self {
        self.send_as(session, text, |send| send.idempotency_key = Some(key.to_owned()))
    }

    /// `send` with a plain text, changed before it is played.
    pub fn send_as(&mut self, session: &str, text: &str, change: impl FnOnce(&mut Send)) -> &mut Self {
        self.sends += 1;
        let number = self.sends;
        let mut send = Send {
            turn: format!("t{number}"),
            assistant_message: format!("a{number}"),
            user_message: format!("u{number}"),
            message: text.to_owned(),
            message_is_text: true,
            prompt: None,
            model: None,
            idempotency_key: None,
            when_busy: WhenBusy::Reject,
        };
        change(&mut send);
        self.command(session, CommandBody::Send(send))
    }

    /// `continue` with these answers, by approval id or tool call id.
    pub fn answer(&mut self, session: &str, answers: &[(&str, AnswerBody)]) -> &mut Self {
        let answers = answers.iter().map(|(id, answer)| AnswerInput { id: (*id).to_owned(), answer: answer.clone() });
        let body = Continue { answers: answers.collect(), message: None, who: "ann".into() };
        self.command(session, CommandBody::Continue(body))
    }

    /// `update` with new metadata.
    pub fn update(&mut self, session: &str, metadata: &str) -> &mut Self {
        let update = Update { metadata: Some(metadata.to_owned()), ..Update::default() };
        self.command(session, CommandBody::Update(update))
    }

    /// `interrupt`.
    pub fn interrupt(&mut self, session: &str) -> &mut Self {
        self.command(session, CommandBody::Interrupt)
    }

    /// `suspend`.
    pub fn suspend(&mut self, session: &str) -> &mut Self {
        self.command(session, CommandBody::Suspend)
    }

    /// `close`.
    pub fn close(&mut self, session: &str) -> &mut Self {
        self.command(session, CommandBody::Close)
    }

    /// `delete`.
    pub fn delete(&mut self, session: &str) -> &mut Self {
        self.command(session, CommandBody::Delete)
    }

    /// The host is to stop.
    pub fn shutdown(&mut self) -> &mut Self {
        self.host.play(Call::Input(Input::Shutdown));
        self
    }
}

/// What agents do.
impl World {
    /// The slice at work in a session.
    ///
    /// # Panics
    /// There is none.
    #[must_use]
    pub fn slice(&self, session: &str) -> u64 {
        let mut slices = self.host.slices.values().filter(|slice| slice.session == session);
        slices.next_back().unwrap_or_else(|| panic!("no slice is at work in {session}")).effect
    }

    /// The agent at work says something.
    pub fn chunks(&mut self, session: &str, chunks: Vec<Chunk>) -> &mut Self {
        let slice = self.slice(session);
        self.host.push(slice, chunks);
        self
    }

    /// The agent's slice ends.
    pub fn slice_end(&mut self, session: &str, outcome: SliceOutcome) -> &mut Self {
        self.slice_ends(session, slice_end(outcome))
    }

    /// The agent's slice ends with this outcome.
    pub fn slice_ends(&mut self, session: &str, outcome: Outcome) -> &mut Self {
        let slice = self.slice(session);
        self.host.complete(slice, outcome);
        self
    }

    /// The agent of the slice at work is gone.
    pub fn agent_exits(&mut self, session: &str) -> &mut Self {
        let agent = self.host.slices[&self.slice(session)].agent;
        self.notice(agent, NoticeBody::Exited("The agent was killed.".into()))
    }

    /// An agent says something outside a slice.
    pub fn notice(&mut self, agent: u64, body: NoticeBody) -> &mut Self {
        self.host.play(Call::Input(Input::Notice(Notice { agent, body })));
        self
    }
}

/// What adapters do.
impl World {
    /// Answers every pending effect, oldest first, until none is left but slices of turns, `approve` callbacks and the
    /// kinds that are held. An interrupted slice ends.
    ///
    /// # Panics
    /// The engine never comes to rest.
    pub fn drain(&mut self) -> &mut Self {
        for _ in 0..1_000 {
            let Some(effect) = self.host.pending.iter().find(|effect| self.is_drained(effect)).cloned() else {
                return self;
            };
            self.answer_effect(&effect);
        }
        panic!("the engine asks for more without end: {:?}", self.host.pending);
    }

    fn is_drained(&self, effect: &Effect) -> bool {
        let waits = match &effect.body {
            EffectBody::StartTurn(_) | EffectBody::ContinueTurn(_) => {
                !self.host.slices.get(&effect.id).is_some_and(|slice| slice.interrupted)
            }
            EffectBody::Approve(_) => true,
            _ => false,
        };
        let name = effect_name(&effect.body);
        (!waits || self.failures.contains_key(name)) && !self.held.contains(name)
    }

    fn answer_effect(&mut self, effect: &Effect) {
        let name = effect_name(&effect.body);
        let planned = self.failures.get_mut(name).map(|planned| planned.remove(0));
        self.failures.retain(|_, planned| !planned.is_empty());
        let outcome = planned.unwrap_or_else(|| self.host.good_outcome(effect));
        self.host.complete(effect.id, outcome);
    }

    /// The next effect of this kind (`AcquireSandbox`) fails when it is drained. Said twice, the next two fail.
    pub fn fail_next(&mut self, effect: &str, kind: FailureKind) -> &mut Self {
        self.outcome_next(effect, failed(kind))
    }

    /// The next effect of this kind ends so when it is drained.
    pub fn outcome_next(&mut self, effect: &str, outcome: Outcome) -> &mut Self {
        self.failures.entry(effect.to_owned()).or_default().push(outcome);
        self
    }

    /// Effects of this kind stay pending from now on.
    pub fn hold(&mut self, effect: &str) -> &mut Self {
        self.held.insert(effect.to_owned());
        self
    }

    /// Effects of this kind are drained again.
    pub fn unhold(&mut self, effect: &str) -> &mut Self {
        self.held.remove(effect);
        self
    }

    /// The oldest pending effect of this kind.
    ///
    /// # Panics
    /// There is none.
    #[must_use]
    pub fn pending(&self, effect: &str) -> Effect {
        let mut pending = self.host.pending.iter().filter(|pending| effect_name(&pending.body) == effect);
        pending.next().unwrap_or_else(|| panic!("no {effect} is pending: {:?}", self.host.pending)).clone()
    }

    /// The oldest pending effect of this kind goes well.
    pub fn succeed(&mut self, effect: &str) -> &mut Self {
        let effect = self.pending(effect);
        let outcome = self.host.good_outcome(&effect);
        self.host.complete(effect.id, outcome);
        self
    }

    /// The oldest pending effect of this kind ends so. What it does to the store is not done.
    pub fn complete(&mut self, effect: &str, outcome: Outcome) -> &mut Self {
        let effect = self.pending(effect);
        self.host.complete(effect.id, outcome);
        self
    }

    /// The oldest pending effect of this kind took effect, and nobody was told.
    pub fn lose_answer(&mut self, effect: &str) -> &mut Self {
        let effect = self.pending(effect);
        self.host.good_outcome(&effect);
        self.host.complete(effect.id, failed(FailureKind::Unavailable));
        self
    }

    /// The oldest `approve` callback gives a verdict; a person decides where it is none.
    pub fn verdict(&mut self, verdict: Option<Verdict>) -> &mut Self {
        self.complete("Approve", Outcome::Verdict(verdict))
    }

    /// Another host takes the session.
    pub fn steal(&mut self, session: &str) -> &mut Self {
        self.host.store.steal(session);
        self
    }
}

/// Time and sight.
impl World {
    /// Time passes, and the host ticks.
    pub fn tick(&mut self, ms: u64) -> &mut Self {
        self.host.tick(ms);
        self
    }

    /// Everything that can be read of a session becomes part of the scenario.
    pub fn view(&mut self, session: &str) -> &mut Self {
        self.host.play(Call::View(session.to_owned()));
        self
    }

    /// The session as it stands: in the engine's memory, else as it was written last; nothing where it is forgotten.
    #[must_use]
    pub fn find(&self, session: &str) -> Option<Summary> {
        self.host.summary(session).or_else(|| self.host.store.summary(session))
    }

    /// The session as it stands.
    ///
    /// # Panics
    /// It is neither in memory nor kept.
    #[must_use]
    pub fn summary(&self, session: &str) -> Summary {
        self.find(session).unwrap_or_else(|| panic!("{session} is neither in memory nor kept"))
    }

    /// Asserts where the session stands, so that a scenario says what it is about.
    ///
    /// # Panics
    /// It does not stand there.
    pub fn is(&mut self, session: &str, status: Status) -> &mut Self {
        assert_eq!(self.summary(session).status, status, "{session} stands elsewhere");
        self
    }
}

/// A yes.
#[must_use]
pub fn allow() -> AnswerBody {
    AnswerBody::Allow(Allow::default())
}

/// A no, with a reason.
#[must_use]
pub fn deny(reason: &str) -> AnswerBody {
    AnswerBody::Deny(Deny { reason: Some(reason.to_owned()) })
}

/// A result, JSON text.
#[must_use]
pub fn result(output: &str) -> AnswerBody {
    AnswerBody::Result(ResultBody { output: output.to_owned(), is_error: false })
}
