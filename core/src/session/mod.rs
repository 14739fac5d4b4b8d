//! One session: what it is, where it stands, and the rooms that change it.
//!
//! `phase` holds a handler per status for commands. What runs across statuses has a room of its own: `runtime` (sandbox
//! and agent), `turn` and `stream` (the turn under way), `stopping` (interrupt, suspend, close, delete), `writer` (every
//! write), `recovery` (what a crash left).

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use crate::cx::Cx;
use crate::input::Command;
use crate::record::{Settings, Status, Summary, TurnError, Usage};
use crate::rejection::Rejection;
use crate::slots::Candidate;
use crate::timers::TimerKey;

pub(crate) mod delivery;
pub(crate) mod fingerprint;
pub(crate) mod notes;
pub(crate) mod outcome;
pub(crate) mod phase;
pub(crate) mod recovery;
pub(crate) mod runtime;
pub(crate) mod saving;
pub(crate) mod send;
pub(crate) mod stopping;
pub(crate) mod stream;
pub(crate) mod turn;
pub(crate) mod turn_end;
pub(crate) mod update;
pub(crate) mod writer;

use notes::Notes;
use runtime::Runtime;
use stopping::Ending;
use turn::Turn;
use writer::Writer;

/// A session in memory.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) id: String,
    pub(crate) generation: u64,
    pub(crate) status: Status,
    pub(crate) metadata: String,
    pub(crate) settings: Settings,
    pub(crate) created_at_ms: u64,
    pub(crate) updated_at_ms: u64,
    pub(crate) suspended_at_ms: Option<u64>,
    pub(crate) turns: u64,
    pub(crate) usage: Usage,
    pub(crate) error: Option<TurnError>,
    /// Messages that belong to the conversation, those not yet written included.
    pub(crate) message_count: u32,
    pub(crate) resume: Option<String>,
    pub(crate) notes: Notes,
    pub(crate) runtime: Runtime,
    pub(crate) turn: Option<Box<Turn>>,
    pub(crate) ending: Option<Ending>,
    pub(crate) writer: Writer,
    /// Since when it has been a candidate for suspension, on the monotonic reading.
    candidate: Option<(Candidate, u64)>,
    /// Set once it must leave memory without another write.
    pub(crate) gone: bool,
}

impl Session {
    pub(crate) fn new(id: &str, metadata: String, settings: Settings, wall_ms: u64) -> Self {
        Self {
            id: id.into(),
            generation: 1,
            status: Status::Preparing,
            metadata,
            settings,
            created_at_ms: wall_ms,
            updated_at_ms: wall_ms,
            suspended_at_ms: None,
            turns: 0,
            usage: Usage::default(),
            error: None,
            message_count: 0,
            resume: None,
            notes: Notes::default(),
            runtime: Runtime::None,
            turn: None,
            ending: None,
            writer: Writer::default(),
            candidate: None,
            gone: false,
        }
    }

    /// The session as its users see it.
    pub(crate) fn summary(&self) -> Summary {
        let turn = self.turn.as_ref();
        Summary {
            id: self.id.clone(),
            status: self.status,
            metadata: self.metadata.clone(),
            settings: self.settings.clone(),
            created_at_ms: self.created_at_ms,
            updated_at_ms: self.updated_at_ms,
            suspended_at_ms: self.suspended_at_ms,
            turns: self.turns,
            usage: self.usage,
            error: self.error.clone(),
            pending: turn.map(|turn| turn.pending_with_decisions()).unwrap_or_default(),
            message_count: self.message_count,
            turn: turn.map(|turn| turn.id.clone()),
            revision: self.writer.revision,
            metadata_revision: self.notes.metadata_revision,
            stopping: self.ending.as_ref().map(|ending| ending.kind),
            degraded: self.writer.is_degraded(),
        }
    }

    /// Marks the session as changed: its followers are told at the end of the step.
    pub(crate) fn touch(&self, cx: &mut Cx) {
        cx.touched.insert(self.id.clone());
    }

    /// Moves to a status, with the timers and indexes that belong to it.
    pub(crate) fn set_status(&mut self, cx: &mut Cx, status: Status) {
        self.leave_candidates(cx);
        cx.timers.cancel(&TimerKey::Idle(self.id.clone()));
        self.status = status;
        self.updated_at_ms = cx.now.wall_ms;
        self.suspended_at_ms = (status == Status::Suspended).then_some(cx.now.wall_ms);
        let candidate = match status {
            Status::Idle => Some(Candidate::Idle),
            Status::AwaitingInput => Some(Candidate::Waiting),
            _ => None,
        };
        if let Some(kind) = candidate {
            let since_ms = cx.now.monotonic_ms;
            self.candidate = Some((kind, since_ms));
            cx.slots.add_candidate(kind, since_ms, &self.id);
            if let Some(idle_ms) = cx.config.idle_timeout_ms {
                let at_ms = cx.in_ms(idle_ms);
                cx.timers.set(TimerKey::Idle(self.id.clone()), at_ms);
            }
        }
        if status == Status::Busy {
            self.arm_turn_timer(cx);
        } else {
            self.pause_turn_timer(cx);
        }
        self.touch(cx);
    }

    pub(crate) fn leave_candidates(&mut self, cx: &mut Cx) {
        if let Some((kind, since_ms)) = self.candidate.take() {
            cx.slots.remove_candidate(kind, since_ms, &self.id);
        }
    }

    /// Takes the session out of every index and timer before it leaves memory.
    pub(crate) fn leave(&mut self, cx: &mut Cx) {
        self.leave_candidates(cx);
        cx.slots.leave_queue(&self.id);
        for key in [
            TimerKey::Idle(self.id.clone()),
            TimerKey::Turn(self.id.clone()),
            TimerKey::Acknowledge(self.id.clone()),
            TimerKey::Retry(self.id.clone()),
            TimerKey::Stopping(self.id.clone()),
        ] {
            cx.timers.cancel(&key);
        }
    }

    pub(crate) fn set_error(&mut self, code: &str, message: impl Into<String>) {
        self.error = Some(TurnError { code: code.into(), message: message.into() });
    }

    pub(crate) fn conflict(&self, message: impl Into<String>) -> Rejection {
        Rejection::conflict(&self.id, self.status, message)
    }

    /// Whether nothing keeps the session in memory.
    pub(crate) fn can_leave(&self) -> bool {
        self.gone
            || (!self.status.is_live() && self.ending.is_none() && self.runtime.is_none() && self.writer.is_quiet())
    }

    /// The index of the first message that a load has to give back.
    pub(crate) fn tail_from(&self) -> u32 {
        let turn = self.turn.iter().flat_map(|turn| turn.needed_indexes());
        turn.chain(self.notes.undelivered.iter().map(|message| message.index)).min().unwrap_or(self.message_count)
    }

    /// Takes a command in, in whatever status.
    pub(crate) fn command(&mut self, cx: &mut Cx, command: Command) -> Result<(), Rejection> {
        phase::command(self, cx, command)
    }

    /// The ids of commands whose callers still wait.
    pub(crate) fn drain_commands(&mut self) -> Vec<u64> {
        let mut commands = self.writer.drain_commands();
        if let Some(ending) = &mut self.ending {
            commands.append(&mut ending.commands);
        }
        commands
    }
}
