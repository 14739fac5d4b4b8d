//! The wire between the host and the Claude Code CLI: JSON lines both ways, read leniently and within bounds.

pub(super) mod frames;
pub(super) mod json;
pub(super) mod lines;
pub(super) mod outgoing;
pub(super) mod read;
