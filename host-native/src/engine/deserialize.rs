//! The one place where bytes become machine code.
#![expect(unsafe_code, reason = "wasmtime trusts the bytes that it loads machine code from; see the function")]

use wasmtime::{Engine, component::Component};

/// Proof that bytes are what this user's own process wrote after compiling: made by the cache only, once it has checked
/// that the directory belongs to this user, that nobody else can write in it, and that the bytes have their stored hash.
pub(super) struct Trusted(Vec<u8>);

impl Trusted {
    /// Takes the bytes as checked.
    pub(super) fn new(checked: Vec<u8>) -> Self {
        Self(checked)
    }
}

/// Loads a compiled component. wasmtime checks by itself that version, target and options are its own.
pub(super) fn load(engine: &Engine, code: &Trusted) -> wasmtime::Result<Component> {
    // SAFETY: `deserialize` is sound for bytes that `Component::serialize` gave. `Trusted` stands for that: the file
    // was read from a directory that only this user can write in, and its content has the hash stored when this
    // program wrote it there, so it is neither damaged nor of another hand. The bytes are in our own memory: they
    // cannot change between check and use.
    unsafe { Component::deserialize(engine, &code.0) }
}
