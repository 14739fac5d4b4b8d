//! Shows that the engine is the same behind each of its faces.
//!
//! A [`journal`] is a list of calls of the engine. [`face`] plays it through the crate or the component and gives each
//! answer in the canonical JSON form. Journals come from [`random`], which plays a little host by dice, and from
//! [`world`], in which a person writes a scenario; a [`vector`] is a scenario's journal with its answers, in a file.
//! It never judges whether an answer is right, except by the vectors, which people have read.

pub mod chunks;
pub mod face;
pub mod host;
pub mod journal;
pub mod law;
pub mod random;
pub mod store;
pub mod vector;
pub mod world;
