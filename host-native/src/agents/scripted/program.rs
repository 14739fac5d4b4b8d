//! A scenario made ready to play: checked once, and flat, so that a place in it is one number that can be saved.

use std::time::Duration;

use regex_lite::Regex;

use super::scenario::{CallOf, File, ScenarioError, Step, Turn, UsageOf};

const MAX_DELAY_MS: u64 = 24 * 60 * 60 * 1000;
const MAX_BURST_BYTES: usize = 16 * 1024 * 1024;

/// The turns of a scenario.
#[derive(Debug)]
pub(super) struct Program {
    /// In the order of the file; the last one is the default.
    turns: Vec<Compiled>,
}

#[derive(Debug)]
struct Compiled {
    pattern: Option<Regex>,
    repeat: bool,
    usage: UsageOf,
    ops: Vec<Op>,
}

/// One operation of a turn.
#[derive(Debug)]
pub(super) enum Op {
    Say {
        reasoning: bool,
        text: String,
        pace: Pace,
    },
    Calls(Vec<CallOf>),
    /// Goes elsewhere if one of the last calls was denied.
    JumpIfDenied(usize),
    Jump(usize),
    Delay(Duration),
    Burst {
        count: u64,
        size: usize,
        batch: usize,
    },
    Chunk(String),
    Fail {
        message: String,
        alive: bool,
    },
    Hang,
    Exit(String),
}

/// How text is streamed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    pub(super) chars: usize,
    pub(super) delay: Duration,
}

impl Program {
    pub(super) fn compile(file: File) -> Result<Self, ScenarioError> {
        let compiler = Compiler { chars: file.chars, delay_ms: file.delay_ms };
        let mut turns = Vec::with_capacity(file.turns.len() + 1);
        for (index, turn) in file.turns.into_iter().enumerate() {
            turns.push(compiler.turn(turn, &format!("turns[{index}]"))?);
        }
        let echo = || vec![Step::Text { text: "{{prompt}}".to_owned(), chars: None, delay_ms: None }];
        let steps = file.default.unwrap_or_else(echo);
        turns.push(compiler.turn(Turn { pattern: None, repeat: true, usage: None, steps }, "default")?);
        Ok(Self { turns })
    }

    /// Which turn answers this prompt, when the turns before `next` have been played in their order; and what `next` is
    /// afterwards.
    pub(super) fn choose(&self, prompt: &str, next: usize) -> (usize, usize) {
        let fits = |turn: &Compiled| turn.pattern.as_ref().is_some_and(|pattern| pattern.is_match(prompt));
        if let Some(index) = self.turns.iter().position(fits) {
            return (index, next);
        }
        let in_order = (next..self.turns.len()).find(|&index| self.turns[index].pattern.is_none());
        let index = in_order.unwrap_or(self.turns.len() - 1);
        (index, if self.turns[index].repeat { index } else { index + 1 })
    }

    pub(super) fn op(&self, turn: usize, op: usize) -> Option<&Op> {
        self.turns.get(turn)?.ops.get(op)
    }

    pub(super) fn usage(&self, turn: usize) -> UsageOf {
        self.turns.get(turn).map(|turn| turn.usage).unwrap_or_default()
    }
}

struct Compiler {
    chars: usize,
    delay_ms: u64,
}

impl Compiler {
    fn turn(&self, turn: Turn, at: &str) -> Result<Compiled, ScenarioError> {
        let pattern = turn.pattern.map(|pattern| Regex::new(&pattern)).transpose();
        let pattern = pattern.map_err(|error| invalid(format!("{at}.match"), error.to_string()))?;
        let mut ops = Vec::new();
        self.steps(turn.steps, &format!("{at}.steps"), &mut ops)?;
        Ok(Compiled { pattern, repeat: turn.repeat, usage: turn.usage.unwrap_or_default(), ops })
    }

    fn steps(&self, steps: Vec<Step>, at: &str, ops: &mut Vec<Op>) -> Result<(), ScenarioError> {
        for (index, step) in steps.into_iter().enumerate() {
            self.step(step, &format!("{at}[{index}]"), ops)?;
        }
        Ok(())
    }

