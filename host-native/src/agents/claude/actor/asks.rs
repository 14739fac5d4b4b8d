//! Calls that wait for a decision, and what is decided about them. An allowance is sent at most once for a call.

use serde_json::{Map, Value};
use tokio::time::Instant;

use super::{Actor, GivingUp, Todo};
use crate::agents::claude::gate::{self, Gate, QUESTION};
use crate::agents::claude::protocol::frames::ToolAsk;
use crate::agents::claude::protocol::outgoing::{self, HookAnswer};
use crate::agents::claude::state::Call;
use crate::ports::{Answer, AnswerBody, Answers, Prompt};

/// The longest that other work of the turn delays a pause.
const MAX_GATHER: std::time::Duration = std::time::Duration::from_secs(5);

/// What the model reads of a call that was denied without a reason.
const DENIED: &str = "The user declined this call.";

/// What the model reads of a call in a pause that was given up.
const GIVEN_UP: &str = "The user stopped this before it was decided.";

/// Tools that run other calls inside them: they run as long as the calls wait.
const CALLERS: [&str; 2] = ["Task", "Agent"];

/// Which of the CLI's two ways of asking is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Via {
    /// The hook before the call: it can be deferred.
    Hook,
    /// The question whether it may run.
    Permission,
}

/// A call that waits.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) request_id: String,
    pub(super) via: Via,
    pub(super) call: Call,
    pub(super) subagent: bool,
    since: Instant,
}

/// What was decided about a call: the CLI may ask about it a second time.
#[derive(Debug, Clone)]
pub(super) enum Verdict {
    /// It runs with this input, JSON text.
    Allow(String),
    /// It does not, and the model reads why.
    Deny { message: String, interrupt: bool },
}

impl Actor {
    /// The hook before a call.
    pub(super) fn hook(&mut self, request_id: String, ask: &ToolAsk) {
        if self.deferring.is_some() {
            return self.send(outgoing::hook_deny(&request_id, super::defer::NOT_DECIDED));
        }
        let (call, mode, subagent) = (call_of(ask), self.mode(ask), ask.subagent);
        if self.is_leftover() {
            return self.decide(&request_id, Via::Hook, &call, given_up());
        }
        if let Some(verdict) = self.expected(&call) {
            return self.decide(&request_id, Via::Hook, &call, verdict);
        }
        let directory = self.working_directory();
        match gate::gate(&call.name, &call.input, &mode, &directory) {
            Gate::Pass => {
                self.active.insert(call.id, call.name);
                self.send(outgoing::hook_answer(&request_id, HookAnswer::Pass));
            }
            Gate::Allow => {
                let verdict = Verdict::Allow(call.input.clone());
                self.decide(&request_id, Via::Hook, &call, verdict);
            }
            Gate::Hold => self.hold(request_id, Via::Hook, call, subagent),
        }
    }

    /// The question whether a call may run.
    pub(super) fn permission(&mut self, request_id: String, ask: &ToolAsk) {
        let (call, mode, subagent) = (call_of(ask), self.mode(ask), ask.subagent);
        self.active.remove(&call.id);
        if let Some(verdict) = self.verdicts.get(&call.id).cloned() {
            return self.decide(&request_id, Via::Permission, &call, verdict);
        }
        if self.is_leftover() {
            return self.decide(&request_id, Via::Permission, &call, given_up());
        }
        if self.deferring.is_some() {
            return self.send(outgoing::deny(&request_id, super::defer::NOT_DECIDED, false));
        }
        if let Some(verdict) = self.expected(&call) {
            return self.decide(&request_id, Via::Permission, &call, verdict);
        }
        if gate::gate(&call.name, &call.input, &mode, &self.working_directory()) == Gate::Allow {
            let verdict = Verdict::Allow(call.input.clone());
            return self.decide(&request_id, Via::Permission, &call, verdict);
        }
        self.hold(request_id, Via::Permission, call, subagent);
    }

    /// Whether what is asked now belongs to a pause that was given up, or to nothing that anyone could answer.
    fn is_leftover(&mut self) -> bool {
        let unsent = matches!(self.todo, Some(Todo::Prompt(_)));
        if unsent && self.giving_up.is_none() {
            self.giving_up = Some(GivingUp { deadline: Instant::now() + self.grace() });
        }
        self.giving_up.is_some() || (self.slice.is_none() && self.parts.state.pending.is_empty())
    }

