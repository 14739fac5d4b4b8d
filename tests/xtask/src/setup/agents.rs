//! The agent programs that the tests run, each in the exact versions that were tried. Other code finds them through
//! `target/agents/agents.json`.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};
use serde_json::json;

use super::node;
use crate::{command, paths, say};

const PACKAGE: &str = "@anthropic-ai/claude-code";

/// The versions of Claude Code that the tests run.
const VERSIONS: [&str; 2] = ["2.1.197", "2.1.332"];

/// Sees to every version and writes down where it is: a list of `{ "agent", "version", "path" }`.
///
/// # Errors
/// npm is missing or cannot install, or an installed program does not run.
pub(crate) fn install() -> Result<()> {
    let mut found = Vec::new();
    for version in VERSIONS {
        let path = one(version)?;
        found.push(json!({ "agent": "claude", "version": version, "path": path }));
    }
    let list = paths::target("agents/agents.json");
    let text = format!("{:#}\n", serde_json::Value::from(found));
    fs::write(&list, text).with_context(|| format!("The list {} cannot be written.", list.display()))
}

/// Sees to one version and gives the path of its program.
fn one(version: &str) -> Result<PathBuf> {
    let folder = paths::target("agents").join(format!("claude-{version}"));
    if let Some(program) = program(&folder)
        && runs_as(&program, version).is_ok()
    {
        return Ok(program);
    }
    let step = say::step(&format!("Install Claude Code {version}"), Some("about 250 MB"));
    fs::create_dir_all(&folder)
        .and_then(|()| fs::write(folder.join("package.json"), node::manifest(PACKAGE, version)))
        .with_context(|| format!("The folder {} cannot be written.", folder.display()))?;
    // Its script only copies the program to a second place.
    command::output(&mut node::npm(&folder, &["install", "--ignore-scripts"]), "install Claude Code")?;
    let Some(program) = program(&folder) else {
        bail!(
            "npm installed {PACKAGE} {version} without the program for this machine ({} {}). Is it one that the \
             package supports, and does npm install optional dependencies?",
            std::env::consts::OS,
            std::env::consts::ARCH
        );
    };
    runs_as(&program, version)?;
    step.done(&paths::shown(&program));
    Ok(program)
}

/// The native program. It comes in a package of its own for each platform, of which npm installs the one that fits.
fn program(folder: &Path) -> Option<PathBuf> {
    let packages = fs::read_dir(folder.join("node_modules/@anthropic-ai")).ok()?;
    let mut programs: Vec<_> = packages
        .flatten()
        .filter(|package| package.file_name().to_string_lossy().starts_with("claude-code-"))
        .map(|package| package.path().join("claude"))
        .filter(|program| program.is_file())
        .collect();
    // npm may install the musl build beside the other; the shorter name is the ordinary one.
    programs.sort_by_key(|program| program.as_os_str().len());
    programs.into_iter().next()
}

/// Whether the program runs with nothing of the user's: no environment, a home of its own.
fn runs_as(program: &Path, version: &str) -> Result<()> {
    let home = paths::target("agents/home");
    fs::create_dir_all(&home).with_context(|| format!("The folder {} cannot be made.", home.display()))?;
    let said =
        command::output(Command::new(program).arg("--version").env_clear().env("HOME", &home), "tell its version");
    // What it left there is of no use to anyone.
    let _ = fs::remove_dir_all(&home);
    let said = said?;
    if said.split_whitespace().next() != Some(version) {
        bail!("{} says that it is `{said}`, not {version}. Remove its folder and try again.", program.display());
    }
    Ok(())
}
