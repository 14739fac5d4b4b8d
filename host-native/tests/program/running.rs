//! Starts the program, speaks to it and ends it.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// Nothing here takes this long.
pub(crate) const LONG: Duration = Duration::from_mins(1);

/// The program, without settings of whoever runs the test.
pub(crate) fn tackroom() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tackroom"));
    for (name, _) in std::env::vars() {
        if name.starts_with("TACKROOM_") {
            command.env_remove(name);
        }
    }
    command
}

pub(crate) fn run(args: &[&str]) -> Output {
    tackroom().args(args).stdin(Stdio::null()).output().unwrap()
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// `tackroom serve`, killed when it is dropped.
pub(crate) struct Serve {
    pub(crate) child: Child,
    pub(crate) url: String,
}

impl Drop for Serve {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Serve {
    pub(crate) fn start(data: &Path, more: &[&str]) -> Self {
        let mut command = tackroom();
        command.args(["serve", "--agent", "scripted", "--listen", "127.0.0.1:0", "--log-level", "warn", "--data"]);
        command.arg(data).args(more).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let url = line.trim().rsplit(' ').next().unwrap().to_owned();
        assert!(url.starts_with("http://127.0.0.1:"), "{line:?}");
        Self { child, url }
    }

    /// Asks for JSON.
    pub(crate) fn call(&self, method: &str, path: &str, body: &str) -> (u16, String) {
        let address = self.url.strip_prefix("http://").unwrap();
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        let kind = if body.is_empty() { "" } else { "content-type: application/json\r\n" };
        let head = format!(
            "{method} {path} HTTP/1.0\r\nhost: {address}\r\n{kind}content-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
    }

    pub(crate) fn until(&self, id: &str, status: &str) -> Value {
        let end = Instant::now() + LONG;
        loop {
            let (_, body) = self.call("GET", &format!("/v1/sessions/{id}"), "");
            let session: Value = serde_json::from_str(&body).unwrap();
            if session["status"] == status {
                return session;
            }
            assert!(Instant::now() < end, "{id} does not become {status}: {session}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Sends a signal and gives the exit code and how long the end took.
    pub(crate) fn end(&mut self, signal: rustix::process::Signal) -> (Option<i32>, Duration) {
        let before = Instant::now();
        let id = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(id, signal).unwrap();
        let code = self.child.wait().unwrap().code();
        (code, before.elapsed())
    }
}
