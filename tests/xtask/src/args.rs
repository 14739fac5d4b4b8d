//! What the user asked for. Parsed by hand rather than by a framework, which would take longer to build than the rest
//! of this program.

use std::ffi::OsString;

use lexopt::{Arg, Parser, ValueExt};

/// What `--help` prints.
pub(crate) const USAGE: &str = "\
Usage: cargo xtask COMMAND

  setup            Install what this machine lacks. May be repeated.
  demo             Build the program and play a session through it.
  test [--long]    Run every test, the fast ones first. --long runs the full counts.
       [--only STEP]   Run the steps whose name contains STEP.
  check            Formatting, lints, documentation, dependencies, house rules.
  fix              Format, and apply the lints that can apply themselves.
  bench [-- ARGS]  Measure; a table, and target/bench.json.
  sim [--seed N]   Run the simulator; with a seed, replay that one.
  wasm             Build the engine as a WebAssembly component.";

/// One run of the build program.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Command {
    /// Print the usage.
    Help,
    /// Install what the machine lacks.
    Setup,
    /// Build the component.
    Wasm,
    /// Everything that can be said without running the code.
    Check,
    /// The tests.
    Test {
        /// Full counts rather than a tenth.
        long: bool,
        /// Run the steps whose name contains this.
        only: Option<String>,
    },
    /// The demonstration.
    Demo,
    /// The measurements.
    Bench {
        /// What is handed on to the bench program.
        rest: Vec<OsString>,
    },
    /// The simulator.
    Sim {
        /// The one seed to replay.
        seed: Option<u64>,
    },
    /// What can be repaired by itself.
    Fix,
}

/// Reads the command line, without the program's own name.
///
/// # Errors
/// An unknown command, option or value, in words.
pub(crate) fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Command, lexopt::Error> {
    let mut parser = Parser::from_args(args);
    let mut command = match parser.next()? {
        None | Some(Arg::Long("help") | Arg::Short('h')) => return Ok(Command::Help),
        Some(Arg::Value(name)) => named(&name.string()?)?,
        Some(option) => return Err(option.unexpected()),
    };
    if let Command::Bench { rest } = &mut command {
        rest.extend(parser.raw_args()?.skip_while(|arg| arg == "--"));
        return Ok(command);
    }
    while let Some(arg) = parser.next()? {
        match (&mut command, arg) {
            (_, Arg::Long("help") | Arg::Short('h')) => return Ok(Command::Help),
            (Command::Test { long, .. }, Arg::Long("long")) => *long = true,
            (Command::Test { only, .. }, Arg::Long("only")) => *only = Some(parser.value()?.string()?),
            (Command::Sim { seed }, Arg::Long("seed")) => *seed = Some(parser.value()?.parse()?),
            (_, arg) => return Err(arg.unexpected()),
        }
    }
    Ok(command)
}

fn named(name: &str) -> Result<Command, lexopt::Error> {
    Ok(match name {
        "help" => Command::Help,
        "setup" => Command::Setup,
        "wasm" => Command::Wasm,
        "check" => Command::Check,
        "test" => Command::Test { long: false, only: None },
        "demo" => Command::Demo,
        "bench" => Command::Bench { rest: Vec::new() },
        "sim" => Command::Sim { seed: None },
        "fix" => Command::Fix,
        other => return Err(format!("there is no command `{other}`").into()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Command, String> {
        parse(line.split_whitespace().map(OsString::from)).map_err(|error| error.to_string())
    }

    #[test]
    fn commands_take_their_own_options() {
        assert_eq!(parsed("test"), Ok(Command::Test { long: false, only: None }));
        assert_eq!(parsed("test --long --only core"), Ok(Command::Test { long: true, only: Some("core".to_owned()) }));
        assert_eq!(parsed("sim --seed 7"), Ok(Command::Sim { seed: Some(7) }));
        assert_eq!(parsed("sim --seed=7"), Ok(Command::Sim { seed: Some(7) }));
        assert_eq!(parsed("sim"), Ok(Command::Sim { seed: None }));
        assert_eq!(parsed("bench -- --quick"), Ok(Command::Bench { rest: vec!["--quick".into()] }));
        assert_eq!(parsed("bench --quick"), Ok(Command::Bench { rest: vec!["--quick".into()] }));
    }

    #[test]
    fn help_is_given_wherever_it_is_asked_for() {
        for line in ["", "help", "--help", "-h", "test --help"] {
            assert_eq!(parsed(line), Ok(Command::Help), "{line}");
        }
    }

    #[test]
    fn what_is_not_understood_is_named() {
        for (line, word) in [
            ("tests", "tests"),
            ("--long", "--long"),
            ("demo --long", "--long"),
            ("sim --seed", "--seed"),
            ("sim --seed many", "many"),
            ("check extra", "extra"),
        ] {
            let error = parsed(line).unwrap_err();
            assert!(error.contains(word), "{line}: {error}");
        }
    }
}
