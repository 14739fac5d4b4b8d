//! The scenario file as its author writes it: parsed strictly, so that a typing error is told and not played.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use super::program::Program;

/// A scenario that the scripted agent plays. `docs/scripted.md` describes the file.
#[derive(Debug)]
pub struct Scenario {
    pub(super) program: Program,
}

/// Why a scenario cannot be played.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScenarioError {
    /// The file cannot be read.
    #[error("The scenario {path} cannot be read: {source}")]
    Read {
        /// The path as given.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// The text is not JSON, or not a scenario.
    #[error("The scenario is not valid: {0}")]
    Parse(#[from] serde_json::Error),
    /// A value is out of its bounds.
    #[error("The scenario is not valid at {at}: {reason}")]
    Invalid {
        /// Where, such as `turns[2].match`.
        at: String,
        /// What is wrong, and what would be right.
        reason: String,
    },
}

impl Scenario {
    /// Reads a scenario from JSON text.
    ///
    /// # Errors
    /// [`ScenarioError::Parse`] and [`ScenarioError::Invalid`].
    pub fn parse(text: &str) -> Result<Self, ScenarioError> {
        Ok(Self { program: Program::compile(serde_json::from_str(text)?)? })
    }

    /// Reads a scenario from a file. Blocks.
    ///
    /// # Errors
    /// Any [`ScenarioError`].
    pub fn load(path: impl AsRef<Path>) -> Result<Self, ScenarioError> {
        let path = path.as_ref();
        let text = std::fs::read_to_string(path)
            .map_err(|source| ScenarioError::Read { path: path.display().to_string(), source })?;
        Self::parse(&text)
    }

    /// The built-in scenario: a small story with reasoning, a tool that runs at once, one that asks first, a question,
    /// and then an echo of each prompt.
    ///
    /// # Panics
    /// Never: a test parses it.
    #[must_use]
    pub fn demo() -> Self {
        Self::parse(include_str!("demo.json")).expect("the built-in scenario is valid, as a test shows")
    }

    /// A scenario without turns: each prompt is echoed.
    ///
    /// # Panics
    /// Never: it is the smallest scenario there is.
    #[must_use]
    pub fn echo() -> Self {
        Self::parse("{}").expect("an empty scenario is valid")
    }
}

/// The whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct File {
    /// Characters of each streamed piece of text.
    #[serde(default = "default_chars")]
    pub(super) chars: usize,
    /// Milliseconds after each piece.
    #[serde(default)]
    pub(super) delay_ms: u64,
    #[serde(default)]
    pub(super) turns: Vec<Turn>,
    /// Played when no turn fits; an echo where absent.
    #[serde(default)]
    pub(super) default: Option<Vec<Step>>,
}

fn default_chars() -> usize {
    12
}

/// What is played on one prompt.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Turn {
    /// A regular expression on the prompt. A turn with one is played whenever it fits, one without in its order, once.
    #[serde(default, rename = "match")]
    pub(super) pattern: Option<String>,
    /// For a turn without `match`: played for every prompt from its place on.
    #[serde(default)]
    pub(super) repeat: bool,
    #[serde(default)]
    pub(super) usage: Option<UsageOf>,
    pub(super) steps: Vec<Step>,
}

/// What the turn is said to have used.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub(super) struct UsageOf {
    pub(super) input_tokens: u32,
    pub(super) output_tokens: u32,
    pub(super) cost_micro_usd: u32,
}

/// One step of a turn.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub(super) enum Step {
    Text {
        text: String,
        #[serde(default)]
        chars: Option<usize>,
        #[serde(default)]
        delay_ms: Option<u64>,
    },
    Reasoning {
        text: String,
        #[serde(default)]
        chars: Option<usize>,
        #[serde(default)]
        delay_ms: Option<u64>,
    },
    /// One command.
    Tool(CallOf),
    /// Several at once.
    Tools {
        calls: Vec<CallOf>,
        #[serde(default)]
        when_allowed: Vec<Step>,
        #[serde(default)]
        when_denied: Vec<Step>,
    },
    /// A tool of the application: waits for its result.
    Question {
        #[serde(default = "question_tool")]
        tool: String,
        input: Value,
        #[serde(default)]
        when_denied: Vec<Step>,
    },
    Delay {
        ms: u64,
    },
    Burst {
        count: u64,
        #[serde(default = "burst_size")]
        size: usize,
        #[serde(default = "burst_batch")]
        batch: usize,
    },
    Chunk {
        chunk: Value,
    },
    Fail {
        message: String,
        #[serde(default = "yes")]
        alive: bool,
    },
    Hang {},
    Exit {
        #[serde(default = "exit_message")]
        message: String,
    },
}

/// A call of a tool. Without a command it is a tool of the application.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct CallOf {
    #[serde(default = "shell_tool")]
    pub(super) tool: String,
    #[serde(default)]
    pub(super) command: Option<CommandOf>,
    /// What is shown as the call's input; `{"command": ...}` where absent.
    #[serde(default)]
    pub(super) input: Option<Value>,
    /// Whether a person or a policy has to allow it.
    #[serde(default)]
    pub(super) approval: bool,
    #[serde(default)]
    pub(super) env: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) cwd: Option<String>,
    /// Milliseconds after which the command is killed.
    #[serde(default = "command_timeout")]
    pub(super) timeout_ms: u64,
    /// Bytes kept of each of the command's streams.
    #[serde(default = "command_output")]
    pub(super) max_output: usize,
    /// Played next when it was allowed. Only where the call is a step by itself.
    #[serde(default)]
    pub(super) when_allowed: Vec<Step>,
    /// Played next when it was denied. Only where the call is a step by itself.
    #[serde(default)]
    pub(super) when_denied: Vec<Step>,
}

/// A command: a line for `/bin/sh`, or a program and its arguments.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, serde::Serialize)]
#[serde(untagged)]
pub(super) enum CommandOf {
    Line(String),
    Words(Vec<String>),
}

fn question_tool() -> String {
    "AskUserQuestion".to_owned()
}

fn shell_tool() -> String {
    "bash".to_owned()
}

fn exit_message() -> String {
    "The scripted agent left.".to_owned()
}

fn burst_size() -> usize {
    20
}

fn burst_batch() -> usize {
    16
}

fn command_timeout() -> u64 {
    120_000
}

fn command_output() -> usize {
    64 * 1024
}

fn yes() -> bool {
    true
}
