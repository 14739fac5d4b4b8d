//! Coding agents: adapters of the [`Agent`](crate::ports::Agent) port.

pub mod scripted;
