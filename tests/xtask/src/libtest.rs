//! Reads what Rust's test programs print. Their machine-readable output is not stable; these lines have been for years.

use std::ops::AddAssign;

/// How many tests ended how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Tests that passed.
    pub(crate) passed: u64,
    /// Tests that failed, and programs that failed without saying which test.
    pub(crate) failed: u64,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
    }
}

/// What a test program says at its end: `test result: ok. 3 passed; 0 failed; ...`. `None` for every other line.
pub(crate) fn summary(line: &str) -> Option<Tally> {
    let (_, counts) = line.strip_prefix("test result: ")?.split_once(". ")?;
    let count = |what: &str| counts.split("; ").find_map(|part| part.strip_suffix(what)?.trim().parse().ok());
    Some(Tally { passed: count(" passed")?, failed: count(" failed")? })
}

/// Whether a line is of interest to someone who waits for failures: not the passed tests, nor the space between them.
pub(crate) fn worth_showing(line: &str) -> bool {
    let passed = line.starts_with("test ") && (line.ends_with(" ... ok") || line.contains(" ... ignored"));
    let nothing_ran = line.starts_with("test result: ok. 0 passed");
    let count = line.starts_with("running ") && (line.ends_with(" tests") || line.ends_with(" test"));
    !(passed || nothing_ran || count || line.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries_are_read() {
        let line = "test result: FAILED. 12 passed; 2 failed; 1 ignored; 0 measured; 3 filtered out; finished in 0.16s";
        assert_eq!(summary(line), Some(Tally { passed: 12, failed: 2 }));
        let line = "test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s";
        assert_eq!(summary(line), Some(Tally::default()));
        for line in
            ["test result: ", "test a::b ... ok", "12 passed; 2 failed", "test result: ok. many passed; 0 failed"]
        {
            assert_eq!(summary(line), None, "{line}");
        }
    }

    #[test]
    fn tallies_add_up() {
        let mut tally = Tally { passed: 1, failed: 2 };
        tally += Tally { passed: 10, failed: 20 };
        assert_eq!(tally, Tally { passed: 11, failed: 22 });
    }

    #[test]
    fn only_what_went_right_is_hidden() {
        for line in [
            "test a ... ok",
            "test a ... ignored, slow",
            "running 3 tests",
            "running 1 test",
            "",
            "test result: ok. 0 passed; 0 failed",
        ] {
            assert!(!worth_showing(line), "{line}");
        }
        for line in [
            "test a ... FAILED",
            "thread 'a' panicked at src/lib.rs:1:1:",
            "test result: ok. 3 passed; 0 failed",
            "running late",
        ] {
            assert!(worth_showing(line), "{line}");
        }
    }
}
