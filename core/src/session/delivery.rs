//! A pause: what it waits for, who answers in which order, and how the answers reach the agent, at most once.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use crate::approval::answers::{self, Problem};
use crate::approval::{chunks, words};
use crate::cx::{Cx, Kind};
use crate::effect::{Answer, Approve, ContinueTurn, EffectBody};
use crate::event::StreamEnd;
use crate::input::{Allow, AnswerBody, Continue, Deny, Verdict};
use crate::record::{AuditEntry, AuditWho, PendingInput, PendingKind, Status};
use crate::rejection::Rejection;
use crate::session::Session;
use crate::session::notes::{Call, KeptAnswer, Recorded, Settled, keep_newest};
use crate::session::runtime::Runtime;
use crate::session::turn::{Turn, TurnState};
use crate::session::turn_end::TurnEnd;
use crate::session::writer::{After, Then, Undo};
use crate::transcript::{Chunk, Ending as Settling, settle};

fn call_of(pending: &PendingInput) -> Call {
    Call { tool: pending.tool_name.clone(), input: pending.input.clone() }
}

impl Session {
    /// The agent has paused: kept answers first, then the host's callback, then a person.
    pub(crate) fn pause(&mut self, cx: &mut Cx) {
        let Some(turn) = &mut self.turn else { return };
        let settled = settle(&mut turn.message, &Settling::Paused);
        turn.pending = Self::pending_of(&turn.message);
        turn.answers.clear();
        let count = turn.pending.len();
        self.show_folded(cx, settled.iter().map(Chunk::to_json).collect());
        if count == 0 || count > cx.config.limits.pending as usize {
            let message = match count {
                0 => "The agent paused, but none of its calls waits for an answer.",
                _ => "The agent asked for more answers at once than are accepted.",
            };
            return self.fail_paused(cx, message);
        }
        if let Some(turn) = &mut self.turn {
            turn.state = TurnState::Approving;
        }
        self.ask_in_order(cx);
        self.approvals_in(cx);
    }

    fn fail_paused(&mut self, cx: &mut Cx, message: &str) {
        // The agent still holds its pause: it is given up so that the next prompt is taken.
        if let Runtime::Live { agent, .. } = self.runtime {
            self.emit_interrupt(cx, agent);
        }
        self.turn_over(cx, TurnEnd::Failed { message: message.into() }, true);
    }

    fn ask_in_order(&mut self, cx: &mut Cx) {
        let pending = self.turn.as_ref().map(|turn| turn.pending.clone()).unwrap_or_default();
        let just_answered = core::mem::take(&mut self.notes.just_answered);
        let mut seen: Vec<Call> = Vec::new();
        for waits in pending.into_iter().filter(|waits| waits.kind == PendingKind::Approval) {
            let call = call_of(&waits);
            let unknown = self.notes.unknown.contains(&call);
            let again = just_answered.contains(&call) || seen.contains(&call);
            if let Some(at) = self.notes.kept.iter().position(|kept| kept.call == call) {
                let kept = self.notes.kept.remove(at);
                self.record(cx, &waits, kept.answer, AuditWho::Kept, None);
            } else if cx.config.approver && !unknown && !again {
                self.ask_approver(cx, waits);
            }
            seen.push(call);
        }
    }

    fn ask_approver(&mut self, cx: &mut Cx, waits: PendingInput) {
        let Some(turn) = &self.turn else { return };
        let approval_id = waits.approval_id.clone();
        let body = Approve { turn: turn.id.clone(), approval: waits, summary: self.summary() };
        let kind = Kind::Approve { approval_id: approval_id.clone() };
        let effect = cx.emit(&self.id, kind, cx.config.limits.approve_timeout_ms, EffectBody::Approve(body));
        if let Some(turn) = &mut self.turn {
            turn.approving.push((effect, approval_id));
        }
    }

    /// The host's callback has answered, or has not.
    pub(crate) fn verdict(&mut self, cx: &mut Cx, effect: u64, verdict: Option<Verdict>) {
        let Some(turn) = &mut self.turn else { return };
        let Some(at) = turn.approving.iter().position(|(asked, _)| *asked == effect) else { return };
        let (_, approval_id) = turn.approving.remove(at);
        let waits = turn.pending.iter().find(|pending| pending.approval_id == approval_id).cloned();
        let open = !turn.answers.contains_key(&approval_id);
        if let (Some(waits), Some(verdict), true) = (waits, verdict, open) {
            let answer = if verdict.approved {
                AnswerBody::Allow(Allow { reason: verdict.reason, edited_input: verdict.edited_input })
            } else {
                AnswerBody::Deny(Deny { reason: verdict.reason })
            };
            self.record(cx, &waits, answer, AuditWho::Approver, verdict.rule);
        }
        self.approvals_in(cx);
    }

