//! Where settings come from: flags over environment over file, each value with the place that it came from.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use toml::de::{DeTable, DeValue};

use crate::cli::SettingFlags;
use crate::exit::Failure;

/// The names of all settings.
pub(crate) const KEYS: [&str; 20] = [
    "agent",
    "allow-host",
    "allow-origin",
    "claude",
    "close-suspended-after",
    "data",
    "hold",
    "idle-timeout",
    "journal",
    "listen",
    "log",
    "log-level",
    "max-body",
    "max-sessions",
    "policy",
    "sandbox-ports",
    "scenario",
    "suspend-waiting",
    "token",
    "turn-timeout",
];
/// The settings that hold several values.
const LISTS: [&str; 2] = ["allow-host", "allow-origin"];

/// A setting as it was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Given {
    pub(crate) key: &'static str,
    /// One value, or several of a list.
    pub(crate) values: Vec<String>,
    /// Where, in words.
    pub(crate) place: String,
}

impl Given {
    /// The error of a value that cannot be used.
    pub(crate) fn wrong(&self, right: &str) -> Failure {
        // A token is not repeated to whoever reads the terminal or the log.
        let shown = if self.key == "token" { "The value".to_owned() } else { format!("{:?}", self.values.join(",")) };
        Failure::usage(format!("{} ({}): {shown} cannot be used; {right}", self.key, self.place))
    }

    pub(crate) fn one(&self) -> &str {
        self.values.first().map_or("", String::as_str)
    }
}

/// All settings that were given, the heaviest of each.
#[derive(Debug, Default)]
pub(crate) struct Layers(BTreeMap<&'static str, Given>);

impl Layers {
    /// Reads all three layers.
    ///
    /// # Errors
    /// A configuration file that cannot be read, or that holds what no setting is.
    pub(crate) fn read(flags: &SettingFlags, variable: impl Fn(&str) -> Option<String>) -> Result<Self, Failure> {
        let mut layers = Self::default();
        let named = variable("TACKROOM_CONFIG").filter(|path| !path.is_empty()).map(PathBuf::from);
        if let Some(file) = flags.config.clone().or(named) {
            layers.read_file(&file)?;
        }
        for key in KEYS {
            let name = format!("TACKROOM_{}", key.replace('-', "_").to_uppercase());
            if let Some(value) = variable(&name).filter(|value| !value.is_empty()) {
                let list = LISTS.contains(&key);
                let values =
                    if list { value.split(',').map(|one| one.trim().to_owned()).collect() } else { vec![value] };
                layers.0.insert(key, Given { key, values, place: format!("the variable {name}") });
            }
        }
        for (key, values) in of_flags(flags) {
            if !values.is_empty() {
                layers.0.insert(key, Given { key, values, place: format!("the flag --{key}") });
            }
        }
        Ok(layers)
    }

    /// A setting, where it was given.
    pub(crate) fn get(&self, key: &'static str) -> Option<&Given> {
        debug_assert!(KEYS.contains(&key), "{key} is not listed");
        self.0.get(key)
    }

    fn read_file(&mut self, file: &Path) -> Result<(), Failure> {
        let shown = file.display();
        let text = fs::read_to_string(file)
            .map_err(|error| Failure::usage(format!("The configuration file {shown} cannot be read: {error}.")))?;
        let table = DeTable::parse(&text)
            .map_err(|error| Failure::usage(format!("The configuration file {shown} is not TOML:\n{error}")))?;
        for (name, value) in table.get_ref() {
            let line = text[..name.span().start.min(text.len())].matches('\n').count() + 1;
            let place = format!("{shown}, line {line}");
            let Some(key) = KEYS.into_iter().find(|key| *key == &**name.get_ref()) else {
                let name = name.get_ref();
                let message = format!("{name} ({place}): there is no such setting; there are {}.", KEYS.join(", "));
                return Err(Failure::usage(message));
            };
            let values = of_toml(value.get_ref(), LISTS.contains(&key)).ok_or_else(|| {
                let right = if LISTS.contains(&key) {
                    "a text or a list of texts"
                } else {
                    "a text, a number or true or false"
                };
                let kind = value.get_ref().type_str();
                Failure::usage(format!("{key} ({place}): a value of type {kind} cannot be used; it has to be {right}."))
            })?;
            self.0.insert(key, Given { key, values, place });
        }
        Ok(())
    }
}

fn of_toml(value: &DeValue<'_>, list: bool) -> Option<Vec<String>> {
    let one = |value: &DeValue<'_>| match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) => Some(number.to_string()),
        DeValue::Boolean(yes) => Some(yes.to_string()),
        _ => None,
    };
    match value {
        DeValue::Array(items) if list => items.iter().map(|item| one(item.get_ref())).collect(),
        other => Some(vec![one(other)?]),
    }
}

