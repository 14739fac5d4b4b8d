//! The code that wasmtime makes from the contract. It is private, because what a user of the crate sees of it is chosen
//! in [`super::types`], and apart, because the lints of hand-written code do not apply to it.
#![allow(warnings, clippy::all, clippy::pedantic, missing_docs, reason = "generated code")]

wasmtime::component::bindgen!({
    path: "../wit",
    world: "engine",
    additional_derives: [PartialEq, Eq, Clone, serde::Serialize, serde::Deserialize],
});
