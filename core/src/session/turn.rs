//! A turn: from the message that starts it, through its slices and pauses, to its end.

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::cx::{Cx, Kind};
use crate::effect::{EffectBody, ResumeChange, StartTurn};
use crate::event::{Event, TurnStarted};
use crate::input::{SliceEnd, SliceOutcome};
use crate::limits::Limits;
use crate::record::{Decision, PendingInput, PendingKind};
use crate::session::Session;
use crate::session::notes::{NotedState, NotedTurn, Recorded, Undelivered};
use crate::session::runtime::Runtime;
use crate::session::turn_end::TurnEnd;
use crate::timers::TimerKey;
use crate::transcript::{Bounds, Message};

/// Where a turn stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TurnState {
    /// Its message is accepted or being accepted; the agent is not there yet.
    Waiting,
    /// The agent is there; the prompt follows once that is durable.
    Prompting,
    /// A slice is under way under this effect.
    Running(u64),
    /// It is paused and the host's callback is being asked.
    Approving,
    /// It is paused and waits for a person.
    Paused,
    /// Every answer is there; the agent is being brought back.
    Answered,
    /// Every answer is there; they follow once that is durable.
    Delivering,
}

impl TurnState {
    pub(crate) fn without_answers(self) -> Self {
        match self {
            Self::Answered | Self::Delivering => Self::Paused,
            other => other,
        }
    }

    /// Whether the turn waits for answers.
    pub(crate) fn takes_answers(self) -> bool {
        matches!(self, Self::Approving | Self::Paused | Self::Answered)
    }
}

/// What the agent is given.
#[derive(Debug, Clone, Default)]
pub(crate) struct PromptText {
    pub(crate) text: String,
    pub(crate) files: Vec<String>,
    pub(crate) model: Option<String>,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Turn {
    pub(crate) id: String,
    pub(crate) assistant: String,
    /// The place of the answer, once it has been written.
    pub(crate) index: Option<u32>,
    /// The messages that the agent is given.
    pub(crate) messages: Vec<Undelivered>,
    pub(crate) prompt: PromptText,
    pub(crate) message: Message,
    pub(crate) next_seq: u64,
    pub(crate) state: TurnState,
    /// Whether its message or final answer is durable.
    pub(crate) durable: bool,
    /// Chunks seen in the slice under way.
    pub(crate) cursor: u64,
    pub(crate) slices: u32,
    pub(crate) pending: Vec<PendingInput>,
    pub(crate) answers: BTreeMap<String, Recorded>,
    /// Answers that the slice under way was given.
    pub(crate) delivered: Vec<crate::effect::Answer>,
    /// Calls whose result an answer gave.
    pub(crate) results: Vec<String>,
    /// Callbacks under way: effect to approval.
    pub(crate) approving: Vec<(u64, String)>,
    /// The last `finish` that an agent sent: shown at the end of the turn only.
    pub(crate) finish: Option<String>,
    pub(crate) saved_at_ms: u64,
    pub(crate) warnings: u32,
    pub(crate) stream_open: bool,
    busy_since_ms: Option<u64>,
    busy_spent_ms: u64,
}

impl Turn {
    pub(crate) fn new(id: String, assistant: String, limits: &Limits) -> Self {
        let message = Message::new_within(assistant.clone(), bounds(limits));
        Self {
            id,
            assistant,
            index: None,
            messages: Vec::new(),
            prompt: PromptText::default(),
            message,
            next_seq: 0,
            state: TurnState::Waiting,
            durable: false,
            cursor: 0,
            slices: 0,
            pending: Vec::new(),
            answers: BTreeMap::new(),
            delivered: Vec::new(),
            results: Vec::new(),
            approving: Vec::new(),
            finish: None,
            saved_at_ms: 0,
            warnings: 0,
            stream_open: false,
            busy_since_ms: None,
            busy_spent_ms: 0,
        }
    }

    /// The places of the messages that a later owner needs.
    pub(crate) fn needed_indexes(&self) -> impl Iterator<Item = u32> {
        let waiting = self.state == TurnState::Waiting;
        let users = self.messages.iter().filter(move |_| waiting).map(|message| message.index);
        users.chain(self.index)
    }

    pub(crate) fn noted(&self) -> NotedTurn {
        let state = match self.state {
            TurnState::Waiting => NotedState::Waiting,
            TurnState::Prompting | TurnState::Running(_) => NotedState::Prompting,
            TurnState::Approving | TurnState::Paused => NotedState::Paused,
            TurnState::Answered => NotedState::Answered,
            TurnState::Delivering => NotedState::Delivering,
        };
        NotedTurn {
            id: self.id.clone(),
            assistant: self.assistant.clone(),
            index: self.index,
            users: self.messages.clone(),
            next_seq: self.next_seq,
            slices: self.slices,
            state,
            answers: self.answers.values().cloned().collect(),
        }
    }

    /// What the turn waits for, with the answers already recorded.
    pub(crate) fn pending_with_decisions(&self) -> Vec<PendingInput> {
        let decide = |pending: &PendingInput| {
            let decision = self.answers.get(&pending.approval_id).map(|recorded| decision_of(&recorded.answer));
            PendingInput { decision, ..pending.clone() }
        };
        self.pending.iter().map(decide).collect()
    }

