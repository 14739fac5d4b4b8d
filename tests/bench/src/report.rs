//! What was measured beside what was to be reached: a table for people, JSON for programs.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::sample::{Figures, Samples};

/// What a figure counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Nanoseconds.
    Time,
    /// One measurement over another of the same run.
    Ratio,
    /// A number in a second.
    PerSecond,
    /// Bytes.
    Bytes,
    /// Things.
    Count,
}

/// What is to be reached.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Goal {
    /// The median is to be below.
    MedianBelow(f64),
    /// The 99th percentile is to be below.
    P99Below(f64),
    /// The median is to be at least.
    AtLeast(f64),
    /// Every sample is to be this.
    Exactly(f64),
}

/// A line of the table.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    group: &'static str,
    what: String,
    unit: Unit,
    figures: Figures,
    goal: Option<Goal>,
    note: Option<String>,
}

/// Microseconds as nanoseconds.
pub(crate) const US: f64 = 1e3;
/// Milliseconds as nanoseconds.
pub(crate) const MS: f64 = 1e6;

impl Goal {
    fn is_met(self, figures: &Figures) -> bool {
        match self {
            Self::MedianBelow(most) => figures.median < most,
            Self::P99Below(most) => figures.p99 < most,
            Self::AtLeast(least) => figures.median >= least,
            Self::Exactly(value) => [figures.p10, figures.p99].iter().all(|seen| (seen - value).abs() < 0.5),
        }
    }

    fn words(self, unit: Unit) -> String {
        match self {
            Self::MedianBelow(most) => format!("< {}", unit.words(most)),
            Self::P99Below(most) => format!("p99 < {}", unit.words(most)),
            Self::AtLeast(least) => format!(">= {}", unit.words(least)),
            Self::Exactly(value) => format!("= {}", unit.words(value)),
        }
    }
}

impl Unit {
    fn name(self) -> &'static str {
        match self {
            Self::Time => "ns",
            Self::Ratio => "ratio",
            Self::PerSecond => "per second",
            Self::Bytes => "bytes",
            Self::Count => "count",
        }
    }

    fn words(self, value: f64) -> String {
        match self {
            Self::Time if value < 1e3 => format!("{value:.0} ns"),
            Self::Time if value < 1e6 => format!("{:.2} us", value / 1e3),
            Self::Time if value < 1e9 => format!("{:.2} ms", value / 1e6),
            Self::Time => format!("{:.2} s", value / 1e9),
            Self::Ratio => format!("{value:.2} x"),
            Self::PerSecond => format!("{value:.0}/s"),
            Self::Bytes if value < 1e6 => format!("{:.1} kB", value / 1e3),
            Self::Bytes => format!("{:.1} MB", value / 1e6),
            Self::Count => format!("{value:.0}"),
        }
    }
}

impl Row {
    /// A row of figures; none where nothing was measured.
    pub(crate) fn of(
        group: &'static str,
        what: impl Into<String>,
        unit: Unit,
        figures: Option<Figures>,
    ) -> Option<Self> {
        Some(Self { group, what: what.into(), unit, figures: figures?, goal: None, note: None })
    }

    /// A row of times in nanoseconds; none where nothing was measured.
    pub(crate) fn times(group: &'static str, what: impl Into<String>, samples: &Samples) -> Option<Self> {
        Self::of(group, what, Unit::Time, samples.figures())
    }

    /// A row of ratios; none where one of the sides was not measured.
    pub(crate) fn ratio(group: &'static str, what: impl Into<String>, over: &Samples, base: &Samples) -> Option<Self> {
        Self::of(group, what, Unit::Ratio, over.over(base))
    }

    /// A row of one value.
    pub(crate) fn one(group: &'static str, what: impl Into<String>, unit: Unit, value: f64) -> Option<Self> {
        Self::of(group, what, unit, Samples::one(value).figures())
    }

    /// With what is to be reached.
    pub(crate) fn goal(mut self, goal: Goal) -> Self {
        self.goal = Some(goal);
        self
    }

    /// With what a reader has to know of it.
    pub(crate) fn note(mut self, note: impl Into<String>) -> Self {
        self.note = Some(note.into());
        self
    }

    fn met(&self) -> Option<bool> {
        self.goal.map(|goal| goal.is_met(&self.figures))
    }

