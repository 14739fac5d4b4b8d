//! The engine, run as a WebAssembly component by wasmtime: its types, its instances, and the cache of its machine code.
//!
//! Nothing here decides anything. [`CompiledEngine::load`] gives the compiled component, in milliseconds where it is in
//! the cache; [`CompiledEngine::instance`] makes an engine of it, as often as one is needed.

mod bindings;
mod cache;
mod deserialize;
mod instance;
pub mod types;

pub use cache::{Cache, LoadError};
pub use instance::{CompiledEngine, EngineFault, EngineInstance};

/// The engine's component, as it was built with this crate.
pub const COMPONENT: &[u8] = include_bytes!(env!("TACKROOM_COMPONENT_FILE"));
