//! The code that `wit-bindgen` makes from the contract. It is apart because the lints of hand-written code do not
//! apply to it.
#![allow(warnings, clippy::all, clippy::pedantic, unsafe_code, reason = "generated code")]

wit_bindgen::generate!({ path: "../../wit", world: "engine", default_bindings_module: "crate::bindings" });
