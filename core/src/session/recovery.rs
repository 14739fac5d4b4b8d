//! A session as its next owner finds it: suspended as it was left, or with what a crash left undone brought to an end.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::cx::Cx;
use crate::effect::ResumeChange;
use crate::input::AnswerBody;
use crate::record::{AuditEntry, AuditWho, Status, StoredMessage, StoredSession};
use crate::session::Session;
use crate::session::notes::{Call, NotedState, NotedTurn, Notes, keep_newest};
use crate::session::turn::{Turn, TurnState, bounds};
use crate::session::turn_end::TurnEnd;
use crate::session::writer::After;
use crate::transcript::{Message, ToolState};
use crate::validate;

const STOPPED: &str = "The host stopped while the turn was under way.";

impl Session {
    /// Brings a stored session into memory. One recorded live was left by a crash: what it was doing is brought to an end
    /// and written.
    pub(crate) fn from_store(cx: &mut Cx, stored: StoredSession, faulted: bool) -> Self {
        let StoredSession { generation, revision, summary, engine_state, tail, resume } = stored;
        let mut session = Self::new(&summary.id, summary.metadata, summary.settings, summary.created_at_ms);
        session.generation = generation;
        session.writer.revision = revision;
        session.status = summary.status;
        session.updated_at_ms = summary.updated_at_ms;
        session.suspended_at_ms = summary.suspended_at_ms;
        session.turns = summary.turns;
        session.usage = summary.usage;
        session.error = summary.error;
        session.message_count = summary.message_count;
        let started = resume.is_some();
        session.resume = resume;
        session.notes = Notes::from_json(&engine_state).unwrap_or_else(|| {
            cx.warn(&summary.id, "load", "The engine's notes on this session cannot be read; it goes on without them.");
            Notes { started, metadata_revision: summary.metadata_revision, ..Notes::default() }
        });
        session.read_undelivered(cx, &tail);
        if let Some(noted) = session.notes.turn.take() {
            session.turn = Some(Box::new(turn_from(cx, noted, &tail)));
        }
        if summary.status.is_live() {
            session.after_crash(cx, faulted);
        } else if let Some(turn) = &mut session.turn {
            turn.state = TurnState::Paused;
        }
        session
    }

    fn read_undelivered(&mut self, cx: &Cx, tail: &[StoredMessage]) {
        let limits = &cx.config.limits;
        let turn = self.notes.turn.iter_mut().flat_map(|turn| turn.users.iter_mut());
        for message in self.notes.undelivered.iter_mut().chain(turn) {
            let json = tail.iter().find(|stored| stored.index == message.index).map(|stored| stored.json.as_str());
            if let Some((text, files)) = json.and_then(|json| validate::read_user_message(json, limits).ok()) {
                message.text = text;
                message.files = files;
            }
        }
    }

    fn after_crash(&mut self, cx: &mut Cx, faulted: bool) {
        let mut afters = Vec::new();
        let code = if faulted { "engine-fault" } else { "host-stopped" };
        let resumable = self.resume.is_some();
        match self.turn.as_ref().map(|turn| turn.state) {
            Some(TurnState::Waiting) => self.cancel_waiter(cx, "The host stopped before the agent was ready."),
            Some(TurnState::Paused) if resumable => {}
            Some(state) => {
                self.note_unknown(cx, state == TurnState::Delivering);
                let end = TurnEnd::Cut { reason: STOPPED.into(), error: Some((code, STOPPED.into())) };
                afters.extend(self.end_turn(cx, end));
            }
            None => {}
        }
        let status = match (resumable, self.notes.started) {
            (true, _) => Status::Suspended,
            (false, false) => Status::Failed,
            (false, true) => Status::Interrupted,
        };
        if status != Status::Suspended && self.error.is_none() {
            self.set_error(code, "The host stopped while it held the session.");
        }
        if faulted {
            self.set_error(code, "The engine failed on this session and was started anew; what was under way is lost.");
        }
        if !resumable {
            self.writer.resume = Some(ResumeChange::Drop);
            if self.notes.started {
                afters.push(After::Discard);
            }
        }
        self.set_status(cx, status);
        self.write(cx, afters);
    }

    /// Calls that were allowed and have no result may have run: only a person may allow them again.
    fn note_unknown(&mut self, cx: &mut Cx, delivering: bool) {
        let Some(turn) = &self.turn else { return };
        let mut unknown = Vec::new();
        for part in turn.message.tool_parts() {
            let Some(approval) = part.approval() else { continue };
            let answered = match part.state() {
                ToolState::ApprovalResponded => approval.approved == Some(true),
                ToolState::ApprovalRequested => {
                    let recorded = turn.answers.get(&approval.id).map(|recorded| &recorded.answer);
                    delivering && matches!(recorded, Some(AnswerBody::Allow(_)))
                }
                _ => false,
            };
            if answered {
                let input = part.input().map(|input| input.canonical()).unwrap_or_default();
                let call = Call { tool: part.tool_name().into(), input };
                unknown.push((call, approval.id, part.tool_call_id().into()));
            }
        }
        let turn_id = turn.id.clone();
        for (call, approval_id, tool_call_id) in unknown {
            self.writer.audit.push(AuditEntry {
                seq: self.notes.audit_seq,
                at_ms: cx.now.wall_ms,
                turn: turn_id.clone(),
                approval_id,
                tool_call_id,
                tool_name: call.tool.clone(),
                who: AuditWho::Engine,
                verdict: "outcome-unknown".into(),
                reason: None,
                rule: None,
            });
            self.notes.audit_seq += 1;
            self.notes.unknown.push(call);
        }
        keep_newest(&mut self.notes.unknown, cx.config.limits.kept_answers);
    }
}

fn turn_from(cx: &Cx, noted: NotedTurn, tail: &[StoredMessage]) -> Turn {
    let mut turn = Turn::new(noted.id, noted.assistant, &cx.config.limits);
    let kept = tail.iter().find(|stored| Some(stored.index) == noted.index).map(|stored| stored.json.as_str());
    if let Some(message) = kept.and_then(|json| Message::from_json_within(json, bounds(&cx.config.limits)).ok()) {
        turn.message = message;
    }
    turn.index = noted.index;
    turn.messages = noted.users;
    turn.next_seq = noted.next_seq;
    turn.durable = true;
    turn.answers.extend(noted.answers.into_iter().map(|recorded| (recorded.id.clone(), recorded)));
    turn.state = match noted.state {
        NotedState::Waiting => TurnState::Waiting,
        // The effect is gone with the host that had it.
        NotedState::Prompting => TurnState::Running(0),
        NotedState::Paused | NotedState::Answered => TurnState::Paused,
        NotedState::Delivering => TurnState::Delivering,
    };
    if matches!(turn.state, TurnState::Paused | TurnState::Delivering) {
        turn.pending = Session::pending_of(&turn.message);
    }
    turn.slices = noted.slices;
    turn
}
