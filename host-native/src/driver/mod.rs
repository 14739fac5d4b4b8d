//! The one loop: inputs in, effects out. It does what the engine tells it, at once, and decides nothing.

mod convert;
mod handle;
mod ids;
mod inbox;
mod message;
pub(crate) mod streams;

pub(crate) use handle::Handle;

use crate::manager::{BuildError, SessionManager, SessionManagerBuilder};

/// Starts the host.
pub(crate) async fn start(_builder: SessionManagerBuilder) -> Result<SessionManager, BuildError> {
    Err(BuildError::Missing("a driver"))
}
