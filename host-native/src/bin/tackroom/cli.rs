//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::exit::CODES;

/// Keeps the sessions that an application's users have with coding agents.
#[derive(Debug, Parser)]
#[command(name = "tackroom", version, after_help = CODES, propagate_version = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve sessions over HTTP until SIGTERM or SIGINT, which suspend every session
    #[command(after_help = CODES)]
    Serve(SettingFlags),
    /// Talk with an agent in this terminal, over a running server or one started for it
    #[command(after_help = CODES)]
    Chat(Chat),
    /// Look at sessions and end them, over a running server or one started for it
    #[command(after_help = CODES)]
    Sessions(Sessions),
    /// Play a recorded journal through the engine, step by step
    #[command(after_help = CODES)]
    Replay(Replay),
    /// Find out what works on this machine, and what to do about what does not
    #[command(after_help = CODES)]
    Doctor(Doctor),
}

/// Settings. Each can also be given in the environment (`TACKROOM_` and its name in capitals, `-` as `_`) and in the
/// configuration file (a TOML key of its name). Flags outweigh the environment, which outweighs the file.
#[derive(Debug, Default, Clone, Args)]
pub(crate) struct SettingFlags {
    /// A TOML file of settings
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// The coding agent: claude or scripted [default: claude]
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// The scenario that the scripted agent plays [default: a built-in one]
    #[arg(long, value_name = "FILE")]
    pub(crate) scenario: Option<String>,
    /// The Claude Code program [default: claude]
    #[arg(long, value_name = "PATH")]
    pub(crate) claude: Option<String>,
    /// Where to listen [default: 127.0.0.1:4310]
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) listen: Option<String>,
    /// The directory that sessions are kept in [default: tackroom in the user's data directory]
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<String>,
    /// What clients have to send as a bearer token; safer in `TACKROOM_TOKEN`, which other users cannot see
    #[arg(long, value_name = "TOKEN")]
    pub(crate) token: Option<String>,
    /// An origin whose web pages may use the server; may be repeated
    #[arg(long, value_name = "ORIGIN")]
    pub(crate) allow_origin: Vec<String>,
    /// A name other than localhost by which the server is reached; may be repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) allow_host: Vec<String>,
    /// Reserved for a file of rules that answer approvals
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<String>,
    /// The most sessions with a sandbox at once, each in a directory of its own [default: 64]
    #[arg(long, value_name = "NUMBER")]
    pub(crate) max_sessions: Option<String>,
    /// One shared sandbox with a port for each session, such as 5000-5009 or 5000,5002
    #[arg(long, value_name = "PORTS")]
    pub(crate) sandbox_ports: Option<String>,
    /// Suspend a session idle or waiting for this long, such as 30m [default: never]
    #[arg(long, value_name = "TIME")]
    pub(crate) idle_timeout: Option<String>,
    /// Cut a turn short after this much work, such as 2h [default: never]
    #[arg(long, value_name = "TIME")]
    pub(crate) turn_timeout: Option<String>,
    /// Close a session suspended for this long, such as 30d [default: never]
    #[arg(long, value_name = "TIME")]
    pub(crate) close_suspended_after: Option<String>,
    /// How long Claude Code is kept waiting for an approval before its process is let go [default: 30s]
    #[arg(long, value_name = "TIME")]
    pub(crate) hold: Option<String>,
    /// Whether sessions waiting for a person are suspended when every sandbox is taken [default: false]
    #[arg(long, value_name = "BOOL")]
    pub(crate) suspend_waiting: Option<String>,
    /// The most bytes of a request's body [default: 4718592]
    #[arg(long, value_name = "BYTES")]
    pub(crate) max_body: Option<String>,
    /// How logs are written to standard error: text or json [default: text]
    #[arg(long, value_name = "FORM")]
    pub(crate) log: Option<String>,
    /// The least level that is logged: error, warn, info, debug, trace or off [default: info]
    #[arg(long, value_name = "LEVEL")]
    pub(crate) log_level: Option<String>,
    /// Append every input of the engine to this file, for `tackroom replay`; it holds what users and agents say
    #[arg(long, value_name = "FILE")]
    pub(crate) journal: Option<String>,
}

/// Which server to talk to.
#[derive(Debug, Clone, Args)]
pub(crate) struct Where {
    /// The server's address, such as <http://127.0.0.1:4310> [default: the one that holds the data directory]
    #[arg(long, value_name = "URL")]
    pub(crate) server: Option<String>,
    #[command(flatten)]
    pub(crate) settings: SettingFlags,
}

#[derive(Debug, Args)]
pub(crate) struct Chat {
    /// Go on with this session instead of opening a new one
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// Model as the agent knows it
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// Permission mode as the agent knows it
    #[arg(long, value_name = "MODE")]
    pub(crate) permission_mode: Option<String>,
    /// Say this, show the answer and end; approvals are asked for on the terminal
    #[arg(long, short = 'm', value_name = "TEXT")]
    pub(crate) message: Option<String>,
    #[command(flatten)]
    pub(crate) at: Where,
}

#[derive(Debug, Args)]
pub(crate) struct Sessions {
    #[command(subcommand)]
    pub(crate) command: SessionsCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SessionsCommand {
    /// List sessions, the last updated first
    List {
        /// Only these statuses, joined by commas
        #[arg(long, value_name = "STATUS")]
        status: Option<String>,
        /// Only sessions with this metadata; may be repeated
        #[arg(long, value_name = "KEY=VALUE")]
        metadata: Vec<String>,
        /// At most this many; all where absent
        #[arg(long, value_name = "NUMBER")]
        limit: Option<usize>,
        /// Print JSON
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        at: Where,
    },
    /// Show a session and its conversation
    Show {
        /// The session
        id: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        at: Where,
    },
    /// End a session for good; its conversation can still be read
    Close {
        /// The session
        id: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        at: Where,
    },
    /// Write a session, its conversation and its audit log as JSON
    Export {
        /// The session
        id: String,
        /// The file; standard output where absent
        #[arg(long, short = 'o', value_name = "FILE")]
        output: Option<PathBuf>,
        #[command(flatten)]
        at: Where,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Replay {
    /// The journal, as `serve --journal` writes it
    pub(crate) file: PathBuf,
    /// Another journal to compare with: the first step at which they differ is shown, and the exit code is 1
    #[arg(long, value_name = "OTHER")]
    pub(crate) diff: Option<PathBuf>,
    /// Print a JSON text a line
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) settings: SettingFlags,
}
