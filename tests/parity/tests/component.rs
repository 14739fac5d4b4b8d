//! What the component's bytes say: it imports nothing, exports the contract, and is small.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;

use tackroom::engine::COMPONENT;
use wasmparser::{Parser, Payload};

/// Names of what the outermost component imports and exports.
fn surface() -> (BTreeSet<String>, BTreeSet<String>) {
    let (mut imports, mut exports) = (BTreeSet::new(), BTreeSet::new());
    let mut depth = 0;
    for payload in Parser::new(0).parse_all(COMPONENT) {
        match payload.unwrap() {
            Payload::Version { .. } => depth += 1,
            Payload::End(_) => depth -= 1,
            Payload::ComponentImportSection(section) if depth == 1 => {
                imports.extend(section.into_iter().map(|import| import.unwrap().name.name.to_owned()));
            }
            Payload::ComponentExportSection(section) if depth == 1 => {
                exports.extend(section.into_iter().map(|export| export.unwrap().name.name.to_owned()));
            }
            _ => {}
        }
    }
    (imports, exports)
}

#[test]
fn imports_nothing() {
    assert_eq!(surface().0, BTreeSet::new());
}

#[test]
fn core_modules_import_nothing() {
    for payload in Parser::new(0).parse_all(COMPONENT) {
        if let Payload::ImportSection(section) = payload.unwrap() {
            // The component's own glue may import from its main module, which is inside.
            for import in section.into_imports() {
                let import = import.unwrap();
                assert!(!import.module.starts_with("wasi") && import.module != "env", "{import:?}");
            }
        }
    }
}

#[test]
fn exports_every_interface_of_the_contract_and_no_other() {
    let names =
        ["effect", "event", "input", "limits", "machine", "rejection", "session", "step", "time", "transcript", "view"];
    let expected = names.iter().map(|name| format!("tackroom:engine/{name}@0.1.0")).collect();
    assert_eq!(surface().1, expected);
}

#[test]
fn is_smaller_than_500_kb() {
    assert!(COMPONENT.len() < 500_000, "{} bytes", COMPONENT.len());
}