    /// Whether a goal is missed.
    pub(crate) fn is_missed(&self) -> bool {
        self.met() == Some(false)
    }

    fn cells(&self) -> [String; 6] {
        let words = |value| self.unit.words(value);
        let many = self.figures.count > 1;
        let only_many = |text: String| if many { text } else { String::new() };
        [
            self.what.clone(),
            words(self.figures.median),
            only_many(words(self.figures.p99)),
            only_many(format!("{} - {}", words(self.figures.p10), words(self.figures.p90))),
            self.goal.map(|goal| goal.words(self.unit)).unwrap_or_default(),
            self.met().map(|met| if met { "met" } else { "MISSED" }).unwrap_or_default().to_owned(),
        ]
    }

    fn json(&self) -> Value {
        let Figures { median, p10, p90, p99, count } = self.figures;
        json!({
            "group": self.group, "what": self.what, "unit": self.unit.name(), "median": median, "p99": p99,
            "p10": p10, "p90": p90, "samples": count,
            "goal": self.goal.map(|goal| goal.words(self.unit)), "met": self.met(), "note": self.note,
        })
    }
}

/// The table, group by group, and below it what was missed.
pub(crate) fn table(rows: &[Row]) -> String {
    let head = ["what", "median", "p99", "p10 - p90", "goal", ""].map(str::to_owned);
    let cells: Vec<_> = rows.iter().map(Row::cells).collect();
    let mut widths = [0; 6];
    for line in cells.iter().chain([&head]) {
        for (width, cell) in widths.iter_mut().zip(line) {
            *width = cell.chars().count().max(*width);
        }
    }
    let mut text = line(&head, &widths);
    let mut group = "";
    for (row, cells) in rows.iter().zip(&cells) {
        if group != row.group {
            group = row.group;
            let _ = writeln!(text, "\n{group}");
        }
        text.push_str(&line(cells, &widths));
        if let Some(note) = &row.note {
            let _ = writeln!(text, "      {note}");
        }
    }
    let missed: Vec<&Row> = rows.iter().filter(|row| row.is_missed()).collect();
    let judged = rows.iter().filter(|row| row.goal.is_some()).count();
    let _ = writeln!(text, "\n{} of {judged} goals are met.", judged - missed.len());
    for row in missed {
        let [what, median, p99, _, goal, _] = row.cells();
        let _ = writeln!(text, "MISSED: {}: {what}: {goal}, but the median is {median}, the p99 {p99}.", row.group);
    }
    text
}

fn line(cells: &[String; 6], widths: &[usize; 6]) -> String {
    let [what, median, p99, spread, goal, met] = cells;
    let [w0, w1, w2, w3, w4, _] = widths;
    let line = format!("  {what:<w0$}  {median:>w1$}  {p99:>w2$}  {spread:>w3$}  {goal:>w4$}  {met}");
    format!("{}\n", line.trim_end())
}

/// The rows as JSON, with what they were measured on.
pub(crate) fn json(rows: &[Row], machine: &Value) -> Value {
    json!({
        "machine": machine,
        "missed": rows.iter().filter(|row| row.is_missed()).count(),
        "rows": rows.iter().map(Row::json).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(value: f64, goal: Goal) -> Row {
        Row::one("group", "what", Unit::Time, value).unwrap().goal(goal)
    }

    #[test]
    fn goals_are_judged_at_their_edges() {
        assert!(!row(1.9 * US, Goal::MedianBelow(2.0 * US)).is_missed());
        assert!(row(2.0 * US, Goal::MedianBelow(2.0 * US)).is_missed());
        assert!(row(MS, Goal::P99Below(MS)).is_missed());
        assert!(!row(200.0, Goal::AtLeast(200.0)).is_missed());
        assert!(row(9_999.0, Goal::Exactly(10_000.0)).is_missed());
    }

    #[test]
    fn what_is_missed_is_said() {
        let rows = [row(1.0, Goal::MedianBelow(2.0)), row(3.0, Goal::MedianBelow(2.0)).note("on a slow day")];
        let text = table(&rows);
        assert!(text.contains("1 of 2 goals are met") && text.contains("MISSED: group: what: < 2 ns"), "{text}");
        assert!(text.contains("on a slow day"), "{text}");
        assert_eq!(json(&rows, &Value::Null)["missed"], 1);
    }
}