fn of_flags(flags: &SettingFlags) -> Vec<(&'static str, Vec<String>)> {
    let one = |value: &Option<String>| value.clone().into_iter().collect();
    vec![
        ("agent", one(&flags.agent)),
        ("allow-host", flags.allow_host.clone()),
        ("allow-origin", flags.allow_origin.clone()),
        ("claude", one(&flags.claude)),
        ("close-suspended-after", one(&flags.close_suspended_after)),
        ("data", one(&flags.data)),
        ("hold", one(&flags.hold)),
        ("idle-timeout", one(&flags.idle_timeout)),
        ("journal", one(&flags.journal)),
        ("listen", one(&flags.listen)),
        ("log", one(&flags.log)),
        ("log-level", one(&flags.log_level)),
        ("max-body", one(&flags.max_body)),
        ("max-sessions", one(&flags.max_sessions)),
        ("policy", one(&flags.policy)),
        ("sandbox-ports", one(&flags.sandbox_ports)),
        ("scenario", one(&flags.scenario)),
        ("suspend-waiting", one(&flags.suspend_waiting)),
        ("token", one(&flags.token)),
        ("turn-timeout", one(&flags.turn_timeout)),
    ]
}

/// A variable of this process; one that is not text is taken as absent.
pub(crate) fn variable(name: &str) -> Option<String> {
    env::var(name).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("tackroom.toml");
        fs::write(&path, text).unwrap();
        (directory, path)
    }

    #[test]
    fn flags_outweigh_the_environment_which_outweighs_the_file() {
        let (_directory, config) =
            file("agent = \"file\"\nlisten = \"file\"\nmax-sessions = 3\nallow-origin = [\"a\", \"b\"]\n");
        let flags = SettingFlags { config: Some(config), agent: Some("flag".into()), ..SettingFlags::default() };
        let environment = |name: &str| match name {
            "TACKROOM_AGENT" | "TACKROOM_LISTEN" => Some("environment".to_owned()),
            "TACKROOM_ALLOW_HOST" => Some("x, y".to_owned()),
            _ => None,
        };
        let layers = Layers::read(&flags, environment).unwrap();
        assert_eq!(layers.get("agent").unwrap().one(), "flag");
        assert_eq!(layers.get("listen").unwrap().place, "the variable TACKROOM_LISTEN");
        assert_eq!(layers.get("max-sessions").unwrap().one(), "3");
        assert!(layers.get("max-sessions").unwrap().place.ends_with("tackroom.toml, line 3"));
        assert_eq!(layers.get("allow-origin").unwrap().values, ["a", "b"]);
        assert_eq!(layers.get("allow-host").unwrap().values, ["x", "y"]);
        assert_eq!(layers.get("token"), None);
    }

    #[test]
    fn a_file_is_refused_with_the_key_and_the_line() {
        let table = [
            ("listen = \"a\"\nlistn = \"b\"", "listn (", "line 2"),
            ("\nmax-sessions = 1.5", "max-sessions (", "line 2"),
            ("[token]\nx = 1", "token (", "line 1"),
            ("listen = ", "is not TOML", "line 1"),
        ];
        for (text, first, second) in table {
            let (_directory, config) = file(text);
            let flags = SettingFlags { config: Some(config), ..SettingFlags::default() };
            let error = Layers::read(&flags, |_| None).unwrap_err().message;
            assert!(error.contains(first) && error.contains(second), "{text:?}: {error}");
        }
        let flags = SettingFlags { config: Some("/no/such/file".into()), ..SettingFlags::default() };
        assert!(Layers::read(&flags, |_| None).unwrap_err().message.contains("/no/such/file"));
    }

    #[test]
    fn every_setting_has_a_flag() {
        let flags = of_flags(&SettingFlags::default());
        assert_eq!(flags.into_iter().map(|(key, _)| key).collect::<Vec<_>>(), KEYS);
    }
}
