//! The stores that come with tackroom: one in memory, one in an SQLite file. They behave alike, and one suite of tests
//! holds them, and any other store, to it.

pub mod clock;
mod filter;
pub mod memory;
mod rules;
#[cfg(feature = "sqlite")]
pub mod sqlite;
#[cfg(test)]
mod tests;

pub use clock::StoreClock;
pub use memory::MemoryStore;
#[cfg(feature = "sqlite")]
pub use sqlite::{SqliteOptions, SqliteStore};
