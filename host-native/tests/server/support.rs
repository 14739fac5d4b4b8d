//! A server on a port of its own, and a client that sends exactly the bytes it is told to.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tackroom::agents::scripted::{Scenario, ScriptedAgent};
use tackroom::manager::SessionManager;
use tackroom::sandboxes::local::LocalSandboxes;
use tackroom::server::{Server, ServerOptions};
use tackroom::stores::MemoryStore;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// Nothing here takes this long.
pub(crate) const LONG: Duration = Duration::from_mins(1);

/// A story with every kind of turn, chosen by the prompt.
pub(crate) const SCENARIO: &str = r#"{
  "chars": 4,
  "turns": [
    { "match": "^approve", "usage": { "inputTokens": 5, "outputTokens": 7, "costMicroUsd": 11 }, "steps": [
      { "type": "text", "text": "May I?" },
      { "type": "tool", "command": "echo ran", "approval": true,
        "whenAllowed": [{ "type": "text", "text": "Allowed: {{output}}" }],
        "whenDenied": [{ "type": "text", "text": "Denied: {{reason}}" }] } ] },
    { "match": "^two", "steps": [
      { "type": "tools", "calls": [
        { "command": "echo one", "approval": true }, { "command": "echo two", "approval": true } ] },
      { "type": "text", "text": "Both are answered." } ] },
    { "match": "^question", "steps": [
      { "type": "question", "input": { "questions": [{ "question": "Which?" }] } },
      { "type": "text", "text": "You said {{answer}}" } ] },
    { "match": "^hang", "steps": [{ "type": "text", "text": "I hang." }, { "type": "hang" }] },
    { "match": "^slow", "steps": [
      { "type": "text", "text": "one two three four five six seven eight nine ten", "delayMs": 60 } ] },
    { "match": "^fail", "steps": [{ "type": "fail", "message": "The model is away." }] }
  ],
  "default": [{ "type": "text", "text": "You said: {{prompt}}" }]
}"#;

/// A running server. Dropping it leaves its tasks to the test's runtime, which ends them.
pub(crate) struct TestServer {
    pub(crate) address: SocketAddr,
    pub(crate) manager: SessionManager,
    stop: Option<oneshot::Sender<()>>,
    served: Option<JoinHandle<()>>,
    _directory: TempDir,
}

impl TestServer {
    pub(crate) async fn start() -> Self {
        Self::with(|_| {}, 16).await
    }

