//! Approvals: what a pause waits for, how answers are read, checked, recorded and put into words.

pub(crate) mod answers;
pub(crate) mod chunks;
pub(crate) mod words;
