//! Puts a session manager together as the settings say: store, sandboxes and agent on a data directory.

use std::sync::Arc;

use tackroom::agents::claude::{ClaudeAgent, ClaudeOptions};
use tackroom::agents::scripted::{Scenario, ScriptedAgent};
use tackroom::manager::SessionManager;
use tackroom::ports::Agent;
use tackroom::sandboxes::local::LocalSandboxes;
use tackroom::server::{Server, ServerOptions};
use tackroom::stores::{SqliteOptions, SqliteStore};

use crate::exit::Failure;
use crate::owner::{self, Owner};
use crate::settings::{AgentSetting, SandboxSetting, Settings};

/// What Claude Code needs of the environment to reach its model.
const CLAUDE_VARIABLES: [&str; 5] =
    ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "ANTHROPIC_MODEL", "CLAUDE_CODE_OAUTH_TOKEN"];

/// A manager, its address, and the data directory that it owns.
pub(crate) struct Host {
    pub(crate) manager: SessionManager,
    pub(crate) server: Server,
    pub(crate) owner: Owner,
}

impl Host {
    /// Takes the data directory and the address, and recovers what a crash left.
    ///
    /// # Errors
    /// Whichever of the parts cannot be had, in words.
    pub(crate) async fn open(settings: &Settings, options: ServerOptions) -> Result<Self, Failure> {
        let mut owner = Owner::take(&settings.data)?;
        let server = Server::bind(options.clone()).await.map_err(Failure::failed)?;
        let agent = agent(settings)?;
        let sandboxes = LocalSandboxes::builder(owner::sandboxes(&settings.data));
        let sandboxes = match &settings.sandboxes {
            SandboxSetting::PerSession(most) => sandboxes.per_session(*most),
            SandboxSetting::Shared(ports) => sandboxes.shared(ports.clone()),
        };
        // Agents and their tools are where the user has them.
        let sandboxes = match std::env::var("PATH") {
            Ok(path) if !path.is_empty() => sandboxes.path(path),
            _ => sandboxes,
        };
        let sandboxes = sandboxes.build().await.map_err(Failure::failed)?;
        let store = SqliteStore::open(owner::database(&settings.data), SqliteOptions::default());
        let store = store.await.map_err(Failure::unavailable)?;
        let mut builder = SessionManager::builder()
            .store(Arc::new(store))
            .sandboxes(Arc::new(sandboxes))
            .agent(agent)
            .suspend_waiting_when_full(settings.suspend_waiting)
            .fault_reports(settings.data.join("faults"));
        if let Some(timeout) = settings.idle_timeout {
            builder = builder.idle_timeout(timeout);
        }
        if let Some(timeout) = settings.turn_timeout {
            builder = builder.turn_timeout(timeout);
        }
        if let Some(after) = settings.close_suspended_after {
            builder = builder.close_suspended_after(after);
        }
        if let Some(journal) = &settings.journal {
            builder = builder.journal(journal);
        }
        let manager = builder.build().await.map_err(Failure::failed)?;
        owner.announce(format!("http://{}", reachable(server.address())), options.token)?;
        Ok(Self { manager, server, owner })
    }
}

/// Where a client on this machine reaches what listens there.
pub(crate) fn reachable(mut address: std::net::SocketAddr) -> std::net::SocketAddr {
    if address.ip().is_unspecified() {
        let loopback: std::net::IpAddr =
            if address.is_ipv4() { [127, 0, 0, 1].into() } else { std::net::Ipv6Addr::LOCALHOST.into() };
        address.set_ip(loopback);
    }
    address
}

fn agent(settings: &Settings) -> Result<Arc<dyn Agent>, Failure> {
    match &settings.agent {
        AgentSetting::Scripted { scenario: None } => Ok(Arc::new(ScriptedAgent::new(Scenario::demo()))),
        AgentSetting::Scripted { scenario: Some(file) } => {
            Ok(Arc::new(ScriptedAgent::new(Scenario::load(file).map_err(Failure::usage)?)))
        }
        AgentSetting::Claude { program } => {
            let mut options = ClaudeOptions::new(program).hold(settings.hold);
            for name in CLAUDE_VARIABLES {
                if let Ok(value) = std::env::var(name) {
                    options = options.env(name, value);
                }
            }
            Ok(Arc::new(ClaudeAgent::new(options)))
        }
    }
}

/// The options of a server as the settings say.
pub(crate) fn server_options(settings: &Settings) -> ServerOptions {
    let mut options = ServerOptions::new(settings.listen);
    options.token.clone_from(&settings.token);
    options.allow_origins.clone_from(&settings.allow_origins);
    options.allow_hosts.clone_from(&settings.allow_hosts);
    if let Some(most) = settings.max_body {
        options.max_body = most;
    }
    options
}
