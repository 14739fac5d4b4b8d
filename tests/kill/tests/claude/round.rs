//! One kill: sessions brought to where they stream, are held and are deferred; the kill; and what has to hold then.

use std::fmt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tackroom_kill::{Api, Heard, Host, Launch, Process, Response, Sent, kill, none_left, of, waiting};
use tackroom_model_server::ModelServer;

use crate::model;

/// The longest that any one thing may take.
const PATIENCE: Duration = Duration::from_mins(1);
const STEP: Duration = Duration::from_millis(20);

/// Who is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Killed {
    Agent,
    Host,
    Both,
}

impl fmt::Display for Killed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Agent => "agent",
            Self::Host => "host",
            Self::Both => "both",
        })
    }
}

/// One round.
pub(crate) struct Round<'a> {
    launch: &'a Launch,
    agent: &'a Path,
    directory: &'a Path,
    /// The sessions: one that has done a turn, one in the midst of one, one deferred, one held.
    done: String,
    streaming: String,
    deferred: String,
    held: String,
}

impl<'a> Round<'a> {
    /// Prepares a round of this name, and the model for it.
    pub(crate) fn new(
        launch: &'a Launch,
        agent: &'a Path,
        server: &ModelServer,
        version: &str,
        directory: &'a Path,
        name: &str,
    ) -> Self {
        let id = |kind: &str| format!("{name}-{kind}");
        let (done, streaming, deferred, held) = (id("done"), id("streaming"), id("deferred"), id("held"));
        let round = Self { launch, agent, directory, done, streaming, deferred, held };
        let (first, second) = (round.file(&round.deferred), round.file(&round.held));
        let gated = [(round.deferred.as_str(), first.as_path()), (round.held.as_str(), second.as_path())];
        server.script(version, model::script(gated));
        round
    }

    /// Where a session's call adds its line.
    fn file(&self, session: &str) -> PathBuf {
        self.directory.join(format!("{session}.log"))
    }

    /// Plays it; gives the host that runs afterwards, and the ids of the sessions.
    pub(crate) fn play(self, host: Host, killed: Killed) -> Result<(Host, Vec<String>), String> {
        let api = host.api();
        for session in [&self.done, &self.streaming, &self.deferred, &self.held] {
            let status = api.create(session).map_err(|error| error.to_string())?;
            if status != 201 {
                return Err(format!("{session}: create was answered {status}"));
            }
        }
        finished(send(api, &self.done, "[text] Say something.", "first")?, &self.done)?;
        asked(send(api, &self.deferred, &model::gate(&self.deferred), "first")?, &self.deferred)?;
        self.let_go(&self.deferred)?;
        let stream = send(api, &self.streaming, "[slow] Say much.", "first")?;
        // Read from here on, so that it is under way when it is cut.
        let mut events = stream.events();
        while !events.next().ok_or("the slow turn ended before the kill")?.is_ok_and(|data| data.contains("text-delta"))
        {
        }
        asked(send(api, &self.held, &model::gate(&self.held), "first")?, &self.held)?;
        let host = self.kill(host, killed)?;
        drop(events);
        let api = host.api();
        for session in [&self.deferred, &self.held] {
            self.answer(api, session)?;
        }
        let sessions = vec![self.done, self.streaming, self.deferred, self.held];
        for session in &sessions {
            answers_another(api, session)?;
        }
        Ok((host, sessions))
    }

    /// The agent's processes of one session.
    fn agents_of(&self, session: &str) -> Vec<Process> {
        let data = self.launch.data.join("sandboxes");
        let mark = format!("/{session}/");
        let mut agents = of(&data, &[]);
        agents.retain(|process| process.program == self.agent && process.names(&mark));
        agents
    }

    /// Waits until a session's agent was let go.
    fn let_go(&self, session: &str) -> Result<(), String> {
        let until = Instant::now() + PATIENCE;
        while !self.agents_of(session).is_empty() {
            if Instant::now() > until {
                let left = self.agents_of(session);
                return Err(format!("{session}: its call was not deferred within {PATIENCE:?}, and {left:?} is there"));
            }
            thread::sleep(STEP);
        }
        Ok(())
    }

