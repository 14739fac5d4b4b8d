//! Which tool calls wait for a decision, by permission mode: the one table of it.
//!
//! The hook before a tool call is the only place where a call can be deferred, and it comes before the CLI's own
//! rules. So the host gates there what those rules would ask about, and passes what they would not: a call that passes
//! here and that the CLI asks about all the same is held too, but cannot outlive its process.

use std::path::{Component, Path, PathBuf};

use serde_json::Value;

/// What happens to a call before it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gate {
    /// The CLI's own rules decide.
    Pass,
    /// It runs unasked.
    Allow,
    /// It waits for a decision.
    Hold,
}

/// The tool by which the agent asks a person.
pub(super) const QUESTION: &str = "AskUserQuestion";

/// The tool that changes no file but is asked about where it leaves the working directory.
const READERS: [&str; 4] = ["Read", "Glob", "Grep", "LS"];

/// Tools that change files.
const EDITORS: [&str; 4] = ["Edit", "MultiEdit", "Write", "NotebookEdit"];

/// Tools that act, or reach outside, in every mode but the one that asks nothing.
const ACTORS: [&str; 7] = ["Bash", "PowerShell", "WebFetch", "WebSearch", "Skill", "SlashCommand", "Monitor"];

/// Programs that only read, which the CLI runs unasked where they stand alone.
const READING_PROGRAMS: [&str; 4] = ["ls", "pwd", "echo", "true"];

/// Decides by tool, input (JSON text), permission mode and working directory.
pub(super) fn gate(tool: &str, input: &str, mode: &str, working_directory: &Path) -> Gate {
    if tool == QUESTION || tool == "ExitPlanMode" {
        return Gate::Hold;
    }
    if mode == "bypassPermissions" {
        return Gate::Allow;
    }
    // In these two the CLI never asks: one denies instead, the other lets a classifier decide.
    if mode == "dontAsk" || mode == "auto" {
        return Gate::Pass;
    }
    let held = if EDITORS.contains(&tool) {
        mode != "acceptEdits" || !is_inside(input, working_directory)
    } else if tool == "Bash" {
        !is_reading_command(input)
    } else if READERS.contains(&tool) {
        !is_inside(input, working_directory)
    } else {
        ACTORS.contains(&tool) || tool.starts_with("mcp__")
    };
    if held { Gate::Hold } else { Gate::Pass }
}

/// Whether the file or directory that the input names lies in the working directory; one that names none does.
fn is_inside(input: &str, working_directory: &Path) -> bool {
    let Ok(input) = serde_json::from_str::<Value>(input) else { return false };
    let named = ["file_path", "notebook_path", "path"].into_iter().find_map(|key| input[key].as_str());
    named.is_none_or(|named| normal(&working_directory.join(named)).starts_with(normal(working_directory)))
}

/// The path without `.` and `..`, as text alone: links are the CLI's own rules' concern.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop();
            }
            other => normal.push(other),
        }
    }
    normal
}

/// Whether the command is one plain reading program with plain words, which the CLI's own rules see once more.
fn is_reading_command(input: &str) -> bool {
    let Ok(input) = serde_json::from_str::<Value>(input) else { return false };
    let command = input["command"].as_str().unwrap_or_default();
    let plain = command.chars().all(|c| c.is_ascii_alphanumeric() || " -_./,:=+".contains(c));
    plain && command.split_whitespace().next().is_some_and(|program| READING_PROGRAMS.contains(&program))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decide(tool: &str, input: &str, mode: &str) -> Gate {
        gate(tool, input, mode, Path::new("/home/agent/work"))
    }

    #[test]
    fn the_table_by_mode() {
        let edit = r#"{"file_path":"/home/agent/work/a.txt"}"#;
        let bash = r#"{"command":"touch a"}"#;
        let read = r#"{"file_path":"a.txt"}"#;
        for (tool, input, mode, expected) in [
            ("Bash", bash, "default", Gate::Hold),
            ("Bash", bash, "acceptEdits", Gate::Hold),
            ("Bash", bash, "plan", Gate::Hold),
            ("Bash", bash, "bypassPermissions", Gate::Allow),
            ("Bash", bash, "dontAsk", Gate::Pass),
            ("Write", edit, "default", Gate::Hold),
            ("Write", edit, "acceptEdits", Gate::Pass),
            ("Edit", r#"{"file_path":"/etc/passwd"}"#, "acceptEdits", Gate::Hold),
            ("Read", read, "default", Gate::Pass),
            ("Read", r#"{"file_path":"../../secret"}"#, "default", Gate::Hold),
            ("Grep", r#"{"pattern":"x"}"#, "default", Gate::Pass),
            ("TodoWrite", "{}", "default", Gate::Pass),
            ("mcp__files__delete", "{}", "default", Gate::Hold),
            ("AskUserQuestion", "{}", "bypassPermissions", Gate::Hold),
            ("ExitPlanMode", "{}", "plan", Gate::Hold),
        ] {
            assert_eq!(decide(tool, input, mode), expected, "{tool} {input} {mode}");
        }
    }

    #[test]
    fn only_plain_reading_commands_pass() {
        for (command, expected) in [
            ("ls", Gate::Pass),
            ("ls -la src", Gate::Pass),
            ("echo hello", Gate::Pass),
            ("echo a > b", Gate::Hold),
            ("ls; rm -rf x", Gate::Hold),
            ("echo $(id)", Gate::Hold),
            ("lsof", Gate::Hold),
            ("", Gate::Hold),
        ] {
            let input = serde_json::json!({"command": command}).to_string();
            assert_eq!(decide("Bash", &input, "default"), expected, "{command}");
        }
    }
}
