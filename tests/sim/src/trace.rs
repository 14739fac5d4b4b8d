//! What happened in a run, line by line, so that a failing one can be read and two runs can be compared.

use std::hash::{DefaultHasher, Hash, Hasher};

/// The lines of a run; kept only when asked for.
#[derive(Debug)]
pub struct Trace {
    keep: bool,
    lines: Vec<String>,
    mark: u64,
}

impl Trace {
    /// A trace that keeps its lines, or only their mark.
    #[must_use]
    pub fn new(keep: bool) -> Self {
        Self { keep, lines: Vec::new(), mark: 0 }
    }

    /// Adds a line.
    pub fn line(&mut self, line: String) {
        let mut hasher = DefaultHasher::new();
        (self.mark, &line).hash(&mut hasher);
        self.mark = hasher.finish();
        if self.keep {
            self.lines.push(line);
        }
    }

    /// A mark of all lines.
    #[must_use]
    pub fn mark(&self) -> u64 {
        self.mark
    }

    /// The lines kept.
    #[must_use]
    pub fn lines(&self) -> &[String] {
        &self.lines
    }
}
