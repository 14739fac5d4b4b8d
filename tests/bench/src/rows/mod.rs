//! What is measured, a module for each row of goals.

mod chunks;
mod conversation;
mod crowd;
mod engine;
mod http;
mod live;
mod long_message;
mod resume;
mod send;
mod start;
mod suspended;

use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;

use anyhow::{Result, bail};
use serde_json::Value;

use crate::report::Row;

/// What every measurement is told.
#[derive(Debug, Clone)]
pub(crate) struct Ground {
    /// Few samples of small worlds.
    pub(crate) quick: bool,
    /// A directory on the disk, empty at the start.
    pub(crate) directory: PathBuf,
}

impl Ground {
    /// The whole count, or the one of a quick run.
    pub(crate) fn count(&self, whole: u32, quick: u32) -> u32 {
        if self.quick { quick } else { whole }
    }

    /// Where the engine's machine code is kept over the measurements.
    pub(crate) fn cache(&self) -> PathBuf {
        self.directory.join("cache")
    }
}

type Measured<'a> = Pin<Box<dyn Future<Output = Result<Vec<Row>>> + 'a>>;

/// Rows that are measured together.
pub(crate) struct Group {
    pub(crate) name: &'static str,
    pub(crate) measure: fn(&Ground) -> Measured<'_>,
}

/// Everything, in the order of the table.
pub(crate) const GROUPS: [Group; 11] = [
    Group { name: "engine", measure: |ground| Box::pin(async move { engine::of_crate(ground) }) },
    Group { name: "component", measure: |ground| Box::pin(async move { engine::of_component(ground) }) },
    Group { name: "long-message", measure: |ground| Box::pin(async move { long_message::measure(ground) }) },
    Group { name: "start", measure: |ground| Box::pin(async move { start::measure(ground) }) },
    Group { name: "chunks", measure: |ground| Box::pin(chunks::measure(ground)) },
    Group { name: "http", measure: |ground| Box::pin(http::measure(ground)) },
    Group { name: "send", measure: |ground| Box::pin(send::measure(ground)) },
    Group { name: "conversation", measure: |ground| Box::pin(conversation::measure(ground)) },
    Group { name: "suspended", measure: |ground| Box::pin(suspended::measure(ground)) },
    Group { name: "live", measure: |ground| Box::pin(async move { live::measure(ground) }) },
    Group { name: "resume", measure: |ground| Box::pin(resume::measure(ground)) },
];

/// Runs a measurement in this process, which was started for it, and gives what it found.
pub(crate) async fn in_child(name: &str, arguments: &[String]) -> Result<Value> {
    match name {
        start::CHILD => start::in_child(arguments),
        suspended::CHILD => suspended::in_child(arguments).await,
        live::CHILD => live::in_child(arguments).await,
        other => bail!("There is no measurement {other:?} for a process of its own."),
    }
}
