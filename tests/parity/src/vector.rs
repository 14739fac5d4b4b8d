//! Vectors: scenarios with the answers that people have read, in files that every face has to answer alike.
//!
//! A vector is a JSON file `tests/vectors/<name>.json`: `name`; `config`, what differs from the defaults; `inputs`, the
//! calls; `expect`, the answer to each. `TACKROOM_BLESS=1` writes the answers anew, to be read in the difference.

use std::{fmt::Write as _, fs, io, path::PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tackroom_core::Config;

use crate::{
    face::{CrateFace, Face},
    journal::Entry,
};

/// Files in the directory that are of another kind.
const OTHERS: [&str; 1] = ["fold.json"];

/// A scenario with its answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vector {
    /// `<command>-<status>` or `rule-<rule>`, and `--<detail>` where there are several.
    pub name: String,
    /// What differs from the default configuration.
    pub config: Value,
    /// The calls.
    pub inputs: Vec<Entry>,
    /// The answer to each.
    pub expect: Vec<Value>,
}

impl Vector {
    /// A vector whose answers are those that the crate gives now.
    #[must_use]
    pub fn blessed(name: &str, config: &Config, inputs: Vec<Entry>) -> Self {
        let mut face = CrateFace::new(config.clone());
        let expect = inputs.iter().map(|entry| value(&face.answer(entry))).collect();
        Self { name: name.to_owned(), config: difference(&value(&Config::default()), &value(config)), inputs, expect }
    }

    /// The whole configuration.
    ///
    /// # Panics
    /// The vector's configuration is none.
    #[must_use]
    pub fn config(&self) -> Config {
        let whole = overlaid(value(&Config::default()), &self.config);
        serde_json::from_value(whole).unwrap_or_else(|error| panic!("{}: config: {error}", self.name))
    }

    /// Plays the vector through a face.
    ///
    /// # Errors
    /// The first answer that is not the expected one, in words.
    pub fn run(&self, face: &mut dyn Face) -> Result<(), String> {
        if self.inputs.len() != self.expect.len() {
            return Err(format!("{}: {} calls, {} answers", self.name, self.inputs.len(), self.expect.len()));
        }
        for (place, (entry, expected)) in self.inputs.iter().zip(&self.expect).enumerate() {
            let text = face.play(entry);
            let got: Value = serde_json::from_str(&text).unwrap_or(Value::String(text));
            if got != *expected {
                return Err(format!(
                    "{}, call {place}:\n    {}\n  expected\n    {expected}\n  got\n    {got}\n  If the new answer is right: \
                     TACKROOM_BLESS=1 cargo test -p tackroom-parity --test vectors",
                    self.name,
                    value(entry),
                ));
            }
        }
        Ok(())
    }

    /// The text of the file: a line for each call and each answer, so that differences can be read.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = format!("{{\n\"name\": {},\n\"config\": {},\n", value(&self.name), self.config);
        let inputs: Vec<Value> = self.inputs.iter().map(value).collect();
        for (title, lines, end) in [("inputs", &inputs, ",\n"), ("expect", &self.expect, "\n}\n")] {
            let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
            write!(text, "\"{title}\": [\n{}\n]{end}", lines.join(",\n")).expect("a string takes everything");
        }
        text
    }

    /// Writes the vector's file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self) -> io::Result<()> {
        fs::write(directory().join(format!("{}.json", self.name)), self.text())
    }
}

/// Where vectors are.
#[must_use]
pub fn directory() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../vectors")
}

/// Whether the answers are to be written anew.
#[must_use]
pub fn blessing() -> bool {
    std::env::var_os("TACKROOM_BLESS").is_some_and(|value| value == "1")
}

/// Every vector, by name.
///
/// # Panics
/// A file cannot be read, is no vector, or has another name than its vector.
#[must_use]
pub fn all() -> Vec<Vector> {
    let entries = fs::read_dir(directory()).expect("the directory of the vectors stands beside this crate");
    let mut names: Vec<String> = entries
        .map(|entry| entry.expect("the directory can be listed").path())
        .filter(|path| path.extension().is_some_and(|kind| kind == "json"))
        .filter_map(|path| Some(path.file_name()?.to_str()?.to_owned()))
        .filter(|name| !OTHERS.contains(&name.as_str()))
        .collect();
    names.sort();
    names.iter().map(|name| read(name)).collect()
}

fn read(file: &str) -> Vector {
    let text = fs::read_to_string(directory().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
    let vector: Vector = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{file}: {error}"));
    assert_eq!(format!("{}.json", vector.name), file, "the file is named as its vector");
    vector
}

fn value<T: Serialize>(of: &T) -> Value {
    serde_json::to_value(of).expect("every type of the engine has a JSON form")
}

/// The fields of `changed` that are not as in `default`, objects compared field by field.
fn difference(default: &Value, changed: &Value) -> Value {
    let (Value::Object(default), Value::Object(changed)) = (default, changed) else { return changed.clone() };
    let fields = changed.iter().filter(|(name, value)| default.get(*name) != Some(value));
    let fields =
        fields.map(|(name, value)| (name.clone(), difference(default.get(name).unwrap_or(&Value::Null), value)));
    Value::Object(fields.collect::<Map<_, _>>())
}

/// `default` with the fields of `difference` put over its own.
fn overlaid(default: Value, difference: &Value) -> Value {
    match (default, difference) {
        (Value::Object(mut fields), Value::Object(changes)) => {
            for (name, change) in changes {
                let before = fields.remove(name).unwrap_or(Value::Null);
                fields.insert(name.clone(), overlaid(before, change));
            }
            Value::Object(fields)
        }
        (_, changed) => changed.clone(),
    }
}