    /// Goes on once no callback is awaited: with the agent if all is answered, with a person otherwise.
    fn approvals_in(&mut self, cx: &mut Cx) {
        let Some(turn) = &mut self.turn else { return };
        if turn.state != TurnState::Approving {
            return;
        }
        if turn.is_answered() {
            return self.answered(cx, None);
        }
        if !turn.approving.is_empty() {
            return;
        }
        turn.state = TurnState::Paused;
        turn.stream_open = false;
        let end = After::EndStream { turn: turn.id.clone(), next_seq: turn.next_seq, end: StreamEnd::Paused };
        self.writer.answer_changed = true;
        self.set_status(cx, Status::AwaitingInput);
        self.write(cx, [end]);
    }

    /// Records one answer: it is kept, audited, and cannot be overturned.
    fn record(&mut self, cx: &mut Cx, waits: &PendingInput, answer: AnswerBody, who: AuditWho, rule: Option<String>) {
        let Some(turn) = &mut self.turn else { return };
        let (verdict, approved, reason) = match &answer {
            AnswerBody::Allow(allow) => ("allow", true, allow.reason.clone()),
            AnswerBody::Deny(deny) => ("deny", false, deny.reason.clone()),
            AnswerBody::Result(_) => ("result", true, None),
        };
        let person = match &who {
            AuditWho::Person(name) => Some(name.clone()),
            _ => None,
        };
        let entry = AuditEntry {
            seq: self.notes.audit_seq,
            at_ms: cx.now.wall_ms,
            turn: turn.id.clone(),
            approval_id: waits.approval_id.clone(),
            tool_call_id: waits.tool_call_id.clone(),
            tool_name: waits.tool_name.clone(),
            who,
            verdict: verdict.into(),
            reason,
            rule,
        };
        self.notes.audit_seq += 1;
        self.writer.audit.push(entry);
        let id = waits.approval_id.clone();
        turn.answers.insert(id.clone(), Recorded { id: id.clone(), answer, person: person.clone() });
        self.notes.settled.push(Settled { id, approved });
        keep_newest(&mut self.notes.settled, cx.config.limits.pending.saturating_mul(2));
        if person.is_some() {
            let call = call_of(waits);
            self.notes.unknown.retain(|unknown| *unknown != call);
        }
        self.touch(cx);
    }

    /// Takes the answers of a continue in, in a status that takes them.
    pub(crate) fn continue_turn(&mut self, cx: &mut Cx, command: u64, given: &Continue) -> Result<(), Rejection> {
        let reading = self.read_answers(cx, given)?;
        if !self.turn.as_ref().is_some_and(|turn| turn.state.takes_answers()) {
            return self.repeated_only(cx, command, reading.fresh.is_empty() && reading.repeats);
        }
        if reading.fresh.is_empty() && !reading.repeats {
            return Err(self.nothing_new());
        }
        let fresh = &reading.fresh;
        let all = |turn: &Turn| {
            let answered = |id: &String| turn.answers.contains_key(id) || fresh.iter().any(|(other, _)| other == id);
            turn.pending.iter().all(|pending| answered(&pending.approval_id))
        };
        let complete = self.turn.as_ref().is_some_and(|turn| turn.state != TurnState::Answered && all(turn));
        if complete && self.runtime.is_none() {
            self.reserve(cx)?;
        }
        let before = self.status;
        let mut ids = Vec::new();
        for (id, answer) in reading.fresh {
            let waits = self.turn.as_ref().and_then(|turn| turn.pending.iter().find(|p| p.approval_id == id)).cloned();
            if let Some(waits) = waits {
                self.record(cx, &waits, answer, AuditWho::Person(given.who.clone()), None);
                ids.push(id);
            }
        }
        if complete {
            self.complete(cx, command, Undo::Answers(ids, before));
            return Ok(());
        }
        let mut acknowledge = self.acknowledgement(cx, command, Undo::Answers(ids.clone(), before), Then::Nothing);
        acknowledge.incomplete = !self.turn.as_ref().is_some_and(|turn| turn.is_answered());
        acknowledge.repeated = ids.is_empty();
        self.acknowledge(cx, acknowledge);
        Ok(())
    }

    /// Every answer is there: the agent gets them, or is brought back first.
    fn complete(&mut self, cx: &mut Cx, command: u64, undo: Undo) {
        if matches!(self.runtime, Runtime::Live { .. }) && self.ending.is_none() {
            let acknowledge = self.acknowledgement(cx, command, undo, Then::Deliver);
            return self.answered(cx, Some(After::Acknowledge(acknowledge)));
        }
        if let Some(turn) = &mut self.turn {
            turn.state = TurnState::Answered;
            turn.durable = false;
        }
        if self.runtime.is_none() {
            self.set_status(cx, Status::Preparing);
        }
        let acknowledge = self.acknowledgement(cx, command, undo, Then::Prepare);
        self.acknowledge(cx, acknowledge);
    }

