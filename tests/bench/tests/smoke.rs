//! The rows that need no disk give figures. How good the figures are is no matter of a test.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

fn quick(name: &str, groups: &[&str]) -> Value {
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&directory).unwrap();
    let out = directory.join("bench.json");
    let mut bench = Command::new(env!("CARGO_BIN_EXE_tackroom-bench"));
    bench.arg("--quick").arg("--out").arg(&out);
    for group in groups {
        bench.args(["--only", group]);
    }
    let output = bench.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(table.contains("goals are met") && table.contains("quick run"), "{table}");
    let report = serde_json::from_str(&std::fs::read_to_string(&out).unwrap()).unwrap();
    let left = std::fs::read_dir(&directory).unwrap().count();
    assert_eq!(left, 1, "a run takes its databases with it");
    report
}

fn assert_measured(report: &Value, what: &str) {
    let rows = report["rows"].as_array().unwrap();
    let found = rows.iter().find(|row| row["what"].as_str().unwrap().contains(what));
    let row = found.unwrap_or_else(|| panic!("no row {what:?} in {report:#}"));
    let figure = |name: &str| row[name].as_f64().unwrap_or_else(|| panic!("no {name} in {row}"));
    assert!(figure("median") > 0.0 && figure("p10") <= figure("p90") && figure("p90") <= figure("p99"), "{row}");
}

#[test]
fn the_engine_is_measured_through_both_faces() {
    let report = quick("engine", &["engine", "component", "long-message", "start"]);
    for what in ["send", "SaveSession done", "text chunk", "a whole turn", "tool-input chunk, component", "first step"]
    {
        assert_measured(&report, what);
    }
    assert_eq!(report["machine"]["quick"], true);
    let groups: Vec<_> = report["rows"].as_array().unwrap().iter().map(|row| &row["group"]).collect();
    assert!(groups.iter().any(|group| *group == "the engine as a component"), "{groups:?}");
}

#[test]
fn chunks_are_measured_through_a_host() {
    let report = quick("chunks", &["chunks", "http"]);
    for what in ["in batches of 16", "one by one", "a connection each"] {
        assert_measured(&report, what);
    }
}

#[test]
fn a_name_that_is_none_is_told() {
    let mut bench = Command::new(env!("CARGO_BIN_EXE_tackroom-bench"));
    let output = bench.args(["--only", "nothing"]).output().unwrap();
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("--list"));
}
