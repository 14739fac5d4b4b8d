//! The server as its clients meet it: real HTTP against a real manager with the scripted agent.

mod bad_input;
mod guards;
mod openapi;
mod routes;
mod schema;
mod streams;
mod support;
