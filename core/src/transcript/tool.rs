//! A tool call as the engine reads it.

use alloc::string::String;

use super::fields::Part;
use super::piece::Growing;
use crate::json::Json;

/// Where a tool call stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolState {
    /// Its input is still arriving.
    InputStreaming,
    /// Its input is there; it runs, or waits for the application.
    InputAvailable,
    /// It waits for an approval.
    ApprovalRequested,
    /// The approval was answered.
    ApprovalResponded,
    /// It has an output.
    OutputAvailable,
    /// It failed.
    OutputError,
    /// It was denied.
    OutputDenied,
}

impl ToolState {
    const ALL: [Self; 7] = [
        Self::InputStreaming,
        Self::InputAvailable,
        Self::ApprovalRequested,
        Self::ApprovalResponded,
        Self::OutputAvailable,
        Self::OutputError,
        Self::OutputDenied,
    ];

    /// The state as it is written.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InputStreaming => "input-streaming",
            Self::InputAvailable => "input-available",
            Self::ApprovalRequested => "approval-requested",
            Self::ApprovalResponded => "approval-responded",
            Self::OutputAvailable => "output-available",
            Self::OutputError => "output-error",
            Self::OutputDenied => "output-denied",
        }
    }

    pub(crate) fn of(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == text)
    }

    /// Whether nothing more is expected.
    #[must_use]
    pub fn is_final(self) -> bool {
        matches!(self, Self::OutputAvailable | Self::OutputError | Self::OutputDenied)
    }
}

/// The approval of a tool call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approval {
    /// Its id.
    pub id: String,
    /// The answer, once there is one.
    pub approved: Option<bool>,
    /// The reason given with the answer.
    pub reason: Option<String>,
}

/// A tool call in a message.
#[derive(Clone, Copy, Debug)]
pub struct ToolPart<'a> {
    pub(crate) part: &'a Part,
    pub(crate) streams: &'a [Growing],
}

impl<'a> ToolPart<'a> {
    /// The id of the call. Two parts can have the same.
    #[must_use]
    pub fn tool_call_id(&self) -> &'a str {
        self.part.call_id()
    }

    /// The name of the tool.
    #[must_use]
    pub fn tool_name(&self) -> &'a str {
        self.part.tool_name()
    }

    /// Where it stands.
    #[must_use]
    pub fn state(&self) -> ToolState {
        ToolState::of(self.part.state()).unwrap_or(ToolState::InputStreaming)
    }

    /// Its input. One that is still arriving is repaired here, at a cost that grows with it; `None` if nothing of it can
    /// be read yet.
    #[must_use]
    pub fn input(&self) -> Option<Json> {
        self.part.fields.get("input").and_then(|input| input.to_json(self.streams))
    }

    /// Its output.
    #[must_use]
    pub fn output(&self) -> Option<&'a Json> {
        self.part.fields.json("output")
    }

    /// Whether it has an output.
    #[must_use]
    pub fn has_output(&self) -> bool {
        self.output().is_some()
    }

    /// Why it failed.
    #[must_use]
    pub fn error_text(&self) -> Option<String> {
        self.part.fields.json("errorText").and_then(Json::as_string)
    }

    /// Whether the agent runs it itself.
    #[must_use]
    pub fn provider_executed(&self) -> bool {
        self.part.fields.json("providerExecuted").and_then(Json::as_bool) == Some(true)
    }

    /// Its approval, if one was asked for.
    #[must_use]
    pub fn approval(&self) -> Option<Approval> {
        let approval = self.part.fields.json("approval")?;
        Some(Approval {
            id: approval.field("id")?.as_string()?,
            approved: approval.field("approved").and_then(|approved| approved.as_bool()),
            reason: approval.field("reason").and_then(|reason| reason.as_string()),
        })
    }
}