    fn step(&self, step: Step, at: &str, ops: &mut Vec<Op>) -> Result<(), ScenarioError> {
        ops.push(match step {
            Step::Text { text, chars, delay_ms } => {
                Op::Say { reasoning: false, text, pace: self.pace(chars, delay_ms, at)? }
            }
            Step::Reasoning { text, chars, delay_ms } => {
                Op::Say { reasoning: true, text, pace: self.pace(chars, delay_ms, at)? }
            }
            Step::Tool(mut call) => {
                let (allowed, denied) = (std::mem::take(&mut call.when_allowed), std::mem::take(&mut call.when_denied));
                return self.calls(vec![call], allowed, denied, at, ops);
            }
            Step::Tools { calls, when_allowed, when_denied } => {
                if calls.iter().any(|call| !(call.when_allowed.is_empty() && call.when_denied.is_empty())) {
                    let reason = "`whenAllowed` and `whenDenied` stand beside `calls`, for all of them";
                    return Err(invalid(format!("{at}.calls"), reason.to_owned()));
                }
                return self.calls(calls, when_allowed, when_denied, at, ops);
            }
            Step::Question { tool, input, when_denied } => {
                let call = serde_json::json!({ "tool": tool, "input": input });
                return self.calls(vec![serde_json::from_value(call)?], Vec::new(), when_denied, at, ops);
            }
            Step::Delay { ms } => Op::Delay(delay(ms, at)?),
            Step::Burst { count, size, batch } => {
                if size == 0 || batch == 0 || size.saturating_mul(batch) > MAX_BURST_BYTES {
                    return Err(invalid(at.to_owned(), format!("`size` times `batch` must be 1 to {MAX_BURST_BYTES}")));
                }
                Op::Burst { count, size, batch }
            }
            Step::Chunk { chunk } => {
                if chunk.get("type").is_none_or(|kind| !kind.is_string()) {
                    return Err(invalid(format!("{at}.chunk"), "a chunk is an object with a `type`".to_owned()));
                }
                Op::Chunk(chunk.to_string())
            }
            Step::Fail { message, alive } => Op::Fail { message, alive },
            Step::Hang {} => Op::Hang,
            Step::Exit { message } => Op::Exit(message),
        });
        Ok(())
    }

    fn calls(
        &self,
        calls: Vec<CallOf>,
        when_allowed: Vec<Step>,
        when_denied: Vec<Step>,
        at: &str,
        ops: &mut Vec<Op>,
    ) -> Result<(), ScenarioError> {
        if calls.is_empty() {
            return Err(invalid(at.to_owned(), "`calls` must have at least one call".to_owned()));
        }
        for call in &calls {
            match (&call.command, &call.input) {
                (None, None) => {
                    return Err(invalid(at.to_owned(), "a call needs a `command` or an `input`".to_owned()));
                }
                (None, Some(_)) if call.approval => {
                    return Err(invalid(at.to_owned(), "a call with `approval` needs a `command` to run".to_owned()));
                }
                _ => {}
            }
        }
        ops.push(Op::Calls(calls));
        let branch = ops.len();
        ops.push(Op::Jump(0));
        self.steps(when_allowed, &format!("{at}.whenAllowed"), ops)?;
        let end = ops.len();
        ops.push(Op::Jump(0));
        ops[branch] = Op::JumpIfDenied(ops.len());
        self.steps(when_denied, &format!("{at}.whenDenied"), ops)?;
        ops[end] = Op::Jump(ops.len());
        Ok(())
    }

    fn pace(&self, chars: Option<usize>, delay_ms: Option<u64>, at: &str) -> Result<Pace, ScenarioError> {
        let chars = chars.unwrap_or(self.chars);
        if chars == 0 {
            return Err(invalid(at.to_owned(), "`chars` must be at least 1".to_owned()));
        }
        Ok(Pace { chars, delay: delay(delay_ms.unwrap_or(self.delay_ms), at)? })
    }
}

fn delay(ms: u64, at: &str) -> Result<Duration, ScenarioError> {
    if ms > MAX_DELAY_MS {
        return Err(invalid(at.to_owned(), format!("a delay is at most {MAX_DELAY_MS} milliseconds")));
    }
    Ok(Duration::from_millis(ms))
}

fn invalid(at: String, reason: String) -> ScenarioError {
    ScenarioError::Invalid { at, reason }
}
