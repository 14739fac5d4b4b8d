//! `tackroom doctor`: what works on this machine, and what to do about what does not.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde::Serialize;
use tackroom::agents::scripted::Scenario;
use tackroom::ports::Store;
use tackroom::sandboxes::local::Isolation;
use tackroom::stores::{SqliteOptions, SqliteStore};
use tokio::net::TcpListener;
use tokio::process::Command;

use crate::cli::Doctor;
use crate::exit::Failure;
use crate::owner::{Card, Held, database, held};
use crate::settings::{AgentSetting, Settings};

/// How long a program may take to tell its version.
const PATIENCE: Duration = Duration::from_secs(20);

/// One thing that was looked at.
#[derive(Debug, Serialize)]
struct Check {
    name: &'static str,
    ok: bool,
    /// What was found, a sentence.
    found: String,
    /// What to do, where something is to be done.
    #[serde(skip_serializing_if = "Option::is_none")]
    advice: Option<String>,
}

impl Check {
    fn good(name: &'static str, found: String) -> Self {
        Self { name, ok: true, found, advice: None }
    }

    fn bad(name: &'static str, found: String, advice: impl Into<String>) -> Self {
        Self { name, ok: false, found, advice: Some(advice.into()) }
    }
}

/// Exits with success where everything that `serve` needs with the same settings works.
pub(crate) async fn run(doctor: &Doctor) -> Result<(), Failure> {
    let settings = Settings::read(&doctor.settings)?;
    let owner = held(&settings.data);
    let ours = matches!(&owner, Ok(Held::By(_)));
    let checks = [
        agent(&settings).await,
        sandbox().await,
        directory(&settings.data, &owner),
        store(&settings.data, ours).await,
        port(&settings, &owner).await,
    ];
    let ok = checks.iter().all(|check| check.ok);
    let text = if doctor.json { as_json(ok, &checks) } else { as_text(&checks) };
    writeln!(std::io::stdout(), "{text}")?;
    if ok { Ok(()) } else { Err(Failure::failed("Something that tackroom needs does not work here.")) }
}

fn as_json(ok: bool, checks: &[Check]) -> String {
    serde_json::json!({ "version": env!("CARGO_PKG_VERSION"), "ok": ok, "checks": checks }).to_string()
}

fn as_text(checks: &[Check]) -> String {
    let line = |check: &Check| {
        let mark = if check.ok { "ok     " } else { "problem" };
        let advice = check.advice.as_ref().map(|advice| format!("\n                   {advice}")).unwrap_or_default();
        format!("{mark}  {:<9} {}{advice}", check.name, check.found)
    };
    let mut lines = vec![format!("tackroom {}", env!("CARGO_PKG_VERSION"))];
    lines.extend(checks.iter().map(line));
    lines.join("\n")
}

async fn agent(settings: &Settings) -> Check {
    let name = "agent";
    match &settings.agent {
        AgentSetting::Scripted { scenario: None } => {
            Check::good(name, "scripted, with the built-in scenario.".to_owned())
        }
        AgentSetting::Scripted { scenario: Some(file) } => match Scenario::load(file) {
            Ok(_) => Check::good(name, format!("scripted, with the scenario {}.", file.display())),
            Err(error) => Check::bad(name, error.to_string(), "Mend the file, or leave --scenario out."),
        },
        AgentSetting::Claude { program } => claude(program).await,
    }
}

async fn claude(program: &str) -> Check {
    let name = "agent";
    let install = "Install Claude Code (npm install -g @anthropic-ai/claude-code), name it with --claude PATH, or try \
                   --agent scripted.";
    let Some(path) = find(program) else {
        return Check::bad(name, format!("claude: there is no program {program:?}."), install);
    };
    let mut command = Command::new(&path);
    command.arg("--version").stdin(Stdio::null()).kill_on_drop(true);
    let output = match tokio::time::timeout(PATIENCE, command.output()).await {
        Ok(Ok(output)) if output.status.success() => output,
        Ok(Ok(output)) => {
            return Check::bad(name, format!("{} --version ends with {}.", path.display(), output.status), install);
        }
        Ok(Err(error)) => return Check::bad(name, format!("{} cannot be run: {error}.", path.display()), install),
        Err(_) => {
            let found = format!("{} --version does not end within {} s.", path.display(), PATIENCE.as_secs());
            return Check::bad(name, found, install);
        }
    };
    let version = String::from_utf8_lossy(&output.stdout).trim().chars().take(80).collect::<String>();
    let found = format!("claude {version}, at {}.", path.display());
    let keys = ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "ANTHROPIC_BASE_URL"];
    if keys.iter().any(|key| std::env::var_os(key).is_some()) {
        return Check::good(name, found);
    }
    let advice = "No credentials are in the environment, and agents have a home of their own: set ANTHROPIC_API_KEY or \
                  CLAUDE_CODE_OAUTH_TOKEN for `serve`.";
    Check { advice: Some(advice.to_owned()), ..Check::good(name, found) }
}

