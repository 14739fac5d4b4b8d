//! What the user sees of a long run: every step is announced before it starts and closed with how long it took.

use std::time::{Duration, Instant};

/// Says something outside any step.
pub(crate) fn note(text: &str) {
    println!("    {text}");
}

/// A step that has been announced.
pub(crate) struct Step {
    name: String,
    started: Instant,
}

/// Announces a step. `expect` says how long it takes where it takes long.
pub(crate) fn step(name: &str, expect: Option<&str>) -> Step {
    match expect {
        Some(expect) => println!("==> {name} ({expect})"),
        None => println!("==> {name}"),
    }
    Step { name: name.to_owned(), started: Instant::now() }
}

impl Step {
    /// Closes the step, with a word about the result.
    pub(crate) fn done(self, result: &str) {
        println!("    {} ({}): {result}", self.name, seconds(self.started.elapsed()));
    }
}

/// A duration as a person reads it: `0.4 s`, `12 s`, `3 min 05 s`.
pub(crate) fn seconds(duration: Duration) -> String {
    let whole = duration.as_secs();
    if whole >= 60 {
        format!("{} min {:02} s", whole / 60, whole % 60)
    } else if whole >= 10 {
        format!("{whole} s")
    } else {
        format!("{:.1} s", duration.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_short() {
        for (millis, text) in [
            (0, "0.0 s"),
            (440, "0.4 s"),
            (9_940, "9.9 s"),
            (12_600, "12 s"),
            (60_000, "1 min 00 s"),
            (185_000, "3 min 05 s"),
        ] {
            assert_eq!(seconds(Duration::from_millis(millis)), text);
        }
    }
}
