//! Counts of a running host, for metrics and health checks.

/// Counts over all sessions and since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    /// Sessions in memory.
    pub sessions: u32,
    /// Of these, live ones.
    pub live: u32,
    /// Sandboxes held, those being given back included.
    pub leases: u32,
    /// The most sandboxes at once, where there is such a bound.
    pub capacity: Option<u32>,
    /// Sessions that wait for a sandbox.
    pub waiting: u32,
    /// Operations of adapters under way.
    pub effects: u32,
    /// Whether calls are taken.
    pub ready: bool,
    /// Since the start.
    pub totals: Totals,
}

/// Counts since the start of the host.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Commands taken in.
    pub commands: u64,
    /// Commands refused.
    pub refused: u64,
    /// Turns whose first stream opened.
    pub streams_opened: u64,
    /// Streams that ended with the turn's end.
    pub finished: u64,
    /// Streams that ended with a pause.
    pub paused: u64,
    /// Streams that ended with an error.
    pub failed: u64,
    /// Streams that were cut short.
    pub interrupted: u64,
    /// Messages or answers that did not reach the agent.
    pub undelivered: u64,
    /// Chunks forwarded to streams.
    pub chunks: u64,
    /// Writes of sessions that the store took.
    pub saves: u64,
    /// Operations of the store that failed.
    pub store_failures: u64,
    /// Failures that no caller waited for.
    pub warnings: u64,
    /// Times that the engine had to be made anew.
    pub engine_faults: u64,
}
