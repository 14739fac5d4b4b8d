//! Makes a message fit to be kept: it passes the package's validation, and nothing in it seems to run when nothing does.
//! Every change is a chunk, so that who follows the stream ends with the same message.

use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::chunk::Chunk;
use super::fields::{PartKind, Value};
use super::fold::Flow;
use super::message::Message;
use super::tool::ToolState;
use super::validity::{Standing, Verdict};
use crate::json::{Json, fields_of};

/// Why a message is kept now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The turn waits for answers: approvals that are pending and tool calls of the application stay as they are.
    Paused,
    /// The turn is over.
    Finished,
    /// The turn was cut short, for this reason, in words for a user: a whole sentence.
    Cut(String),
}

const RAN_WITHOUT_ANSWER: &str = "The tool ran without waiting for an answer.";
const NOT_ANSWERED: &str = "Nobody answered before the turn ended.";
const NO_RESULT: &str = "The turn ended before the tool gave a result.";

impl Ending {
    fn is_over(&self) -> bool {
        *self != Self::Paused
    }

    fn words(&self, finished: &str) -> Json {
        match self {
            Self::Cut(reason) if !reason.is_empty() => Json::string(reason),
            _ => Json::string(finished),
        }
    }
}

/// What a tool part is to become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Goal {
    /// Denied, and what it has of an output or error removed.
    Denied,
    /// Failed, with words.
    Failed,
    /// With the output it has, and an approval that allows it.
    Output,
    /// Waiting for the answer to its approval.
    Pending,
    /// Allowed and not yet run.
    Allowed,
    /// Only its input made whole.
    Waiting,
}

/// One chunk about the part in question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Move {
    Input,
    Request,
    Allow,
    Deny,
    Output,
    Error,
    Denied,
}

/// Makes `message` fit to be kept and gives the chunks that did it, already folded in, in order. Afterwards nothing is
/// open: a chunk of text or input that goes on needs its start again.
///
/// Some things no chunk can reach; they are changed in the message alone: a tool part that another part of the same tool
/// call id hides, what a denied call in an earlier step has of an output or error, an input that is missing there, and a
/// text that a second start of its id left open. [`super::mend`], asked for each chunk as it arrives, keeps the last and
/// the denied call with an output from happening.
pub fn settle(message: &mut Message, ending: &Ending) -> Vec<Chunk> {
    let mut injected = Vec::new();
    close_flows(message, &mut injected);
    for at in 0..message.parts.len() {
        if message.parts[at].kind.is_tool()
            && let Some(goal) = goal(Standing::of(&message.parts[at], &message.streams), ending)
        {
            reach(message, at, goal, ending, &mut injected);
        }
    }
    for part in message.parts.iter_mut().filter(|part| matches!(part.kind, PartKind::Text | PartKind::Reasoning)) {
        if ending.is_over() && part.state() == "streaming" {
            part.set_state("done");
        }
        if let Some(Value::Text(text)) = part.fields.get_mut("text") {
            text.close();
        }
    }
    message.close_fold();
    injected
}

fn close_flows(message: &mut Message, injected: &mut Vec<Chunk>) {
    let mut open: Vec<(usize, Flow, String)> = Vec::new();
    for flow in [Flow::Text, Flow::Reasoning] {
        open.extend(message.open(flow).iter().map(|(id, at)| (*at, flow, id.clone())));
    }
    open.sort_unstable_by_key(|(at, ..)| *at);
    for (_, flow, id) in open {
        let chunk = Chunk::of(flow.end(), &[("id", Json::string(&id))]);
        if fold_in(message, &chunk) {
            injected.push(chunk);
        }
    }
}

/// Folds a chunk of this module's own, for which the bounds have no say: a message at its bound has to be closed too.
fn fold_in(message: &mut Message, chunk: &Chunk) -> bool {
    let bounds = message.bounds.clone();
    message.bounds.max_message_bytes = usize::MAX / 2;
    message.bounds.max_chunk_bytes = usize::MAX / 2;
    message.bounds.max_json_depth = crate::json::MAX_DEPTH;
    let folded = message.apply(chunk).is_ok();
    message.bounds = bounds;
    folded
}

