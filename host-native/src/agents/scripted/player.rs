//! Plays one slice of a turn: from a place in the program to the turn's end, or to the next pause.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::emitter::Emitter;
use super::program::{Op, Program};
use super::scenario::{CallOf, CommandOf};
use super::state::{Place, Waiting};
use crate::ports::{Answer, AnswerBody, Command, Sandbox, SliceOutcome};

/// How a slice came to its end.
pub(super) enum Played {
    Finished,
    /// The turn waits at this place.
    Paused(Place),
    Failed {
        message: String,
        alive: bool,
    },
    Exited(String),
}

impl Played {
    pub(super) fn outcome(&self) -> SliceOutcome {
        match self {
            Self::Finished => SliceOutcome::Finished,
            Self::Paused(_) => SliceOutcome::Paused,
            Self::Failed { message, alive } => SliceOutcome::Failed { message: message.clone(), alive: *alive },
            Self::Exited(message) => SliceOutcome::Failed { message: message.clone(), alive: false },
        }
    }
}

/// What a slice is played with.
pub(super) struct Player<'a> {
    pub(super) program: &'a Program,
    pub(super) sandbox: &'a Arc<dyn Sandbox>,
    pub(super) cwd: Option<&'a str>,
    pub(super) emitter: Emitter,
    pub(super) place: Place,
}