    fn hold(&mut self, request_id: String, via: Via, call: Call, subagent: bool) {
        if self.slice.as_ref().is_some_and(|slice| slice.cutting.is_some()) {
            return self.decide(&request_id, via, &call, given_up());
        }
        self.translator.show_call(&call);
        if call.name != QUESTION {
            self.translator.request_approval(&call.id);
        }
        self.held.push(Held { request_id, via, call, subagent, since: Instant::now() });
    }

    /// Sends a decision.
    fn decide(&mut self, request_id: &str, via: Via, call: &Call, verdict: Verdict) {
        match (&verdict, via) {
            (Verdict::Allow(input), Via::Hook) => {
                self.send(outgoing::hook_answer(request_id, HookAnswer::Allow(input)));
            }
            (Verdict::Allow(input), Via::Permission) => self.send(outgoing::allow(request_id, input)),
            (Verdict::Deny { .. }, Via::Hook) => self.send(outgoing::hook_answer(request_id, HookAnswer::Ask)),
            (Verdict::Deny { message, interrupt }, Via::Permission) => {
                self.send(outgoing::deny(request_id, message, *interrupt));
            }
        }
        if matches!(verdict, Verdict::Allow(_)) {
            self.active.insert(call.id.clone(), call.name.clone());
        }
        self.verdicts.insert(call.id.clone(), verdict);
    }

    /// Gives answers to the calls that wait in this process.
    pub(super) fn answer_held(&mut self, answers: &Answers) {
        for answer in &answers.answers {
            let Some(at) = self.held.iter().position(|held| held.call.id == answer.tool_call_id) else {
                self.not_taken(&answer.tool_call_id);
                continue;
            };
            let held = self.held.remove(at);
            let verdict = self.verdict(answer, &held.call);
            self.decide(&held.request_id, held.via, &held.call, verdict);
        }
        self.parts.state.clear_pause();
        self.now_sent(None);
    }

    /// The answer that a resumed process was started for, when it asks again.
    fn expected(&mut self, call: &Call) -> Option<Verdict> {
        let Some(Todo::Answers { answers, .. }) = &self.todo else { return None };
        let same = |answer: &&Answer| answer.tool_name == call.name && same_json(&answer.input, &call.input);
        let by_id = answers.answers.iter().find(|answer| answer.tool_call_id == call.id);
        let answer = by_id.or_else(|| answers.answers.iter().find(same))?.clone();
        let others = answers.answers.iter().map(|answer| answer.tool_call_id.clone());
        let others = others.filter(|id| *id != answer.tool_call_id).collect::<Vec<_>>();
        self.todo = None;
        for other in &others {
            self.not_taken(other);
        }
        self.translator.known_call(&call.id);
        let verdict = self.verdict(&answer, call);
        // The CLI keeps the call until its turn is over. Should it die before that and ask once more, it is denied.
        self.parts.state.pending.clear();
        self.parts.state.deferred = Some(call.id.clone());
        self.now_sent(None);
        Some(verdict)
    }

    /// When answers that were not asked for again are told in words.
    pub(super) fn reask_deadline(&self) -> Option<Instant> {
        match &self.todo {
            Some(Todo::Answers { deadline, .. }) => *deadline,
            _ => None,
        }
    }

    /// The resumed process lost the pause: the model is told the answers in words.
    pub(super) fn tell_in_words(&mut self) {
        let Some(Todo::Answers { answers, .. }) = self.todo.take() else { return };
        for answer in &answers.answers {
            self.not_taken(&answer.tool_call_id);
        }
        self.parts.state.clear_pause();
        let Answers { turn, id, words, .. } = answers;
        self.send_prompt(&Prompt { turn, id, text: words, files: Vec::new(), model: None });
    }

