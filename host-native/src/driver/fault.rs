//! When the engine breaks down: what met it is written out, agents are ended, and a new engine is filled from the store.

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::message::Message;
use super::runtime::Runtime;
use super::{Driver, ids};
use crate::engine::EngineFault;
use crate::engine::types::{Input, Now};
use crate::manager::SessionError;

/// The longest pause before a new engine, when one after the other breaks down.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// What was found at a breakdown.
#[derive(Debug)]
pub(super) struct Broken {
    since: tokio::time::Instant,
}

pub(super) fn broken_down() -> SessionError {
    SessionError::unavailable(
        "The engine broke down and is being started anew; look at the session in a moment to see how it stands.",
    )
}

impl Driver {
    /// Ends everything of the engine that broke down. [`Message::Restart`] follows when it has ended.
    pub(super) fn break_down(&mut self, fault: EngineFault, now: Now, session: Option<String>, input: &Value) {
        tracing::error!(session, "{fault}");
        self.totals.engine_faults += 1;
        if let Some(directory) = &self.fault_reports {
            let report = json!({ "fault": fault.to_string(), "session": session, "now": now, "input": input });
            if let Err(error) = write_report(directory, &report) {
                tracing::error!(%error, "the report of the breakdown cannot be written");
            }
        }
        drop(fault);
        let error = broken_down();
        self.replies.fail_all(&error);
        self.turns.end_all(&error);
        for (_, slice) in self.slices.drain() {
            slice.give_up();
        }
        self.saving.clear();
        self.ready = false;
        self.broken = Some(Broken { since: tokio::time::Instant::now() });
        self.era += 1;
        let fresh = Runtime::new(self.ports.clone(), self.reporter(), &self.config.limits);
        let ending = std::mem::replace(&mut self.runtime, fresh).end_all();
        let pause = Duration::from_millis(100).saturating_mul(1 << self.faults_in_a_row.min(16)).min(LONGEST_PAUSE);
        self.faults_in_a_row += 1;
        let first = self.faults_in_a_row == 1;
        let queue = self.queue.clone();
        tokio::spawn(async move {
            ending.await;
            if !first {
                tokio::time::sleep(pause).await;
            }
            // A loop that has ended needs no engine.
            let _ = queue.send(Message::Restart { session });
        });
    }

    /// Begins with a new engine.
    pub(super) fn restart(&mut self, session: Option<String>) {
        let Some(broken) = self.broken.take() else { return };
        tracing::info!(after = ?broken.since.elapsed(), "the engine starts anew");
        self.config.epoch = ids::mint();
        self.config.faulted = session;
        match self.compiled.instance(&self.config) {
            Ok(engine) => {
                self.engine = engine;
                if let Some(journal) = &mut self.journal {
                    journal.config(&self.config);
                }
                // A start is no command: nothing can refuse it.
                let _ = self.step(&Input::Start);
            }
            Err(fault) => {
                let now = self.timer.now();
                self.break_down(fault, now, None, &Value::Null);
            }
        }
    }
}

fn write_report(directory: &Path, report: &Value) -> std::io::Result<()> {
    std::fs::create_dir_all(directory)?;
    let path = directory.join(format!("engine-fault-{}.json", ids::mint()));
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(format!("{report:#}\n").as_bytes())
}
