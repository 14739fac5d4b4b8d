//! Taking sessions over and keeping them, inside a savepoint of the writer's transaction.

use rusqlite::{Connection, OptionalExtension as _, Row};

use super::error::OrStoreError as _;
use super::row::{self, Head, SUMMARY, integer, number};
use crate::ports::{Claimed, ResumeState, StoreError, StoredSession};
use crate::stores::rules;

pub(super) const CLAIMABLE: &str = "SELECT id FROM sessions INDEXED BY sessions_live \
    WHERE status IN ('preparing', 'idle', 'busy', 'awaiting-input') \
    AND (owner IS NULL OR owner = ?1 OR lease_ends_ms <= ?2) AND id > ?3 ORDER BY id LIMIT ?4";

pub(super) fn claim_live(
    connection: &Connection,
    owner: &str,
    lease_ms: u64,
    after: Option<&str>,
    limit: u32,
    now_ms: u64,
) -> Result<Claimed, StoreError> {
    // No id is empty, so all come after the empty one.
    let parameters = (owner, integer(now_ms), after.unwrap_or_default(), i64::from(limit) + 1);
    let mut statement = connection.prepare_cached(CLAIMABLE).or_store_error()?;
    let rows = statement.query_map(parameters, |row| row.get::<_, String>(0)).or_store_error()?;
    let mut ids = rows.collect::<Result<Vec<_>, _>>().or_store_error()?;
    let more = ids.len() > limit as usize;
    ids.truncate(limit as usize);
    let mut sessions = Vec::with_capacity(ids.len());
    for id in ids {
        sessions.extend(take(connection, &id, owner, rules::lease_end(now_ms, lease_ms))?);
    }
    Ok(Claimed { sessions, more })
}

pub(super) fn claim(
    connection: &Connection,
    session: &str,
    owner: &str,
    lease_ms: u64,
    now_ms: u64,
) -> Result<Option<StoredSession>, StoreError> {
    let Some(head) = Head::find(connection, session)? else {
        return Ok(None);
    };
    if let Some(holder) = head.held_by_another(owner, now_ms) {
        return Err(StoreError::Held { session: session.to_owned(), owner: holder.to_owned() });
    }
    take(connection, session, owner, rules::lease_end(now_ms, lease_ms))
}

fn take(connection: &Connection, id: &str, owner: &str, ends_ms: u64) -> Result<Option<StoredSession>, StoreError> {
    let sql = format!(
        "UPDATE sessions SET generation = generation + 1, owner = ?2, lease_ends_ms = ?3 WHERE id = ?1 \
         RETURNING {SUMMARY}, key, generation, tail_from"
    );
    let read = |row: &Row<'_>| {
        let (key, tail_from) = (row.get::<_, i64>(9)?, row.get::<_, u32>(11)?);
        Ok((row::summary(row)?, key, number(row, 10)?, number(row, 8)?, tail_from))
    };
    let mut statement = connection.prepare_cached(&sql).or_store_error()?;
    let taken = statement.query_row((id, owner, integer(ends_ms)), read).optional().or_store_error()?;
    let Some((summary, key, generation, revision, tail_from)) = taken else {
        return Ok(None);
    };
    let tail = row::messages(connection, key, tail_from)?;
    let engine_state = text(connection, "SELECT json FROM engine_states WHERE session = ?1", key)?.unwrap_or_default();
    let resume = text(connection, "SELECT state FROM resume_states WHERE session = ?1", key)?.map(ResumeState::new);
    Ok(Some(StoredSession { generation, revision, summary, engine_state, tail, resume }))
}

fn text(connection: &Connection, sql: &str, key: i64) -> Result<Option<String>, StoreError> {
    let mut statement = connection.prepare_cached(sql).or_store_error()?;
    statement.query_row([key], |row| row.get(0)).optional().or_store_error()
}

pub(super) fn renew(
    connection: &Connection,
    owner: &str,
    lease_ms: u64,
    sessions: &[(String, u64)],
    now_ms: u64,
) -> Result<Vec<String>, StoreError> {
    let sql = "UPDATE sessions SET lease_ends_ms = ?2 WHERE key = ?1";
    let mut extend = connection.prepare_cached(sql).or_store_error()?;
    let ends_ms = integer(rules::lease_end(now_ms, lease_ms));
    let mut lost = Vec::new();
    for (id, generation) in sessions {
        let Some(head) = Head::find(connection, id)? else { continue };
        let held_by_another = head.owner.as_deref().is_some_and(|holder| holder != owner);
        if head.generation != *generation || held_by_another {
            lost.push(id.clone());
        } else if head.owner.is_some() {
            extend.execute((head.key, ends_ms)).or_store_error()?;
        }
    }
    Ok(lost)
}
