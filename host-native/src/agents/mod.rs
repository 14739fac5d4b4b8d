//! The coding agents this crate can run, each behind the agent port and behind a feature of its own.

#[cfg(feature = "claude")]
pub mod claude;
