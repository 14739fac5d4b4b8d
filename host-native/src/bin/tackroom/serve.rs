//! `tackroom serve`: answers until it is told to stop, then suspends every session.

use std::io::Write;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

use crate::cli::SettingFlags;
use crate::exit::Failure;
use crate::host::{Host, server_options};
use crate::log;
use crate::settings::Settings;

/// The whole end takes no longer: service managers kill after ten seconds.
const LONGEST_END: Duration = Duration::from_millis(9_800);

pub(crate) async fn run(flags: &SettingFlags) -> Result<(), Failure> {
    let settings = Settings::read(flags)?;
    log::start(settings.log, settings.log_level);
    // Before anything is started: a signal during the start must not leave anything behind.
    let mut stop = Stop::new()?;
    let host = Host::open(&settings, server_options(&settings)).await?;
    let address = host.server.address();
    let mut out = std::io::stdout();
    writeln!(out, "tackroom {} listens on http://{address}", env!("CARGO_PKG_VERSION"))?;
    out.flush()?;
    tracing::info!(%address, data = %settings.data.display(), "serving");
    let (told, mut telling) = watch::channel(false);
    let Host { manager, server, owner } = host;
    let stopping = async move {
        stop.wait().await;
        tracing::info!("stopping: every session is being suspended");
        told.send_replace(true);
        stop
    };
    let stopping = tokio::spawn(stopping);
    let mut told_server = telling.clone();
    let serving = server.run(manager, async move {
        // The sender is kept until it has told.
        let _ = told_server.wait_for(|told| *told).await;
    });
    let overdue = async {
        let _ = telling.wait_for(|told| *told).await;
        tokio::time::sleep(LONGEST_END).await;
    };
    let impatient = async {
        match stopping.await {
            Ok(mut stop) => stop.wait().await,
            Err(_) => std::future::pending().await,
        }
    };
    let outcome = tokio::select! {
        () = serving => Ok(()),
        () = overdue => Err(Failure::failed("Some sessions could not be suspended in time; they are recovered at the next start.")),
        () = impatient => Err(Failure::failed("Stopped at once, as asked twice; sessions are recovered at the next start.")),
    };
    drop(owner);
    tracing::info!("stopped");
    outcome
}

/// SIGTERM and SIGINT.
struct Stop {
    terminate: Signal,
    interrupt: Signal,
}

impl Stop {
    fn new() -> Result<Self, Failure> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    async fn wait(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
