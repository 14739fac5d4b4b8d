//! Words for what goes wrong: bounded, and without anything that was given to the agent as a secret.

use super::options::ClaudeOptions;
use super::protocol::frames::Outcome;

/// The most characters of the agent's own words that are shown.
const MAX_WORDS: usize = 500;

/// The most bytes of standard error that are kept.
pub(super) const STDERR_TAIL: usize = 4_096;

/// What the CLI says of a session id it has no file of.
const UNKNOWN_SESSION: &str = "No conversation found with session ID";

/// What the CLI says of a session id it has a file of.
const KNOWN_SESSION: &str = "is already in use";

/// Whether the CLI has no record of the session it was to resume.
pub(super) fn is_unknown_session(words: &str) -> bool {
    words.contains(UNKNOWN_SESSION)
}

/// Whether the CLI already has a record of the session it was to begin.
pub(super) fn is_known_session(words: &str) -> bool {
    words.contains(KNOWN_SESSION)
}

/// The words of a turn that ended badly.
pub(super) fn of_outcome(outcome: &Outcome, said: Option<&str>, options: &ClaudeOptions) -> String {
    let own = said.map(str::to_owned).or_else(|| outcome.result.clone()).filter(|text| !text.is_empty());
    let words = own.unwrap_or_else(|| outcome.errors.join("; "));
    let words = tidy(&words, options);
    match (outcome.api_error_status, words.is_empty()) {
        (Some(status), true) => format!("The model service answered with status {status}."),
        (_, true) => format!("The agent ended the turn with {:?}.", outcome.subtype),
        (Some(status), false) => format!("The model service answered with status {status}: {words}"),
        (None, false) => format!("The agent could not finish the turn: {words}"),
    }
}

/// The words of a process that ended by itself.
pub(super) fn of_exit(how: &str, stderr: &str, options: &ClaudeOptions) -> String {
    let words = tidy(stderr, options);
    if words.is_empty() {
        return format!("The agent's process ended unexpectedly ({how}).");
    }
    format!("The agent's process ended unexpectedly ({how}): {words}")
}

/// Words of the agent, without secrets and not longer than [`MAX_WORDS`]; the end is kept.
pub(super) fn tidy(words: &str, options: &ClaudeOptions) -> String {
    let mut words = words.trim().to_owned();
    for (_, value) in &options.env {
        // Short values are switches such as "1"; taking them out would only garble the words.
        if value.expose().len() >= 8 {
            words = words.replace(value.expose(), "[redacted]");
        }
    }
    let over = words.chars().count().saturating_sub(MAX_WORDS);
    if over > 0 { format!("...{}", words.chars().skip(over).collect::<String>()) } else { words }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_and_long_words_are_cut() {
        let options = ClaudeOptions::new("claude").api_key("sk-ant-very-secret");
        let shown = of_exit("code 1", &format!("{} sk-ant-very-secret", "x".repeat(2_000)), &options);
        assert!(!shown.contains("sk-ant"), "{shown}");
        assert!(shown.ends_with("[redacted]") && shown.len() < 700, "{shown}");
        assert!(!format!("{options:?}").contains("sk-ant"));
    }

    #[test]
    fn an_api_error_is_told_with_its_status() {
        let outcome = Outcome { is_error: true, api_error_status: Some(529), ..Outcome::default() };
        let options = ClaudeOptions::new("claude");
        assert_eq!(
            of_outcome(&outcome, Some("Overloaded."), &options),
            "The model service answered with status 529: Overloaded."
        );
        assert_eq!(of_outcome(&outcome, None, &options), "The model service answered with status 529.");
    }
}
