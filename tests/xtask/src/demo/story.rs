//! What the demonstration tells: a session from its first message to its last, over the death of its server.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::server::Server;
use crate::say;

/// Plays a session through the program and tells in plain words what happens.
///
/// # Errors
/// The program cannot be started or does not do what is told of it.
pub(crate) fn run(binary: &Path) -> Result<()> {
    let directory = Directory::make()?;
    let data = directory.0.join("data");
    println!();
    tell("A server starts. It keeps its sessions in a directory and runs a scripted agent, which needs no model.");
    let server = Server::start(binary, &data)?;
    say::note(&format!("tackroom serve --agent scripted    (process {}, http://{})", server.pid(), server.client.0));

    let session = first_turn(&server)?;
    approval(&server, &session)?;
    suspension(&server, &session)?;
    let server = death(server, binary, &data, &session)?;
    answer(&server, &session)?;
    goodbye(server, &session)?;
    go_on(binary);
    Ok(())
}

fn first_turn(server: &Server) -> Result<String> {
    tell("An application opens a session for one of its users, and the user says something.");
    let created = server.client.json("POST", "/v1/sessions", &json!({ "metadata": { "user": "ann" } }).to_string())?;
    let id = created["id"].as_str().unwrap_or_default();
    say::note(&format!("POST /v1/sessions    -> session {id}"));
    let session = format!("/v1/sessions/{id}");
    say_and_show(server, &session, "Please tidy the tack room.")?;
    Ok(session)
}

fn approval(server: &Server, session: &str) -> Result<()> {
    tell("The agent wants to delete something, so it waits. A person decides, however long that takes.");
    let waiting = server.client.until(session, "awaiting-input")?;
    let call = &waiting["pendingInput"]["approvals"][0];
    let command = &call["input"]["command"];
    ensure!(command == "rm saddles/old && echo 'The old saddle is gone.'", "another call waits: {waiting}");
    say::note(&format!("GET {session}    -> awaiting-input: {}", command.as_str().unwrap_or_default()));
    let answers = json!({ "answers": [{ "id": call["approvalId"], "approved": true }], "who": "ann" });
    say::note("POST .../answers    Ann says yes, and the same turn goes on:");
    let shown = show_turn(server, &format!("{session}/answers"), &answers)?;
    ensure!(shown.contains("The old saddle is gone."), "the tool's output is missing: {shown}");
    let idle = server.client.until(session, "idle")?;
    ensure!(idle["turns"] == 1, "one turn should have ended: {idle}");
    Ok(())
}

fn suspension(server: &Server, session: &str) -> Result<()> {
    tell("Ann goes to lunch. The session is suspended: no process is left of it, and nothing is forgotten.");
    let suspended = server.client.json("POST", &format!("{session}/suspend"), "")?;
    ensure!(suspended["status"] == "suspended", "it is not suspended: {suspended}");
    say::note("POST .../suspend    -> suspended");
    tell("Her next message brings it back. This time the agent has a question.");
    say_and_show(server, session, "Ask me what you need to know.")?;
    let waiting = server.client.until(session, "awaiting-input")?;
    let question = &waiting["pendingInput"]["toolCalls"][0]["input"]["questions"][0];
    ensure!(question["question"].is_string(), "no question waits: {waiting}");
    say::note(&format!("It asks: {}", question["question"].as_str().unwrap_or_default()));
    Ok(())
}

fn death(server: Server, binary: &Path, data: &Path, session: &str) -> Result<Server> {
    tell("While the question waits, the server is killed with SIGKILL, as when a machine loses its power.");
    let pid = server.pid();
    server.kill()?;
    say::note(&format!("kill -9 {pid}"));
    let started = Instant::now();
    let server = Server::start(binary, data)?;
    let back = server.client.until(session, "suspended")?;
    say::note(&format!("A new server is up after {}; it found the session:", say::seconds(started.elapsed())));
    let messages = back["messages"].as_array().map_or(0, Vec::len);
    let question = &back["pendingInput"]["toolCalls"][0]["input"]["questions"][0]["question"];
    ensure!(messages == 4 && question.is_string(), "something was lost: {back}");
    say::note(&format!("suspended, {messages} messages, still waiting for: {}", question.as_str().unwrap_or_default()));
    Ok(server)
}

