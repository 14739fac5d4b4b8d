//! Coding agents: adapters of the [`Agent`](crate::ports::Agent) port.

#[cfg(feature = "claude")]
pub mod claude;
pub mod scripted;
