//! Tokens and cost as integers. The CLI counts over the life of a process, and a session's turns are summed by the
//! host, so each result is turned into what came since the one before.

use super::protocol::frames::Outcome;
use crate::ports::Usage;

/// Sums of one process so far.
#[derive(Debug, Default)]
pub(super) struct Meter {
    last: Usage,
}

impl Meter {
    /// What was used since the last result.
    pub(super) fn since_last(&mut self, outcome: &Outcome) -> Usage {
        let now = total(outcome);
        let since = Usage {
            input_tokens: now.input_tokens.saturating_sub(self.last.input_tokens),
            output_tokens: now.output_tokens.saturating_sub(self.last.output_tokens),
            total_tokens: now.total_tokens.saturating_sub(self.last.total_tokens),
            cost_micro_usd: now.cost_micro_usd.saturating_sub(self.last.cost_micro_usd),
        };
        self.last = now;
        since
    }
}

/// Both together.
pub(super) fn add(one: Usage, other: Usage) -> Usage {
    Usage {
        input_tokens: one.input_tokens.saturating_add(other.input_tokens),
        output_tokens: one.output_tokens.saturating_add(other.output_tokens),
        total_tokens: one.total_tokens.saturating_add(other.total_tokens),
        cost_micro_usd: one.cost_micro_usd.saturating_add(other.cost_micro_usd),
    }
}

fn total(outcome: &Outcome) -> Usage {
    let mut usage = Usage::default();
    for tokens in outcome.models.iter().flat_map(|models| models.values()) {
        let cached = tokens.cache_read.saturating_add(tokens.cache_creation);
        usage.input_tokens = usage.input_tokens.saturating_add(tokens.input).saturating_add(cached);
        usage.output_tokens = usage.output_tokens.saturating_add(tokens.output);
    }
    usage.total_tokens = usage.input_tokens.saturating_add(usage.output_tokens);
    usage.cost_micro_usd = outcome.total_cost_usd.as_ref().and_then(|raw| micros(raw.get())).unwrap_or(0);
    usage
}

/// Millionths of a decimal number in JSON's notation, rounded half up. `None` for negative or unreadable ones.
fn micros(text: &str) -> Option<u64> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    // The digits before this place are whole millionths.
    let place = i64::try_from(whole.len()).ok()? + i64::from(exponent) + 6;
    let Ok(place) = usize::try_from(place) else { return Some(0) };
    let digit = |index: usize| digits.as_bytes().get(index).map_or(0, |byte| u64::from(byte - b'0'));
    let mut value = 0_u64;
    for index in 0..place {
        value = value.checked_mul(10)?.checked_add(digit(index))?;
    }
    value.checked_add(u64::from(digit(place) >= 5))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimal_text_becomes_millionths() {
        for (text, expected) in [
            ("0", 0),
            ("0.00035", 350),
            ("0.00028000000000000003", 280),
            ("3.5000000000000004e-05", 35),
            ("0.0000005", 1),
            ("0.0000004999", 0),
            ("1e-9", 0),
            ("12.5", 12_500_000),
            ("1.5E2", 150_000_000),
        ] {
            assert_eq!(micros(text), Some(expected), "{text}");
        }
        for text in ["-1", "x", "", "1e999999999999", "99999999999999999999"] {
            assert_eq!(micros(text), None, "{text}");
        }
    }

    #[test]
    fn each_result_counts_from_the_one_before() {
        let mut meter = Meter::default();
        let outcome = |cost: &str, input: u64| -> Outcome {
            serde_json::from_str(&format!(
                r#"{{"total_cost_usd":{cost},"modelUsage":{{"m":{{"inputTokens":{input},"outputTokens":5}}}}}}"#
            ))
            .unwrap()
        };
        assert_eq!(meter.since_last(&outcome("0.00014", 10)).cost_micro_usd, 140);
        let second = meter.since_last(&outcome("0.00042", 30));
        assert_eq!((second.input_tokens, second.output_tokens, second.cost_micro_usd), (20, 0, 280));
    }
}
