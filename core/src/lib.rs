//! The engine of tackroom. It never does input or output: no clock, socket, file, thread or random number can be
//! reached from here.
#![no_std]
#![forbid(unsafe_code)]
extern crate alloc;

pub mod json;
pub mod transcript;