    pub(crate) async fn with(change: impl FnOnce(&mut ServerOptions), sessions: u32) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let sandboxes = LocalSandboxes::per_session(directory.path().join("sandboxes"), sessions).await.unwrap();
        let manager = SessionManager::builder()
            .store(Arc::new(MemoryStore::new()))
            .sandboxes(Arc::new(sandboxes))
            .agent(Arc::new(ScriptedAgent::new(Scenario::parse(SCENARIO).unwrap())))
            .build()
            .await
            .unwrap();
        let mut options = ServerOptions::new(([127, 0, 0, 1], 0).into());
        change(&mut options);
        let server = Server::bind(options).await.unwrap();
        let address = server.address();
        let (stop, stopped) = oneshot::channel::<()>();
        let served = tokio::spawn(server.run(manager.clone(), async move {
            let _ = stopped.await;
        }));
        Self { address, manager, stop: Some(stop), served: Some(served), _directory: directory }
    }

    /// Tells the server to stop and waits until it has.
    pub(crate) async fn stop(&mut self) {
        let _ = self.stop.take().unwrap().send(());
        tokio::time::timeout(LONG, self.served.take().unwrap()).await.expect("it stops").unwrap();
    }

    /// Sends a request with this body, the headers that a well-behaved client sends, and these on top.
    pub(crate) async fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let mut stream = self.open(method, path, headers, body).await;
        stream.rest().await
    }

    pub(crate) async fn open(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Reading {
        let mut head = format!("{method} {path} HTTP/1.1\r\n");
        let mut put = |name: &str, value: &str| {
            if !headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name)) {
                head.push_str(&format!("{name}: {value}\r\n"));
            }
        };
        put("host", &self.address.to_string());
        put("connection", "close");
        if !body.is_empty() {
            put("content-type", "application/json");
            put("content-length", &body.len().to_string());
        }
        for (name, value) in headers.iter().filter(|(_, value)| !value.is_empty()) {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(head.as_bytes()).await.unwrap();
        // A server that refuses a body by its length closes without reading it.
        let _ = stream.write_all(body).await;
        Reading { stream, bytes: Vec::new() }
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[], &[]).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answer {
        self.send("POST", path, &[], body.to_string().as_bytes()).await
    }

    /// Opens a session and waits until it is idle.
    pub(crate) async fn session(&self) -> String {
        let answer = self.post("/v1/sessions", &json!({})).await;
        assert_eq!(answer.status, 201, "{answer:?}");
        let id = answer.json()["id"].as_str().unwrap().to_owned();
        self.until(&id, "idle").await;
        id
    }

    /// Waits until a session is in this status.
    pub(crate) async fn until(&self, id: &str, status: &str) -> Value {
        let end = tokio::time::Instant::now() + LONG;
        loop {
            let session = self.get(&format!("/v1/sessions/{id}")).await.json();
            if session["status"] == status {
                return session;
            }
            assert!(tokio::time::Instant::now() < end, "{id} does not become {status}: {session}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Sends a message and reads the turn's stream to its end.
    pub(crate) async fn say(&self, id: &str, message: &str) -> Answer {
        let answer = self.post(&format!("/v1/sessions/{id}/messages"), &json!({ "message": message })).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer
    }
}

/// An answer being read.
pub(crate) struct Reading {
    stream: TcpStream,
    bytes: Vec<u8>,
}

impl Reading {
    /// Reads until the text holds this.
    pub(crate) async fn until(&mut self, wanted: &str) -> String {
        loop {
            let text = String::from_utf8_lossy(&self.bytes).into_owned();
            if text.contains(wanted) {
                return text;
            }
            let read = tokio::time::timeout(LONG, self.stream.read_buf(&mut self.bytes)).await;
            let read = read.unwrap_or_else(|_| panic!("{wanted:?} does not come: {text}")).unwrap();
            assert!(read > 0, "the answer ends without {wanted:?}: {text}");
        }
    }

    pub(crate) async fn rest(&mut self) -> Answer {
        let reading = async {
            // A connection that is reset after its answer has been answered all the same.
            while self.stream.read_buf(&mut self.bytes).await.is_ok_and(|read| read > 0) {}
        };
        tokio::time::timeout(LONG, reading).await.expect("the answer ends");
        Answer::parse(&self.bytes)
    }
}

/// A whole answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Answer {
    fn parse(bytes: &[u8]) -> Self {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").expect("an answer has a head");
        let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
        let mut lines = head.lines();
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let headers: Vec<(String, String)> = lines
            .map(|line| line.split_once(':').unwrap())
            .map(|(name, value)| (name.to_lowercase(), value.trim().to_owned()))
            .collect();
        let mut body = bytes[end + 4..].to_vec();
        if headers.iter().any(|(name, value)| name == "transfer-encoding" && value == "chunked") {
            body = unchunk(&body);
        }
        Self { status, headers, body: String::from_utf8(body).unwrap() }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(one, _)| one == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub(crate) fn code(&self) -> String {
        self.json()["error"]["code"].as_str().unwrap_or_default().to_owned()
    }

    pub(crate) fn words(&self) -> String {
        self.json()["error"]["message"].as_str().unwrap_or_default().to_owned()
    }

    /// The events of a stream: id, name, data.
    pub(crate) fn events(&self) -> Vec<(String, String, String)> {
        let field = |block: &str, name: &str| {
            let prefix = format!("{name}: ");
            block.lines().find_map(|line| line.strip_prefix(&prefix)).unwrap_or_default().to_owned()
        };
        let blocks = self.body.split("\n\n").filter(|block| block.contains("data: "));
        blocks.map(|block| (field(block, "id"), field(block, "event"), field(block, "data"))).collect()
    }

    /// The chunks of a turn's stream, which has to be whole.
    pub(crate) fn chunks(&self) -> Vec<Value> {
        let mut events = self.events();
        assert_eq!(events.pop().map(|(_, _, data)| data).as_deref(), Some("[DONE]"), "{self:?}");
        events.into_iter().map(|(_, _, data)| serde_json::from_str(&data).unwrap()).collect()
    }

    /// The text that a turn's stream holds.
    pub(crate) fn text(&self) -> String {
        let chunks = self.chunks();
        chunks
            .iter()
            .filter(|chunk| chunk["type"] == "text-delta")
            .filter_map(|chunk| chunk["delta"].as_str())
            .collect()
    }
}

fn unchunk(mut bytes: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = bytes.windows(2).position(|two| two == b"\r\n") {
        let size = usize::from_str_radix(std::str::from_utf8(&bytes[..end]).unwrap(), 16).unwrap();
        body.extend_from_slice(&bytes[end + 2..end + 2 + size]);
        bytes = &bytes[end + 4 + size..];
        if size == 0 {
            break;
        }
    }
    body
}
