//! The one queue of writes of a session: at most one in flight, everything that depends on it held back until then.

use alloc::string::String;
use alloc::vec::Vec;

use crate::effect::{ResumeChange, Save};
use crate::event::StreamEnd;
use crate::input::AnswerBody;
use crate::record::{AuditEntry, Settings, Status, StoredMessage, TurnError};
use crate::session::notes::Undelivered;

/// What is done once a write is durable.
#[derive(Debug)]
pub(crate) enum After {
    /// A command is acknowledged, and what it set off begins.
    Acknowledge(Acknowledge),
    /// A command that has taken effect is answered.
    Reply(u64),
    /// The turn's stream ends.
    EndStream { turn: String, next_seq: u64, end: StreamEnd },
    /// The lease is given back.
    Release { keep: bool },
    /// What the session kept in its sandbox is discarded.
    Discard,
    /// The session is forgotten.
    Forget,
    /// What the finished start was for begins.
    Then(Then),
}

/// What a durable acknowledgement sets off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Then {
    Nothing,
    /// Get a sandbox and an agent.
    Prepare,
    /// Prompt the agent.
    Prompt,
    /// Give the agent its answers.
    Deliver,
}

/// A command whose caller waits for a write.
#[derive(Debug)]
pub(crate) struct Acknowledge {
    pub(crate) command: u64,
    pub(crate) turn: Option<String>,
    pub(crate) incomplete: bool,
    pub(crate) repeated: bool,
    pub(crate) deadline_ms: u64,
    pub(crate) undo: Undo,
    pub(crate) then: Then,
}

/// How a command that could not be acknowledged is taken back.
#[derive(Debug)]
pub(crate) enum Undo {
    Nothing,
    Create,
    Send(alloc::boxed::Box<SendUndo>),
    /// These answers were recorded; the session was in this status.
    Answers(Vec<String>, Status),
    Update {
        metadata: String,
        settings: Settings,
        metadata_revision: u64,
    },
}

/// What a send changed.
#[derive(Debug)]
pub(crate) struct SendUndo {
    pub(crate) turn: String,
    pub(crate) status: Status,
    pub(crate) error: Option<TurnError>,
    pub(crate) message_count: u32,
    pub(crate) undelivered: Vec<Undelivered>,
}

/// A write on its way.
#[derive(Debug)]
pub(crate) struct InFlight {
    pub(crate) save: Save,
    /// The effect; nothing while it waits to be tried again.
    pub(crate) effect: Option<u64>,
    /// Whether an attempt may have taken effect without an answer: then no later failure is definite.
    pub(crate) unknown: bool,
    pub(crate) afters: Vec<After>,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Writer {
    /// The last durable revision; zero before the first.
    pub(crate) revision: u64,
    pub(crate) in_flight: Option<InFlight>,
    /// Whether another write is wanted.
    pub(crate) wanted: bool,
    pub(crate) afters: Vec<After>,
    pub(crate) messages: Vec<StoredMessage>,
    /// Whether the turn's message changed since it was last written.
    pub(crate) answer_changed: bool,
    pub(crate) audit: Vec<AuditEntry>,
    pub(crate) resume: Option<ResumeChange>,
    pub(crate) failures: u32,
    /// Whether the outcome of the write in flight has to be read back.
    pub(crate) settling: bool,
}

impl Writer {
    pub(crate) fn is_quiet(&self) -> bool {
        self.in_flight.is_none() && !self.wanted
    }

    pub(crate) fn is_durable(&self) -> bool {
        self.revision > 0
    }

    pub(crate) fn is_degraded(&self) -> bool {
        self.failures > 0
    }

    pub(crate) fn all_afters(&mut self) -> impl Iterator<Item = &mut Vec<After>> {
        self.in_flight.as_mut().map(|in_flight| &mut in_flight.afters).into_iter().chain([&mut self.afters])
    }

    /// Takes the acknowledgements out for which `wanted` holds.
    pub(crate) fn take_acknowledgements(&mut self, wanted: impl Fn(&Acknowledge) -> bool) -> Vec<Acknowledge> {
        let mut taken = Vec::new();
        for afters in self.all_afters() {
            let mut rest = Vec::with_capacity(afters.len());
            for after in afters.drain(..) {
                match after {
                    After::Acknowledge(acknowledge) if wanted(&acknowledge) => taken.push(acknowledge),
                    other => rest.push(other),
                }
            }
            *afters = rest;
        }
        taken
    }

    /// The earliest moment at which a caller gives up.
    pub(crate) fn first_deadline(&mut self) -> Option<u64> {
        self.all_afters()
            .flat_map(|afters| afters.iter())
            .filter_map(|after| match after {
                After::Acknowledge(acknowledge) => Some(acknowledge.deadline_ms),
                _ => None,
            })
            .min()
    }

    /// The commands whose callers wait for a write; they are no longer answered by it.
    pub(crate) fn drain_commands(&mut self) -> Vec<u64> {
        let mut commands = Vec::new();
        for afters in self.all_afters() {
            afters.retain(|after| match after {
                After::Acknowledge(acknowledge) => {
                    commands.push(acknowledge.command);
                    false
                }
                After::Reply(command) => {
                    commands.push(*command);
                    false
                }
                _ => true,
            });
        }
        commands
    }

    /// Puts back what a write that did not take effect carried, unless something newer is there.
    pub(crate) fn put_back(&mut self, save: Save, message_count: u32, answer: Option<u32>) {
        let mut messages: Vec<StoredMessage> = save
            .messages
            .into_iter()
            .filter(|message| message.index < message_count && !self.messages.iter().any(|m| m.index == message.index))
            .collect();
        if messages.iter().any(|message| Some(message.index) == answer) {
            // The turn's message is written anew from the transcript.
            messages.retain(|message| Some(message.index) != answer);
            self.answer_changed = true;
        }
        messages.append(&mut self.messages);
        self.messages = messages;
        let mut audit = save.audit;
        audit.append(&mut self.audit);
        self.audit = audit;
        if self.resume.is_none() && save.resume != ResumeChange::Keep {
            self.resume = Some(save.resume);
        }
        self.wanted = true;
    }
}

/// Whether two answers say the same.
pub(crate) fn same_answer(one: &AnswerBody, other: &AnswerBody) -> bool {
    match (one, other) {
        (AnswerBody::Allow(one), AnswerBody::Allow(other)) => one.edited_input == other.edited_input,
        (AnswerBody::Deny(_), AnswerBody::Deny(_)) => true,
        (AnswerBody::Result(one), AnswerBody::Result(other)) => one == other,
        _ => false,
    }
}