/// Where a program is: a path as it stands, a name in the `PATH`.
fn find(program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(PathBuf::from(program)).filter(|path| path.is_file());
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|directory| directory.join(program)).find(|path| path.is_file())
}

async fn sandbox() -> Check {
    let name = "sandbox";
    let found = tokio::task::spawn_blocking(Isolation::detect).await;
    match found {
        Ok(Ok(isolation @ Isolation::PidNamespace { .. })) => Check::good(name, format!("local, with {isolation}.")),
        Ok(Ok(isolation)) => {
            let advice = "A command that means harm can outlive its session. Namespaces would prevent it: allow user \
                          namespaces on this machine, or run tackroom as root in a container.";
            Check { advice: Some(advice.to_owned()), ..Check::good(name, format!("local, with {isolation}.")) }
        }
        Ok(Err(error)) => Check::bad(name, error.to_string(), "Use Linux with /proc mounted."),
        Err(error) => Check::bad(name, format!("The look at it was cut short: {error}."), "Try again."),
    }
}

fn directory(data: &Path, owner: &std::io::Result<Held>) -> Check {
    let name = "data";
    let shown = data.display();
    match owner {
        Ok(Held::Free) if data.exists() => Check::good(name, format!("{shown}, owned by no process now.")),
        Ok(Held::Free) => Check::good(name, format!("{shown}, which `serve` will make.")),
        Ok(Held::By(Card { pid, url, .. })) => {
            let at = url.as_ref().map(|url| format!(" at {url}")).unwrap_or_default();
            let found = format!("{shown}, owned by process {pid}{at}.");
            let advice = "`chat` and `sessions` talk to that process; another `serve` needs another --data.";
            Check { advice: Some(advice.to_owned()), ..Check::good(name, found) }
        }
        Err(error) => {
            Check::bad(name, format!("{shown} cannot be used: {error}."), "Choose another --data, or mend its rights.")
        }
    }
}

async fn store(data: &Path, owned: bool) -> Check {
    let name = "store";
    let file = database(data);
    if owned {
        return Check::good(name, format!("SQLite, {}, in use by its owner.", file.display()));
    }
    // Nothing is made in the user's directory by looking: a store that is not there yet is tried elsewhere.
    let there = file.exists();
    let elsewhere = std::env::temp_dir().join(format!("tackroom-doctor-{}", std::process::id()));
    let file = if there { file } else { elsewhere.join("sessions.db") };
    if !there && let Err(error) = std::fs::create_dir_all(&elsewhere) {
        return Check::bad(name, format!("SQLite cannot be tried: {error}."), "Make room for temporary files.");
    }
    let tried = async {
        let store = SqliteStore::open(&file, SqliteOptions::default()).await?;
        let ready = store.ready().await;
        store.close().await;
        ready
    };
    let outcome = tried.await;
    // What cannot be removed is a small file among temporary ones.
    let _ = std::fs::remove_dir_all(&elsewhere);
    match outcome {
        Ok(()) if there => Check::good(name, format!("SQLite, {}, can be read and written.", file.display())),
        Ok(()) => Check::good(name, "SQLite, a new file can be made and written.".to_owned()),
        Err(error) => Check::bad(name, error.to_string(), "Make room on the disk, or restore the file from a copy."),
    }
}

async fn port(settings: &Settings, owner: &std::io::Result<Held>) -> Check {
    let name = "port";
    let address = settings.listen;
    if let Ok(Held::By(Card { url: Some(url), .. })) = owner
        && *url == format!("http://{address}")
    {
        return Check::good(name, format!("{address}, served by the owner of the data directory."));
    }
    match TcpListener::bind(address).await {
        Ok(_) => Check::good(name, format!("{address} is free.")),
        Err(error) => Check::bad(name, format!("{address} cannot be used: {error}."), "Choose another --listen."),
    }
}