    /// Makes durable that the answers are on their way to the agent; then they go.
    pub(crate) fn answered(&mut self, cx: &mut Cx, after: Option<After>) {
        let Some(turn) = &mut self.turn else { return };
        turn.state = TurnState::Delivering;
        for (effect, _) in core::mem::take(&mut turn.approving) {
            cx.settle_effect(effect);
        }
        if self.status != Status::Busy {
            self.set_status(cx, Status::Busy);
        }
        self.write(cx, [after.unwrap_or(After::Then(Then::Deliver))]);
        self.arm_acknowledge(cx);
    }

    /// Gives the agent its answers.
    pub(crate) fn deliver(&mut self, cx: &mut Cx) {
        let Runtime::Live { agent, .. } = self.runtime else { return };
        if self.turn.as_ref().is_none_or(|turn| turn.state != TurnState::Delivering) {
            return;
        }
        if self.ending.is_some() {
            return self.give_pause_up(cx);
        }
        self.open_stream(cx);
        let Some(turn) = &mut self.turn else { return };
        let (given, machine) = take_answers(turn);
        let body = ContinueTurn {
            agent,
            turn: turn.id.clone(),
            delivery_id: alloc::format!("{}-{}", turn.id, turn.slices),
            words: words::words(&given),
            answers: given.clone(),
        };
        self.notes.just_answered = machine;
        self.inject(cx, given.iter().map(chunks::answered).collect());
        let effect = cx.emit(&self.id, Kind::Slice, cx.config.limits.slice_timeout_ms, EffectBody::ContinueTurn(body));
        self.slice_started(cx, effect);
        if let Some(turn) = &mut self.turn {
            let results = given.iter().filter(|answer| matches!(answer.answer, AnswerBody::Result(_)));
            turn.results.extend(results.map(|answer| answer.tool_call_id.clone()));
            turn.delivered = given;
        }
    }

    /// Answers that did not reach a waiting call are kept for the call asked again.
    pub(crate) fn keep_not_taken(&mut self, cx: &mut Cx, not_taken: &[String]) {
        let Some(turn) = &mut self.turn else { return };
        for answer in core::mem::take(&mut turn.delivered) {
            let kept = not_taken.iter().any(|id| *id == answer.tool_call_id || *id == answer.approval_id);
            if kept && !matches!(answer.answer, AnswerBody::Result(_)) {
                let call = Call { tool: answer.tool_name, input: answer.input };
                self.notes.kept.push(KeptAnswer { call, answer: answer.answer });
            }
        }
        keep_newest(&mut self.notes.kept, cx.config.limits.kept_answers);
    }

    fn read_answers(&self, cx: &Cx, given: &Continue) -> Result<answers::Reading, Rejection> {
        let turn = self.turn.as_deref();
        answers::read(turn, &self.notes.settled, given, &cx.config.limits).map_err(|problem| match problem {
            Problem::Invalid(rejection) => rejection,
            Problem::Contradicts(id) => {
                self.conflict(alloc::format!("{id:?} was answered otherwise already, and that answer stands."))
            }
        })
    }

    /// In a status that takes no answers, only a repetition succeeds, and does nothing.
    fn repeated_only(&mut self, cx: &mut Cx, command: u64, repeats: bool) -> Result<(), Rejection> {
        if !repeats {
            return Err(self.conflict("nothing waits for an answer."));
        }
        let turn = self.turn.as_ref().map(|turn| turn.id.clone());
        cx.accept(command, self.summary(), turn, true);
        Ok(())
    }

    fn nothing_new(&self) -> Rejection {
        let waiting = self.turn.as_ref().map(|turn| turn.pending.as_slice()).unwrap_or_default();
        let open: Vec<String> = waiting.iter().map(|pending| alloc::format!("{:?}", pending.approval_id)).collect();
        self.conflict(alloc::format!("no answer was given; these wait: {}.", open.join(", ")))
    }
}

/// Takes the answers of a turn out, in the order asked; the second list holds the calls that no person answered.
fn take_answers(turn: &mut Box<Turn>) -> (Vec<Answer>, Vec<Call>) {
    let mut answers = core::mem::take(&mut turn.answers);
    let (mut given, mut machine) = (Vec::new(), Vec::new());
    for pending in core::mem::take(&mut turn.pending) {
        let Some(recorded) = answers.remove(&pending.approval_id) else { continue };
        if recorded.person.is_none() {
            machine.push(call_of(&pending));
        }
        given.push(Answer {
            approval_id: pending.approval_id,
            tool_call_id: pending.tool_call_id,
            tool_name: pending.tool_name,
            input: pending.input,
            answer: recorded.answer,
        });
    }
    (given, machine)
}