    /// Whether every pending call has its answer.
    pub(crate) fn is_answered(&self) -> bool {
        self.pending.iter().all(|pending| self.answers.contains_key(&pending.approval_id))
    }
}

/// The bounds of an answer.
pub(crate) fn bounds(limits: &Limits) -> Bounds {
    Bounds {
        max_message_bytes: limits.answer_bytes as usize,
        max_parts: limits.message_parts as usize,
        max_chunk_bytes: limits.chunk_bytes as usize,
        ..Bounds::default()
    }
}

fn decision_of(answer: &crate::input::AnswerBody) -> Decision {
    use crate::input::AnswerBody;
    match answer {
        AnswerBody::Allow(allow) => Decision { approved: true, reason: allow.reason.clone() },
        AnswerBody::Deny(deny) => Decision { approved: false, reason: deny.reason.clone() },
        AnswerBody::Result(_) => Decision { approved: true, reason: None },
    }
}

impl Session {
    pub(crate) fn arm_turn_timer(&mut self, cx: &mut Cx) {
        let now_ms = cx.now.monotonic_ms;
        let Some(turn) = &mut self.turn else { return };
        if turn.busy_since_ms.is_none() {
            turn.busy_since_ms = Some(now_ms);
        }
        if let Some(timeout_ms) = cx.config.turn_timeout_ms {
            let at_ms = cx.in_ms(timeout_ms.saturating_sub(turn.busy_spent_ms));
            cx.timers.set(TimerKey::Turn(self.id.clone()), at_ms);
        }
    }

    pub(crate) fn pause_turn_timer(&mut self, cx: &mut Cx) {
        cx.timers.cancel(&TimerKey::Turn(self.id.clone()));
        let now_ms = cx.now.monotonic_ms;
        if let Some(turn) = &mut self.turn
            && let Some(since_ms) = turn.busy_since_ms.take()
        {
            turn.busy_spent_ms += now_ms.saturating_sub(since_ms);
        }
    }

    /// Prompts the agent: the message is durable and so is that it is being given to the agent.
    pub(crate) fn prompt(&mut self, cx: &mut Cx) {
        let Runtime::Live { agent, .. } = self.runtime else { return };
        if self.turn.as_ref().is_none_or(|turn| turn.state != TurnState::Prompting) {
            return;
        }
        if self.ending.is_some() {
            return self.cut_unprompted(cx);
        }
        self.open_stream(cx);
        let Some(turn) = &mut self.turn else { return };
        let body = StartTurn {
            agent,
            turn: turn.id.clone(),
            prompt_id: turn.id.clone(),
            text: turn.prompt.text.clone(),
            files: core::mem::take(&mut turn.prompt.files),
            model: turn.prompt.model.clone(),
        };
        let effect = cx.emit(&self.id, Kind::Slice, cx.config.limits.slice_timeout_ms, EffectBody::StartTurn(body));
        self.slice_started(cx, effect);
    }

    pub(crate) fn slice_started(&mut self, cx: &mut Cx, effect: u64) {
        let now_ms = cx.now.monotonic_ms;
        if let Some(turn) = &mut self.turn {
            turn.state = TurnState::Running(effect);
            turn.cursor = 0;
            turn.slices += 1;
            turn.saved_at_ms = now_ms;
        }
    }

    /// Opens the turn's stream where it is not open.
    pub(crate) fn open_stream(&mut self, cx: &mut Cx) {
        let Some(turn) = &mut self.turn else { return };
        if turn.stream_open {
            return;
        }
        turn.stream_open = true;
        cx.event(Event::TurnStarted(TurnStarted {
            session: self.id.clone(),
            turn: turn.id.clone(),
            assistant_message: turn.assistant.clone(),
            next_seq: turn.next_seq,
        }));
        if turn.next_seq == 0 {
            self.inject_start(cx);
        }
    }

    /// A slice of the turn has ended.
    pub(crate) fn slice_ended(&mut self, cx: &mut Cx, end: SliceEnd) {
        self.usage.add(end.usage);
        if let Some(resume) = end.resume {
            self.keep_resume(resume);
        }
        self.keep_not_taken(cx, &end.not_taken);
        let interrupted = self.ending.is_some();
        match end.outcome {
            SliceOutcome::Finished => self.turn_over(cx, TurnEnd::Finished, true),
            SliceOutcome::Paused if interrupted => self.give_pause_up(cx),
            SliceOutcome::Paused => self.pause(cx),
            SliceOutcome::Failed(failure) => {
                self.turn_over(cx, TurnEnd::Failed { message: failure.message }, failure.alive);
            }
            SliceOutcome::Interrupted => {
                let end = self.cut_end();
                self.turn_over(cx, end, true);
            }
        }
    }

    pub(crate) fn keep_resume(&mut self, resume: String) {
        self.writer.resume = Some(ResumeChange::Replace(resume.clone()));
        self.resume = Some(resume);
    }

    /// The calls that a paused message waits for.
    pub(crate) fn pending_of(message: &Message) -> Vec<PendingInput> {
        use crate::transcript::ToolState;
        let pending = |part: crate::transcript::ToolPart<'_>| {
            let (kind, approval_id) = match (part.state(), part.approval()) {
                (ToolState::ApprovalRequested, Some(approval)) => (PendingKind::Approval, approval.id),
                (ToolState::InputAvailable, _) if !part.provider_executed() => {
                    (PendingKind::Result, part.tool_call_id().to_string())
                }
                _ => return None,
            };
            Some(PendingInput {
                kind,
                approval_id,
                tool_call_id: part.tool_call_id().to_string(),
                tool_name: part.tool_name().to_string(),
                input: part.input().map_or_else(|| "null".to_string(), |input| input.canonical()),
                decision: None,
            })
        };
        message.tool_parts().filter_map(pending).collect()
    }
}
