//! Who waits for which command. Callers' channels stay here: the engine knows numbers.

use std::collections::HashMap;

use super::message::{Accepted, Reply};
use crate::engine::types::CommandBody;
use crate::manager::SessionError;

/// What a command's answer carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// The session.
    Session,
    /// The stream of the turn that it started.
    Turn,
    /// The stream that goes on, where nothing waits any more.
    Continued,
}

impl Wanted {
    pub(super) fn of(body: &CommandBody) -> Self {
        match body {
            CommandBody::Send(_) => Self::Turn,
            CommandBody::Continue(_) => Self::Continued,
            CommandBody::Create(_)
            | CommandBody::Update(_)
            | CommandBody::Interrupt
            | CommandBody::Suspend
            | CommandBody::Close
            | CommandBody::Delete => Self::Session,
        }
    }
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Replies {
    last: u64,
    waiting: HashMap<u64, (Wanted, Reply)>,
}

impl Replies {
    /// Numbers a command.
    pub(super) fn wait(&mut self, wanted: Wanted, reply: Reply) -> u64 {
        self.last += 1;
        self.waiting.insert(self.last, (wanted, reply));
        self.last
    }

    /// What a command's answer is to carry.
    pub(super) fn wanted(&self, command: u64) -> Option<Wanted> {
        self.waiting.get(&command).map(|(wanted, _)| *wanted)
    }

    /// Answers a command.
    pub(super) fn answer(&mut self, command: u64, answer: Result<Accepted, SessionError>) {
        if let Some((_, reply)) = self.waiting.remove(&command) {
            // A caller that has gone away needs no answer.
            let _ = reply.send(answer);
        }
    }

    /// Answers everybody.
    pub(super) fn fail_all(&mut self, error: &SessionError) {
        for (_, (_, reply)) in self.waiting.drain() {
            let _ = reply.send(Err(error.clone()));
        }
    }
}
