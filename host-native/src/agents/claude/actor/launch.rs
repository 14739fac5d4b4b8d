//! Brings the process up, under a new session id or an old one, and tells what became of that.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::{Actor, GivingUp, Todo};
use crate::agents::claude::errors;
use crate::agents::claude::process::Cli;
use crate::agents::claude::protocol::outgoing;
use crate::agents::claude::usage::Meter;
use crate::ports::{AgentError, Command, SandboxError};

/// The longest that killing a process may take before it is given up on.
const KILL_DEADLINE: Duration = Duration::from_secs(10);

/// A process that has not answered yet.
pub(super) struct Launch {
    pub(super) deadline: Instant,
    request_id: String,
    resumed: bool,
    /// Whether this is the second try.
    again: bool,
    /// What the CLI said before it could be spoken to.
    pub(super) words: String,
}

impl Actor {
    /// Starts the process unless it runs or is about to leave.
    pub(super) async fn ensure_process(&mut self) {
        if self.leaving.is_some() || self.deferring.is_some() {
            return;
        }
        if self.cli.is_some() {
            // While it is being launched, its answer goes on from here.
            if self.launch.is_none() {
                self.proceed();
            }
            return;
        }
        let resumed = self.parts.saved || self.parts.state.prompted;
        self.launch(resumed, false).await;
    }

    async fn launch(&mut self, resumed: bool, again: bool) {
        let command = match self.command(resumed).await {
            Ok(command) => command,
            Err(error) => return self.launch_failed(AgentError::Failed(error.to_string())),
        };
        let max_line = self.parts.options.max_line;
        match Cli::spawn(&*self.parts.sandbox, command, max_line).await {
            Ok(cli) => self.cli = Some(cli),
            Err(error @ SandboxError::Spawn { .. }) => {
                let agent = "claude".to_owned();
                let reason = format!("{error} Install Claude Code, or name its program in the agent's settings.");
                return self.launch_failed(AgentError::Unusable { agent, reason });
            }
            Err(error) => return self.launch_failed(AgentError::Failed(error.to_string())),
        }
        self.meter = Meter::default();
        if self.parts.state.abandoned && !matches!(self.todo, Some(Todo::Answers { .. })) {
            let deadline = Instant::now() + self.parts.options.start + self.parts.options.reask;
            self.giving_up = Some(GivingUp { deadline });
        }
        let request_id = self.request_id();
        self.send(outgoing::initialize(&request_id));
        let deadline = Instant::now() + self.parts.options.start;
        self.launch = Some(Launch { deadline, request_id, resumed, again, words: String::new() });
    }

    async fn command(&self, resumed: bool) -> Result<Command, SandboxError> {
        let parts = &self.parts;
        let mut args = [
            "-p",
            "--input-format",
            "stream-json",
            "--output-format",
            "stream-json",
            "--verbose",
            "--include-partial-messages",
            "--replay-user-messages",
            "--permission-prompt-tool",
            "stdio",
        ]
        .map(str::to_owned)
        .to_vec();
        args.push(if resumed { "--resume" } else { "--session-id" }.to_owned());
        args.push(parts.state.session.clone());
        for (name, value) in [("--model", &parts.settings.model), ("--permission-mode", &self.cli_mode())] {
            args.extend(value.iter().flat_map(|value| [name.to_owned(), value.clone()]));
        }
        if let Some(servers) = &parts.settings.mcp_servers {
            // A file, because servers' settings hold keys and every user of a machine may read command lines.
            let path = parts.sandbox.home().join(".claude").join(format!("tackroom-mcp-{}.json", parts.state.session));
            let servers = serde_json::from_str::<Value>(servers).unwrap_or(Value::Null);
            parts.sandbox.write_file(&path, json!({"mcpServers": servers}).to_string().as_bytes()).await?;
            args.extend(["--mcp-config".to_owned(), path.to_string_lossy().into_owned()]);
        }
        args.extend(parts.options.extra_args.iter().cloned());
        let env = parts.options.env.iter().map(|(name, value)| (name.clone(), value.expose().to_owned())).collect();
        let cwd = parts.settings.working_directory.as_ref().map(Into::into);
        Ok(Command { program: parts.options.program.clone(), args, env, cwd })
    }

