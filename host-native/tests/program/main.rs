//! The program as its users start it.

mod commands;
mod running;
mod settings;
