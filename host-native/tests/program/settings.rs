//! Where settings come from, and what is said of wrong ones.

use std::fs;

use crate::running::{run, tackroom, text};

#[test]
fn the_version_and_the_exit_codes_are_told() {
    assert_eq!(text(&run(&["--version"]).stdout).trim(), concat!("tackroom ", env!("CARGO_PKG_VERSION")));
    let help = text(&run(&["--help"]).stdout);
    for words in ["Exit codes:", "3  there is no such session", "serve", "chat", "sessions", "replay", "doctor"] {
        assert!(help.contains(words), "{words}: {help}");
    }
}

#[test]
fn wrong_settings_end_with_code_2_their_name_their_place_and_what_would_be_right() {
    let directory = tempfile::tempdir().unwrap();
    let config = directory.path().join("tackroom.toml");
    fs::write(&config, "# comment\nlisten = \"everywhere\"\n").unwrap();
    let config = config.to_str().unwrap();
    let table: [(&[&str], &[&str]); 6] = [
        (&["serve", "--config", config], &["listen", "line 2", "127.0.0.1:4310"]),
        (&["serve", "--idle-timeout", "soon"], &["idle-timeout", "--idle-timeout", "30m"]),
        (&["serve", "--policy", "p.toml"], &["policy", "reserved"]),
        (&["serve", "--agent", "nobody"], &["agent", "claude and scripted"]),
        (&["serve", "--surprise"], &["--surprise"]),
        (&["dance"], &["dance"]),
    ];
    for (args, words) in table {
        let output = run(args);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {error}");
        for words in words {
            assert!(error.contains(words), "{words} is not in {error}");
        }
    }
}

#[test]
fn flags_outweigh_the_environment_which_outweighs_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let config = directory.path().join("tackroom.toml");
    fs::write(&config, "agent = \"scripted\"\nlisten = \"127.0.0.1:1\"\ndata = \"/from/the/file\"\n").unwrap();
    let found = |flag: Option<&str>, variable: Option<&str>| {
        let mut command = tackroom();
        command.args(["doctor", "--json", "--config"]).arg(&config);
        if let Some(flag) = flag {
            command.args(["--data", flag]);
        }
        if let Some(variable) = variable {
            command.env("TACKROOM_DATA", variable);
        }
        text(&command.output().unwrap().stdout)
    };
    assert!(found(None, None).contains("/from/the/file"));
    let environment = found(None, Some("/from/the/environment"));
    assert!(environment.contains("/from/the/environment") && !environment.contains("/from/the/file"));
    let flag = found(Some("/from/the/flag"), Some("/from/the/environment"));
    assert!(flag.contains("/from/the/flag") && !flag.contains("/from/the/environment"));
}

#[test]
fn without_a_token_the_server_does_not_listen_to_others() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().to_str().unwrap();
    let output = run(&["serve", "--agent", "scripted", "--data", data, "--listen", "0.0.0.0:0"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("TACKROOM_TOKEN"), "{output:?}");
}

#[test]
fn the_doctor_says_what_works_and_what_to_do() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let data = data.to_str().unwrap();
    let good = run(&["doctor", "--json", "--agent", "scripted", "--data", data, "--listen", "127.0.0.1:0"]);
    let report: serde_json::Value = serde_json::from_slice(&good.stdout).unwrap();
    assert_eq!((good.status.code(), &report["ok"]), (Some(0), &true.into()), "{report}");
    let names: Vec<_> =
        report["checks"].as_array().unwrap().iter().map(|check| check["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["agent", "sandbox", "data", "store", "port"]);
    assert!(!directory.path().join("data").exists(), "looking makes nothing");
    let bad = run(&["doctor", "--json", "--claude", "/no/such/claude", "--data", data, "--listen", "127.0.0.1:0"]);
    let report: serde_json::Value = serde_json::from_slice(&bad.stdout).unwrap();
    assert_eq!((bad.status.code(), &report["ok"]), (Some(1), &false.into()));
    assert!(report["checks"][0]["advice"].as_str().unwrap().contains("Install"), "{report}");
}
