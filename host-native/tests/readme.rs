//! What the README and the page on HTTP tell people to paste, pasted: against the program, with curl, as it stands there.
//! (The README's Rust example is compiled and run with the crate's documentation.)

#![cfg(all(feature = "claude", feature = "local", feature = "server", feature = "sqlite"))]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

const README: &str = include_str!("../../README.md");
const HTTP: &str = include_str!("../docs/http.md");
/// Where the pages have the server.
const WRITTEN: &str = "http://127.0.0.1:4310";

/// The blocks of shell commands on a page.
fn blocks(page: &str) -> Vec<&str> {
    page.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

/// A server of the test's own, on a free port. Killed when it is dropped.
struct Server {
    child: Child,
    address: String,
    home: tempfile::TempDir,
}

impl Server {
    /// Starts the program with these arguments.
    fn start(arguments: &[&str]) -> Self {
        let home = tempfile::tempdir().unwrap();
        // A command that hangs fails the test.
        std::fs::write(home.path().join(".curlrc"), "max-time = 60\n").unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_tackroom"));
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("TACKROOM_")) {
            command.env_remove(name);
        }
        command.env("TACKROOM_LISTEN", "127.0.0.1:0").env("TACKROOM_DATA", home.path().join("data"));
        let mut child = command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let (_, address) = line.trim().rsplit_once(' ').unwrap_or_else(|| panic!("no address in {line:?}"));
        Self { child, address: address.to_owned(), home }
    }

    /// Pastes a block of commands and gives what they print.
    fn paste(&self, block: &str) -> String {
        let block = block.replace(WRITTEN, &self.address);
        let mut shell = Command::new("sh");
        shell.args(["-eu", "-c", &block]).env("HOME", self.home.path()).env("TACKROOM_TOKEN", "none");
        let output = shell.stdin(Stdio::null()).output().unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{block}\nended with {}: {printed}", output.status);
        assert!(!printed.contains(r#"{"error":{"code""#), "{block}\nwas refused: {printed}");
        printed
    }

    /// The session as it stands, or nothing.
    fn session(&self, id: &str) -> Option<Value> {
        let mut curl = Command::new("curl");
        let address = format!("{}/v1/sessions/{id}", self.address);
        let output = curl.args(["-s", "--max-time", "60", &address]).output().unwrap();
        let session: Value = serde_json::from_slice(&output.stdout).unwrap();
        session["id"].is_string().then_some(session)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // One that has ended is not there to be killed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Whether there is curl here; a machine without it cannot be pasted into.
fn has_curl() -> bool {
    let found = Command::new("curl").arg("--version").stdout(Stdio::null()).status().is_ok();
    if !found {
        eprintln!("There is no curl on this machine: the commands of the pages were not tried.");
    }
    found
}

/// The arguments that the README starts the server with.
fn serve_arguments() -> Vec<&'static str> {
    let block = blocks(README).into_iter().find(|block| block.contains(" serve ")).expect("the README starts a server");
    let (_, arguments) = block.trim().split_once(" -- ").expect("the program is run by cargo");
    arguments.split(' ').collect()
}

#[test]
fn what_the_readme_tells_to_paste_keeps_a_session() {
    if !has_curl() {
        return;
    }
    let server = Server::start(&serve_arguments());
    let block = blocks(README).into_iter().find(|block| block.contains("curl ")).expect("the README uses curl");
    let printed = server.paste(block);
    assert_eq!(printed.matches("data: [DONE]").count(), 3, "three streams end: {printed}");
    assert!(printed.contains("The old saddle is gone."), "the allowed call ran: {printed}");
    assert!(printed.contains(r#""status":"suspended""#), "the session was suspended: {printed}");
    let session = server.session("barn").unwrap();
    assert_eq!((&session["status"], &session["turns"]), (&Value::from("idle"), &Value::from(2)), "{session}");
    let said = session["messages"][3]["parts"].to_string();
    assert!(said.contains("Good night."), "the resumed session answered: {said}");
}

#[test]
fn what_the_page_on_http_tells_to_paste_is_taken() {
    if !has_curl() {
        return;
    }
    let server = Server::start(&["serve", "--agent", "scripted"]);
    let blocks = blocks(HTTP);
    assert!(blocks.len() >= 6, "the page has examples");
    for block in blocks {
        let session = server.session("barn").unwrap_or_default();
        let approval = &session["pendingInput"]["approvals"][0]["approvalId"];
        let block = block.replace("APPROVAL", approval.as_str().unwrap_or("APPROVAL"));
        let block = block.replace("TURN:", &format!("{}:", session["turn"].as_str().unwrap_or("TURN")));
        server.paste(&block);
    }
    let session = server.session("barn").unwrap();
    assert_eq!((&session["status"], &session["turns"]), (&Value::from("idle"), &Value::from(1)), "{session}");
}

#[test]
fn the_pages_name_no_file_that_is_not_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let links = README.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    for link in links.filter(|link| !link.contains("://")) {
        assert!(root.join(link).exists(), "the README links to {link}");
    }
}

#[test]
fn the_picture_tells_what_the_demonstration_tells() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let picture = std::fs::read_to_string(root.join("host-native/docs/demo.svg")).unwrap();
    let story = std::fs::read_to_string(root.join("tests/xtask/src/demo/story.rs")).unwrap();
    let lines = picture.lines().filter_map(|line| line.strip_suffix("</text>")?.rsplit_once('>'));
    let told: Vec<&str> = lines.filter_map(|(_, line)| line.strip_prefix("* ")).collect();
    assert_eq!(told.len(), story.matches("    tell(").count(), "the picture tells all of it: {told:?}");
    for line in told {
        assert!(story.contains(line), "the demonstration does not say {line:?}");
    }
}
