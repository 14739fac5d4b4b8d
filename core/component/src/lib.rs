//! The WIT face of the engine. It converts between the records of the contract and the types of the engine, and
//! decides nothing.
#![expect(unsafe_code, reason = "the functions that wit-bindgen exports for this crate")]

mod bindings {
    //! The code that `wit-bindgen` makes from the contract. It is apart because the lints of hand-written code do not
    //! apply to it.
    #![allow(warnings, clippy::all, clippy::pedantic, unsafe_code, reason = "generated code")]
    wit_bindgen::generate!({ path: "../../wit", world: "engine", default_bindings_module: "crate::bindings" });
}

struct Component;

impl bindings::Guest for Component {
    fn version() -> String {
        env!("CARGO_PKG_VERSION").to_owned()
    }
}

bindings::export!(Component with_types_in bindings);
