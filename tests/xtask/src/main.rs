//! The build program of the workspace: `cargo xtask COMMAND`. It never ships.
//!
//! It prints its first line at once and says what it is doing before it does it, because on a bare machine its first
//! run takes minutes.

mod args;
mod bench;
mod check;
mod command;
mod demo;
mod fix;
mod libtest;
mod paths;
mod say;
mod setup;
mod sim;
mod stamp;
mod test;
mod wasm;

use std::process::ExitCode;

use args::Command;

fn main() -> ExitCode {
    let command = match args::parse(std::env::args_os().skip(1)) {
        Ok(command) => command,
        Err(error) => {
            eprintln!("xtask: {error}\n\n{}", args::USAGE);
            return ExitCode::from(2);
        }
    };
    let outcome = match command {
        Command::Help => {
            println!("{}", args::USAGE);
            Ok(())
        }
        Command::Setup => setup::run(),
        Command::Wasm => wasm::run().map(|_| ()),
        Command::Check => check::run(),
        Command::Test { long, only } => test::run(long, only.as_deref()),
        Command::Demo => demo::run(),
        Command::Bench { rest } => bench::run(&rest),
        Command::Sim { seed } => sim::run(seed),
        Command::Fix => fix::run(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}