fn answer(server: &Server, session: &str) -> Result<()> {
    tell("Ann answers. The agent is brought back and goes on in the turn that it was in.");
    let waiting = server.client.json("GET", session, "")?;
    let call = &waiting["pendingInput"]["toolCalls"][0]["toolCallId"];
    let answers = json!({ "answers": [{ "id": call, "output": "Green" }], "who": "ann" });
    say::note("POST .../answers    Green");
    let shown = show_turn(server, &format!("{session}/answers"), &answers)?;
    ensure!(shown.contains("You said: Green"), "the answer did not reach the agent: {shown}");
    let idle = server.client.until(session, "idle")?;
    ensure!(idle["turns"] == 2, "two turns should have ended: {idle}");
    Ok(())
}

fn goodbye(server: Server, session: &str) -> Result<()> {
    tell("The session is closed; its conversation and who answered what can still be read. Then the server ends.");
    let closed = server.client.json("POST", &format!("{session}/close"), "")?;
    ensure!(closed["status"] == "closed", "it is not closed: {closed}");
    let audit = server.client.json("GET", &format!("{session}/audit"), "")?;
    for entry in audit["entries"].as_array().into_iter().flatten() {
        let field = |name: &str| entry[name].as_str().unwrap_or_default();
        say::note(&format!("{}  {} answered {}: {}", field("at"), field("name"), field("toolName"), field("verdict")));
    }
    ensure!(audit["entries"].as_array().map(Vec::len) == Some(2), "two answers should be on record: {audit}");
    server.terminate()?;
    Ok(())
}

fn say_and_show(server: &Server, session: &str, message: &str) -> Result<String> {
    say::note(&format!("POST .../messages    Ann: {message}"));
    show_turn(server, &format!("{session}/messages"), &json!({ "message": message }))
}

/// Shows a turn's stream as it comes and gives the text that it held.
fn show_turn(server: &Server, path: &str, body: &Value) -> Result<String> {
    let mut text = String::new();
    let mut out = std::io::stdout();
    let mut shown = Ok(());
    server.client.turn(path, &body.to_string(), |chunk| {
        let field = |name: &str| chunk[name].as_str().unwrap_or_default();
        let piece = match field("type") {
            "reasoning-start" => "      (thinks) ".to_owned(),
            "text-start" => "      Agent: ".to_owned(),
            "text-delta" => {
                text.push_str(field("delta"));
                field("delta").to_owned()
            }
            "reasoning-delta" => field("delta").to_owned(),
            "text-end" | "reasoning-end" => "\n".to_owned(),
            "tool-input-available" => format!("      [{}] {}\n", field("toolName"), brief(&chunk["input"])),
            "tool-output-available" => format!("      [result] {}\n", brief(&chunk["output"])),
            "error" | "tool-output-error" => format!("      [error] {}\n", field("errorText")),
            _ => String::new(),
        };
        if shown.is_ok() {
            shown = out.write_all(piece.as_bytes()).and_then(|()| out.flush());
        }
    })?;
    shown?;
    Ok(text)
}

fn brief(value: &Value) -> String {
    let text = value["command"].as_str().or(value.as_str()).map_or_else(|| value.to_string(), str::to_owned);
    text.trim().replace('\n', ", ").chars().take(100).collect()
}

fn tell(text: &str) {
    println!("\n* {text}");
}

fn go_on(binary: &Path) {
    let tackroom = binary.display();
    println!(
        "
That was it: nothing was lost. To go on:

  With the scripted agent, in this terminal:
    {tackroom} chat --agent scripted --data /tmp/tackroom-try

  With a real agent: install Claude Code (npm install -g @anthropic-ai/claude-code), set ANTHROPIC_API_KEY, then
    {tackroom} doctor
    {tackroom} chat

  Over HTTP, in another terminal:
    {tackroom} serve --agent scripted --data /tmp/tackroom-try
    curl -s  127.0.0.1:4310/v1/sessions -H 'content-type: application/json' -d '{{\"id\":\"mine\"}}'
    curl -sN 127.0.0.1:4310/v1/sessions/mine/messages -H 'content-type: application/json' -d '{{\"message\":\"Tidy up.\"}}'
    curl -s  127.0.0.1:4310/v1/sessions/mine
    curl -s  127.0.0.1:4310/openapi.json"
    );
}

/// A directory of the demonstration's own, removed at its end.
struct Directory(PathBuf);

impl Directory {
    fn make() -> Result<Self> {
        let path = std::env::temp_dir().join(format!("tackroom-demo-{}", std::process::id()));
        std::fs::create_dir_all(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // What is left is among temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