/// What has to change about a tool part, if anything.
fn goal(standing: Standing, ending: &Ending) -> Option<Goal> {
    let done = standing.is_valid() && standing.state.is_final();
    let goal = match (standing.state, standing.verdict) {
        _ if done => return None,
        (_, Verdict::No) | (ToolState::OutputDenied, _) | (ToolState::OutputError, Verdict::Pending) => Goal::Denied,
        (ToolState::OutputAvailable | ToolState::ApprovalResponded, _) if standing.output => Goal::Output,
        (ToolState::OutputAvailable, Verdict::Pending) => Goal::Denied,
        (ToolState::OutputError | ToolState::OutputAvailable, _) => Goal::Failed,
        (ToolState::ApprovalResponded, _) if standing.error => Goal::Failed,
        (_, Verdict::Yes) if ending.is_over() => Goal::Failed,
        (_, Verdict::Yes) => Goal::Allowed,
        (ToolState::ApprovalRequested, _) if standing.output && ending.is_over() => Goal::Output,
        (_, Verdict::Pending) if ending.is_over() => Goal::Denied,
        (_, Verdict::Pending) => Goal::Pending,
        (_, Verdict::None) if ending.is_over() => Goal::Failed,
        (_, Verdict::None) => Goal::Waiting,
    };
    let rests = matches!(goal, Goal::Allowed | Goal::Pending | Goal::Waiting);
    (!(rests && standing.is_valid())).then_some(goal)
}

/// Sequences that may reach a goal, the shortest first.
fn ways(goal: Goal) -> &'static [&'static [Move]] {
    use Move::{Allow, Denied, Deny, Error, Input, Output, Request};
    match goal {
        Goal::Denied => &[
            &[Denied],
            &[Deny, Denied],
            &[Input, Denied],
            &[Request, Deny, Denied],
            &[Input, Deny, Denied],
            &[Input, Request, Deny, Denied],
        ],
        Goal::Failed => &[&[Error], &[Input, Error]],
        Goal::Output => &[&[Output], &[Allow, Output], &[Input, Output], &[Input, Allow, Output]],
        Goal::Pending => &[&[Request], &[Input, Request]],
        Goal::Allowed => &[&[Allow], &[Input, Allow]],
        Goal::Waiting => &[&[Input]],
    }
}

fn is_reached(standing: Standing, goal: Goal) -> bool {
    standing.is_valid() && is_near(standing, goal)
}

/// Whether the state and the verdict are those of the goal.
fn is_near(standing: Standing, goal: Goal) -> bool {
    let (state, verdicts): (_, &[Verdict]) = match goal {
        Goal::Denied => (ToolState::OutputDenied, &[Verdict::No]),
        Goal::Failed => (ToolState::OutputError, &[Verdict::None, Verdict::Yes]),
        Goal::Output => (ToolState::OutputAvailable, &[Verdict::None, Verdict::Yes]),
        Goal::Pending => (ToolState::ApprovalRequested, &[Verdict::Pending]),
        Goal::Allowed => (ToolState::ApprovalResponded, &[Verdict::Yes]),
        Goal::Waiting => (ToolState::InputAvailable, &[Verdict::None]),
    };
    standing.state == state && verdicts.contains(&standing.verdict)
}

