//! Settings of the program, checked: what is wrong is told with its name, its place and what would be right.

pub(crate) mod layers;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use tracing_subscriber::filter::LevelFilter;

use crate::cli::SettingFlags;
use crate::exit::Failure;
use layers::{Given, Layers};

/// Which agent runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AgentSetting {
    Scripted { scenario: Option<PathBuf> },
    Claude { program: String },
}

/// How sandboxes are arranged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SandboxSetting {
    PerSession(u32),
    Shared(Vec<u16>),
}

/// How logs are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogForm {
    Text,
    Json,
}

/// All settings.
#[derive(Clone)]
pub(crate) struct Settings {
    pub(crate) agent: AgentSetting,
    pub(crate) listen: SocketAddr,
    pub(crate) data: PathBuf,
    pub(crate) token: Option<String>,
    pub(crate) allow_origins: Vec<String>,
    pub(crate) allow_hosts: Vec<String>,
    pub(crate) sandboxes: SandboxSetting,
    pub(crate) idle_timeout: Option<Duration>,
    pub(crate) turn_timeout: Option<Duration>,
    pub(crate) close_suspended_after: Option<Duration>,
    pub(crate) hold: Duration,
    pub(crate) suspend_waiting: bool,
    pub(crate) max_body: Option<usize>,
    pub(crate) log: LogForm,
    pub(crate) log_level: LevelFilter,
    pub(crate) journal: Option<PathBuf>,
}

impl Settings {
    /// Reads and checks all settings.
    ///
    /// # Errors
    /// The first that cannot be used.
    pub(crate) fn read(flags: &SettingFlags) -> Result<Self, Failure> {
        Self::of(&Layers::read(flags, layers::variable)?, layers::variable)
    }

    fn of(layers: &Layers, variable: impl Fn(&str) -> Option<String>) -> Result<Self, Failure> {
        if let Some(policy) = layers.get("policy") {
            return Err(policy.wrong(
                "policies are reserved for a later version, and this one knows none. Leave it out: a \
                                     person answers every approval.",
            ));
        }
        let data = match layers.get("data") {
            Some(given) => path(given)?,
            None => default_data(variable)?,
        };
        let sandboxes = match (layers.get("sandbox-ports"), layers.get("max-sessions")) {
            (Some(ports), Some(_)) => {
                return Err(
                    ports.wrong("it does not go with max-sessions: shared sandboxes take as many sessions as ports.")
                );
            }
            (Some(given), None) => SandboxSetting::Shared(ports(given)?),
            (None, given) => {
                let most = given.map_or(Ok(64), |given| number(given, 1, 100_000))?;
                SandboxSetting::PerSession(u32::try_from(most).unwrap_or(u32::MAX))
            }
        };
        let time = |key| layers.get(key).map_or(Ok(None), duration);
        let listed = |key| layers.get(key).map(|given| given.values.clone()).unwrap_or_default();
        Ok(Self {
            agent: agent(layers)?,
            listen: layers.get("listen").map_or(Ok(SocketAddr::from(([127, 0, 0, 1], 4310))), address)?,
            data,
            token: layers.get("token").map(|given| given.one().to_owned()),
            allow_origins: listed("allow-origin"),
            allow_hosts: listed("allow-host"),
            sandboxes,
            idle_timeout: time("idle-timeout")?,
            turn_timeout: time("turn-timeout")?,
            close_suspended_after: time("close-suspended-after")?,
            hold: time("hold")?.unwrap_or(Duration::from_secs(30)),
            suspend_waiting: layers.get("suspend-waiting").map_or(Ok(false), yes_or_no)?,
            max_body: layers.get("max-body").map(|given| number(given, 1_024, 64 << 20)).transpose()?.map(size),
            log: layers.get("log").map_or(Ok(LogForm::Text), log_form)?,
            log_level: layers.get("log-level").map_or(Ok(LevelFilter::INFO), level)?,
            journal: layers.get("journal").map(path).transpose()?,
        })
    }
}

