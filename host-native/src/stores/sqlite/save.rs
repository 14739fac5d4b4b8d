//! Writing and forgetting one session, inside a savepoint of the writer's transaction.

use rusqlite::Connection;

use super::error::OrStoreError as _;
use super::row::{self, Head, integer};
use crate::ports::{AuditRecord, MessageRecord, Ownership, ResumeChange, Save, StoreError};
use crate::stores::rules::{self, Kept, Verdict};

pub(super) fn save(connection: &Connection, save: &Save, now_ms: u64) -> Result<(), StoreError> {
    let head = Head::find(connection, &save.summary.id)?;
    let kept = head.as_ref().map(|head| Kept {
        generation: head.generation,
        revision: head.revision,
        write_id: &head.write_id,
    });
    if rules::check_save(kept, save)? == Verdict::AlreadyWritten {
        return Ok(());
    }
    let count = match &head {
        Some(head) if !save.messages.is_empty() => count_messages(connection, head.key)?,
        _ => 0,
    };
    rules::check_messages(count, &save.messages)?;
    let key = write_session(connection, head.as_ref(), save, now_ms)?;
    write_messages(connection, key, &save.messages)?;
    write_audit(connection, key, &save.audit)?;
    write_engine_state(connection, key, &save.engine_state)?;
    write_resume(connection, key, &save.resume)
}

fn count_messages(connection: &Connection, key: i64) -> Result<u32, StoreError> {
    // The index answers it without counting: conversations have no gaps.
    let sql = "SELECT coalesce(max(idx) + 1, 0) FROM messages WHERE session = ?1";
    connection
        .prepare_cached(sql)
        .and_then(|mut statement| statement.query_row([key], |row| row.get(0)))
        .or_store_error()
}

fn write_session(connection: &Connection, head: Option<&Head>, save: &Save, now_ms: u64) -> Result<i64, StoreError> {
    let summary = &save.summary;
    let sql = match head {
        Some(_) => {
            "UPDATE sessions SET status = ?2, created_at_ms = ?3, updated_at_ms = ?4, suspended_at_ms = ?5, \
             message_count = ?6, metadata = ?7, details = ?8, generation = ?9, revision = ?10, write_id = ?11, \
             tail_from = ?12, owner = ?13, lease_ends_ms = ?14 WHERE id = ?1 RETURNING key"
        }
        None => {
            "INSERT INTO sessions (id, status, created_at_ms, updated_at_ms, suspended_at_ms, message_count, metadata, \
             details, generation, revision, write_id, tail_from, owner, lease_ends_ms) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14) RETURNING key"
        }
    };
    let suspended_at = rules::suspended_at(head.and_then(|head| head.suspended_at_ms), summary.status, now_ms);
    let (owner, lease_end) = match &save.ownership {
        Ownership::Held { owner, lease_ms } => (Some(owner), Some(integer(rules::lease_end(now_ms, *lease_ms)))),
        Ownership::Released => (None, None),
    };
    let details = row::details(summary)?;
    let parameters = rusqlite::params![
        summary.id,
        summary.status.as_str(),
        integer(summary.created_at_ms),
        integer(summary.updated_at_ms),
        suspended_at.map(integer),
        summary.message_count,
        summary.metadata,
        details,
        integer(save.generation),
        integer(save.revision),
        save.write_id,
        save.tail_from,
        owner,
        lease_end,
    ];
    let mut statement = connection.prepare_cached(sql).or_store_error()?;
    statement.query_row(parameters, |row| row.get(0)).or_store_error()
}

fn write_messages(connection: &Connection, key: i64, messages: &[MessageRecord]) -> Result<(), StoreError> {
    let sql = "INSERT INTO messages (session, idx, id, json) VALUES (?1, ?2, ?3, ?4) \
               ON CONFLICT (session, idx) DO UPDATE SET id = excluded.id, json = excluded.json";
    let mut statement = connection.prepare_cached(sql).or_store_error()?;
    for message in messages {
        statement.execute((key, message.index, &message.id, &message.json)).or_store_error()?;
    }
    Ok(())
}

fn write_audit(connection: &Connection, key: i64, lines: &[AuditRecord]) -> Result<(), StoreError> {
    let sql = "INSERT INTO audit (session, seq, at_ms, json) VALUES (?1, ?2, ?3, ?4) \
               ON CONFLICT (session, seq) DO NOTHING";
    let mut statement = connection.prepare_cached(sql).or_store_error()?;
    for line in lines {
        statement.execute((key, integer(line.seq), integer(line.at_ms), &line.json)).or_store_error()?;
    }
    Ok(())
}

fn write_engine_state(connection: &Connection, key: i64, state: &str) -> Result<(), StoreError> {
    let sql = "INSERT INTO engine_states (session, json) VALUES (?1, ?2) \
               ON CONFLICT (session) DO UPDATE SET json = excluded.json";
    connection.prepare_cached(sql).and_then(|mut statement| statement.execute((key, state))).or_store_error()?;
    Ok(())
}

fn write_resume(connection: &Connection, key: i64, change: &ResumeChange) -> Result<(), StoreError> {
    match change {
        ResumeChange::Keep => {}
        ResumeChange::Replace(state) => {
            let sql = "INSERT INTO resume_states (session, state) VALUES (?1, ?2) \
                       ON CONFLICT (session) DO UPDATE SET state = excluded.state";
            let mut statement = connection.prepare_cached(sql).or_store_error()?;
            statement.execute((key, state.expose())).or_store_error()?;
        }
        ResumeChange::Drop => {
            let sql = "DELETE FROM resume_states WHERE session = ?1";
            connection.prepare_cached(sql).and_then(|mut statement| statement.execute([key])).or_store_error()?;
        }
    }
    Ok(())
}

pub(super) fn delete(connection: &Connection, session: &str, generation: u64) -> Result<(), StoreError> {
    let Some(head) = Head::find(connection, session)? else {
        return Ok(());
    };
    if generation < head.generation {
        return Err(StoreError::Fenced { session: session.to_owned(), stored: head.generation, offered: generation });
    }
    // What refers to the session goes with it.
    let sql = "DELETE FROM sessions WHERE key = ?1";
    connection.prepare_cached(sql).and_then(|mut statement| statement.execute([head.key])).or_store_error()?;
    Ok(())
}

/// A write that changes nothing a user sees, to learn whether writes get through.
pub(super) fn touch(connection: &Connection, now_ms: u64) -> Result<(), StoreError> {
    let sql = "INSERT INTO meta (key, value) VALUES ('readyAtMs', ?1) \
               ON CONFLICT (key) DO UPDATE SET value = excluded.value";
    connection
        .prepare_cached(sql)
        .and_then(|mut statement| statement.execute([now_ms.to_string()]))
        .or_store_error()?;
    Ok(())
}
