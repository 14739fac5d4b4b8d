//! Changes of metadata and settings, and how commands that could not be made durable are taken back.

use crate::cx::Cx;
use crate::input::Update;
use crate::record::Status;
use crate::rejection::Rejection;
use crate::session::Session;
use crate::session::runtime::Runtime;
use crate::session::writer::{SendUndo, Then, Undo};
use crate::validate;

impl Session {
    /// Changes what the application keeps with the session, in every status; it does not count as activity.
    pub(crate) fn update(&mut self, cx: &mut Cx, command: u64, update: Update) -> Result<(), Rejection> {
        if let Some(metadata) = &update.metadata {
            validate::metadata(metadata, &cx.config.limits)?;
        }
        if let Some(settings) = &update.settings {
            validate::settings(settings, &cx.config.limits)?;
        }
        if update.metadata_revision.is_some_and(|revision| revision != self.notes.metadata_revision) {
            return Err(
                self.conflict("the metadata has changed since it was read; read it again and repeat the change.")
            );
        }
        let undo = Undo::Update {
            metadata: self.metadata.clone(),
            settings: self.settings.clone(),
            metadata_revision: self.notes.metadata_revision,
        };
        if let Some(metadata) = update.metadata {
            self.metadata = metadata;
            self.notes.metadata_revision += 1;
        }
        if let Some(settings) = update.settings {
            self.settings = settings;
        }
        self.touch(cx);
        let acknowledge = self.acknowledgement(cx, command, undo, Then::Nothing);
        self.acknowledge(cx, acknowledge);
        Ok(())
    }

    /// Takes back what a command changed that could not be made durable.
    pub(crate) fn undo(&mut self, cx: &mut Cx, undo: Undo) {
        match undo {
            Undo::Nothing => {}
            Undo::Create => {
                // Whatever waited behind the creation has no session.
                for command in self.drain_commands() {
                    cx.refuse(command, Rejection::NotFound(self.id.clone()));
                }
                self.gone = true;
            }
            Undo::Send(undo) => self.undo_send(cx, *undo),
            Undo::Answers(ids, status) => self.undo_answers(cx, &ids, status),
            Undo::Update { metadata, settings, metadata_revision } => {
                self.metadata = metadata;
                self.settings = settings;
                self.notes.metadata_revision = metadata_revision;
            }
        }
        self.touch(cx);
    }

    fn undo_send(&mut self, cx: &mut Cx, undo: SendUndo) {
        if self.turn.as_ref().is_none_or(|turn| turn.id != undo.turn) {
            return;
        }
        self.turn = None;
        self.message_count = undo.message_count;
        self.writer.messages.retain(|message| message.index < undo.message_count);
        self.notes.keys.retain(|key| key.turn != undo.turn);
        self.notes.recent.retain(|recent| recent.index < undo.message_count);
        self.notes.undelivered = undo.undelivered;
        self.error = undo.error;
        let status = self.status_without_waiter(undo.status, Status::Idle);
        self.set_status(cx, status);
    }

    /// Where the session stands once what waited for its agent is taken back.
    fn status_without_waiter(&self, before: Status, ready: Status) -> Status {
        match self.runtime {
            Runtime::Live { .. } => ready,
            Runtime::Stopping { .. } => self.status,
            Runtime::Queued | Runtime::Acquiring { .. } | Runtime::Starting { .. } => Status::Preparing,
            Runtime::None | Runtime::Held { .. } if before == Status::Preparing || !before.is_live() => before,
            Runtime::None | Runtime::Held { .. } => Status::Suspended,
        }
    }

    fn undo_answers(&mut self, cx: &mut Cx, ids: &[alloc::string::String], status: Status) {
        let Some(turn) = &mut self.turn else { return };
        for id in ids {
            turn.answers.remove(id);
        }
        turn.state = turn.state.without_answers();
        self.notes.settled.retain(|settled| !ids.contains(&settled.id));
        self.writer.audit.retain(|entry| !ids.contains(&entry.approval_id));
        if let Some(in_flight) = &mut self.writer.in_flight {
            in_flight.save.audit.retain(|entry| !ids.contains(&entry.approval_id));
        }
        let approving = status == Status::Busy;
        let status = self.status_without_waiter(status, if approving { status } else { Status::AwaitingInput });
        if self.status != status {
            self.set_status(cx, status);
        }
    }
}
