//! The words of the command line.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use lexopt::{Arg, Parser, ValueExt};

/// What `--help` prints.
pub(crate) const USAGE: &str = "\
Usage: tackroom-bench [--out FILE] [--only NAME]... [--quick] [--dir DIR]

  --out FILE   Write the figures to FILE as JSON.
  --only NAME  Measure the groups whose name contains NAME. May be repeated.
  --quick      Few samples of small worlds: shows that everything runs, not how fast it is.
  --dir DIR    Make databases in DIR, which has to be on a real disk. The folder of FILE, by default.
  --list       Print the groups' names.";

/// One run of the program.
#[derive(Debug, Default)]
pub(crate) struct Args {
    pub(crate) help: bool,
    pub(crate) list: bool,
    pub(crate) quick: bool,
    pub(crate) out: Option<PathBuf>,
    pub(crate) dir: Option<PathBuf>,
    pub(crate) only: Vec<String>,
    /// A measurement that needs a process of its own, and its arguments.
    pub(crate) child: Option<(String, Vec<OsString>)>,
}

impl Args {
    pub(crate) fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Self> {
        let mut parser = Parser::from_args(words);
        let mut args = Self::default();
        while let Some(arg) = parser.next()? {
            match arg {
                Arg::Long("help") | Arg::Short('h') => args.help = true,
                Arg::Long("list") => args.list = true,
                Arg::Long("quick") => args.quick = true,
                Arg::Long("out") => args.out = Some(parser.value()?.into()),
                Arg::Long("dir") => args.dir = Some(parser.value()?.into()),
                Arg::Long("only") => args.only.push(parser.value()?.string()?),
                Arg::Long("child") => {
                    let name = parser.value()?.string()?;
                    args.child = Some((name, parser.raw_args()?.collect()));
                }
                other => bail!("{}\n\n{USAGE}", other.unexpected()),
            }
        }
        Ok(args)
    }

    /// Whether a group of this name is wanted.
    pub(crate) fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| name.contains(only.as_str()))
    }

    /// A directory of this run's own, below the one that was named.
    pub(crate) fn directory(&self) -> Result<PathBuf> {
        let beside_out = || self.out.as_deref().and_then(|out| out.parent()).map(PathBuf::from);
        let parent = self.dir.clone().or_else(beside_out).unwrap_or_else(|| PathBuf::from("target"));
        let directory = parent.join(format!("bench-{}", std::process::id()));
        std::fs::create_dir_all(&directory)
            .with_context(|| format!("The directory {} cannot be made.", directory.display()))?;
        directory.canonicalize().with_context(|| format!("The directory {} cannot be read.", directory.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Args> {
        Args::parse(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn groups_are_chosen_by_a_part_of_their_name() {
        let args = parsed("--only engine --only send --quick").unwrap();
        assert!(args.quick && args.wants("engine") && args.wants("send") && !args.wants("live"));
        assert!(parsed("").unwrap().wants("live"));
        assert!(parsed("--onyl x").is_err());
    }

    #[test]
    fn a_child_takes_the_rest() {
        let (name, rest) = parsed("--child start --dir x").unwrap().child.unwrap();
        assert_eq!((name.as_str(), rest.len()), ("start", 2));
    }
}
