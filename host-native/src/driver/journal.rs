//! A file of everything that reached the engine, one JSON text a line, so that it can be played again.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use serde::Serialize;
use serde_json::json;

use super::redact;
use crate::engine::types::{Chunk, Config, Input, Now};

/// See the module. A journal that cannot be written any more is given up with a warning: it never stops the host.
pub(super) struct Journal {
    file: Option<BufWriter<File>>,
}

impl Journal {
    /// Opens the file, readable by its owner alone, and notes the engine's configuration.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).mode(0o600).open(path)?;
        Ok(Self { file: Some(BufWriter::new(file)) })
    }

    /// A new engine begins.
    pub(super) fn config(&mut self, config: &Config) {
        self.line(&json!({ "config": config }));
    }

    pub(super) fn input(&mut self, now: Now, input: &Input) {
        self.line(&json!({ "now": now, "input": redact::without_secrets(input) }));
    }

    pub(super) fn push(&mut self, now: Now, session: &str, turn: &str, cursor: u64, chunks: &[Chunk]) {
        let push = json!({ "session": session, "turn": turn, "cursor": cursor, "chunks": chunks });
        self.line(&json!({ "now": now, "push": push }));
    }

    /// Hands what was noted over to the system.
    pub(super) fn flush(&mut self) {
        if let Some(file) = &mut self.file {
            let flushed = file.flush();
            self.check(flushed);
        }
    }

    fn line(&mut self, entry: &impl Serialize) {
        let Some(file) = &mut self.file else { return };
        let written = serde_json::to_writer(&mut *file, entry).map_err(io::Error::from);
        let written = written.and_then(|()| file.write_all(b"\n"));
        self.check(written);
    }

    fn check(&mut self, written: io::Result<()>) {
        if let Err(error) = written {
            tracing::warn!(%error, "the journal is given up: it cannot be written");
            self.file = None;
        }
    }
}
