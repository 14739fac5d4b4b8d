//! A place in the stream of a turn, as text that clients hand back: also the id of a server-sent event.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// A place in the stream of a turn: `<turn>:<n>`, where `n` is the number of the last chunk that was seen.
///
/// ```
/// # use tackroom::manager::Cursor;
/// let cursor: Cursor = "0198c5a1-0000-7000-8000-000000000001:17".parse().unwrap();
/// assert_eq!((cursor.n, cursor.to_string().ends_with(":17")), (17, true));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Cursor {
    /// The turn's id.
    pub turn: Arc<str>,
    /// The number of the last chunk that was seen.
    pub n: u64,
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.turn, self.n)
    }
}

/// A text that is no cursor.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a place in a stream: it has to be a turn's id, a colon and a number, as the stream's events carry it."
)]
pub struct BadCursor(String);

impl FromStr for Cursor {
    type Err = BadCursor;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // Ids of strangers are not repeated at any length.
        let bad = || BadCursor(text.chars().take(80).collect());
        let (turn, n) = text.rsplit_once(':').ok_or_else(bad)?;
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        if turn.is_empty()
            || turn.len() > 128
            || !turn.bytes().all(plain)
            || !n.bytes().all(|byte| byte.is_ascii_digit())
        {
            return Err(bad());
        }
        Ok(Self { turn: turn.into(), n: n.parse().map_err(|_| bad())? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_is_read_again() {
        let cursor = Cursor { turn: "a-b_1".into(), n: u64::MAX };
        assert_eq!(cursor.to_string().parse(), Ok(cursor));
    }

    #[test]
    fn what_is_no_cursor_is_refused() {
        for text in ["", ":", "a", "a:", ":1", "a:-1", "a:+1", "a b:1", "a:1x", "a/b:1", "a:18446744073709551616"] {
            assert!(text.parse::<Cursor>().is_err(), "{text:?}");
        }
        assert!(format!("{}:1", "x".repeat(129)).parse::<Cursor>().is_err());
    }
}