/// Brings a tool part to its goal, by chunks if any way leads there, else by changing it.
fn reach(message: &mut Message, at: usize, goal: Goal, ending: &Ending, injected: &mut Vec<Chunk>) {
    let original = message.parts[at].clone();
    let bytes = message.bytes;
    let kept = Kept::of(message, at, ending);
    // If no way leads to a valid part, the nearest: whoever follows sees the state and the verdict at least.
    for fits in [is_reached, is_near] {
        for way in ways(goal) {
            let chunks: Vec<Chunk> = way.iter().map(|step| kept.chunk(*step)).collect();
            let mut steps = way.iter().zip(&chunks);
            let walked = steps.all(|(step, chunk)| leads_to(message, at, *step, &kept) && fold_in(message, chunk));
            let standing = Standing::of(&message.parts[at], &message.streams);
            if walked && fits(standing, goal) {
                injected.extend(chunks);
                if !standing.is_valid() {
                    amend(message, at, goal, &kept);
                }
                return;
            }
            message.parts[at] = original.clone();
            message.bytes = bytes;
        }
    }
    amend(message, at, goal, &kept);
}

/// Whether a chunk for this move changes this part and no other.
fn leads_to(message: &Message, at: usize, step: Move, kept: &Kept) -> bool {
    let part = &message.parts[at];
    match step {
        Move::Input => message.input_part(part.call_id(), part.kind) == Some(at),
        Move::Allow | Move::Deny => message.approval_part(&kept.approval_id) == Some(at),
        Move::Request | Move::Output | Move::Error | Move::Denied => message.call_part(part.call_id()) == Some(at),
    }
}

/// Changes a part that no chunk reaches.
fn amend(message: &mut Message, at: usize, goal: Goal, kept: &Kept) {
    let approved = match goal {
        Goal::Denied => Some(false),
        Goal::Failed | Goal::Output if kept.has_approval => Some(true),
        _ => None,
    };
    let current = message.parts[at].fields.json("approval").and_then(Json::fields);
    let mut approval = current.unwrap_or_else(|| kept.approval.clone());
    if let Some(approved) = approved {
        match approval.iter_mut().find(|(name, _)| name == "approved") {
            Some((_, value)) => *value = Json::boolean(approved),
            None => approval.push(("approved".into(), Json::boolean(approved))),
        }
    } else if goal == Goal::Pending {
        approval.retain(|(name, _)| name != "approved" && name != "reason");
    }
    let approval = Json::object(approval.iter().map(|(name, value)| (&**name, value)));
    let input_missing = !Standing::of(&message.parts[at], &message.streams).input;
    message.change(at, |part| {
        if kept.has_approval || goal == Goal::Denied {
            part.fields.set("approval", approval);
        }
        if input_missing && goal != Goal::Failed {
            part.fields.set("input", kept.input.clone());
            if part.fields.has("rawInput") {
                part.fields.set("rawInput", Value::Undefined);
            }
        }
        for name in ["output", "preliminary", "errorText"] {
            let stays = matches!((goal, name), (Goal::Output, "output" | "preliminary") | (Goal::Failed, "errorText"));
            if !stays && part.fields.has(name) {
                part.fields.set(name, Value::Undefined);
            }
        }
        match goal {
            Goal::Failed => {
                if !part.fields.has("errorText") {
                    part.fields.set("errorText", kept.error.clone());
                }
                part.set_state("output-error");
            }
            Goal::Output => part.set_state("output-available"),
            Goal::Denied => part.set_state("output-denied"),
            Goal::Pending => part.set_state("approval-requested"),
            Goal::Allowed => part.set_state("approval-responded"),
            Goal::Waiting => part.set_state("input-available"),
        }
    });
}

/// What is needed of a part to say it again.
struct Kept {
    call_id: Json,
    tool_name: Json,
    dynamic: bool,
    input: Json,
    output: Option<Json>,
    preliminary: Option<Json>,
    error: Json,
    has_approval: bool,
    approval_id: String,
    approval: Vec<(String, Json)>,
    /// Why it is allowed or denied, if nobody said.
    allow: Json,
    deny: Json,
}

