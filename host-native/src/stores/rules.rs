//! What every store decides alike: whether a write may follow what is kept, and what it is stamped with.

use crate::ports::{AuditRecord, MessageRecord, Save, Status, StoreError};

/// The largest number kept; SQLite's integers and those of other databases end there.
pub(super) const LARGEST: u64 = i64::MAX.unsigned_abs();

/// What a write is checked against.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kept<'a> {
    pub(super) generation: u64,
    pub(super) revision: u64,
    pub(super) write_id: &'a str,
}

/// Whether a checked write has still to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Write,
    AlreadyWritten,
}

/// The checks of a save, in the order that the port names.
pub(super) fn check_save(kept: Option<Kept<'_>>, save: &Save) -> Result<Verdict, StoreError> {
    let session = || save.summary.id.clone();
    if let Some(kept) = kept {
        if kept.write_id == save.write_id {
            return Ok(Verdict::AlreadyWritten);
        }
        if save.generation < kept.generation {
            return Err(StoreError::Fenced { session: session(), stored: kept.generation, offered: save.generation });
        }
        if save.revision == 1 {
            return Err(StoreError::Exists(session()));
        }
    }
    let stored = kept.map_or(0, |kept| kept.revision);
    if save.revision != stored + 1 {
        return Err(StoreError::Stale { session: session(), stored, offered: save.revision });
    }
    check_numbers(save)?;
    Ok(Verdict::Write)
}

fn check_numbers(save: &Save) -> Result<(), StoreError> {
    let summary = &save.summary;
    let numbers = [
        ("generation", save.generation),
        ("revision", save.revision),
        ("created_at_ms", summary.created_at_ms),
        ("updated_at_ms", summary.updated_at_ms),
    ];
    match numbers.into_iter().find(|(_, number)| *number > LARGEST) {
        Some((name, number)) => Err(StoreError::Invalid(format!("{name} is {number}; the largest kept is {LARGEST}."))),
        None => Ok(()),
    }
}

/// Refuses messages that would leave a gap in a conversation of `count` messages. Each may follow those before it.
pub(super) fn check_messages(count: u32, messages: &[MessageRecord]) -> Result<(), StoreError> {
    let mut count = count;
    for message in messages {
        if message.index > count {
            return Err(StoreError::Invalid(format!(
                "Message {} cannot be kept: the conversation has {count} messages and may not have gaps.",
                message.index
            )));
        }
        if message.index == count {
            count += 1;
        }
    }
    Ok(())
}

/// The lines of an audit log that are not kept yet, where `last` is the number of the last one that is.
pub(super) fn new_lines(last: Option<u64>, lines: Vec<AuditRecord>) -> impl Iterator<Item = AuditRecord> {
    lines.into_iter().filter(move |line| last.is_none_or(|last| line.seq > last))
}

/// When the session was suspended: the first save that finds it so stamps it, later ones keep the stamp.
pub(super) fn suspended_at(before: Option<u64>, status: Status, now_ms: u64) -> Option<u64> {
    (status == Status::Suspended).then(|| before.unwrap_or(now_ms).min(LARGEST))
}

/// When a lease taken now runs out.
pub(super) fn lease_end(now_ms: u64, lease_ms: u64) -> u64 {
    now_ms.saturating_add(lease_ms).min(LARGEST)
}
