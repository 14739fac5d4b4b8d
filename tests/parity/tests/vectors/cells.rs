//! The lifecycle table: each command in each status, with the reply and the status that the table gives.

use tackroom_core::record::Status;
use tackroom_parity::world::{World, allow};

use crate::{
    STATUSES, Scenario,
    setup::{reply, stand, suspended_in_pause},
};

/// What a cell says: the reply, and the status once everything has come to rest. `gone` is a session forgotten.
type Cell = (&'static str, &'static str);

/// A row of the table, in the order of [`STATUSES`].
type Row = (&'static str, [Cell; 8]);

const TABLE: [Row; 9] = [
    (
        "create",
        [
            ("conflict", "idle"),
            ("conflict", "idle"),
            ("conflict", "busy"),
            ("conflict", "awaiting-input"),
            ("conflict", "suspended"),
            ("conflict", "failed"),
            ("conflict", "closed"),
            ("conflict", "interrupted"),
        ],
    ),
    (
        "send",
        [
            ("accepted", "busy"),
            ("accepted", "busy"),
            ("conflict", "busy"),
            ("conflict", "awaiting-input"),
            ("accepted", "busy"),
            ("accepted", "busy"),
            ("conflict", "closed"),
            ("conflict", "interrupted"),
        ],
    ),
    (
        "continue",
        [
            ("conflict", "idle"),
            ("conflict", "idle"),
            ("conflict", "busy"),
            ("accepted", "busy"),
            ("accepted", "busy"),
            ("conflict", "failed"),
            ("conflict", "closed"),
            ("conflict", "interrupted"),
        ],
    ),
    (
        "interrupt",
        [
            ("accepted", "idle"),
            ("accepted", "idle"),
            ("accepted", "idle"),
            ("accepted", "idle"),
            ("accepted", "suspended"),
            ("accepted", "failed"),
            ("accepted", "closed"),
            ("accepted", "interrupted"),
        ],
    ),
    (
        "suspend",
        [
            ("conflict", "idle"),
            ("accepted", "suspended"),
            ("conflict", "busy"),
            ("accepted", "suspended"),
            ("accepted", "suspended"),
            ("conflict", "failed"),
            ("conflict", "closed"),
            ("conflict", "interrupted"),
        ],
    ),
    ("close", [("accepted", "closed"); 8]),
    ("delete", [("accepted", "gone"); 8]),
    (
        "update",
        [
            ("accepted", "idle"),
            ("accepted", "idle"),
            ("accepted", "busy"),
            ("accepted", "awaiting-input"),
            ("accepted", "suspended"),
            ("accepted", "failed"),
            ("accepted", "closed"),
            ("accepted", "interrupted"),
        ],
    ),
    (
        "shutdown",
        [
            ("none", "failed"),
            ("none", "suspended"),
            ("none", "suspended"),
            ("none", "suspended"),
            ("none", "suspended"),
            ("none", "failed"),
            ("none", "closed"),
            ("none", "interrupted"),
        ],
    ),
];

pub(crate) fn scenarios() -> Vec<Scenario> {
    let cells = TABLE.iter().flat_map(|(command, row)| {
        row.iter().zip(STATUSES).map(move |(cell, status)| {
            let (command, cell) = (*command, *cell);
            Scenario::new(format!("{command}-{status}"), move |w| play(w, command, status, cell))
        })
    });
    cells.collect()
}

fn play(w: &mut World, command: &str, status: &str, (expected, after): Cell) {
    // A suspended session without a pause has nothing to answer: that is another vector.
    if (command, status) == ("continue", "suspended") {
        suspended_in_pause(w);
    } else {
        stand(w, status);
    }
    let before = crate::setup::last_command(w);
    match command {
        "create" => w.create("s"),
        "send" => w.send("s", "Go on."),
        // Where nothing waits, an answer is to an unknown id, which is another refusal: that is another vector.
        "continue" if matches!(status, "awaiting-input" | "suspended") => w.answer("s", &[("approval-c1", allow())]),
        "continue" => w.answer("s", &[]),
        "interrupt" => w.interrupt("s"),
        "suspend" => w.suspend("s"),
        "close" => w.close("s"),
        "delete" => w.delete("s"),
        "update" => w.update("s", r#"{"title":"New"}"#),
        "shutdown" => w.shutdown(),
        other => unreachable!("no command is named {other}"),
    };
    w.view("s").drain().view("s");
    if expected == "none" {
        assert_eq!(crate::setup::last_command(w), before);
    } else {
        assert_eq!(reply(w), expected, "{command}-{status}");
    }
    let stands = w.find("s").map_or("gone", |summary| Status::as_str(summary.status));
    assert_eq!(stands, after, "{command}-{status}");
}
