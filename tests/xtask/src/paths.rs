//! Where things are. What is built for others to find stands under the workspace's own `target`, wherever cargo puts
//! its own files.

use std::path::{Path, PathBuf};

/// The folder of the workspace.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("this crate stands two folders below the workspace")
}

/// A path under the workspace's `target`.
pub(crate) fn target(path: &str) -> PathBuf {
    root().join("target").join(path)
}

/// Where cargo puts what it builds for the host.
pub(crate) fn cargo_target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| target(""), |dir| root().join(dir))
}

/// The component, once `wasm` has built it.
pub(crate) fn component() -> PathBuf {
    target("component/tackroom-engine.wasm")
}

/// A path as it is named to the user: relative to the workspace where that is shorter.
pub(crate) fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}