    /// Turns an answer into what the CLI is told, and shows a denial.
    fn verdict(&mut self, answer: &Answer, call: &Call) -> Verdict {
        match &answer.body {
            AnswerBody::Allow { edited_input } => {
                Verdict::Allow(edited_input.clone().unwrap_or_else(|| call.input.clone()))
            }
            AnswerBody::Deny { reason } => {
                if call.name == QUESTION {
                    self.translator.answered(&call.id);
                } else {
                    self.translator.deny(&call.id);
                }
                denial(reason.as_deref().filter(|reason| !reason.trim().is_empty()).unwrap_or(DENIED))
            }
            AnswerBody::Result { output, is_error } => {
                // The host writes the answer into the message itself.
                self.translator.answered(&call.id);
                match with_answers(&call.input, output) {
                    Some(input) if !is_error => Verdict::Allow(input),
                    _ => denial(output),
                }
            }
        }
    }

    /// When the slice pauses: shortly after the last ask, once nothing else of the turn is under way.
    pub(super) fn pause_time(&self) -> Option<Instant> {
        self.slice.as_ref().filter(|slice| slice.cutting.is_none())?;
        let first = self.held.iter().map(|held| held.since).min()?;
        let last = self.held.iter().map(|held| held.since).max()?;
        let busy = self.translator.is_streaming() || self.active.values().any(|tool| !CALLERS.contains(&&**tool));
        Some(if busy { first + MAX_GATHER } else { last + self.parts.options.gather })
    }

    fn not_taken(&mut self, call: &str) {
        if let Some(slice) = &mut self.slice {
            slice.not_taken.push(call.to_owned());
        }
    }

    fn mode(&self, ask: &ToolAsk) -> String {
        let own = self.parts.settings.permission_mode.clone();
        // The CLI is not told of this one, so it cannot say it back.
        let own = own.filter(|mode| mode == "bypassPermissions" || ask.mode.is_none());
        own.or_else(|| ask.mode.clone()).unwrap_or_else(|| "default".to_owned())
    }

    fn working_directory(&self) -> std::path::PathBuf {
        let base = self.parts.sandbox.working_directory();
        self.parts.settings.working_directory.as_ref().map_or_else(|| base.to_owned(), |directory| base.join(directory))
    }
}

fn call_of(ask: &ToolAsk) -> Call {
    Call { id: ask.id.clone(), name: ask.name.clone(), input: ask.input.clone() }
}

fn denial(message: &str) -> Verdict {
    Verdict::Deny { message: message.to_owned(), interrupt: false }
}

fn given_up() -> Verdict {
    Verdict::Deny { message: GIVEN_UP.to_owned(), interrupt: true }
}

fn same_json(one: &str, other: &str) -> bool {
    match (serde_json::from_str::<Value>(one), serde_json::from_str::<Value>(other)) {
        (Ok(one), Ok(other)) => one == other,
        _ => one == other,
    }
}

/// A question's input with its answers, as the CLI takes them; `None` when the output holds none.
fn with_answers(input: &str, output: &str) -> Option<String> {
    let mut input = serde_json::from_str::<Map<String, Value>>(input).ok()?;
    let answers = match serde_json::from_str::<Value>(output).ok()? {
        Value::Object(mut output) => output.remove("answers").filter(Value::is_object)?,
        // One plain answer to one question.
        Value::String(answer) => {
            let questions = input.get("questions")?.as_array().filter(|questions| questions.len() == 1)?;
            Value::from(Map::from_iter([(questions[0]["question"].as_str()?.to_owned(), Value::from(answer))]))
        }
        _ => return None,
    };
    input.insert("answers".to_owned(), answers);
    Some(Value::from(input).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_go_into_the_question() {
        let input = r#"{"questions":[{"question":"Which?"}]}"#;
        let expected: Value = serde_json::json!({"questions":[{"question":"Which?"}],"answers":{"Which?":"Blue"}});
        for output in [r#"{"answers":{"Which?":"Blue"}}"#, r#""Blue""#] {
            let input: Value = serde_json::from_str(&with_answers(input, output).unwrap()).unwrap();
            assert_eq!(input, expected, "{output}");
        }
        assert_eq!(with_answers(input, "12"), None);
        assert_eq!(with_answers(r#"{"questions":[]}"#, r#""Blue""#), None);
    }

    #[test]
    fn the_same_input_is_known_in_any_order() {
        assert!(same_json(r#"{"a":1,"b":2}"#, r#"{ "b": 2, "a": 1 }"#));
        assert!(!same_json(r#"{"a":1}"#, r#"{"a":2}"#));
    }
}
