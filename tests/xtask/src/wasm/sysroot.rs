//! The target's standard library, built once from the compiler's own sources where the compiler came without it.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};

use super::{Compiler, TARGET};
use crate::{
    command, paths, say,
    stamp::{self, Stamp},
};

const MANIFEST: &str = "\
[package]
name = \"std-for-wasm\"
version = \"0.0.0\"
edition = \"2024\"

[workspace]

[profile.release]
panic = \"abort\"
";

/// Sees to the standard library. Gives the sysroot to name to the compiler, or `None` when it has its own.
///
/// # Errors
/// The library cannot be built, or the files cannot be written.
pub(crate) fn prepare(compiler: &Compiler) -> Result<Option<PathBuf>> {
    if compiler.has_std {
        return Ok(None);
    }
    let sysroot = paths::target("wasm-sysroot");
    let stamp_file = sysroot.join("stamp");
    let stamp = Stamp::new().text(&compiler.version).text(MANIFEST).finish();
    if stamp::fresh(&stamp_file, &stamp) {
        return Ok(Some(sysroot));
    }
    let step = say::step("Build Rust's standard library for WebAssembly", Some("once, one to three minutes"));
    let scratch = paths::target("wasm-std");
    let built = build(compiler, &scratch)?;
    stamp::clear(&stamp_file)?;
    install(&built, &sysroot.join("lib/rustlib").join(TARGET).join("lib"))
        .with_context(|| format!("The standard library cannot be put into {}.", sysroot.display()))?;
    stamp::set(&stamp_file, &stamp)?;
    // It is twice as large as what is kept of it, and of no more use. What cannot be removed does no harm.
    let _ = fs::remove_dir_all(&scratch);
    step.done(&paths::shown(&sysroot));
    Ok(Some(sysroot))
}

/// Builds an empty crate, and with it the library. Gives the folder with the library's files.
fn build(compiler: &Compiler, scratch: &Path) -> Result<PathBuf> {
    fs::create_dir_all(scratch.join("src"))
        .and_then(|()| fs::write(scratch.join("Cargo.toml"), MANIFEST))
        .and_then(|()| fs::write(scratch.join("src/lib.rs"), ""))
        .with_context(|| format!("The empty crate in {} cannot be written.", scratch.display()))?;
    let target_dir = scratch.join("target");
    let mut cargo = command::foreign_cargo(&compiler.rustc, &target_dir);
    cargo.current_dir(scratch);
    // The compiler takes its own unstable flag only when it believes that it builds itself.
    cargo.env("RUSTC_BOOTSTRAP", "1").env("RUSTFLAGS", "-Cembed-bitcode=yes");
    cargo.args(["build", "--release", "--target", TARGET, "-Zbuild-std=std,panic_abort"]);
    command::run(&mut cargo, "build the standard library for WebAssembly")?;
    Ok(target_dir.join(TARGET).join("release/deps"))
}

/// Fills the folder of the sysroot that holds the libraries. Whatever an earlier compiler left there goes first.
fn install(built: &Path, libraries: &Path) -> std::io::Result<()> {
    if libraries.exists() {
        fs::remove_dir_all(libraries)?;
    }
    fs::create_dir_all(libraries)?;
    for entry in fs::read_dir(built)? {
        let path = entry?.path();
        let is_library = path.extension().is_some_and(|extension| extension == "rlib");
        if let Some(name) = path.file_name().filter(|name| is_library && !is_empty_crate(name)) {
            fs::copy(&path, libraries.join(name))?;
        }
    }
    Ok(())
}

fn is_empty_crate(name: &std::ffi::OsStr) -> bool {
    name.to_string_lossy().starts_with("libstd_for_wasm-")
}
