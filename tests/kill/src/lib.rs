//! What the kill tests work with: the program as a child that can be killed, its routes, and the processes that it left.
//!
//! The tests see the program from outside alone: through HTTP, through its data directory and through `/proc`.

mod api;
mod host;
mod http;
mod processes;

pub use api::{Api, Heard, Sent, TRIES, waiting};
pub use host::{Host, Launch, program};
pub use http::{Events, Response, request};
pub use processes::{Process, kill, none_left, of, still_there};
