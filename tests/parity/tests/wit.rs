//! Every item of the contract says what it is and since when it is there.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{fs, path::PathBuf};

fn files() -> Vec<(String, String)> {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../wit");
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let files: Vec<_> = entries.filter(|path| path.extension().is_some_and(|kind| kind == "wit")).collect();
    assert!(files.len() > 5, "{files:?}");
    files.iter().map(|path| (path.display().to_string(), fs::read_to_string(path).unwrap())).collect()
}

/// Whether a line, without its indentation, begins an item that has to say what it is.
fn begins_item(line: &str) -> bool {
    let keyword = line.split([' ', ':']).next().unwrap_or_default();
    match keyword {
        "" | "}" | "package" | "use" | "export" | "import" | "///" | "//" => false,
        _ => !line.starts_with("@since") && !line.starts_with("///"),
    }
}

/// Whether the item may stand without `@since`: fields and cases have the one of their type.
fn is_field_or_case(line: &str) -> bool {
    line.ends_with(',')
}

/// The items of a file that lack words or `@since`.
fn lacking(text: &str) -> Vec<String> {
    let (mut documented, mut since) = (false, false);
    let mut lacking = Vec::new();
    for line in text.lines().map(str::trim) {
        if line.strip_prefix("///").is_some_and(|words| words.trim().len() > 3) {
            documented = true;
        } else if line.starts_with("@since(version = ") {
            since = true;
        } else {
            if begins_item(line) && !(documented && (since || is_field_or_case(line))) {
                lacking.push(line.to_owned());
            }
            (documented, since) = (false, false);
        }
    }
    lacking
}

#[test]
fn every_item_is_documented_and_dated() {
    for (path, text) in files() {
        assert_eq!(lacking(&text), Vec::<String>::new(), "{path}");
    }
}

#[test]
fn an_item_without_words_is_found() {
    let text = "/// Words.\n@since(version = 0.1.0)\ninterface i {\n    /// Words.\n    record r {\n        a: u32,\n    }\n}\n";
    assert_eq!(lacking(text), ["record r {", "a: u32,"]);
}
