//! The routes that the tests use, with what is heard of a turn.

use std::io;
use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::http::{Response, request};

/// How often a session's pauses are answered before it counts as one that never gets on.
pub const TRIES: usize = 6;
/// The longest that a session may be `busy` or `preparing` while nobody asks anything of it.
const SETTLE: Duration = Duration::from_secs(30);

/// A server's routes.
#[derive(Debug, Clone, Copy)]
pub struct Api {
    /// Where it listens.
    pub address: SocketAddr,
}

/// What came of a message or of answers.
#[derive(Debug)]
pub enum Sent {
    /// Durable: the turn's id, and its stream, still to be read.
    Turn(String, Response),
    /// Durable, and others are waited for.
    Waits,
    /// Refused with this code and body.
    Refused(u16, Value),
}

/// What was heard of a turn until its stream ended.
#[derive(Debug, Default, Clone)]
pub struct Heard {
    /// Its text.
    pub text: String,
    /// Ids of what it waits for: approvals, then calls that wait for a result.
    pub asked: Vec<String>,
    /// Whether it ended with a `finish`.
    pub finished: bool,
    /// What went wrong in it.
    pub errors: Vec<String>,
    /// Calls that have given output.
    pub outputs: usize,
}

impl Heard {
    /// Reads a stream to its end.
    ///
    /// # Errors
    /// It broke off.
    pub fn read(response: Response) -> io::Result<Self> {
        let mut heard = Self::default();
        for data in response.events() {
            let data = data?;
            if data == "[DONE]" {
                return Ok(heard);
            }
            heard.take(&serde_json::from_str(&data).map_err(io::Error::other)?);
        }
        Err(io::ErrorKind::UnexpectedEof.into())
    }

    fn take(&mut self, chunk: &Value) {
        let text = |key: &str| chunk[key].as_str().unwrap_or_default().to_owned();
        match chunk["type"].as_str().unwrap_or_default() {
            "text-delta" => self.text.push_str(&text("delta")),
            "tool-approval-request" => self.asked.push(text("approvalId")),
            "tool-input-available" if chunk["toolName"] == "AskUserQuestion" => self.asked.push(text("toolCallId")),
            "tool-output-available" => self.outputs += 1,
            "finish" => self.finished = true,
            "error" | "abort" => self.errors.push(chunk.to_string()),
            _ => {}
        }
    }
}

impl Api {
    /// Opens a session of this id.
    ///
    /// # Errors
    /// The server went away.
    pub fn create(self, id: &str) -> io::Result<u16> {
        Ok(self.ask("POST", "/v1/sessions", &[], Some(&json!({ "id": id })))?.status)
    }

    /// A session with its messages.
    ///
    /// # Errors
    /// The server went away, or does not show it.
    pub fn session(self, id: &str) -> io::Result<Value> {
        let response = self.ask("GET", &format!("/v1/sessions/{id}"), &[], None)?;
        let status = response.status;
        let value = response.json()?;
        if status == 200 { Ok(value) } else { Err(io::Error::other(format!("{id}: {status} {value}"))) }
    }

