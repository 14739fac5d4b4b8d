//! Time comes in as a reading, because the engine can reach no clock.

use serde::{Deserialize, Serialize};

/// Two readings of the host's clocks at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Now {
    /// Milliseconds since the Unix epoch; may jump. Only shown and stored, never waited on.
    pub wall_ms: u64,
    /// Milliseconds since some moment before the engine was made; never goes back.
    pub monotonic_ms: u64,
}
