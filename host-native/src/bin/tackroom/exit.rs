//! How the program ends: one code for each kind of failure, so that scripts can tell them apart.

use std::fmt;
use std::process::ExitCode;

/// Explained at the end of `--help`.
pub(crate) const CODES: &str = "Exit codes:
  0  done
  1  it failed
  2  the command line, the environment or the configuration file is wrong
  3  there is no such session
  4  the session cannot do it in its status
  5  the server, the store or a sandbox is not available now";

/// What kind of failure it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Failed = 1,
    Usage = 2,
    NotFound = 3,
    Conflict = 4,
    Unavailable = 5,
}

/// Why a command ended without success: a sentence for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) kind: Kind,
    pub(crate) message: String,
}

impl Failure {
    pub(crate) fn new(kind: Kind, message: impl fmt::Display) -> Self {
        Self { kind, message: message.to_string() }
    }

    pub(crate) fn failed(message: impl fmt::Display) -> Self {
        Self::new(Kind::Failed, message)
    }

    pub(crate) fn usage(message: impl fmt::Display) -> Self {
        Self::new(Kind::Usage, message)
    }

    pub(crate) fn unavailable(message: impl fmt::Display) -> Self {
        Self::new(Kind::Unavailable, message)
    }

    pub(crate) fn code(&self) -> ExitCode {
        ExitCode::from(self.kind as u8)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::failed(format!("Reading or writing failed: {error}"))
    }
}
