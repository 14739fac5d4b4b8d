//! Finds the component that the host carries in its own bytes. It is built for another target with another compiler,
//! which is more than a build script should do: it only says how.

use std::{env, path::PathBuf, process::ExitCode};

/// Names a component to use in place of the one that the workspace builds.
const NAMED: &str = "TACKROOM_COMPONENT";

fn main() -> ExitCode {
    println!("cargo::rerun-if-env-changed={NAMED}");
    let named = env::var_os(NAMED).map(PathBuf::from);
    let in_workspace = || {
        let manifest = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from).unwrap_or_default();
        manifest.join("../target/component/tackroom-engine.wasm")
    };
    let component = named.unwrap_or_else(in_workspace);
    println!("cargo::rerun-if-changed={}", component.display());
    match component.canonicalize() {
        Ok(component) => {
            println!("cargo::rustc-env=TACKROOM_COMPONENT_FILE={}", component.display());
            ExitCode::SUCCESS
        }
        Err(error) => {
            let component = component.display();
            println!(
                "cargo::error=The engine's component {component} cannot be read ({error}): run `cargo xtask wasm` to \
                 build it, or name one in {NAMED}."
            );
            ExitCode::FAILURE
        }
    }
}
