//! The program `tackroom`: serves sessions over HTTP, talks with them, looks at them, replays what an engine was told,
//! and finds out what works on a machine.

mod chat;
mod cli;
mod client;
mod connect;
mod doctor;
mod exit;
mod host;
mod log;
mod owner;
mod replay;
mod serve;
mod sessions;
mod settings;

use std::process::ExitCode;

use clap::Parser;
use tracing_subscriber::filter::LevelFilter;

use cli::{Cli, Command};
use exit::Failure;
use settings::LogForm;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("tackroom: The program cannot start its threads: {error}.");
            return ExitCode::FAILURE;
        }
    };
    let outcome = runtime.block_on(run(cli));
    // What still runs is waited for no longer: a thread may be reading the terminal.
    runtime.shutdown_background();
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("tackroom: {failure}");
            failure.code()
        }
    }
}

async fn run(cli: Cli) -> Result<(), Failure> {
    if !matches!(cli.command, Command::Serve(_)) {
        log::start(LogForm::Text, LevelFilter::WARN);
    }
    match cli.command {
        Command::Serve(flags) => serve::run(&flags).await,
        Command::Chat(chat) => chat::run(chat).await,
        Command::Sessions(sessions) => sessions::run(sessions).await,
        Command::Replay(replay) => replay::run(&replay),
        Command::Doctor(doctor) => doctor::run(&doctor).await,
    }
}
