//! What clients want, by chance, and what they were told.

use std::collections::BTreeMap;

use tackroom_core::input::{
    Allow, AnswerBody, AnswerInput, Command, CommandBody, Continue, Create, Deny, ResultBody, Send, Update, WhenBusy,
};
use tackroom_core::record::{PendingInput, PendingKind, Settings};

/// What a command in flight was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// A message by its id.
    Send(String),
    /// Answers by their approvals.
    Continue(Vec<String>),
    /// The session forgotten.
    Delete,
    /// Anything else.
    Other,
}

/// The clients of a world.
#[derive(Debug, Default)]
pub struct Clients {
    next_command: u64,
    next_message: u64,
    /// Commands without a reply, with their sessions.
    pub waiting: BTreeMap<u64, (String, Wanted)>,
    /// Acknowledged messages of each session, in order.
    pub messages: BTreeMap<String, Vec<String>>,
    /// Acknowledged answers of each session.
    pub answers: BTreeMap<String, Vec<String>>,
}

fn answer(pending: &PendingInput, rng: &mut fastrand::Rng) -> AnswerInput {
    let answer = match pending.kind {
        PendingKind::Result => AnswerBody::Result(ResultBody { output: "1".into(), is_error: false }),
        PendingKind::Approval if rng.bool() => AnswerBody::Allow(Allow::default()),
        PendingKind::Approval => AnswerBody::Deny(Deny { reason: Some("no".into()) }),
    };
    AnswerInput { id: pending.approval_id.clone(), answer }
}

impl Clients {
    fn command(&mut self, session: &str, wanted: Wanted, body: CommandBody) -> Command {
        self.next_command += 1;
        self.waiting.insert(self.next_command, (session.into(), wanted));
        Command { id: self.next_command, session: session.into(), body }
    }

    /// A message to the session.
    pub fn send(&mut self, session: &str, rng: &mut fastrand::Rng) -> Command {
        self.next_message += 1;
        let n = self.next_message;
        let send = Send {
            turn: format!("turn{n}"),
            assistant_message: format!("answer{n}"),
            user_message: format!("m{n}"),
            message: format!("m{n}"),
            message_is_text: true,
            prompt: None,
            model: None,
            idempotency_key: rng.bool().then(|| format!("key{n}")),
            when_busy: WhenBusy::Reject,
        };
        self.command(session, Wanted::Send(format!("m{n}")), CommandBody::Send(send))
    }

    /// Answers to some or all of what waits.
    pub fn answer(&mut self, session: &str, pending: &[PendingInput], all: bool, rng: &mut fastrand::Rng) -> Command {
        let open = pending.iter().filter(|pending| pending.decision.is_none());
        let chosen: Vec<&PendingInput> = open.filter(|_| all || rng.bool()).collect();
        let answers: Vec<AnswerInput> = chosen.into_iter().map(|one| answer(one, rng)).collect();
        let ids = answers.iter().map(|answer| answer.id.clone()).collect();
        let given = Continue { answers, message: None, who: "ann".into() };
        self.command(session, Wanted::Continue(ids), CommandBody::Continue(given))
    }

    /// Any command, by chance.
    pub fn any(&mut self, session: &str, pending: &[PendingInput], rng: &mut fastrand::Rng) -> Command {
        let create = || Create { metadata: "{}".into(), settings: Settings::default(), fork: None };
        match rng.u8(..24) {
            0..=3 => self.command(session, Wanted::Other, CommandBody::Create(create())),
            4..=11 => self.send(session, rng),
            12..=17 => {
                let all = rng.bool();
                self.answer(session, pending, all, rng)
            }
            18 => {
                let update = Update { metadata: Some("{\"n\":1}".into()), settings: None, metadata_revision: None };
                self.command(session, Wanted::Other, CommandBody::Update(update))
            }
            19 | 20 => self.command(session, Wanted::Other, CommandBody::Interrupt),
            21 | 22 => self.command(session, Wanted::Other, CommandBody::Suspend),
            _ if rng.bool() => self.command(session, Wanted::Other, CommandBody::Close),
            _ => self.command(session, Wanted::Delete, CommandBody::Delete),
        }
    }

    /// The session's turn given up, so that the world can settle.
    pub fn interrupt(&mut self, session: &str) -> Command {
        self.command(session, Wanted::Other, CommandBody::Interrupt)
    }

    /// The command has its reply. Says what it was, or nothing if it has had one before.
    pub fn replied(&mut self, command: u64) -> Option<(String, Wanted)> {
        self.waiting.remove(&command)
    }

    /// The session is forgotten, and with it what was acknowledged.
    pub fn forgot(&mut self, session: &str) {
        self.messages.remove(session);
        self.answers.remove(session);
    }
}
