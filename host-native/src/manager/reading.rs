//! What callers read of sessions.

pub use crate::ports::{ListPage, ListQuery, SessionRecord, SessionSummary};