    /// The mode the CLI itself is given. It refuses to skip permissions as root, so the host's hook does that.
    fn cli_mode(&self) -> Option<String> {
        self.parts.settings.permission_mode.clone().filter(|mode| mode != "bypassPermissions")
    }

    /// The CLI answered one of the host's requests.
    pub(super) fn replied(&mut self, request_id: &str, error: Option<String>) {
        if self.launch.as_ref().is_none_or(|launch| launch.request_id != request_id) {
            return;
        }
        let launch = self.launch.take();
        if let Some(error) = error {
            return self.launch_failed(AgentError::Failed(errors::tidy(&error, &self.parts.options)));
        }
        if let Some(reply) = self.starting.take() {
            // The caller may have given up on the start; the process is then ended with the session.
            let _ = reply.send(Ok(()));
        }
        self.anew |= launch.is_some_and(|launch| launch.again && !launch.resumed);
        if let Some(giving_up) = &mut self.giving_up {
            giving_up.deadline = Instant::now() + self.parts.options.reask;
        }
        self.proceed();
    }

    /// Does what waits for the process, once it can be spoken to.
    pub(super) fn proceed(&mut self) {
        if self.cli.is_none() || self.launch.is_some() || self.giving_up.is_some() {
            return;
        }
        let reask = self.parts.options.reask;
        match self.todo.take() {
            Some(Todo::Prompt(prompt)) => self.send_prompt(&prompt),
            Some(Todo::Answers { answers, deadline }) => {
                let deadline = Some(deadline.unwrap_or_else(|| Instant::now() + reask));
                self.todo = Some(Todo::Answers { answers, deadline });
            }
            None => {}
        }
    }

    /// The process ended before it could be spoken to.
    pub(super) async fn launch_ended(&mut self) {
        let Some(launch) = self.launch.take() else { return };
        let (how, stderr) = self.reap().await;
        let words = format!("{} {stderr}", launch.words);
        if launch.resumed && errors::is_unknown_session(&words) && !launch.again {
            // Killed before it wrote anything: whatever it deferred is lost with it.
            self.parts.state.deferred = None;
            self.parts.state.abandoned = false;
            self.giving_up = None;
            return Box::pin(self.launch(false, true)).await;
        }
        if !launch.resumed && errors::is_known_session(&words) && !launch.again {
            return Box::pin(self.launch(true, true)).await;
        }
        let words = errors::of_exit(&how, &words, &self.parts.options);
        self.launch_failed(AgentError::Failed(words));
    }

    /// The process did not answer in time.
    pub(super) async fn launch_timed_out(&mut self) {
        let seconds = self.parts.options.start.as_secs();
        self.kill().await;
        self.launch_failed(AgentError::TimedOut { what: "start".to_owned(), seconds });
    }

    fn launch_failed(&mut self, error: AgentError) {
        self.launch = None;
        self.todo = None;
        let words = error.to_string();
        if let Some(reply) = self.starting.take() {
            // As above: nobody may be waiting any more.
            let _ = reply.send(Err(error));
        }
        self.end_failed(words, true);
        self.idle_now();
    }

    /// Kills the process, if there is one, and forgets what hung on it.
    pub(super) async fn kill(&mut self) {
        self.launch = None;
        if self.cli.is_some() {
            let _ = self.reap().await;
        }
    }

    /// Kills what is left of the process; gives how it ended and the end of its standard error.
    pub(super) async fn reap(&mut self) -> (String, String) {
        self.active.clear();
        self.held.clear();
        self.verdicts.clear();
        self.hold_until = None;
        self.deferring = None;
        self.leaving = None;
        let Some(cli) = self.cli.take() else { return (String::new(), String::new()) };
        let timed_out = || ("no answer to being killed".to_owned(), String::new());
        tokio::time::timeout(KILL_DEADLINE, cli.reap()).await.unwrap_or_else(|_| timed_out())
    }
}
