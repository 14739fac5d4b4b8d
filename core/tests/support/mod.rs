//! What the tests of the transcript share: the recorded cases, a comparison of JSON, and chunks by the seed.
#![allow(dead_code, reason = "each test program uses a part of it")]

pub(crate) mod generate;

use std::fmt::Write as _;

use tackroom_core::json::{Json, Kind, decode, write_string};
use tackroom_core::transcript::{Chunk, Message, Role};

/// One recorded case: chunks, and what the package made of them.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) initial: Option<Json>,
    pub(crate) chunks: Vec<Chunk>,
    pub(crate) errors: Vec<String>,
    /// How many states of the message the package showed.
    pub(crate) snapshots: usize,
    /// The last of them.
    pub(crate) message: Option<Json>,
    pub(crate) valid: Option<bool>,
}

impl Case {
    /// The message that the chunks are folded into: the package goes on with a message of the assistant only.
    pub(crate) fn start(&self) -> Message {
        let initial = self.initial.as_ref().map(|json| Message::from_json(json.as_str()).unwrap());
        initial.filter(|message| message.role() == Role::Assistant).unwrap_or_else(|| Message::new(""))
    }
}

pub(crate) fn cases() -> Vec<Case> {
    let text = include_str!("../../../tests/vectors/fold.json");
    let all = Json::parse(text).unwrap();
    let given = |json: Json| (!json.is_null()).then_some(json);
    let all = all.fields().unwrap();
    all.into_iter()
        .map(|(name, case)| {
            let field = |name: &str| case.field(name).unwrap();
            Case {
                initial: given(field("initial")),
                chunks: field("chunks").items().unwrap().into_iter().map(|c| Chunk::try_from(c).unwrap()).collect(),
                errors: field("errors").items().unwrap().iter().map(|e| e.as_string().unwrap()).collect(),
                snapshots: field("snapshots").as_str().parse().unwrap(),
                message: given(field("message")),
                valid: field("valid").as_bool(),
                name,
            }
        })
        .collect()
}

/// The text without white space and with every string escaped in one way, so that texts that JavaScript reads as equal
/// in value and key order are equal.
pub(crate) fn plain(text: &str) -> String {
    let json = Json::parse_within(text, 200).unwrap();
    let mut out = String::new();
    write_plain(&json, &mut out, false);
    out
}

/// As [`plain`], keys sorted.
pub(crate) fn sorted(text: &str) -> String {
    let json = Json::parse_within(text, 200).unwrap();
    let mut out = String::new();
    write_plain(&json, &mut out, true);
    out
}

fn write_plain(json: &Json, out: &mut String, sort: bool) {
    match json.kind() {
        Kind::String => write_string(out, &decode(json.as_str())),
        Kind::Array => {
            out.push('[');
            for (at, item) in json.items().unwrap().iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write_plain(item, out, sort);
            }
            out.push(']');
        }
        Kind::Object => {
            let mut fields = json.fields().unwrap();
            if sort {
                fields.sort_by(|a, b| a.0.cmp(&b.0));
            }
            out.push('{');
            for (at, (name, value)) in fields.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write_string(out, name);
                out.push(':');
                write_plain(value, out, sort);
            }
            out.push('}');
        }
        _ => write!(out, "{json}").unwrap(),
    }
}
