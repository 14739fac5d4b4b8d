//! The repair of JSON text that is still arriving, state by state as the package's `fixJson` does it, so that an input
//! half read looks the same everywhere.

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use crate::json::{Json, Kind, MAX_DEPTH, fields_of, items_of, kind_of};

/// Repaired inputs stand two levels inside a chunk, so they may be nested this much less deeply.
const DEPTH: usize = MAX_DEPTH - 1;

/// The value of a JSON text that may be cut short, without white space; `None` where the package has `undefined`, and
/// for texts nested too deeply.
pub(crate) fn repair(text: &str) -> Option<Json> {
    let whole = Json::parse_within(text, DEPTH).ok().filter(|json| !is_forbidden(json.as_str()));
    let found = whole.or_else(|| {
        let fixed = Json::parse_within(&fix(text)?, DEPTH).ok()?;
        (!is_forbidden(fixed.as_str())).then_some(fixed)
    });
    found.map(|json| json.compact())
}

/// Whether an object in it has a field that the package refuses for fear of a changed prototype.
fn is_forbidden(raw: &str) -> bool {
    // An escape may hide the name; without either no field can have it.
    if !raw.contains("__proto__") && !raw.contains("constructor") && !raw.contains("\\u") {
        return false;
    }
    match kind_of(raw) {
        Kind::Array => items_of(raw).any(is_forbidden),
        Kind::Object => fields_of(raw).unwrap_or_default().iter().any(|(name, value)| {
            let constructor = name == "constructor"
                && fields_of(value).unwrap_or_default().iter().any(|(inner, _)| inner == "prototype");
            name == "__proto__" || constructor || is_forbidden(value)
        }),
        _ => false,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Root,
    Finish,
    Text,
    TextEscape,
    TextUnicode,
    Literal,
    Number,
    ObjectStart,
    ObjectKey,
    ObjectAfterKey,
    ObjectBeforeValue,
    ObjectAfterValue,
    ObjectAfterComma,
    ArrayStart,
    ArrayAfterValue,
    ArrayAfterComma,
}

struct Fixer<'a> {
    text: &'a str,
    stack: Vec<State>,
    /// The end of what is kept.
    valid: usize,
    literal: usize,
    digits: usize,
}

/// The text cut back to its last good place and closed; `None` if it is nested beyond what could be read anyway.
fn fix(text: &str) -> Option<String> {
    let mut fixer = Fixer { text, stack: vec![State::Root], valid: 0, literal: 0, digits: 0 };
    for (at, found) in text.char_indices() {
        fixer.step(found, at, at + found.len_utf8());
        if fixer.stack.len() > 2 * MAX_DEPTH {
            return None;
        }
    }
    Some(fixer.close())
}

