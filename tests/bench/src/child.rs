//! Measurements that need a process of their own: its start, or its memory.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// Runs this program anew for one measurement and reads what it found.
///
/// # Errors
/// The process cannot be started, fails, or prints no JSON.
pub(crate) fn run(name: &str, arguments: &[&str]) -> Result<Value> {
    let program = std::env::current_exe().context("This program's own file cannot be found.")?;
    let output = Command::new(program)
        .args(["--child", name])
        .args(arguments)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("The measurement {name:?} cannot be started in a process of its own."))?;
    if !output.status.success() {
        bail!("The measurement {name:?} failed in a process of its own ({}).", output.status);
    }
    serde_json::from_slice(&output.stdout).with_context(|| format!("The measurement {name:?} printed no JSON."))
}

/// A number of what a child found.
///
/// # Errors
/// It is not there.
pub(crate) fn number(found: &Value, name: &str) -> Result<f64> {
    found[name].as_f64().with_context(|| format!("A measurement did not tell {name:?}."))
}

/// Memory of this process in bytes: what is resident now, and the most that ever was.
///
/// # Errors
/// The system does not tell.
pub(crate) fn resident() -> Result<(f64, f64)> {
    let status =
        std::fs::read_to_string("/proc/self/status").context("The system does not tell a process's memory.")?;
    let field = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name))?;
        line.split_whitespace().nth(1)?.parse::<f64>().ok().map(|kib| kib * 1024.0)
    };
    let missing = "The system does not tell a process's memory.";
    Ok((field("VmRSS:").context(missing)?, field("VmHWM:").context(missing)?))
}
