//! The server as its clients meet it: real HTTP against a real manager with the scripted agent.
#![allow(
    clippy::format_push_string,
    clippy::match_same_arms,
    clippy::similar_names,
    reason = "in tests, one plain line after another reads best"
)]

mod bad_input;
mod guards;
mod openapi;
mod routes;
mod schema;
mod streams;
mod support;
