//! Sessions come into memory: created, loaded for a command, or claimed after a crash.

use alloc::string::ToString;
use alloc::vec::Vec;

use crate::cx::Kind;
use crate::effect::{EffectBody, LoadSession};
use crate::engine::{Engine, STOPPING};
use crate::input::{Command, Create, FailureKind, Outcome};
use crate::record::{Status, StoredSession};
use crate::rejection::Rejection;
use crate::session::Session;
use crate::session::outcome::failure_of;
use crate::session::writer::{Then, Undo};
use crate::validate;

/// What waits for a session to be loaded.
#[derive(Debug, Default)]
pub(crate) struct Loading {
    pub(crate) commands: Vec<Command>,
    /// Commands that wanted to create it.
    pub(crate) creates: Vec<u64>,
    /// Whether it was suspended for so long that it is to be closed.
    pub(crate) close: bool,
}

impl Engine {
    pub(crate) fn create(&mut self, id: &str, command: u64, create: Create) -> Result<(), Rejection> {
        let limits = &self.cx.config.limits;
        if create.fork.is_some() {
            return Err(Rejection::invalid("fork", "forks are reserved and not served yet; leave it out."));
        }
        validate::metadata(&create.metadata, limits)?;
        validate::settings(&create.settings, limits)?;
        if self.sessions.len() >= limits.sessions as usize {
            return Err(Rejection::Unavailable("This host holds as many sessions in memory as it may.".into()));
        }
        let mut session = Session::new(id, create.metadata, create.settings, self.cx.now.wall_ms);
        session.reserve(&mut self.cx)?;
        let acknowledge = session.acknowledgement(&self.cx, command, Undo::Create, Then::Prepare);
        session.acknowledge(&mut self.cx, acknowledge);
        self.sessions.insert(id.to_string(), session);
        self.visited.push(id.to_string());
        Ok(())
    }

    pub(crate) fn load(&mut self, id: &str) -> &mut Loading {
        if !self.loading.contains_key(id) {
            let body = LoadSession { owner: self.cx.config.owner.clone(), lease_ms: self.cx.config.limits.lease_ms };
            let timeout = self.cx.config.limits.store_timeout_ms;
            self.cx.emit(id, Kind::Load, timeout, EffectBody::LoadSession(body));
        }
        self.loading.entry(id.to_string()).or_default()
    }

    pub(crate) fn loaded(&mut self, id: &str, outcome: Outcome) {
        let Some(loading) = self.loading.remove(id) else { return };
        match outcome {
            Outcome::Loaded(Some(stored)) => self.loaded_session(stored, loading),
            Outcome::Loaded(None) => self.refuse_all(loading, &Rejection::NotFound(id.into())),
            other => {
                let failure = failure_of(other);
                self.cx.warn(id, "load", failure.message.clone());
                let rejection = match failure.kind {
                    FailureKind::Held | FailureKind::Fenced => Rejection::Unavailable(failure.message),
                    _ => Rejection::Store(failure.message),
                };
                self.refuse_all(loading, &rejection);
            }
        }
    }

    pub(crate) fn refuse_all(&mut self, loading: Loading, rejection: &Rejection) {
        let commands = loading.commands.into_iter().map(|command| command.id).chain(loading.creates);
        for command in commands {
            self.cx.refuse(command, rejection.clone());
        }
    }

    pub(crate) fn loaded_session(&mut self, stored: StoredSession, loading: Loading) {
        let id = stored.summary.id.clone();
        self.take_in(stored);
        let Some(session) = self.sessions.get_mut(&id) else { return };
        for command in loading.creates {
            let message = "a session of this id is kept already; choose another id, or send to this one.";
            self.cx.refuse(command, session.conflict(message));
        }
        if loading.close && session.status == Status::Suspended {
            session.close(&mut self.cx, Vec::new());
        }
        for command in loading.commands {
            let number = command.id;
            let refused = if self.cx.shutting_down {
                Some(Rejection::Unavailable(STOPPING.into()))
            } else {
                session.command(&mut self.cx, command).err()
            };
            if let Some(rejection) = refused {
                self.cx.refuse(number, rejection);
            }
        }
    }

    /// Takes a claimed session into memory.
    pub(crate) fn take_in(&mut self, stored: StoredSession) {
        let id = stored.summary.id.clone();
        if self.sessions.contains_key(&id) {
            return;
        }
        let faulted = self.cx.config.faulted.as_ref() == Some(&id);
        let session = Session::from_store(&mut self.cx, stored, faulted);
        self.visited.push(id.clone());
        self.sessions.insert(id, session);
    }
}
