//! Where agents work: adapters of the [`Sandboxes`](crate::ports::Sandboxes) port.

#[cfg(all(feature = "local", target_os = "linux"))]
pub mod local;
