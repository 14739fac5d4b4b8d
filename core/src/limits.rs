//! Every bound of the engine, with its default and the reason for it.

use alloc::string::String;
use serde::{Deserialize, Serialize};

/// What an engine is made with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Config {
    /// A name of this engine instance, minted by the host, never used twice: write ids start with it.
    pub epoch: String,
    /// This host's name in the store.
    pub owner: String,
    /// The most leases at once; nothing where there is no such bound.
    pub capacity: Option<u32>,
    /// The session on which the engine before this one failed: it comes back with the error `engine-fault`.
    pub faulted: Option<String>,
    /// Whether the host has an `approve` callback.
    pub approver: bool,
    /// Suspend a session idle or awaiting input for this long, in milliseconds. Never where absent.
    pub idle_timeout_ms: Option<u64>,
    /// Close a session suspended for this long, in milliseconds on the store's clock. Never where absent.
    pub close_suspended_after_ms: Option<u64>,
    /// Cut a turn short after this much busy time, in milliseconds. Never where absent.
    pub turn_timeout_ms: Option<u64>,
    /// Suspend the session idle the longest when every sandbox is taken.
    pub suspend_idle_when_full: bool,
    /// Also suspend sessions that wait for a person, the longest waiting first, when no idle one is left.
    pub suspend_waiting_when_full: bool,
    /// The bounds.
    pub limits: Limits,
}

/// Bounds and deadlines. Times in milliseconds on the monotonic reading, sizes in bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// To get a sandbox. 600,000: a first start may pull an image.
    pub acquire_timeout_ms: u64,
    /// To start or resume an agent. 300,000: a first start may install it.
    pub start_timeout_ms: u64,
    /// To stop an agent. 30,000: it may have to write its state.
    pub stop_timeout_ms: u64,
    /// For an interrupted turn to end. 15,000: longer than the grace of any agent tried.
    pub interrupt_timeout_ms: u64,
    /// For one attempt of a write or a load. 10,000.
    pub store_timeout_ms: u64,
    /// For a write that acknowledges a command, all attempts together. 20,000: callers wait for it.
    pub acknowledge_timeout_ms: u64,
    /// For one slice of a turn to end. 86,400,000: agents have deadlines of their own, and `turn_timeout_ms` is the
    /// application's; this one frees a session whose adapter never answers.
    pub slice_timeout_ms: u64,
    /// For the `approve` callback. 60,000: then a person decides.
    pub approve_timeout_ms: u64,
    /// For a lease to be given back. 60,000.
    pub release_timeout_ms: u64,
    /// For a whole shutdown. 9,000: service managers kill after ten seconds.
    pub shutdown_timeout_ms: u64,
    /// How long a claim on a session holds. 60,000.
    pub lease_ms: u64,
    /// How often claims are renewed. 20,000: three tries within a lease.
    pub renew_every_ms: u64,
    /// Between two looks for sessions to close. 60,000.
    pub due_every_ms: u64,
    /// At most one save of a running turn's message in this time, tool boundaries aside. 1,000.
    pub partial_save_ms: u64,
    /// First and longest pause between attempts of a background write: 250 to 30,000.
    pub retry_first_ms: u64,
    /// See `retry_first_ms`.
    pub retry_longest_ms: u64,
    /// A user message. 4 MiB: pictures ride in messages as data URLs.
    pub message_bytes: u32,
    /// An assistant message. 16 MiB.
    pub answer_bytes: u32,
    /// Parts of a message. 10,000.
    pub message_parts: u32,
    /// One chunk. 4 MiB: a tool's output is one chunk.
    pub chunk_bytes: u32,
    /// Metadata. 64 KiB.
    pub metadata_bytes: u32,
    /// Each setting. 64 KiB: MCP servers are a JSON object.
    pub setting_bytes: u32,
    /// An answer's reason, edited input or result. 1 MiB.
    pub answer_input_bytes: u32,
    /// Calls waiting in one pause. 128.
    pub pending: u32,
    /// Idempotency keys remembered per session. 64.
    pub idempotency_keys: u32,
    /// Length of an idempotency key. 255.
    pub key_bytes: u32,
    /// Kept answers and calls of unknown outcome per session. 64.
    pub kept_answers: u32,
    /// Chunks that the replay buffer keeps per turn. 4,096.
    pub replay_chunks: u32,
    /// Sessions in memory. 100,000.
    pub sessions: u32,
    /// Sessions that one tick acts on; the rest is left for the next. 256.
    pub tick_work: u32,
    /// Sessions claimed in one page at the start. 100.
    pub claim_page: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            acquire_timeout_ms: 600_000,
            start_timeout_ms: 300_000,
            stop_timeout_ms: 30_000,
            interrupt_timeout_ms: 15_000,
            store_timeout_ms: 10_000,
            acknowledge_timeout_ms: 20_000,
            slice_timeout_ms: 86_400_000,
            approve_timeout_ms: 60_000,
            release_timeout_ms: 60_000,
            shutdown_timeout_ms: 9_000,
            lease_ms: 60_000,
            renew_every_ms: 20_000,
            due_every_ms: 60_000,
            partial_save_ms: 1_000,
            retry_first_ms: 250,
            retry_longest_ms: 30_000,
            message_bytes: 4 << 20,
            answer_bytes: 16 << 20,
            message_parts: 10_000,
            chunk_bytes: 4 << 20,
            metadata_bytes: 64 << 10,
            setting_bytes: 64 << 10,
            answer_input_bytes: 1 << 20,
            pending: 128,
            idempotency_keys: 64,
            key_bytes: 255,
            kept_answers: 64,
            replay_chunks: 4_096,
            sessions: 100_000,
            tick_work: 256,
            claim_page: 100,
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            epoch: String::from("epoch"),
            owner: String::from("host"),
            capacity: None,
            faulted: None,
            approver: false,
            idle_timeout_ms: None,
            close_suspended_after_ms: None,
            turn_timeout_ms: None,
            suspend_idle_when_full: true,
            suspend_waiting_when_full: false,
            limits: Limits::default(),
        }
    }
}
