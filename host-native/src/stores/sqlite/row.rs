//! How a session lies in its table: columns for what is searched and checked, JSON text for the rest.

use rusqlite::types::Type;
use rusqlite::{Connection, Error, OptionalExtension as _, Row};
use serde::{Deserialize, Serialize};

use super::error::OrStoreError as _;
use crate::ports::{
    AuditRecord, MessageRecord, PendingInput, SessionSettings, SessionSummary, Status, StoreError, TurnError, Usage,
};

/// The columns that [`summary`] reads, in its order.
pub(super) const SUMMARY: &str =
    "id, status, created_at_ms, updated_at_ms, suspended_at_ms, message_count, metadata, details, revision";

/// The column `details`: what of a summary is neither searched nor sorted by.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct Details {
    settings: SessionSettings,
    turns: u64,
    usage: Usage,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<TurnError>,
    pending: Vec<PendingInput>,
    #[serde(skip_serializing_if = "Option::is_none")]
    turn: Option<String>,
    metadata_revision: u64,
}

pub(super) fn details(summary: &SessionSummary) -> Result<String, StoreError> {
    let details = Details {
        settings: summary.settings.clone(),
        turns: summary.turns,
        usage: summary.usage,
        error: summary.error.clone(),
        pending: summary.pending.clone(),
        turn: summary.turn.clone(),
        metadata_revision: summary.metadata_revision,
    };
    serde_json::to_string(&details).map_err(|error| StoreError::Invalid(format!("A summary is not JSON ({error}).")))
}

pub(super) fn summary(row: &Row<'_>) -> Result<SessionSummary, Error> {
    let text = row.get_ref(7)?.as_str()?;
    let details: Details =
        serde_json::from_str(text).map_err(|error| Error::FromSqlConversionFailure(7, Type::Text, Box::new(error)))?;
    let status = row.get_ref(1)?.as_str()?;
    let status = Status::parse(status)
        .ok_or_else(|| Error::FromSqlConversionFailure(1, Type::Text, format!("{status:?} is not a status").into()))?;
    Ok(SessionSummary {
        id: row.get(0)?,
        status,
        metadata: row.get(6)?,
        settings: details.settings,
        created_at_ms: number(row, 2)?,
        updated_at_ms: number(row, 3)?,
        suspended_at_ms: row.get::<_, Option<i64>>(4)?.map(i64::cast_unsigned),
        turns: details.turns,
        usage: details.usage,
        error: details.error,
        pending: details.pending,
        message_count: row.get(5)?,
        turn: details.turn,
        revision: number(row, 8)?,
        metadata_revision: details.metadata_revision,
        stopping: None,
        degraded: false,
    })
}

/// What the checks of a write need to know of the session kept.
pub(super) struct Head {
    pub(super) key: i64,
    pub(super) generation: u64,
    pub(super) revision: u64,
    pub(super) write_id: String,
    pub(super) suspended_at_ms: Option<u64>,
    pub(super) owner: Option<String>,
    pub(super) lease_ends_ms: u64,
}

impl Head {
    pub(super) fn find(connection: &Connection, session: &str) -> Result<Option<Self>, StoreError> {
        let sql = "SELECT key, generation, revision, write_id, suspended_at_ms, owner, lease_ends_ms \
                   FROM sessions WHERE id = ?1";
        let read = |row: &Row<'_>| {
            Ok(Self {
                key: row.get(0)?,
                generation: number(row, 1)?,
                revision: number(row, 2)?,
                write_id: row.get(3)?,
                suspended_at_ms: row.get::<_, Option<i64>>(4)?.map(i64::cast_unsigned),
                owner: row.get(5)?,
                lease_ends_ms: row.get::<_, Option<i64>>(6)?.map_or(0, i64::cast_unsigned),
            })
        };
        let mut statement = connection.prepare_cached(sql).or_store_error()?;
        statement.query_row([session], read).optional().or_store_error()
    }

    /// The host that holds the session at this moment, if it is another than `owner`.
    pub(super) fn held_by_another(&self, owner: &str, now_ms: u64) -> Option<&str> {
        self.owner.as_deref().filter(|holder| *holder != owner && self.lease_ends_ms > now_ms)
    }
}

/// The messages of a session from an index on, in order.
pub(super) fn messages(connection: &Connection, key: i64, from: u32) -> Result<Vec<MessageRecord>, StoreError> {
    let sql = "SELECT idx, id, json FROM messages WHERE session = ?1 AND idx >= ?2 ORDER BY idx";
    let read = |row: &Row<'_>| Ok(MessageRecord { index: row.get(0)?, id: row.get(1)?, json: row.get(2)? });
    let mut statement = connection.prepare_cached(sql).or_store_error()?;
    let rows = statement.query_map((key, from), read).or_store_error()?;
    rows.collect::<Result<_, _>>().or_store_error()
}

/// The lines of a session's audit log above a number, oldest first.
pub(super) fn audit(
    connection: &Connection,
    session: &str,
    after_seq: Option<u64>,
    limit: u32,
) -> Result<Vec<AuditRecord>, StoreError> {
    let sql = "SELECT seq, at_ms, audit.json FROM audit JOIN sessions ON sessions.key = audit.session \
               WHERE sessions.id = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3";
    let read = |row: &Row<'_>| Ok(AuditRecord { seq: number(row, 0)?, at_ms: number(row, 1)?, json: row.get(2)? });
    let mut statement = connection.prepare_cached(sql).or_store_error()?;
    let rows = statement.query_map((session, after_seq.map_or(-1, integer), limit), read).or_store_error()?;
    rows.collect::<Result<_, _>>().or_store_error()
}

/// Reads a number that was checked to fit when it was written.
pub(super) fn number(row: &Row<'_>, column: usize) -> Result<u64, Error> {
    row.get::<_, i64>(column).map(i64::cast_unsigned)
}

/// A number as SQLite keeps it; what is larger was refused before.
pub(super) fn integer(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
