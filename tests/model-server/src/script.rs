//! What a scripted model says, so that a test can be read as the conversation it plays.

use serde::Deserialize;
use serde_json::Value;

/// What the model of one session answers, request by request.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Script {
    /// Answers to main requests: the first that is not used up and whose condition holds is played.
    pub replies: Vec<Reply>,
}

impl Script {
    /// A script of replies that are each played once, in order.
    #[must_use]
    pub fn new(replies: impl IntoIterator<Item = Reply>) -> Self {
        Self { replies: replies.into_iter().collect() }
    }
}

/// One answer of the model.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reply {
    /// Plays only when the last message's text holds this.
    #[serde(default)]
    pub when_last: Option<String>,
    /// How often it may be played.
    #[serde(default = "once")]
    pub times: u32,
    /// What happens, in order.
    pub steps: Vec<Step>,
}

fn once() -> u32 {
    1
}

impl Reply {
    /// A reply that is played once.
    #[must_use]
    pub fn new(steps: impl IntoIterator<Item = Step>) -> Self {
        Self { when_last: None, times: once(), steps: steps.into_iter().collect() }
    }

    /// A reply of text alone.
    #[must_use]
    pub fn text(text: &str) -> Self {
        Self::new([Step::text(text)])
    }

    /// A reply of one tool call.
    #[must_use]
    pub fn tool(id: &str, name: &str, input: Value) -> Self {
        Self::new([Step::tool(id, name, input)])
    }

    /// An error status, as often as it is asked for.
    #[must_use]
    pub fn error(status: u16) -> Self {
        Self::new([Step::Error { status, kind: None, message: None }]).repeated()
    }

    /// The same without an end.
    #[must_use]
    pub fn repeated(mut self) -> Self {
        self.times = u32::MAX;
        self
    }

    /// The same, only when the last message's text holds this.
    #[must_use]
    pub fn when_last(mut self, text: &str) -> Self {
        self.when_last = Some(text.to_owned());
        self
    }
}

/// One thing that happens in an answer.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum Step {
    /// Text in pieces of `chunk` characters (0: one piece), `delay_ms` milliseconds apart.
    Text {
        /// The text.
        text: String,
        /// Characters in a piece.
        #[serde(default)]
        chunk: usize,
        /// Milliseconds before each piece.
        #[serde(default)]
        delay_ms: u64,
    },
    /// Thinking, in one piece.
    Thinking {
        /// The text.
        text: String,
    },
    /// A text block of deltas given as JSON string literals, so that a surrogate pair can be cut in two.
    RawText {
        /// JSON string literals.
        deltas: Vec<String>,
    },
    /// A tool call.
    Tool {
        /// Its id, unique in the conversation.
        id: String,
        /// The tool's name.
        name: String,
        /// Its input.
        input: Value,
    },
    /// Nothing for so many milliseconds.
    Sleep {
        /// Milliseconds.
        ms: u64,
    },
    /// Nothing more, with the stream kept open; as the first step, not even headers.
    Stall,
    /// The connection is cut.
    Drop,
    /// As the first step an HTTP error; later an error event in the stream.
    Error {
        /// The HTTP status.
        status: u16,
        /// The error's type; by default the one that goes with the status.
        #[serde(default)]
        kind: Option<String>,
        /// The error's message.
        #[serde(default)]
        message: Option<String>,
    },
}

impl Step {
    /// Text in one piece.
    #[must_use]
    pub fn text(text: &str) -> Self {
        Self::Text { text: text.to_owned(), chunk: 0, delay_ms: 0 }
    }

    /// A tool call.
    #[must_use]
    pub fn tool(id: &str, name: &str, input: Value) -> Self {
        Self::Tool { id: id.to_owned(), name: name.to_owned(), input }
    }
}
