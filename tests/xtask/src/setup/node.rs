//! Node, for the tests that check what we send against the packages that read it. Node's own package carries the
//! program, so that npm is all that the machine needs.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};

use crate::{
    command, paths, say,
    stamp::{self, Stamp},
};

/// The version that is installed; any from its major version on will do.
const VERSION: &str = "24.16.0";

/// Folders with a `package.json` whose packages the tests use.
const PACKAGES: [&str; 1] = ["tests/ai-package"];

/// Sees to Node and the packages of the tests.
///
/// # Errors
/// npm is missing, or cannot install.
pub(crate) fn install() -> Result<()> {
    let node = program()?;
    for package in PACKAGES {
        packages(&paths::root().join(package), &node)?;
    }
    Ok(())
}

/// A Node that is new enough: the machine's own, or one installed under `target`.
///
/// # Errors
/// npm is missing, or cannot install.
pub(crate) fn program() -> Result<PathBuf> {
    let folder = paths::target("node");
    let installed = folder.join("node_modules/.bin/node");
    if let Some(node) = command::find("node").into_iter().chain([installed.clone()]).find(|node| is_recent(node)) {
        return Ok(node);
    }
    let step = say::step(&format!("Install Node {VERSION}"), Some("under a minute"));
    fs::create_dir_all(&folder)
        .and_then(|()| fs::write(folder.join("package.json"), manifest("node", VERSION)))
        .with_context(|| format!("The folder {} cannot be written.", folder.display()))?;
    command::output(&mut npm(&folder, &["install"]), "install Node")?;
    if !is_recent(&installed) {
        bail!("npm installed Node, but {} does not run.", installed.display());
    }
    step.done(&paths::shown(&installed));
    Ok(installed)
}

/// Installs exactly what a package's lock file says, unless it is there.
fn packages(folder: &Path, node: &Path) -> Result<()> {
    let lock = folder.join("package-lock.json");
    if !lock.is_file() {
        return Ok(());
    }
    let stamp_file = folder.join("node_modules/.tackroom-stamp");
    let stamp = Stamp::new().path(&folder.join("package.json"))?.path(&lock)?.finish();
    if stamp::fresh(&stamp_file, &stamp) {
        return Ok(());
    }
    let step = say::step(&format!("Install the packages of {}", paths::shown(folder)), Some("under a minute"));
    let mut npm = npm(folder, &["ci"]);
    // Packages choose their versions and run their scripts by the Node that they find first.
    let own = node.parent().map(Path::to_owned).into_iter();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(own.chain(std::env::split_paths(&path))).context("PATH cannot be extended.")?;
    command::output(npm.env("PATH", path), "install packages")?;
    stamp::set(&stamp_file, &stamp)?;
    step.done("installed");
    Ok(())
}

/// An npm that only installs: no audits, no advertisements, no questions.
///
/// # Errors
/// None; a missing npm shows when it is started.
pub(crate) fn npm(folder: &Path, args: &[&str]) -> Command {
    let mut npm = Command::new("npm");
    npm.current_dir(folder).args(args).args(["--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"]);
    npm
}

/// A `package.json` that asks for one package in one version.
pub(crate) fn manifest(package: &str, version: &str) -> String {
    format!("{{\n  \"private\": true,\n  \"dependencies\": {{ \"{package}\": \"{version}\" }}\n}}\n")
}

fn is_recent(node: &Path) -> bool {
    command::output(Command::new(node).arg("--version"), "tell its version")
        .is_ok_and(|version| major(&version) >= major(VERSION))
}

/// The major version in `v24.16.0` or `24.16.0`; 0 when there is none.
fn major(version: &str) -> u32 {
    version.trim_start_matches('v').split('.').next().and_then(|major| major.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read() {
        assert_eq!(major("v24.16.0"), 24);
        assert_eq!(major("25.0.0"), 25);
        assert_eq!(major("not a version"), 0);
    }
}