fn size(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

fn agent(layers: &Layers) -> Result<AgentSetting, Failure> {
    let (scenario, claude) = (layers.get("scenario"), layers.get("claude"));
    let name = layers.get("agent");
    match name.map_or("claude", Given::one) {
        "scripted" => Ok(AgentSetting::Scripted { scenario: scenario.map(path).transpose()? }),
        "claude" => match scenario {
            Some(given) => Err(given.wrong("a scenario goes with `agent` scripted alone.")),
            None => Ok(AgentSetting::Claude { program: claude.map_or("claude", Given::one).to_owned() }),
        },
        // Only a name that was given can be another one.
        _ => Err(name.map_or_else(|| Failure::usage("agent"), |given| given.wrong("there are claude and scripted."))),
    }
}

fn default_data(variable: impl Fn(&str) -> Option<String>) -> Result<PathBuf, Failure> {
    let absolute = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = absolute("XDG_DATA_HOME").or_else(|| absolute("HOME").map(|home| home.join(".local/share")));
    let missing = "data: there is neither HOME nor XDG_DATA_HOME to choose a directory by; give --data DIR.";
    base.map(|base| base.join("tackroom")).ok_or_else(|| Failure::usage(missing))
}

fn path(given: &Given) -> Result<PathBuf, Failure> {
    if given.one().is_empty() || given.one().contains('\0') {
        return Err(given.wrong("it has to be a path."));
    }
    Ok(PathBuf::from(given.one()))
}

fn address(given: &Given) -> Result<SocketAddr, Failure> {
    let text = given.one().replacen("localhost:", "127.0.0.1:", 1);
    text.parse().map_err(|_| given.wrong("it has to be an address and a port, such as 127.0.0.1:4310 or [::1]:4310."))
}

fn number(given: &Given, least: u64, most: u64) -> Result<u64, Failure> {
    let number = given.one().parse().ok().filter(|number| (least..=most).contains(number));
    number.ok_or_else(|| given.wrong(&format!("it has to be a whole number from {least} to {most}.")))
}

fn yes_or_no(given: &Given) -> Result<bool, Failure> {
    given.one().parse().map_err(|_| given.wrong("it has to be true or false."))
}

fn log_form(given: &Given) -> Result<LogForm, Failure> {
    match given.one() {
        "text" => Ok(LogForm::Text),
        "json" => Ok(LogForm::Json),
        _ => Err(given.wrong("there are text and json.")),
    }
}

fn level(given: &Given) -> Result<LevelFilter, Failure> {
    given.one().parse().map_err(|_| given.wrong("there are error, warn, info, debug, trace and off."))
}

/// A time such as `90s`, `30m`, `2h`, `7d` or `250ms`; `never` for none.
fn duration(given: &Given) -> Result<Option<Duration>, Failure> {
    let text = given.one();
    if text == "never" {
        return Ok(None);
    }
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let unit_ms: Option<u64> = match unit {
        "ms" => Some(1),
        "s" => Some(1_000),
        "m" => Some(60_000),
        "h" => Some(3_600_000),
        "d" => Some(86_400_000),
        _ => None,
    };
    let ms = number.parse::<u64>().ok().zip(unit_ms).and_then(|(number, unit)| number.checked_mul(unit));
    // Ten years: what is longer was not meant.
    match ms.filter(|ms| (1..=315_360_000_000).contains(ms)) {
        Some(ms) => Ok(Some(Duration::from_millis(ms))),
        None => Err(given.wrong("it has to be a time such as 90s, 30m, 2h or 7d, or never.")),
    }
}

/// Ports such as `5000-5009` or `5000,5002`.
fn ports(given: &Given) -> Result<Vec<u16>, Failure> {
    let wrong = || given.wrong("it has to be ports such as 5000-5009 or 5000,5002, each once.");
    let mut ports = Vec::new();
    for range in given.one().split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let port = |text: &str| text.trim().parse::<u16>().ok().filter(|port| *port > 0);
        let (Some(first), Some(last)) = (port(first), port(last)) else { return Err(wrong()) };
        if first > last || (first..=last).any(|port| ports.contains(&port)) {
            return Err(wrong());
        }
        ports.extend(first..=last);
    }
    Ok(ports)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Result<Settings, Failure> {
        let variable = |name: &str| {
            let key = name.strip_prefix("TACKROOM_")?.to_lowercase().replace('_', "-");
            pairs.iter().find(|(one, _)| *one == key).map(|(_, value)| (*value).to_owned())
        };
        let home = |name: &str| (name == "HOME").then(|| "/home/somebody".to_owned());
        Settings::of(&Layers::read(&SettingFlags::default(), variable)?, home)
    }

    #[test]
    fn without_settings_there_are_defaults() {
        let settings = read(&[]).unwrap();
        assert_eq!(settings.agent, AgentSetting::Claude { program: "claude".to_owned() });
        assert_eq!(settings.listen.to_string(), "127.0.0.1:4310");
        assert_eq!(settings.data, PathBuf::from("/home/somebody/.local/share/tackroom"));
        assert_eq!(settings.sandboxes, SandboxSetting::PerSession(64));
        assert_eq!((settings.idle_timeout, settings.hold), (None, Duration::from_secs(30)));
    }

    #[test]
    fn settings_are_read() {
        let settings = read(&[
            ("agent", "scripted"),
            ("scenario", "a.json"),
            ("sandbox-ports", "5000-5002,6000"),
            ("idle-timeout", "30m"),
            ("turn-timeout", "never"),
            ("listen", "localhost:0"),
            ("log-level", "debug"),
        ])
        .unwrap();
        assert_eq!(settings.agent, AgentSetting::Scripted { scenario: Some("a.json".into()) });
        assert_eq!(settings.sandboxes, SandboxSetting::Shared(vec![5000, 5001, 5002, 6000]));
        assert_eq!((settings.idle_timeout, settings.turn_timeout), (Some(Duration::from_mins(30)), None));
        assert_eq!((settings.listen.port(), settings.log_level), (0, LevelFilter::DEBUG));
    }

    #[test]
    fn what_cannot_be_used_is_told_with_its_name_place_and_what_would_be_right() {
        let table = [
            ("agent", "codex", "claude and scripted"),
            ("listen", "4310", "127.0.0.1:4310"),
            ("idle-timeout", "30", "30m"),
            ("idle-timeout", "0s", "30m"),
            ("idle-timeout", "99999999999999999d", "30m"),
            ("sandbox-ports", "5000-4000", "5000-5009"),
            ("sandbox-ports", "0", "5000-5009"),
            ("sandbox-ports", "1,1", "5000-5009"),
            ("max-sessions", "0", "from 1"),
            ("log", "xml", "text and json"),
            ("log-level", "loud", "error, warn"),
            ("suspend-waiting", "maybe", "true or false"),
            ("max-body", "1", "from 1024"),
            ("policy", "rules.toml", "reserved"),
            ("scenario", "a.json", "scripted"),
        ];
        for (key, value, right) in table {
            let error = read(&[(key, value)]).err().unwrap_or_else(|| panic!("{key} = {value} is taken")).message;
            let name = format!("TACKROOM_{}", key.replace('-', "_").to_uppercase());
            assert!(error.contains(key) && error.contains(&name) && error.contains(right), "{error}");
        }
    }

    #[test]
    fn a_token_is_not_repeated() {
        let given = Given { key: "token", values: vec!["hidden".to_owned()], place: "here".to_owned() };
        assert!(!given.wrong("no.").message.contains("hidden"));
    }
}