    /// A session once it is neither `busy` nor `preparing`.
    ///
    /// # Errors
    /// It stays so while nobody asks anything of it.
    pub fn settled(self, id: &str) -> Result<Value, String> {
        let until = Instant::now() + SETTLE;
        loop {
            let session = self.session(id).map_err(|error| error.to_string())?;
            let status = session["status"].as_str().unwrap_or_default();
            if !matches!(status, "busy" | "preparing") && session["stopping"].is_null() {
                return Ok(session);
            }
            if Instant::now() > until {
                return Err(format!("{id} is stuck in {status}, stopping {}", session["stopping"]));
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Every line of a session's audit log.
    ///
    /// # Errors
    /// The server went away.
    pub fn audit(self, id: &str) -> io::Result<Vec<Value>> {
        let mut all: Vec<Value> = Vec::new();
        loop {
            let after = all.last().map(|entry| format!("?after={}", entry["seq"])).unwrap_or_default();
            let page = self.ask("GET", &format!("/v1/sessions/{id}/audit{after}"), &[], None)?.json()?;
            let entries = page["entries"].as_array().cloned().unwrap_or_default();
            if entries.is_empty() {
                return Ok(all);
            }
            all.extend(entries);
        }
    }

    /// Sends a message.
    ///
    /// # Errors
    /// The server went away: it may have been taken or not.
    pub fn send(self, id: &str, text: &str, key: &str) -> io::Result<Sent> {
        let headers = [("idempotency-key", key)];
        let response =
            self.ask("POST", &format!("/v1/sessions/{id}/messages"), &headers, Some(&json!({ "message": text })))?;
        sent(response)
    }

    /// Answers: a yes or no for approvals, a text for calls that wait for a result.
    ///
    /// # Errors
    /// The server went away: they may have been taken or not.
    pub fn answer(self, id: &str, answers: &[(String, bool)]) -> io::Result<Sent> {
        let one = |(waits, yes): &(String, bool)| {
            // The scripted agent names approvals so; a question waits for a result.
            if is_approval(waits) {
                json!({ "id": waits, "approved": yes })
            } else {
                json!({ "id": waits, "output": { "answers": { "Which?": "Red" } } })
            }
        };
        let answers = answers.iter().map(one).collect::<Vec<_>>();
        let body = json!({ "answers": answers, "who": "kill" });
        sent(self.ask("POST", &format!("/v1/sessions/{id}/answers"), &[], Some(&body))?)
    }

    /// Follows the turn under way.
    ///
    /// # Errors
    /// The server went away.
    pub fn follow(self, id: &str) -> io::Result<Response> {
        self.ask("GET", &format!("/v1/sessions/{id}/turn"), &[], None)
    }

    /// Interrupts, suspends or closes, by the route's name.
    ///
    /// # Errors
    /// The server went away.
    pub fn command(self, id: &str, name: &str) -> io::Result<u16> {
        let response = self.ask("POST", &format!("/v1/sessions/{id}/{name}"), &[], None)?;
        let status = response.status;
        response.json()?;
        Ok(status)
    }

    /// Says yes to whatever a session waits for, until it waits for nothing; gives the approvals that were allowed.
    ///
    /// # Errors
    /// It cannot be answered, or never gets on.
    pub fn answer_all(self, id: &str) -> Result<Vec<String>, String> {
        let mut allowed = Vec::new();
        for _ in 0..TRIES {
            let session = self.settled(id)?;
            let waits = waiting(&session, |_| true);
            if waits.is_empty() {
                return Ok(allowed);
            }
            // What was decided before the kill is given again as it was: that is what a client does that heard nothing.
            let answers = waits.iter().map(|(id, decided)| (id.clone(), decided.unwrap_or(true))).collect::<Vec<_>>();
            allowed.extend(answers.iter().filter(|(id, yes)| *yes && is_approval(id)).map(|(id, _)| id.clone()));
            match self.answer(id, &answers).map_err(|error| error.to_string())? {
                Sent::Turn(_, stream) => drop(Heard::read(stream).map_err(|error| error.to_string())?),
                Sent::Waits => return Err(format!("{id}: all was answered, and it still waits: {answers:?}")),
                Sent::Refused(200, _) => {}
                Sent::Refused(status, body) => return Err(format!("{id}: answering got {status}: {body}")),
            }
        }
        Err(format!("{id} waits again after {TRIES} answers"))
    }

    fn ask(self, method: &str, path: &str, headers: &[(&str, &str)], body: Option<&Value>) -> io::Result<Response> {
        request(self.address, method, path, headers, body)
    }
}

fn sent(response: Response) -> io::Result<Sent> {
    let turn = response.header("x-tackroom-turn").map(str::to_owned);
    match (response.status, turn) {
        (200, Some(turn)) => Ok(Sent::Turn(turn, response)),
        (202, _) => Ok(Sent::Waits),
        (status, _) => Ok(Sent::Refused(status, response.json()?)),
    }
}

/// Approvals have ids of their own, which both agents make so; a call that waits for a result has the call's.
fn is_approval(id: &str) -> bool {
    id.contains("approval")
}

/// What a session waits for, with what was decided; those alone whose decision `wanted` takes.
#[must_use]
pub fn waiting(session: &Value, wanted: impl Fn(Option<bool>) -> bool) -> Vec<(String, Option<bool>)> {
    let pending = &session["pendingInput"];
    let list = |name: &str, id: &str| {
        let calls = pending[name].as_array().cloned().unwrap_or_default();
        let one =
            |call: &Value| (call[id].as_str().unwrap_or_default().to_owned(), call["decision"]["approved"].as_bool());
        calls.iter().map(one).collect::<Vec<_>>()
    };
    let mut all = list("approvals", "approvalId");
    all.extend(list("toolCalls", "toolCallId"));
    all.retain(|(_, decided)| wanted(*decided));
    all
}
