//! The rules of the house that no other tool knows: files stay small and say why they exist, and no file tells of the
//! machine on which it was written.

use std::{fs, path::Path, process::Command};

use anyhow::{Result, bail};

use crate::{command, paths};

/// The most lines a Rust file may have.
const LINES: usize = 400;

/// The most lines a Rust file of tests may have: tables of cases read better in one piece.
const TEST_LINES: usize = 600;

/// Words that tell of one workplace, in two halves so that this file does not contain them.
const WORKPLACE: [(&str, &str); 4] =
    [("/wo", "rk/"), ("artifac", "tory"), ("index.crates.io", ":443"), ("issues ", "show")];

/// The hosts that lock files and settings may name: the public ones, the same for everybody.
const HOSTS: [&str; 4] = ["github.com", "registry.npmjs.org", "crates.io", "opencollective.com"];

/// Checks every file that git keeps or would keep.
///
/// # Errors
/// A file breaks a rule; all of them are named.
pub(super) fn check() -> Result<()> {
    let mut git = Command::new("git");
    git.current_dir(paths::root()).args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    let files = command::output(&mut git, "list the files")?;
    let mut complaints = Vec::new();
    for file in files.split('\0').filter(|file| !file.is_empty()) {
        // Bytes that are no text have nothing to say here, and a file may be listed after it was removed.
        if let Ok(text) = fs::read_to_string(paths::root().join(file)) {
            complaints.extend(complaints_about(file, &text));
        }
    }
    if complaints.is_empty() {
        return Ok(());
    }
    bail!("{}", complaints.join("\n"));
}

fn complaints_about(file: &str, text: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    if Path::new(file).extension().is_some_and(|extension| extension == "rs") {
        let lines = text.lines().count();
        let most = if is_test(file) { TEST_LINES } else { LINES };
        if lines > most {
            complaints.push(format!("{file} has {lines} lines; {most} is the most. What could stand by itself?"));
        }
        if !text.starts_with("//!") {
            complaints.push(format!("{file} does not open with `//!` and why it exists."));
        }
    }
    for (number, line) in text.lines().enumerate() {
        let number = number + 1;
        for (first, second) in WORKPLACE {
            let word = format!("{first}{second}");
            if contains_apart(line, &word) {
                complaints.push(format!("{file}:{number} names `{word}`, which nobody else has."));
            }
        }
        if let Some(host) = strange_host(file, line) {
            complaints.push(format!("{file}:{number} names the host {host}, which not everybody reaches."));
        }
    }
    complaints
}

fn is_test(file: &str) -> bool {
    let path = Path::new(file);
    let in_tests = path.parent().is_some_and(|folder| folder.ends_with("tests"));
    let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
    in_tests || name == "tests" || name.ends_with("_tests")
}

/// Whether the word stands in the line and not within a longer path or word.
fn contains_apart(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|before| before.is_alphanumeric() || "_-.".contains(before))
    })
}

/// The host of a URL in a line of a lock file or of settings, if it is not one of the public ones.
fn strange_host<'a>(file: &str, line: &'a str) -> Option<&'a str> {
    let name = Path::new(file).file_name()?.to_str()?;
    if !matches!(name, "Cargo.lock" | "package-lock.json" | ".npmrc" | "config.toml") {
        return None;
    }
    let (_, rest) = line.split_once("://")?;
    let host = rest.split(|end: char| !(end.is_ascii_alphanumeric() || ".-:".contains(end))).next()?;
    (!HOSTS.contains(&host)).then_some(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_stay_small() {
        let long = |lines: usize| "//! Why.\n".repeat(lines);
        assert!(complaints_about("core/src/a.rs", &long(LINES)).is_empty());
        assert_eq!(complaints_about("core/src/a.rs", &long(LINES + 1)).len(), 1);
        assert!(complaints_about("core/tests/a.rs", &long(TEST_LINES)).is_empty());
        assert!(complaints_about("core/src/a/tests.rs", &long(LINES + 1)).is_empty());
        assert_eq!(complaints_about("core/tests/a.rs", &long(TEST_LINES + 1)).len(), 1);
        assert_eq!(complaints_about("tests/xtask/src/a.rs", &long(LINES + 1)).len(), 1);
        assert!(complaints_about("README.md", &long(5000)).is_empty());
    }

    #[test]
    fn files_say_why_they_exist() {
        assert_eq!(complaints_about("core/src/a.rs", "use std;\n").len(), 1);
        assert!(complaints_about("a.toml", "use std;\n").is_empty());
    }

    #[test]
    fn no_workplace_is_named() {
        for (first, second) in WORKPLACE {
            let text = format!("see {first}{second}x");
            assert_eq!(complaints_about("README.md", &text).len(), 1, "{text}");
        }
        assert!(complaints_about("README.md", "src/work/a and frame-work/ and /workspace/").is_empty());
    }

    #[test]
    fn lock_files_name_public_hosts() {
        let line = "\"resolved\": \"https://mirror.example/ai/-/ai-7.0.0.tgz\",";
        let complaints = complaints_about("a/package-lock.json", line);
        assert!(complaints.len() == 1 && complaints[0].contains("mirror.example"), "{complaints:?}");
        assert!(complaints_about("README.md", line).is_empty());
        let line = "source = \"registry+https://github.com/rust-lang/crates.io-index\"";
        assert!(complaints_about("Cargo.lock", line).is_empty());
    }
}
