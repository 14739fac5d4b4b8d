//! Reading sessions for their users. Nothing here touches the tables of the engine's notes or of resume states.

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension as _, Row, params_from_iter};

use super::error::OrStoreError as _;
use super::row::{self, SUMMARY, integer};
use crate::ports::{DueSessions, ListPage, SessionRecord, StoreError};
use crate::stores::filter::{Filter, Position, Scalar};

pub(super) const DUE: &str = "SELECT id FROM sessions \
    WHERE suspended_at_ms IS NOT NULL AND suspended_at_ms <= ?1 ORDER BY suspended_at_ms, id LIMIT ?2";

pub(super) fn load(connection: &Connection, session: &str) -> Result<Option<SessionRecord>, StoreError> {
    // One transaction, so that the messages are those of the summary.
    let snapshot = connection.unchecked_transaction().or_store_error()?;
    let sql = format!("SELECT {SUMMARY}, key FROM sessions WHERE id = ?1");
    let found = {
        let mut statement = snapshot.prepare_cached(&sql).or_store_error()?;
        let read = |row: &Row<'_>| Ok((row::summary(row)?, row.get::<_, i64>(9)?));
        statement.query_row([session], read).optional().or_store_error()?
    };
    let Some((summary, key)) = found else {
        return Ok(None);
    };
    let messages = row::messages(&snapshot, key, 0)?;
    Ok(Some(SessionRecord { summary, messages }))
}

pub(super) fn list(connection: &Connection, filter: &Filter) -> Result<ListPage, StoreError> {
    let (sql, parameters) = list_query(filter);
    let mut statement = connection.prepare_cached(&sql).or_store_error()?;
    let rows = statement.query_map(params_from_iter(parameters), row::summary).or_store_error()?;
    let mut sessions = rows.collect::<Result<Vec<_>, _>>().or_store_error()?;
    let more = sessions.len() > filter.limit as usize;
    sessions.truncate(filter.limit as usize);
    let next = sessions.last().filter(|_| more).map(|last| Position::of(last).to_cursor());
    Ok(ListPage { sessions, next })
}

/// The statement of a page: one arm per status and side of the cursor, each of which walks an index and stops at the
/// page's length, merged in order.
pub(super) fn list_query(filter: &Filter) -> (String, Vec<Value>) {
    let statuses: Vec<Option<&str>> = match filter.statuses.as_slice() {
        [] => vec![None],
        some => some.iter().map(|status| Some(status.as_str())).collect(),
    };
    // One more than asked for tells whether another page follows.
    let limit = Value::Integer(i64::from(filter.limit) + 1);
    let mut arms = Vec::new();
    let mut parameters = Vec::new();
    for status in statuses {
        for side in sides(filter.after.as_ref()) {
            let mut conditions = Vec::new();
            if let Some(status) = status {
                conditions.push("status = ?");
                parameters.push(Value::Text(status.to_owned()));
            }
            if let Some((condition, values)) = side {
                conditions.push(condition);
                parameters.extend(values);
            }
            for (key, wanted) in &filter.metadata {
                let (condition, value) = metadata_condition(wanted);
                conditions.push(condition);
                parameters.push(Value::Text(key.clone()));
                parameters.extend(value);
            }
            let conditions = if conditions.is_empty() { "true".to_owned() } else { conditions.join(" AND ") };
            arms.push(format!(
                "SELECT * FROM (SELECT {SUMMARY} FROM sessions WHERE {conditions} \
                 ORDER BY updated_at_ms DESC, id LIMIT ?)"
            ));
            parameters.push(limit.clone());
        }
    }
    parameters.push(limit);
    (format!("{} ORDER BY updated_at_ms DESC, id LIMIT ?", arms.join(" UNION ALL ")), parameters)
}

type Side = Option<(&'static str, Vec<Value>)>;

/// What follows a place in the list: the rest of those updated at the same time, and all before.
fn sides(after: Option<&Position>) -> Vec<Side> {
    let Some(after) = after else {
        return vec![None];
    };
    let time = Value::Integer(integer(after.updated_at_ms));
    vec![
        Some(("updated_at_ms = ? AND id > ?", vec![time.clone(), Value::Text(after.id.clone())])),
        Some(("updated_at_ms < ?", vec![time])),
    ]
}

/// A condition on one top-level key. Walking the keys takes any name, where a JSON path would have to quote it; text
/// that is not JSON has no keys.
macro_rules! in_metadata {
    ($condition:literal) => {
        concat!(
            "CASE WHEN json_valid(metadata) THEN EXISTS (SELECT 1 FROM json_each(metadata) WHERE key = ? AND ",
            $condition,
            ") ELSE false END"
        )
    };
}
fn metadata_condition(wanted: &Scalar) -> (&'static str, Option<Value>) {
    match wanted {
        Scalar::Null => (in_metadata!("type = 'null'"), None),
        Scalar::Bool(true) => (in_metadata!("type = 'true'"), None),
        Scalar::Bool(false) => (in_metadata!("type = 'false'"), None),
        Scalar::Integer(number) => {
            (in_metadata!("type IN ('integer', 'real') AND value = ?"), Some(Value::Integer(*number)))
        }
        Scalar::Real(number) => (in_metadata!("type IN ('integer', 'real') AND value = ?"), Some(Value::Real(*number))),
        Scalar::Text(text) => (in_metadata!("type = 'text' AND value = ?"), Some(Value::Text(text.clone()))),
    }
}

pub(super) fn list_due(
    connection: &Connection,
    for_ms: u64,
    limit: u32,
    now_ms: u64,
) -> Result<DueSessions, StoreError> {
    let Some(latest) = now_ms.checked_sub(for_ms) else {
        return Ok(DueSessions { now_ms, sessions: Vec::new() });
    };
    let mut statement = connection.prepare_cached(DUE).or_store_error()?;
    let rows = statement.query_map((integer(latest), limit), |row| row.get(0)).or_store_error()?;
    Ok(DueSessions { now_ms, sessions: rows.collect::<Result<_, _>>().or_store_error()? })
}

/// A read that touches the file.
pub(super) fn probe(connection: &Connection) -> Result<(), StoreError> {
    connection.query_row("SELECT count(*) FROM (SELECT 1 FROM sessions LIMIT 1)", [], |_| Ok(())).or_store_error()
}