impl Kept {
    fn of(message: &Message, at: usize, ending: &Ending) -> Self {
        let part = &message.parts[at];
        let fields = &part.fields;
        let approval = fields.json("approval").and_then(|approval| fields_of(approval.as_str()));
        let has_approval = approval.is_some();
        let mut approval: Vec<(String, Json)> =
            approval.unwrap_or_default().into_iter().map(|(name, raw)| (name, Json::trusted(raw))).collect();
        if !has_approval {
            let id = free_approval_id(message, part.call_id());
            approval.push(("id".to_owned(), Json::string(&id)));
        }
        let field = |name: &str| approval.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone());
        let read = |name: &str| fields.get(name).and_then(|value| value.to_json(&message.streams));
        let answered = field("approved").is_some();
        let reason = field("reason").filter(|_| answered);
        Self {
            call_id: Json::string(part.call_id()),
            tool_name: Json::string(part.tool_name()),
            dynamic: part.kind == PartKind::DynamicTool,
            // An empty object is how the package itself writes an input that never arrived.
            input: read("input").or_else(|| read("rawInput")).unwrap_or_else(|| Json::trusted("{}")),
            output: fields.json("output").cloned(),
            preliminary: fields.json("preliminary").cloned(),
            error: fields.json("errorText").cloned().unwrap_or_else(|| ending.words(NO_RESULT)),
            approval_id: field("id").and_then(|id| id.as_string()).unwrap_or_default(),
            allow: reason.clone().unwrap_or_else(|| Json::string(RAN_WITHOUT_ANSWER)),
            deny: reason.unwrap_or_else(|| ending.words(NOT_ANSWERED)),
            approval,
            has_approval,
        }
    }

    fn chunk(&self, step: Move) -> Chunk {
        let call = ("toolCallId", self.call_id.clone());
        match step {
            Move::Input => {
                let mut fields = vec![call, ("toolName", self.tool_name.clone()), ("input", self.input.clone())];
                if self.dynamic {
                    fields.push(("dynamic", Json::boolean(true)));
                }
                Chunk::of("tool-input-available", &fields)
            }
            Move::Request => {
                let mut fields = vec![("approvalId", Json::string(&self.approval_id)), call];
                for (name, chunk_name) in [
                    ("descriptor", "approvalDescriptor"),
                    ("requestReason", "reason"),
                    ("isAutomatic", "isAutomatic"),
                    ("signature", "signature"),
                ] {
                    if let Some((_, value)) = self.approval.iter().find(|(key, _)| key == name) {
                        fields.push((chunk_name, value.clone()));
                    }
                }
                Chunk::of("tool-approval-request", &fields)
            }
            Move::Allow | Move::Deny => {
                let allow = step == Move::Allow;
                let reason = if allow { &self.allow } else { &self.deny };
                let mut fields =
                    vec![("approvalId", Json::string(&self.approval_id)), ("approved", Json::boolean(allow))];
                if self.says_why(allow) {
                    fields.push(("reason", reason.clone()));
                }
                Chunk::of("tool-approval-response", &fields)
            }
            Move::Output => {
                let mut fields = vec![call, ("output", self.output.clone().unwrap_or_else(Json::null))];
                if let Some(preliminary) = &self.preliminary {
                    fields.push(("preliminary", preliminary.clone()));
                }
                Chunk::of("tool-output-available", &fields)
            }
            Move::Error => Chunk::of("tool-output-error", &[call, ("errorText", self.error.clone())]),
            Move::Denied => Chunk::of("tool-output-denied", &[call]),
        }
    }

    /// An answer that is only repeated needs no reason beyond the one it had.
    fn says_why(&self, allow: bool) -> bool {
        let said = self.approval.iter().find(|(name, _)| name == "approved").map(|(_, value)| value.as_bool());
        said != Some(Some(allow))
    }
}

/// An approval id that no tool call of the message has.
fn free_approval_id(message: &Message, call_id: &str) -> String {
    let mut id = format!("denied-{call_id}");
    let mut count = 1_usize;
    while message.approval_part(&id).is_some() {
        count += 1;
        id = format!("denied-{call_id}-{count}");
    }
    id
}