impl Fixer<'_> {
    fn swap(&mut self, state: State) {
        self.stack.pop();
        self.stack.push(state);
    }

    fn enter(&mut self, after: State, inside: State) {
        self.swap(after);
        self.stack.push(inside);
    }

    fn begin_value(&mut self, found: char, at: usize, after: State) {
        match found {
            '"' => self.enter(after, State::Text),
            'f' | 't' | 'n' => {
                self.literal = at;
                self.enter(after, State::Literal);
            }
            '-' => {
                self.enter(after, State::Number);
                return;
            }
            '0'..='9' => self.enter(after, State::Number),
            '{' => self.enter(after, State::ObjectStart),
            '[' => self.enter(after, State::ArrayStart),
            _ => return,
        }
        self.valid = at + 1;
    }

    fn after_value(&mut self, found: char, end: usize) {
        match (self.stack.last(), found) {
            (Some(State::ObjectAfterValue), ',') => self.swap(State::ObjectAfterComma),
            (Some(State::ArrayAfterValue), ',') => self.swap(State::ArrayAfterComma),
            (Some(State::ObjectAfterValue), '}') | (Some(State::ArrayAfterValue), ']') => self.leave(end),
            _ => {}
        }
    }

    fn leave(&mut self, end: usize) {
        self.valid = end;
        self.stack.pop();
    }

    fn step(&mut self, found: char, at: usize, end: usize) {
        let Some(&state) = self.stack.last() else { return };
        match (state, found) {
            (State::Root, _) => self.begin_value(found, at, State::Finish),
            (State::ObjectStart | State::ObjectAfterComma, '"') => self.swap(State::ObjectKey),
            (State::ObjectStart, '}') | (State::ArrayStart, ']') | (State::Text, '"') => self.leave(end),
            (State::ObjectKey, '"') => self.swap(State::ObjectAfterKey),
            (State::ObjectAfterKey, ':') => self.swap(State::ObjectBeforeValue),
            (State::ObjectBeforeValue, _) => self.begin_value(found, at, State::ObjectAfterValue),
            (State::ObjectAfterValue, _) | (State::ArrayAfterValue, ',' | ']') => self.after_value(found, end),
            (State::Text, '\\') => self.stack.push(State::TextEscape),
            (State::Text | State::ArrayAfterValue, _) => self.valid = end,
            (State::ArrayStart, _) => {
                self.valid = end;
                self.begin_value(found, at, State::ArrayAfterValue);
            }
            (State::ArrayAfterComma, _) => self.begin_value(found, at, State::ArrayAfterValue),
            (State::TextEscape, 'u') => {
                self.digits = 0;
                self.swap(State::TextUnicode);
            }
            (State::TextEscape, _) => self.leave(end),
            (State::TextUnicode, _) if found.is_ascii_hexdigit() => {
                self.digits += 1;
                if self.digits == 4 {
                    self.leave(end);
                }
            }
            (State::Number, _) => self.number(found, end),
            (State::Literal, _) => {
                let so_far = &self.text[self.literal..end];
                if ["false", "true", "null"].iter().any(|word| word.starts_with(so_far)) {
                    self.valid = end;
                } else {
                    self.stack.pop();
                    self.after_value(found, end);
                }
            }
            _ => {}
        }
    }

    fn number(&mut self, found: char, end: usize) {
        match found {
            '0'..='9' => self.valid = end,
            'e' | 'E' | '-' | '.' => {}
            ',' | '}' | ']' => {
                self.stack.pop();
                self.after_value(found, end);
            }
            _ => {
                self.stack.pop();
            }
        }
    }

    fn close(&self) -> String {
        let mut out = String::from(&self.text[..self.valid]);
        for state in self.stack.iter().rev() {
            match state {
                State::Text => out.push('"'),
                State::ObjectKey
                | State::ObjectAfterKey
                | State::ObjectAfterComma
                | State::ObjectStart
                | State::ObjectBeforeValue
                | State::ObjectAfterValue => out.push('}'),
                State::ArrayStart | State::ArrayAfterComma | State::ArrayAfterValue => out.push(']'),
                State::Literal => {
                    let so_far = &self.text[self.literal..];
                    let word = ["true", "false", "null"].into_iter().find(|word| word.starts_with(so_far));
                    out.push_str(word.map_or("", |word| &word[so_far.len()..]));
                }
                _ => {}
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::{String, ToString as _};

    use super::repair;

    #[test]
    fn cut_texts_are_closed() {
        for (text, value) in [
            ("", None),
            ("nope", None),
            ("{", Some("{}")),
            ("{\"a\":tr", Some("{\"a\":true}")),
            ("{\"a\":-", Some("{}")),
            ("12.", Some("12")),
            ("[1,[2", Some("[1,[2]]")),
            ("{\"a\":1, ", Some("{\"a\":1}")),
            ("{\"a\":\"x\\", Some("{\"a\":\"x\"}")),
            ("{\"a\":\"x\\ud8", Some("{\"a\":\"x\"}")),
            ("{\"__proto__\":1}", None),
            ("{\"\\u005f_proto__\":1", None),
            ("{\"constructor\":{\"prototype\":1", None),
            ("{\"constructor\":1", Some("{\"constructor\":1}")),
            ("[\"é", Some("[\"é\"]")),
            (" [ 1 , 2", Some("[1,2]")),
        ] {
            assert_eq!(repair(text).map(|json| json.to_string()), value.map(String::from), "{text}");
        }
    }

    #[test]
    fn depth_is_bounded() {
        assert!(repair(&"[".repeat(127)).is_some());
        assert!(repair(&"[".repeat(128)).is_none());
        assert!(repair(&"[".repeat(1_000_000)).is_none());
    }
}