    fn kill(&self, mut host: Host, killed: Killed) -> Result<Host, String> {
        let mut agents = self.agents_of(&self.held);
        agents.extend(self.agents_of(&self.streaming));
        if agents.is_empty() {
            return Err("there is no agent to be killed".to_owned());
        }
        if killed != Killed::Host {
            agents.iter().for_each(kill);
        }
        if killed == Killed::Agent {
            none_left(&agents, PATIENCE)?;
            return if host.runs() { Ok(host) } else { Err("the host died with its agent".to_owned()) };
        }
        host.kill();
        let left = of(&self.launch.data, &[]);
        let host = Host::start(self.launch)?;
        none_left(&left, Duration::from_secs(10))?;
        Ok(host)
    }

    /// Answers the pause that was left waiting: its tool runs once.
    fn answer(&self, api: Api, session: &str) -> Result<(), String> {
        let found = api.settled(session)?;
        let open = waiting(&found, |decided| decided.is_none());
        let expected = format!("call-{session}-0");
        if open.len() != 1 || !open[0].0.contains(&expected) {
            let (status, error) = (&found["status"], &found["error"]);
            return Err(format!("{session} does not wait for {expected} but for {open:?}, being {status}: {error}"));
        }
        let words = |told: String| format!("{session}: {told}; it is {}", shown(api, session));
        api.answer_all(session).map_err(words)?;
        let file = self.file(session);
        let lines = std::fs::read_to_string(&file).unwrap_or_default();
        if lines == "ran\n" { Ok(()) } else { Err(words(format!("its tool was to run once, and it wrote {lines:?}"))) }
    }
}

/// Gives a session another message, which it has to answer.
pub(crate) fn answers_another(api: Api, session: &str) -> Result<(), String> {
    let found = api.settled(session)?;
    if !matches!(found["status"].as_str(), Some("idle" | "suspended")) {
        return Err(format!("{session} is {}: {}", found["status"], found["error"]));
    }
    let count = found["messageCount"].as_u64().unwrap_or_default();
    let text = format!("[text] Another message, number {count}.");
    finished(send(api, session, &text, &format!("another-{count}"))?, session)?;
    let found = api.settled(session)?;
    let messages = found["messages"].as_array().cloned().unwrap_or_default();
    let times = |text: &str| {
        let users = messages.iter().filter(|message| message["role"] == "user");
        users.filter(|message| message["parts"].to_string().contains(text)).count()
    };
    let firsts = times("[slow]") + times("[gated ") + times("Say something");
    if firsts == 1 && times(&text) == 1 && found["status"] == "idle" {
        return Ok(());
    }
    Err(format!("{session}: a message is not there once: {}", shown(api, session)))
}

fn send(api: Api, session: &str, text: &str, key: &str) -> Result<Response, String> {
    match api.send(session, text, key).map_err(|error| error.to_string())? {
        Sent::Turn(_, stream) => Ok(stream),
        other => Err(format!("{session}: {text:?} was answered {other:?}")),
    }
}

fn asked(stream: Response, session: &str) -> Result<(), String> {
    let heard = Heard::read(stream).map_err(|error| error.to_string())?;
    if heard.asked.len() == 1 { Ok(()) } else { Err(format!("{session} was to ask once: {heard:?}")) }
}

fn finished(stream: Response, session: &str) -> Result<(), String> {
    let heard = Heard::read(stream).map_err(|error| error.to_string())?;
    let right = heard.finished && heard.errors.is_empty() && heard.asked.is_empty() && heard.text.contains("Good.");
    if right { Ok(()) } else { Err(format!("{session} came to no good end: {heard:?}")) }
}

fn shown(api: Api, session: &str) -> Value {
    api.session(session).unwrap_or_else(|error| error.to_string().into())
}
