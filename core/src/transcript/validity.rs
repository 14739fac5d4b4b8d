//! Whether a message passes the package's `validateUIMessages`. Single fields are checked where chunks and messages are
//! read; what remains is what has to fit together: role and parts, and the fields of a tool call with its state.

use super::fields::{Part, Value};
use super::message::{Message, Role};
use super::piece::Growing;
use super::tool::{ToolPart, ToolState};

/// How the approval of a tool call stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// None was asked for.
    None,
    Pending,
    Yes,
    No,
}

/// What decides whether a tool part is valid.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each says whether one field has a value")]
pub(crate) struct Standing {
    pub(crate) state: ToolState,
    pub(crate) verdict: Verdict,
    pub(crate) input: bool,
    pub(crate) output: bool,
    pub(crate) error: bool,
    /// The approval has a reason given with an answer.
    reason: bool,
}

impl Standing {
    pub(crate) fn of(part: &Part, streams: &[Growing]) -> Self {
        let tool = ToolPart { part, streams };
        let approval = tool.approval();
        let verdict = match approval.as_ref().map(|approval| approval.approved) {
            None => Verdict::None,
            Some(None) => Verdict::Pending,
            Some(Some(true)) => Verdict::Yes,
            Some(Some(false)) => Verdict::No,
        };
        let input = match part.fields.get("input") {
            Some(Value::Partial { .. }) => tool.input().is_some(),
            other => !matches!(other, None | Some(Value::Undefined)),
        };
        Self {
            state: tool.state(),
            verdict,
            input,
            output: part.fields.has("output"),
            error: part.fields.has("errorText"),
            reason: approval.is_some_and(|approval| approval.reason.is_some()),
        }
    }

    pub(crate) fn is_valid(self) -> bool {
        let open = !self.output && !self.error;
        let settled = matches!(self.verdict, Verdict::None | Verdict::Yes);
        match self.state {
            ToolState::InputStreaming => open && self.verdict == Verdict::None,
            ToolState::InputAvailable => open && self.input && self.verdict == Verdict::None,
            ToolState::ApprovalRequested => open && self.input && self.verdict == Verdict::Pending && !self.reason,
            ToolState::ApprovalResponded => open && self.input && matches!(self.verdict, Verdict::Yes | Verdict::No),
            ToolState::OutputAvailable => self.input && self.output && !self.error && settled,
            ToolState::OutputError => !self.output && self.error && settled,
            ToolState::OutputDenied => open && self.input && self.verdict == Verdict::No,
        }
    }
}

impl Message {
    /// Whether the package's validation takes the message.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        let tools = self.parts.iter().filter(|part| part.kind.is_tool());
        let mut standings = tools.map(|part| Standing::of(part, &self.streams));
        standings.all(Standing::is_valid) && (self.role == Role::Assistant || !self.parts.is_empty())
    }
}
