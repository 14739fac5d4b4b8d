//! What SQLite says, in the words of the store port: what may pass by itself, and what somebody has to mend.

use rusqlite::{Error, ErrorCode};

use crate::ports::StoreError;

/// Turns an error of SQLite into one of the port. SQLite's messages name tables and columns, never values.
pub(super) fn store_error(error: &Error) -> StoreError {
    match error {
        Error::SqliteFailure(failure, _) => by_code(failure.code, error),
        Error::FromSqlConversionFailure(..) | Error::InvalidColumnType(..) | Error::IntegralValueOutOfRange(..) => {
            StoreError::Broken(format!("A kept value is not what this version writes ({error})."))
        }
        _ => StoreError::Broken(format!("SQLite refused a statement ({error}).")),
    }
}

fn by_code(code: ErrorCode, error: &Error) -> StoreError {
    match code {
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => {
            StoreError::Unavailable(format!("Another process is writing to the database ({error})."))
        }
        ErrorCode::OutOfMemory | ErrorCode::OperationInterrupted | ErrorCode::FileLockingProtocolFailed => {
            StoreError::Unavailable(format!("SQLite could not go on ({error})."))
        }
        ErrorCode::DiskFull => {
            StoreError::Broken(format!("There is no room left for the database; make room on its disk ({error})."))
        }
        ErrorCode::ReadOnly | ErrorCode::PermissionDenied => {
            StoreError::Broken(format!("The database cannot be written to; check its permissions ({error})."))
        }
        ErrorCode::DatabaseCorrupt => {
            StoreError::Broken(format!("The database is corrupt; restore it from a backup ({error})."))
        }
        ErrorCode::NotADatabase => StoreError::Broken(format!("The file is not a SQLite database ({error}).")),
        ErrorCode::CannotOpen => StoreError::Broken(format!("The database file cannot be opened ({error}).")),
        ErrorCode::SystemIoFailure => StoreError::Broken(format!("The disk failed ({error}).")),
        ErrorCode::TooBig => StoreError::Invalid(format!("A text is longer than SQLite keeps ({error}).")),
        _ => StoreError::Broken(format!("SQLite refused a statement ({error}).")),
    }
}

/// Shorthand for mapping the error of a whole result.
pub(super) trait OrStoreError<T> {
    fn or_store_error(self) -> Result<T, StoreError>;
}

impl<T> OrStoreError<T> for Result<T, Error> {
    fn or_store_error(self) -> Result<T, StoreError> {
        self.map_err(|error| store_error(&error))
    }
}
