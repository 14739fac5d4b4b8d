//! What comes into the workspace from outside: under which licences, from where, and how often. A small reader of
//! cargo's own description does it, because the usual tool takes longer to build than the workspace.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, bail};
use serde_json::Value;
use spdx::{Expression, Licensee, ParseMode};

use crate::command;

/// The licences that users of an MIT library can live with.
const ALLOWED: [&str; 14] = [
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Crates that must not come in, and why.
const BANNED: [(&str, &str); 5] = [
    ("async-std", "one runtime is enough, and that is tokio"),
    ("native-tls", "it needs a library of the system; rustls does not"),
    ("openssl-sys", "it needs a library of the system; rustls does not"),
    ("wasm-opt", "it takes 19 minutes to build and saves nothing once compressed"),
    ("wasmer", "one runtime for WebAssembly is enough, and that is wasmtime"),
];

/// Crates of which one version must do: their types meet, or they are large.
const SINGLE: [&str; 10] = [
    "axum",
    "hyper",
    "rusqlite",
    "serde",
    "serde_json",
    "tokio",
    "wasmparser",
    "wasmtime",
    "wit-component",
    "wit-parser",
];

/// One crate from outside.
struct Dependency {
    name: String,
    version: String,
    licence: Option<String>,
    source: String,
}

/// Checks every crate that any target or test of the workspace can bring in.
///
/// # Errors
/// A crate breaks a rule; all of them are named.
pub(super) fn check() -> Result<()> {
    let mut metadata = command::cargo();
    metadata.args(["metadata", "--format-version", "1"]);
    let metadata = command::output(&mut metadata, "describe the workspace")?;
    let metadata = serde_json::from_str(&metadata).context("cargo's description of the workspace cannot be read.")?;
    let complaints = complaints(&dependencies(&metadata));
    if complaints.is_empty() {
        return Ok(());
    }
    bail!("{}", complaints.join("\n"));
}

fn dependencies(metadata: &Value) -> Vec<Dependency> {
    let text = |package: &Value, field: &str| package[field].as_str().map(str::to_owned);
    let packages = metadata["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
    packages
        .iter()
        .filter_map(|package| {
            // The workspace's own crates have no source.
            let source = text(package, "source")?;
            let name = text(package, "name")?;
            Some(Dependency { name, version: text(package, "version")?, licence: text(package, "license"), source })
        })
        .collect()
}

fn complaints(dependencies: &[Dependency]) -> Vec<String> {
    let mut complaints = Vec::new();
    let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for dependency in dependencies {
        let Dependency { name, version, licence, source } = dependency;
        versions.entry(name).or_default().insert(version);
        match licence.as_deref().map(is_allowed) {
            Some(Ok(true)) => {}
            Some(Ok(false)) => complaints.push(format!(
                "{name} {version} is under `{}`, which is not among the allowed licences.",
                licence.as_deref().unwrap_or_default()
            )),
            Some(Err(error)) => complaints.push(format!("The licence of {name} {version} cannot be read: {error}")),
            None => complaints.push(format!("{name} {version} names no licence.")),
        }
        if !source.starts_with("registry+") {
            complaints.push(format!("{name} {version} comes from {source}; crates come from the registry only."));
        }
        if let Some((_, why)) = BANNED.iter().find(|(banned, _)| banned == name) {
            complaints
                .push(format!("{name} {version} must not come in: {why}. `cargo tree -i {name}` shows who asks."));
        }
    }
    for name in SINGLE {
        if let Some(found) = versions.get(name).filter(|found| found.len() > 1) {
            let found = found.iter().copied().collect::<Vec<_>>().join(", ");
            complaints.push(format!("{name} comes in {found}; one version must do. `cargo tree -d` shows who asks."));
        }
    }
    complaints
}

/// Whether a licence expression leaves a choice that is allowed. Older crates write `/` for `OR`.
fn is_allowed(expression: &str) -> Result<bool> {
    let expression = Expression::parse_mode(expression, ParseMode::LAX).map_err(|error| anyhow::anyhow!("{error}"))?;
    let allowed = ALLOWED
        .iter()
        .map(|licence| Licensee::parse(licence).map_err(|error| anyhow::anyhow!("{error}")))
        .collect::<Result<Vec<_>>>()?;
    Ok(expression.evaluate(|asked| allowed.iter().any(|licence| licence.satisfies(asked))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_choice_is_enough_and_a_sum_needs_all() {
        for expression in [
            "MIT",
            "MIT OR Apache-2.0",
            "MIT/Apache-2.0",
            "GPL-3.0-only OR MIT",
            "(MIT OR Apache-2.0) AND Unicode-3.0",
            "Apache-2.0 WITH LLVM-exception",
            "MIT OR Apache-2.0 OR LGPL-2.1-or-later",
        ] {
            assert!(is_allowed(expression).unwrap(), "{expression}");
        }
        for expression in ["GPL-3.0-only", "MIT AND GPL-2.0-or-later", "AGPL-3.0-or-later", "MPL-2.0"] {
            assert!(!is_allowed(expression).unwrap(), "{expression}");
        }
        assert!(is_allowed("whatever you like").is_err());
    }

    fn package(name: &str, version: &str, licence: Option<&str>, source: Option<&str>) -> Value {
        json!({ "name": name, "version": version, "license": licence, "source": source })
    }

    fn judged(packages: &[Value]) -> Vec<String> {
        complaints(&dependencies(&json!({ "packages": packages })))
    }

    #[test]
    fn a_clean_workspace_gives_no_complaint() {
        let registry = Some("registry+somewhere");
        assert_eq!(
            judged(&[
                package("ours", "0.1.0", None, None),
                package("serde", "1.0.0", Some("MIT"), registry),
                package("syn", "1.0.0", Some("MIT"), registry),
                package("syn", "2.0.0", Some("MIT"), registry),
            ]),
            Vec::<String>::new()
        );
    }

    #[test]
    fn every_rule_finds_its_breach() {
        let registry = Some("registry+somewhere");
        for (packages, words) in [
            (vec![package("a", "1.0.0", Some("GPL-3.0-only"), registry)], "GPL-3.0-only"),
            (vec![package("a", "1.0.0", Some("no such licence"), registry)], "cannot be read"),
            (vec![package("a", "1.0.0", None, registry)], "names no licence"),
            (vec![package("a", "1.0.0", Some("MIT"), Some("git+somewhere"))], "registry only"),
            (vec![package("wasm-opt", "0.1.0", Some("MIT"), registry)], "19 minutes"),
            (
                vec![
                    package("serde", "1.0.0", Some("MIT"), registry),
                    package("serde", "2.0.0", Some("MIT"), registry),
                ],
                "1.0.0, 2.0.0",
            ),
        ] {
            let complaints = judged(&packages);
            assert!(complaints.len() == 1 && complaints[0].contains(words), "{words}: {complaints:?}");
        }
    }
}