impl Player<'_> {
    /// Plays from the place on; with the answers to its pause, if it is one. Where a call is done only in part, as in
    /// a crash, the place before it is what counts.
    pub(super) async fn play(mut self, answers: Option<&[Answer]>) -> Played {
        self.emitter.start().await;
        if let Some(answers) = answers {
            self.settle(answers).await;
        }
        while let Some(op) = self.program.op(self.place.index, self.place.op) {
            self.place.op += 1;
            match op {
                Op::Say { reasoning, text, pace } => {
                    let id = self.id(if *reasoning { "reasoning" } else { "text" });
                    let text = self.fill(text);
                    self.emitter.say(id, *reasoning, &text, *pace).await;
                }
                Op::Burst { count, size, batch } => {
                    let id = self.id("text");
                    self.emitter.burst(id, *count, *size, *batch).await;
                }
                Op::Calls(calls) => {
                    if self.call_all(calls).await {
                        // The answers belong to this operation.
                        self.place.op -= 1;
                        self.emitter.finish("tool-calls").await;
                        return Played::Paused(self.place);
                    }
                    self.emitter.end_step().await;
                }
                Op::JumpIfDenied(to) if self.place.denied => self.place.op = *to,
                Op::JumpIfDenied(_) => {}
                Op::Jump(to) => self.place.op = *to,
                Op::Delay(delay) => tokio::time::sleep(*delay).await,
                Op::Chunk(chunk) => self.emitter.raw(chunk).await,
                Op::Fail { message, alive } => return Played::Failed { message: self.fill(message), alive: *alive },
                Op::Hang => std::future::pending().await,
                Op::Exit(message) => return Played::Exited(self.fill(message)),
            }
        }
        self.emitter.finish("stop").await;
        Played::Finished
    }

    /// An id that is unique in the message.
    fn id(&mut self, kind: &str) -> String {
        self.place.ids += 1;
        format!("{kind}-{}", self.place.ids)
    }

    /// Puts what a text refers to into it.
    fn fill(&self, text: &str) -> String {
        if !text.contains("{{") {
            return text.to_owned();
        }
        let place = &self.place;
        let names = [
            ("prompt", &place.prompt),
            ("output", &place.output),
            ("answer", &place.answer),
            ("reason", &place.reason),
        ];
        let mut filled = String::with_capacity(text.len());
        let mut rest = text;
        // One pass, so that what is put in is not itself looked through.
        while let Some((before, after)) = rest.split_once("{{") {
            filled.push_str(before);
            let known =
                names.iter().find_map(|(name, value)| Some((value, after.strip_prefix(name)?.strip_prefix("}}")?)));
            rest = if let Some((value, after)) = known {
                filled.push_str(value);
                after
            } else {
                filled.push_str("{{");
                after
            };
        }
        filled.push_str(rest);
        filled
    }

    /// Shows every call, runs those that need nobody, and says whether others wait.
    async fn call_all(&mut self, calls: &[CallOf]) -> bool {
        self.place.denied = false;
        self.place.waiting.clear();
        let mut ready = Vec::new();
        for (index, call) in calls.iter().enumerate() {
            let number = self.id("call");
            let id = format!("{}-{number}", self.place.turn);
            self.emitter.call(&id, &call.tool, &input_of(call), call.command.is_some()).await;
            if call.approval {
                self.emitter.ask(&approval_id(&id), &id).await;
            }
            match &call.command {
                Some(command) if !call.approval => ready.push((call, command, id)),
                _ => self.place.waiting.push(Waiting { call: index, tool_call_id: id }),
            }
        }
        for (call, command, id) in ready {
            self.run(call, command, &id).await;
        }
        !self.place.waiting.is_empty()
    }

    /// Does with each waiting call what was answered.
    async fn settle(&mut self, answers: &[Answer]) {
        let program = self.program;
        let waiting = std::mem::take(&mut self.place.waiting);
        if let Some(Op::Calls(calls)) = program.op(self.place.index, self.place.op) {
            for waiting in waiting {
                let Some(call) = calls.get(waiting.call) else { continue };
                let answer = answers.iter().find(|answer| answer.tool_call_id == waiting.tool_call_id);
                self.settle_one(call, &waiting.tool_call_id, answer.map(|answer| &answer.body)).await;
            }
            self.place.op += 1;
        }
        self.emitter.end_step().await;
    }

    async fn settle_one(&mut self, call: &CallOf, id: &str, answer: Option<&AnswerBody>) {
        match answer {
            Some(AnswerBody::Allow { edited_input }) => {
                let edited = edited_input.as_deref().map(command_in);
                match (edited, &call.command) {
                    (Some(Some(command)), _) => self.run(call, &command, id).await,
                    (Some(None), _) => self.emitter.output_error(id, "The edited input has no command.").await,
                    (None, Some(command)) => self.run(call, command, id).await,
                    (None, None) => self.emitter.output_error(id, "This call takes a result.").await,
                }
            }
            Some(AnswerBody::Deny { reason }) => {
                self.place.denied = true;
                self.place.reason = reason.clone().unwrap_or_default();
                self.emitter.denied(id).await;
            }
            Some(AnswerBody::Result { output, is_error: false }) => {
                let value = serde_json::from_str(output).unwrap_or_else(|_| Value::String(output.clone()));
                self.place.answer = value.as_str().map_or_else(|| output.clone(), str::to_owned);
                self.emitter.output(id, &value).await;
            }
            Some(AnswerBody::Result { output, is_error: true }) => {
                self.place.answer.clone_from(output);
                self.emitter.output_error(id, output).await;
            }
            None => self.emitter.output_error(id, "This call was not answered.").await,
        }
    }

    /// Runs a command in the sandbox; what it prints is the call's output.
    async fn run(&mut self, call: &CallOf, command: &CommandOf, id: &str) {
        let cwd = call.cwd.as_deref().or(self.cwd).map(Into::into);
        let env = call.env.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        let (program, args) = match command {
            CommandOf::Line(line) => ("/bin/sh".to_owned(), vec!["-c".to_owned(), line.clone()]),
            CommandOf::Words(words) => {
                (words.first().cloned().unwrap_or_default(), words.get(1..).unwrap_or_default().to_vec())
            }
        };
        let run = self.sandbox.run(Command { program, args, env, cwd }, call.max_output);
        match tokio::time::timeout(Duration::from_millis(call.timeout_ms), run).await {
            Ok(Ok(done)) => {
                let stdout = String::from_utf8_lossy(&done.stdout);
                stdout.trim_end().clone_into(&mut self.place.output);
                let mut output = json!({ "stdout": stdout, "stderr": String::from_utf8_lossy(&done.stderr) });
                if let Some(code) = done.exit.code {
                    output["exitCode"] = json!(code);
                }
                if let Some(signal) = done.exit.signal {
                    output["signal"] = json!(signal);
                }
                if done.truncated {
                    output["truncated"] = json!(true);
                }
                self.emitter.output(id, &output).await;
            }
            Ok(Err(error)) => self.emitter.output_error(id, &error.to_string()).await,
            Err(_) => {
                let words = format!("The command did not end within {} milliseconds and was killed.", call.timeout_ms);
                self.emitter.output_error(id, &words).await;
            }
        }
    }
}

fn approval_id(tool_call_id: &str) -> String {
    format!("{tool_call_id}-approval")
}

fn input_of(call: &CallOf) -> Value {
    call.input.clone().unwrap_or_else(|| json!({ "command": call.command }))
}

/// The command in an edited input.
fn command_in(input: &str) -> Option<CommandOf> {
    let mut input: Value = serde_json::from_str(input).ok()?;
    serde_json::from_value(input.get_mut("command")?.take()).ok()
}
