//! What a list query asks for, read once and strictly, so that both stores refuse and find the same.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use crate::ports::{ListQuery, SessionSummary, Status, StoreError};

const MAX_LIMIT: u32 = 500;
const MAX_METADATA_FILTERS: usize = 16;
const MAX_CURSOR_BYTES: usize = 8 * 1024;
const CURSOR_PREFIX: &str = "1-";

/// A place in the list: just after this session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Position {
    pub(super) updated_at_ms: u64,
    pub(super) id: String,
}

impl Position {
    pub(super) fn of(summary: &SessionSummary) -> Self {
        Self { updated_at_ms: summary.updated_at_ms, id: summary.id.clone() }
    }

    pub(super) fn to_cursor(&self) -> String {
        use std::fmt::Write as _;
        let mut cursor = format!("{CURSOR_PREFIX}{:x}-", self.updated_at_ms);
        for byte in self.id.bytes() {
            // Writing to a string cannot fail.
            let _ = write!(cursor, "{byte:02x}");
        }
        cursor
    }

    fn from_cursor(cursor: &str) -> Option<Self> {
        if cursor.len() > MAX_CURSOR_BYTES {
            return None;
        }
        let (time, id) = cursor.strip_prefix(CURSOR_PREFIX)?.split_once('-')?;
        let updated_at_ms = u64::from_str_radix(time, 16).ok()?;
        if !id.len().is_multiple_of(2) || !id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let pairs = (0..id.len()).step_by(2);
        let bytes: Option<Vec<u8>> = pairs.map(|at| u8::from_str_radix(&id[at..at + 2], 16).ok()).collect();
        let position = Self { updated_at_ms, id: String::from_utf8(bytes?).ok()? };
        (position.to_cursor() == cursor).then_some(position)
    }
}

/// A value that metadata can be filtered by. Integers and other numbers are equal where their values are.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Scalar {
    Null,
    Bool(bool),
    Integer(i64),
    Real(f64),
    Text(String),
}

impl Scalar {
    fn parse(json: &str) -> Option<Self> {
        match serde_json::from_str(json).ok()? {
            serde_json::Value::Null => Some(Self::Null),
            serde_json::Value::Bool(value) => Some(Self::Bool(value)),
            serde_json::Value::Number(number) => {
                number.as_i64().map(Self::Integer).or_else(|| number.as_f64().map(Self::Real))
            }
            serde_json::Value::String(text) => Some(Self::Text(text)),
            serde_json::Value::Array(_) | serde_json::Value::Object(_) => None,
        }
    }

    fn equals(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Integer(whole), Self::Real(real)) | (Self::Real(real), Self::Integer(whole)) => {
                same_number(*whole, *real)
            }
            _ => self == other,
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::float_cmp,
    reason = "the numbers are equal exactly when the conversions lose nothing in both directions"
)]
fn same_number(whole: i64, real: f64) -> bool {
    // The cast of 2^63 saturates to a number that is not 2^63.
    real < i64::MAX as f64 && real as i64 == whole && whole as f64 == real
}

/// A list query that can be answered.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Filter {
    /// Each status once; all where empty.
    pub(super) statuses: Vec<Status>,
    pub(super) metadata: Vec<(String, Scalar)>,
    pub(super) limit: u32,
    pub(super) after: Option<Position>,
}

impl Filter {
    pub(super) fn parse(query: &ListQuery) -> Result<Self, StoreError> {
        if !(1..=MAX_LIMIT).contains(&query.limit) {
            return Err(StoreError::Invalid(format!(
                "The limit of a list is from 1 to {MAX_LIMIT}; {} is not.",
                query.limit
            )));
        }
        if query.metadata.len() > MAX_METADATA_FILTERS {
            return Err(StoreError::Invalid(format!(
                "A list can be filtered by at most {MAX_METADATA_FILTERS} metadata keys."
            )));
        }
        let mut statuses = query.statuses.clone();
        statuses.sort_unstable();
        statuses.dedup();
        if statuses.len() == Status::ALL.len() {
            statuses.clear();
        }
        let metadata =
            query.metadata.iter().map(|(key, json)| Self::parse_metadata(key, json)).collect::<Result<_, _>>()?;
        let after = query.cursor.as_deref().map(Self::parse_cursor).transpose()?;
        Ok(Self { statuses, metadata, limit: query.limit, after })
    }

    fn parse_metadata(key: &str, json: &str) -> Result<(String, Scalar), StoreError> {
        let value = Scalar::parse(json).ok_or_else(|| {
            StoreError::Invalid(format!(
                "Metadata key {key:?} can be filtered by a JSON string, number, true, false or null alone."
            ))
        })?;
        Ok((key.to_owned(), value))
    }

    fn parse_cursor(cursor: &str) -> Result<Position, StoreError> {
        Position::from_cursor(cursor)
            .filter(|position| position.updated_at_ms <= super::rules::LARGEST)
            .ok_or_else(|| StoreError::Invalid("The cursor is not one that a list of sessions gave.".to_owned()))
    }

    /// Whether a session is among those asked for; its place in the list aside.
    pub(super) fn matches(&self, summary: &SessionSummary) -> bool {
        if !self.statuses.is_empty() && !self.statuses.contains(&summary.status) {
            return false;
        }
        if self.metadata.is_empty() {
            return true;
        }
        let Ok(kept) = serde_json::from_str::<BTreeMap<String, &RawValue>>(&summary.metadata) else {
            return false;
        };
        self.metadata.iter().all(|(key, wanted)| {
            kept.get(key).and_then(|raw| Scalar::parse(raw.get())).is_some_and(|value| value.equals(wanted))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_back_or_refused() {
        for id in ["", "a", "s-1-2", "größe"] {
            let position = Position { updated_at_ms: 17, id: id.to_owned() };
            assert_eq!(Position::from_cursor(&position.to_cursor()), Some(position));
        }
        for bad in
            ["", "1-", "1--", "1-zz-", "1-1-6", "1-1-6g", "2-1-61", "1-+1-61", "1-01-61", "1-1-ff", "1-1-6A", "é"]
        {
            assert_eq!(Position::from_cursor(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn numbers_are_equal_by_value() {
        assert!(Scalar::Integer(1).equals(&Scalar::Real(1.0)));
        assert!(!Scalar::Integer(1).equals(&Scalar::Real(1.5)));
        assert!(!Scalar::Integer(i64::MAX).equals(&Scalar::Real(9_223_372_036_854_775_808.0)));
        assert!(!Scalar::Integer(1).equals(&Scalar::Bool(true)));
    }
}
