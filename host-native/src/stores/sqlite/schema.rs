//! Opening a database file: is it ours, how old is it, and is it set up to lose nothing.

use std::fs::OpenOptions;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, MAIN_DB, OpenFlags, TransactionBehavior};

use super::SqliteOptions;
use super::error::{OrStoreError as _, store_error};
use crate::ports::StoreError;

/// `tack` in ASCII; the file header of every tackroom database carries it.
pub(super) const APPLICATION_ID: i32 = 0x7461_636b;

/// One step of the schema each, oldest first; a database at version `n` has had the first `n`.
const MIGRATIONS: [&str; 1] = [include_str!("schema_1.sql")];

/// The schema that this version writes.
pub(super) const SCHEMA_VERSION: usize = MIGRATIONS.len();

const STATEMENTS_CACHED: usize = 64;
const WRITER_CACHE_KIB: u32 = 8 * 1024;
const READER_CACHE_KIB: u32 = 2 * 1024;

/// Opens the one connection that writes, making or migrating the file first.
pub(super) fn open_writer(path: &Path, options: &SqliteOptions) -> Result<Connection, StoreError> {
    create_private(path)?;
    let mut connection = connect(path, options, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    let version = check_identity(&connection, path)?;
    // Asked after the first read, which is when SQLite learns what the file's header forbids.
    if connection.is_readonly(MAIN_DB).or_store_error()? {
        return Err(StoreError::Broken(format!("{} cannot be written to; check its permissions.", path.display())));
    }
    set_up_writer(&connection, options)?;
    if version < SCHEMA_VERSION {
        migrate(&mut connection, path, options)?;
    }
    Ok(connection)
}

/// Opens a connection that only reads.
pub(super) fn open_reader(path: &Path, options: &SqliteOptions) -> Result<Connection, StoreError> {
    let connection = connect(path, options, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection.pragma_update(None, "cache_size", -i64::from(READER_CACHE_KIB)).or_store_error()?;
    connection.pragma_update(None, "query_only", true).or_store_error()?;
    Ok(connection)
}

fn connect(path: &Path, options: &SqliteOptions, flags: OpenFlags) -> Result<Connection, StoreError> {
    let connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)
        .map_err(|error| StoreError::Broken(format!("{} cannot be opened ({error}).", path.display())))?;
    connection.busy_timeout(Duration::from_millis(options.busy_timeout_ms)).or_store_error()?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS_CACHED);
    connection.pragma_update(None, "temp_store", "MEMORY").or_store_error()?;
    Ok(connection)
}

/// Makes the file, readable by its owner alone; SQLite gives its companions the same mode.
fn create_private(path: &Path) -> Result<(), StoreError> {
    let mut open = OpenOptions::new();
    open.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut open, 0o600);
    match open.open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(StoreError::Broken(format!("{} cannot be made ({error}).", path.display()))),
    }
}

/// The schema version of a file that is ours; zero for an empty one.
fn check_identity(connection: &Connection, path: &Path) -> Result<usize, StoreError> {
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
    let at_file = |error: &rusqlite::Error| match store_error(error) {
        StoreError::Broken(reason) => StoreError::Broken(format!("{}: {reason}", path.display())),
        other => other,
    };
    let application = pragma("application_id").map_err(|error| at_file(&error))?;
    let version = pragma("user_version").map_err(|error| at_file(&error))?;
    let objects: i64 = connection
        .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
        .map_err(|error| at_file(&error))?;
    if application == 0 && version == 0 && objects == 0 {
        return Ok(0);
    }
    if application != APPLICATION_ID {
        return Err(StoreError::Broken(format!(
            "{} is a SQLite database, but not one of tackroom's; name another file.",
            path.display()
        )));
    }
    match usize::try_from(version) {
        Ok(version) if version <= SCHEMA_VERSION => Ok(version),
        _ => Err(StoreError::Broken(format!(
            "{} was written by a newer tackroom (schema {version}; this one knows up to {SCHEMA_VERSION}); use that version.",
            path.display()
        ))),
    }
}

fn set_up_writer(connection: &Connection, options: &SqliteOptions) -> Result<(), StoreError> {
    let set = |name: &str, value: &dyn rusqlite::ToSql| connection.pragma_update(None, name, value).or_store_error();
    let mode: String =
        connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0)).or_store_error()?;
    if mode != "wal" {
        return Err(StoreError::Broken(format!(
            "The database cannot use a write-ahead log (its journal mode stays {mode:?}); use a local disk."
        )));
    }
    set("synchronous", &"FULL")?;
    // Without it a Mac acknowledges writes that its disk has not kept.
    set("fullfsync", &true)?;
    set("checkpoint_fullfsync", &true)?;
    set("foreign_keys", &true)?;
    set("cache_size", &-i64::from(WRITER_CACHE_KIB))?;
    // A log grown large by one heavy moment is cut back at the next checkpoint.
    connection.query_row("PRAGMA journal_size_limit = 16777216", [], |_| Ok(())).or_store_error()?;
    if let Some(bytes) = options.max_bytes {
        let page_size: i64 = connection.pragma_query_value(None, "page_size", |row| row.get(0)).or_store_error()?;
        let pages = i64::try_from(bytes).unwrap_or(i64::MAX) / page_size.max(1);
        let pages = pages.clamp(1, i64::from(u32::MAX) - 1);
        connection.query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(())).or_store_error()?;
    }
    Ok(())
}

fn migrate(connection: &mut Connection, path: &Path, options: &SqliteOptions) -> Result<(), StoreError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).or_store_error()?;
    // Another process may have migrated it while this one waited.
    let from = check_identity(&transaction, path)?;
    for sql in &MIGRATIONS[from..] {
        transaction.execute_batch(sql).or_store_error()?;
    }
    if from == 0 {
        let now = i64::try_from(options.clock.now_ms()).unwrap_or(i64::MAX);
        let insert = "INSERT INTO meta (key, value) VALUES ('createdBy', ?1), ('createdAtMs', ?2)";
        let by = concat!("tackroom ", env!("CARGO_PKG_VERSION"));
        transaction.execute(insert, (by, now.to_string())).or_store_error()?;
    }
    let upsert = "INSERT INTO meta (key, value) VALUES ('schemaVersion', ?1) \
                  ON CONFLICT (key) DO UPDATE SET value = excluded.value";
    transaction.execute(upsert, [SCHEMA_VERSION.to_string()]).or_store_error()?;
    let version = i64::try_from(SCHEMA_VERSION).unwrap_or(i64::MAX);
    transaction.pragma_update(None, "user_version", version).or_store_error()?;
    transaction.pragma_update(None, "application_id", APPLICATION_ID).or_store_error()?;
    transaction.commit().or_store_error()
}
