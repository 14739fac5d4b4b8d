//! Which compiler builds for WebAssembly. An ordinary machine has or gets the target through rustup; one that reaches
//! package registries only has Debian's compiler and the sources of its standard library.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};

use super::TARGET;
use crate::{command, say};

/// Names the compiler to use, before any other is looked for.
const NAMED: &str = "TACKROOM_WASM_RUSTC";

/// The minor version of Rust 1 that the workspace needs at least.
const OLDEST_MINOR: u32 = 95;

/// Debian's compiler, the sources of its standard library, and the linker.
const DEBIAN_PACKAGES: [&str; 3] = ["rustc-web", "rust-web-src", "lld-22"];

const BY_HAND: &str = "Install the WebAssembly target with one of these and try again:\n  \
     rustup target add wasm32-unknown-unknown\n  \
     apt-get update && apt-get install --no-install-recommends rustc-web rust-web-src lld-22   (Debian, as root)\n\
     or name a compiler that has it in TACKROOM_WASM_RUSTC.";

/// A compiler that can build for the target.
pub(crate) struct Compiler {
    /// The program itself, never a proxy that chooses one.
    pub(crate) rustc: PathBuf,
    /// All that it says about its version.
    pub(crate) version: String,
    /// Whether it has the target's standard library; else it has to be built from its sources.
    pub(crate) has_std: bool,
    /// The linker, where the compiler does not find its own.
    pub(crate) linker: Option<PathBuf>,
}

/// The compiler that this machine has, if any.
///
/// # Errors
/// One is named and cannot be used.
pub(crate) fn find() -> Result<Option<Compiler>> {
    if let Some(named) = std::env::var_os(NAMED) {
        let named = PathBuf::from(named);
        let compiler = inspect(&named)
            .with_context(|| format!("{NAMED} names {}, which cannot be used.", named.display()))?
            .with_context(|| {
                format!(
                    "{NAMED} names {}, which has neither the target {TARGET} nor the sources to build its standard \
                     library, or is older than Rust 1.{OLDEST_MINOR}.",
                    named.display()
                )
            })?;
        return Ok(Some(compiler));
    }
    let found: Vec<Compiler> = candidates().iter().filter_map(|rustc| inspect(rustc).ok().flatten()).collect();
    // One that has the target is better than one whose library has to be built.
    let (ready, sources): (Vec<_>, Vec<_>) = found.into_iter().partition(|compiler| compiler.has_std);
    // Sources serve only where no other way is ordinary: a rustup toolchain would need its own linker and bootstrap.
    Ok(ready.into_iter().next().or_else(|| sources.into_iter().find(|compiler| compiler.rustc.starts_with("/usr/bin"))))
}

/// The compiler that this machine has, or one installed now.
///
/// # Errors
/// There is none and none can be installed; the message says how to do it by hand.
pub(crate) fn find_or_install() -> Result<Compiler> {
    if let Some(compiler) = find()? {
        return Ok(compiler);
    }
    let mut why = Vec::new();
    for install in [install_from_debian, install_by_rustup] {
        match install() {
            Ok(()) => match find()? {
                Some(compiler) => return Ok(compiler),
                None => why.push("What was installed has no standard library for the target.".to_owned()),
            },
            Err(error) => why.push(format!("{error:#}")),
        }
    }
    bail!("There is no compiler for {TARGET}, and none could be installed.\n{}\n{BY_HAND}", why.join("\n"));
}

fn candidates() -> Vec<PathBuf> {
    let mut candidates = vec![PathBuf::from("rustc")];
    candidates.extend(std::env::var_os("RUSTC").map(PathBuf::from));
    candidates.push(PathBuf::from("/usr/bin/rustc"));
    candidates
}

/// What a compiler is good for here: `None` when for nothing.
fn inspect(rustc: &Path) -> Result<Option<Compiler>> {
    let ask = |args: &[&str]| command::output(Command::new(rustc).args(args), "tell about itself");
    let version = ask(&["-vV"])?;
    if !is_recent(&version) {
        return Ok(None);
    }
    let sysroot = PathBuf::from(ask(&["--print", "sysroot"])?);
    let libraries = PathBuf::from(ask(&["--print", "target-libdir", "--target", TARGET])?);
    let has_std = fs::read_dir(libraries)
        .is_ok_and(|entries| entries.flatten().any(|entry| entry.file_name().to_string_lossy().starts_with("libstd-")));
    if !has_std && !sysroot.join("lib/rustlib/src/rust/library/std/Cargo.toml").is_file() {
        return Ok(None);
    }
    let own = sysroot.join("bin").join("rustc");
    let rustc = if own.is_file() { own } else { rustc.to_owned() };
    let linker = if has_std { None } else { linker() };
    Ok(Some(Compiler { rustc, version, has_std, linker }))
}

/// Whether the answer to `rustc -vV` is of a version that builds the workspace.
fn is_recent(version: &str) -> bool {
    version
        .lines()
        .find_map(|line| line.strip_prefix("release: 1."))
        .and_then(|rest| rest.split('.').next())
        .and_then(|minor| minor.parse::<u32>().ok())
        .is_some_and(|minor| minor >= OLDEST_MINOR)
}

/// The newest linker for WebAssembly that the machine has. Debian's compiler looks for `rust-lld`, which not every
/// installation of it links to the linker's package.
fn linker() -> Option<PathBuf> {
    if let Some(linker) = command::find("rust-lld").or_else(|| command::find("wasm-ld")) {
        return Some(linker);
    }
    let versions = fs::read_dir("/usr/bin").ok()?.flatten().filter_map(|entry| {
        let version = entry.file_name().to_str()?.strip_prefix("wasm-ld-")?.parse::<u32>().ok()?;
        Some((version, entry.path()))
    });
    versions.max().map(|(_, path)| path)
}

fn install_from_debian() -> Result<()> {
    if !Path::new("/etc/debian_version").exists() {
        bail!("This is not Debian, so its compiler is not installed.");
    }
    if command::output(Command::new("id").arg("-u"), "tell who runs this")? != "0" {
        bail!("Debian's packages can be installed by root only.");
    }
    let step = say::step("Install Debian's Rust compiler and linker for WebAssembly", Some("about a minute"));
    let mut update = apt();
    update.arg("update");
    command::output(&mut update, "read the lists of packages")?;
    let mut install = apt();
    install.args(["install", "--yes", "--no-install-recommends"]).args(DEBIAN_PACKAGES);
    command::output(&mut install, "install the compiler")?;
    step.done("installed");
    Ok(())
}

fn apt() -> Command {
    let mut apt = Command::new("apt-get");
    apt.env("DEBIAN_FRONTEND", "noninteractive").args(["-qq", "-o", "DPkg::Lock::Timeout=300"]);
    apt
}

fn install_by_rustup() -> Result<()> {
    if command::find("rustup").is_none() {
        bail!("There is no rustup, so it cannot add the target.");
    }
    let step = say::step("Add the WebAssembly target by rustup", Some("under a minute"));
    let mut rustup = Command::new("rustup");
    rustup.args(["target", "add", TARGET]);
    command::output(&mut rustup, "add the target")?;
    step.done("added");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_compilers_are_passed_over() {
        assert!(is_recent("rustc 1.96.0\nbinary: rustc\nrelease: 1.96.0\nLLVM version: 22.1.8"));
        assert!(is_recent("release: 1.95.0"));
        assert!(is_recent("release: 1.97.0-nightly"));
        assert!(!is_recent("release: 1.94.1"));
        assert!(!is_recent("rustc 1.96.0"));
    }
}
