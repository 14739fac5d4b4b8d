//! Counts for Prometheus: of the manager, and of the requests that were answered.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::manager::Stats;

/// Method, route and status of answered requests. Routes are templates, so there are only so many.
type Answered = (String, String, u16);

/// Counts of the server.
#[derive(Debug, Default)]
pub(super) struct Metrics {
    answered: Mutex<BTreeMap<Answered, u64>>,
    /// Connections open now.
    pub(super) connections: AtomicU64,
    /// Event streams open now.
    pub(super) streams: AtomicU64,
}

impl Metrics {
    pub(super) fn count(&self, method: &str, route: &str, status: u16) {
        let mut answered = self.answered.lock().unwrap_or_else(PoisonError::into_inner);
        *answered.entry((method.to_owned(), route.to_owned(), status)).or_default() += 1;
    }

    /// The whole page, in the text format 0.0.4.
    pub(super) fn page(&self, stats: &Stats) -> String {
        let mut page = String::new();
        for (name, help, value) in gauges(stats) {
            put(&mut page, name, "gauge", help, value);
        }
        let open = [
            ("tackroom_http_connections", "Connections open now.", &self.connections),
            ("tackroom_http_streams", "Event streams open now.", &self.streams),
        ];
        for (name, help, value) in open {
            put(&mut page, name, "gauge", help, value.load(Ordering::Relaxed));
        }
        for (name, help, value) in totals(stats) {
            put(&mut page, name, "counter", help, value);
        }
        head(&mut page, "tackroom_http_requests_total", "counter", "Requests answered.");
        for ((method, route, status), count) in &*self.answered.lock().unwrap_or_else(PoisonError::into_inner) {
            // Writing into a string cannot fail.
            let _ = writeln!(
                page,
                "tackroom_http_requests_total{{method=\"{method}\",route=\"{route}\",status=\"{status}\"}} {count}"
            );
        }
        page
    }
}

type Row = (&'static str, &'static str, u64);

fn gauges(stats: &Stats) -> Vec<Row> {
    let mut rows = vec![
        ("tackroom_ready", "Whether calls are taken.", u64::from(stats.ready)),
        ("tackroom_sessions_in_memory", "Sessions in memory.", stats.sessions.into()),
        ("tackroom_sessions_live", "Sessions that hold an agent or are getting one.", stats.live.into()),
        ("tackroom_sandboxes_held", "Sandboxes held, those being given back included.", stats.leases.into()),
        ("tackroom_sessions_waiting", "Sessions that wait for a sandbox.", stats.waiting.into()),
        ("tackroom_operations", "Operations of store, sandboxes and agents under way.", stats.effects.into()),
    ];
    if let Some(capacity) = stats.capacity {
        rows.push(("tackroom_sandboxes_capacity", "The most sandboxes at once.", capacity.into()));
    }
    rows
}

fn totals(stats: &Stats) -> Vec<Row> {
    let totals = &stats.totals;
    vec![
        ("tackroom_commands_total", "Commands taken in.", totals.commands),
        ("tackroom_commands_refused_total", "Commands refused.", totals.refused),
        ("tackroom_turns_started_total", "Turns whose first stream opened.", totals.streams_opened),
        ("tackroom_streams_finished_total", "Streams that ended with the turn's end.", totals.finished),
        ("tackroom_streams_paused_total", "Streams that ended with a pause.", totals.paused),
        ("tackroom_streams_failed_total", "Streams that ended with an error.", totals.failed),
        ("tackroom_streams_interrupted_total", "Streams that were cut short.", totals.interrupted),
        ("tackroom_undelivered_total", "Messages or answers that did not reach the agent.", totals.undelivered),
        ("tackroom_chunks_total", "Chunks forwarded to streams.", totals.chunks),
        ("tackroom_saves_total", "Writes of sessions that the store took.", totals.saves),
        ("tackroom_store_failures_total", "Operations of the store that failed.", totals.store_failures),
        ("tackroom_warnings_total", "Failures that no caller waited for.", totals.warnings),
        ("tackroom_engine_faults_total", "Times that the engine had to be made anew.", totals.engine_faults),
    ]
}

fn head(page: &mut String, name: &str, kind: &str, help: &str) {
    // Writing into a string cannot fail.
    let _ = writeln!(page, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

fn put(page: &mut String, name: &str, kind: &str, help: &str, value: u64) {
    head(page, name, kind, help);
    let _ = writeln!(page, "{name} {value}");
}
