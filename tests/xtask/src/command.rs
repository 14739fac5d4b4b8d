//! Running other programs, so that a failure names the program, what it was to do and how it ended.

use std::{
    ffi::OsStr,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail};

use crate::paths;

/// The cargo that runs this program, by its own path: no proxy comes between. What cargo tells this program about
/// itself is not handed on, because build scripts would take it for a change and run again.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(paths::root());
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(|name| name.starts_with("CARGO_MANIFEST_") || name.starts_with("CARGO_PKG_")) {
            command.env_remove(name);
        }
    }
    command
}

/// A cargo for a build that is not the host's own. It takes nothing over from the cargo around it: that one names a
/// compiler, flags and wrappers which are right for the host only.
pub(crate) fn foreign_cargo(rustc: &Path, target: &Path) -> Command {
    let mut command = cargo();
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(belongs_to_the_outer_build) {
            command.env_remove(name);
        }
    }
    // Empty rather than absent: a wrapper may also stand in the user's configuration.
    command.env("RUSTC_WRAPPER", "").env("RUSTC_WORKSPACE_WRAPPER", "");
    command.env("RUSTC", rustc).env("CARGO_TARGET_DIR", target);
    command
}

/// Whether a variable tells of the build that this program is part of, rather than of the user's network and folders.
fn belongs_to_the_outer_build(name: &str) -> bool {
    const OUTER: [&str; 6] = ["CARGO", "RUSTC", "RUSTDOC", "RUSTFLAGS", "RUSTDOCFLAGS", "RUSTUP_TOOLCHAIN"];
    const PREFIXES: [&str; 8] = [
        "RUSTC_",
        "CARGO_BUILD_",
        "CARGO_ENCODED_",
        "CARGO_MANIFEST_",
        "CARGO_PKG_",
        "CARGO_PROFILE_",
        "CARGO_TARGET_",
        "CARGO_UNSTABLE_",
    ];
    // How many jobs run at once is the user's wish for the machine.
    name != "CARGO_BUILD_JOBS" && (OUTER.contains(&name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix)))
}

/// Runs a command whose output goes to the user.
///
/// # Errors
/// It cannot be started, or ends with a failure.
pub(crate) fn run(command: &mut Command, to: &str) -> Result<()> {
    let status = command.status().with_context(|| cannot_start(command, to))?;
    if !status.success() {
        bail!("`{}` was to {to} and ended with {status}.", shown(command));
    }
    Ok(())
}

/// Runs a command and gives what it printed, trimmed.
///
/// # Errors
/// As [`run`]; the message carries what was printed to the error output.
pub(crate) fn output(command: &mut Command, to: &str) -> Result<String> {
    let output = command.stdin(Stdio::null()).output().with_context(|| cannot_start(command, to))?;
    if !output.status.success() {
        bail!(
            "`{}` was to {to} and ended with {}:\n{}",
            shown(command),
            output.status,
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Runs a command and hands each line of its output, as it comes, to `each`, which says whether to show it. Says
/// whether the command succeeded.
///
/// # Errors
/// It cannot be started, or its output cannot be read.
pub(crate) fn lines(command: &mut Command, to: &str, mut each: impl FnMut(&str) -> bool) -> Result<bool> {
    let mut child = command.stdout(Stdio::piped()).spawn().with_context(|| cannot_start(command, to))?;
    let stdout = child.stdout.take().expect("the output was asked to be piped");
    for line in BufReader::new(stdout).split(b'\n') {
        let line = line.with_context(|| format!("The output of `{}` cannot be read.", shown(command)))?;
        let line = String::from_utf8_lossy(&line);
        if each(&line) {
            println!("{line}");
        }
    }
    let status = child.wait().with_context(|| format!("`{}` cannot be waited for.", shown(command)))?;
    Ok(status.success())
}

/// The path of a program that the user can run, if there is one.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join(program)).find(|file| file.is_file())
}

fn cannot_start(command: &Command, to: &str) -> String {
    format!("`{}` was to {to} and could not be started. Is it installed?", command.get_program().display())
}

/// A command as a user would type it, near enough to be repeated.
fn shown(command: &Command) -> String {
    std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(OsStr::to_string_lossy)
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_outer_build_is_dropped() {
        for name in ["CARGO", "RUSTC", "RUSTUP_TOOLCHAIN", "RUSTFLAGS", "RUSTC_WRAPPER", "CARGO_ENCODED_RUSTFLAGS"] {
            assert!(belongs_to_the_outer_build(name), "{name}");
        }
        for name in ["PATH", "CARGO_HOME", "CARGO_NET_OFFLINE", "CARGO_REGISTRIES_MINE_INDEX", "CARGO_BUILD_JOBS"] {
            assert!(!belongs_to_the_outer_build(name), "{name}");
        }
    }

    #[test]
    fn a_failure_says_what_was_tried() {
        let error = output(Command::new("sh").args(["-c", "echo broken >&2; exit 3"]), "try").unwrap_err().to_string();
        assert!(error.contains("was to try") && error.contains('3') && error.contains("broken"), "{error}");
        let error = output(&mut Command::new("no-such-program"), "try").unwrap_err().to_string();
        assert!(error.contains("no-such-program"), "{error}");
    }

    #[test]
    fn lines_are_handed_on_as_they_are() {
        let mut seen = Vec::new();
        let ok = lines(Command::new("sh").args(["-c", "printf 'a\\n\\nb'; exit 1"]), "try", |line| {
            seen.push(line.to_owned());
            false
        });
        assert!(!ok.unwrap());
        assert_eq!(seen, ["a", "", "b"]);
    }
}
