//! Logs, to standard error: standard output belongs to what a command prints.

use std::io::IsTerminal;

use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt;

use crate::settings::LogForm;

/// Starts logging. Called once.
pub(crate) fn start(form: LogForm, level: LevelFilter) {
    let builder = fmt().with_max_level(level).with_writer(std::io::stderr).with_ansi(false);
    // It fails only where logging has been started before, and then that goes on.
    let _ = match form {
        LogForm::Json => tracing::subscriber::set_global_default(builder.json().flatten_event(true).finish()),
        LogForm::Text if std::io::stderr().is_terminal() => {
            tracing::subscriber::set_global_default(builder.with_target(false).finish())
        }
        LogForm::Text => tracing::subscriber::set_global_default(builder.finish()),
    };
}
