//! The pages are held against the code: a newcomer reads them first, so they have to be true.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::{Map, Value};
use tackroom_core::{Config, Limits};

const PAGE: &str = include_str!("../docs/limits.md");
const MAP: &str = include_str!("../docs/architecture.md");

/// The rows of the tables whose heading names `kind`: field to default, as the page writes them.
fn rows(kind: &str) -> BTreeMap<String, String> {
    let heading = format!("## `{kind}`");
    let sections = PAGE.split("\n## ").map(|section| format!("## {section}"));
    let mut rows = BTreeMap::new();
    for section in sections.filter(|section| section.starts_with(&heading)) {
        for line in section.lines().filter(|line| line.starts_with("| `")) {
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            let [_, field, default, reason, _] = cells[..] else { panic!("a row of four bars: {line}") };
            assert!(reason.ends_with('.'), "a default has its reason, a sentence: {line}");
            let known = rows.insert(field.trim_matches('`').to_owned(), default.trim_matches('`').to_owned());
            assert_eq!(known, None, "a field has one row: {line}");
        }
    }
    rows
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn fields(value: Value) -> Map<String, Value> {
    let Value::Object(fields) = value else { panic!("not an object: {value}") };
    fields
}

fn compare(kind: &str, defaults: &Map<String, Value>) {
    let mut rows = rows(kind);
    for (field, value) in defaults {
        let said = rows.remove(field);
        let said = said.unwrap_or_else(|| panic!("core/docs/limits.md has no row for {kind}::{field}"));
        assert_eq!(said.replace(',', ""), shown(value), "the default of {kind}::{field} in core/docs/limits.md");
    }
    assert!(rows.is_empty(), "core/docs/limits.md has rows for no field of {kind}: {:?}", rows.keys());
}

#[test]
fn every_limit_is_on_the_page_with_its_default() {
    compare("Limits", &fields(serde_json::to_value(Limits::default()).unwrap()));
}

#[test]
fn every_option_is_on_the_page_with_its_default() {
    let mut options = fields(serde_json::to_value(Config::default()).unwrap());
    assert!(options.remove("limits").is_some(), "the limits have tables of their own");
    compare("Config", &options);
}

/// The files and directories right inside a directory of the sources, as the map writes them.
fn rooms(directory: &str) -> BTreeSet<String> {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(directory);
    let shown = |entry: std::io::Result<std::fs::DirEntry>| {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let slash = if entry.file_type().unwrap().is_dir() { "/" } else { "" };
        format!("{directory}{name}{slash}")
    };
    let not_rooms = ["lib.rs", "session/mod.rs", "session/"];
    let entries = std::fs::read_dir(sources).unwrap().map(shown);
    entries.filter(|name| !not_rooms.contains(&name.as_str())).collect()
}

#[test]
fn the_map_names_every_room_of_the_engine_and_no_other() {
    let (_, rows) = MAP.split_once("In `core/src/`:").unwrap();
    let (rows, _) = rows.split_once("In `host-native/src/`:").unwrap();
    let named = rows.split('`').skip(1).step_by(2).filter(|name| name.contains(".rs") || name.ends_with('/'));
    let named: BTreeSet<String> = named.map(str::to_owned).collect();
    let rooms: BTreeSet<String> = rooms("").into_iter().chain(rooms("session/")).collect();
    assert_eq!(named, rooms);
}

/// The libraries that a package of the workspace needs, those of the workspace itself aside.
fn libraries(package: &str) -> Vec<String> {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join(package).join("Cargo.toml");
    let text = std::fs::read_to_string(manifest).unwrap();
    let (_, rest) = text.split_once("[dependencies]\n").unwrap();
    let lines = rest.lines().take_while(|line| !line.starts_with('['));
    let names = lines.filter_map(|line| line.split_once(" = ")).map(|(name, _)| name.to_owned());
    names.filter(|name| !name.starts_with("tackroom")).collect()
}

#[test]
fn every_library_has_its_reason() {
    let (_, rows) = MAP.split_once("| library | why it |").unwrap();
    let named: Vec<&str> =
        rows.lines().filter_map(|row| row.split('|').nth(1)).flat_map(|cell| cell.split(',')).collect();
    for library in ["core", "core/component", "host-native"].into_iter().flat_map(libraries) {
        assert!(named.iter().any(|name| name.trim() == library), "no reason is given for {library}");
    }
}
