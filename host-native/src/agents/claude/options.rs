//! How the CLI is run: what an application sets once for all its sessions, and the deadlines that keep a session from
//! getting stuck.

use std::fmt;
use std::time::Duration;

/// A value that is never shown: `Debug` prints no part of it.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Secret(String);

impl Secret {
    /// The value, for the environment of the process that needs it.
    pub(super) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// Options of the Claude Code agent. Every setter returns the options.
#[derive(Debug, Clone)]
pub struct ClaudeOptions {
    pub(super) program: String,
    pub(super) env: Vec<(String, Secret)>,
    pub(super) extra_args: Vec<String>,
    pub(super) hold: Duration,
    pub(super) gather: Duration,
    pub(super) silence: Duration,
    pub(super) turn: Duration,
    pub(super) start: Duration,
    pub(super) reask: Duration,
    pub(super) grace: Duration,
    pub(super) max_line: usize,
}

impl ClaudeOptions {
    /// Options for this program, a name looked up in the sandbox's `PATH` or a path.
    #[must_use]
    pub fn new(program: impl Into<String>) -> Self {
        let options = Self {
            program: program.into(),
            env: Vec::new(),
            extra_args: Vec::new(),
            hold: Duration::from_secs(30),
            gather: Duration::from_millis(150),
            silence: Duration::from_mins(2),
            turn: Duration::from_hours(1),
            start: Duration::from_secs(30),
            reask: Duration::from_secs(5),
            grace: Duration::from_secs(5),
            max_line: 16 << 20,
        };
        // Tasks in the background would begin turns that nobody asked for.
        let switches =
            ["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_AUTOUPDATER", "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS"];
        switches.into_iter().fold(options, |options, name| options.env(name, "1")).max_retries(1)
    }

    /// Sets a variable of the agent's environment. The value is treated as a secret.
    #[must_use]
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        let name = name.into();
        self.env.retain(|(known, _)| *known != name);
        self.env.push((name, Secret(value.into())));
        self
    }

    /// The key of the model service (`ANTHROPIC_API_KEY`).
    #[must_use]
    pub fn api_key(self, key: impl Into<String>) -> Self {
        self.env("ANTHROPIC_API_KEY", key)
    }

    /// Where the model service is reached (`ANTHROPIC_BASE_URL`).
    #[must_use]
    pub fn base_url(self, url: impl Into<String>) -> Self {
        self.env("ANTHROPIC_BASE_URL", url)
    }

    /// How often the agent tries a failed model request again; 1 by default, so that errors show within a minute.
    #[must_use]
    pub fn max_retries(self, retries: u32) -> Self {
        self.env("CLAUDE_CODE_MAX_RETRIES", retries.to_string())
    }

    /// Appends an argument to the command line.
    #[must_use]
    pub fn arg(mut self, argument: impl Into<String>) -> Self {
        self.extra_args.push(argument.into());
        self
    }

    /// How long a paused turn keeps its process before the call is deferred and the process let go; 30 s by default.
    #[must_use]
    pub fn hold(mut self, hold: Duration) -> Self {
        self.hold = hold;
        self
    }

    /// How long a running turn may show no sign of life; 120 s by default. A running tool and a held call do not
    /// count.
    #[must_use]
    pub fn silence(mut self, silence: Duration) -> Self {
        self.silence = silence;
        self
    }

    /// How long one slice of a turn may take; an hour by default.
    #[must_use]
    pub fn turn(mut self, turn: Duration) -> Self {
        self.turn = turn;
        self
    }

    /// How long the program may take to answer after it was started; 30 s by default.
    #[must_use]
    pub fn start(mut self, start: Duration) -> Self {
        self.start = start;
        self
    }

    /// How long a resumed process may take to ask again for what it deferred, before it is told in words; 5 s by
    /// default.
    #[must_use]
    pub fn reask(mut self, reask: Duration) -> Self {
        self.reask = reask;
        self
    }
}
