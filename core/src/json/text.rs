//! JSON strings: decoding that knows halves of surrogate pairs, and escaping as JavaScript escapes.

use alloc::string::String;
use core::fmt::Write as _;

/// A stretch of a decoded string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit<'a> {
    /// Characters that were not escaped.
    Text(&'a str),
    /// One character that was.
    Char(char),
    /// Half of a surrogate pair whose other half does not stand beside it.
    Lone(u16),
}

/// Decodes a checked string. Pairs of escapes that form one character come as one.
pub(crate) struct Units<'a> {
    rest: &'a str,
}

impl<'a> Units<'a> {
    /// `raw` is a JSON string with its quotes.
    pub(crate) fn new(raw: &'a str) -> Self {
        Self { rest: raw.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or_default() }
    }
}

/// The code unit of a `\uXXXX` at the start of the text.
fn code_unit(text: &str) -> Option<u16> {
    u16::from_str_radix(text.strip_prefix("\\u")?.get(..4)?, 16).ok()
}

/// The character that two halves of a surrogate pair make, if they make one.
pub(crate) fn join(high: u16, low: u16) -> Option<char> {
    char::decode_utf16([high, low]).next()?.ok().filter(|found| found.len_utf16() == 2)
}

impl<'a> Iterator for Units<'a> {
    type Item = Unit<'a>;

    fn next(&mut self) -> Option<Unit<'a>> {
        if self.rest.is_empty() {
            return None;
        }
        let plain = self.rest.find('\\').unwrap_or(self.rest.len());
        if plain > 0 {
            let (text, rest) = self.rest.split_at(plain);
            self.rest = rest;
            return Some(Unit::Text(text));
        }
        if let Some(unit) = code_unit(self.rest) {
            self.rest = &self.rest[6..];
            if let Some(found) = char::from_u32(u32::from(unit)) {
                return Some(Unit::Char(found));
            }
            if let Some(found) = code_unit(self.rest).and_then(|low| join(unit, low)) {
                self.rest = &self.rest[6..];
                return Some(Unit::Char(found));
            }
            return Some(Unit::Lone(unit));
        }
        let found = match self.rest.as_bytes().get(1) {
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(&other) => char::from(other),
            None => char::REPLACEMENT_CHARACTER,
        };
        self.rest = self.rest.get(2..).unwrap_or_default();
        Some(Unit::Char(found))
    }
}

/// Decodes a JSON string, given with its quotes; half of a surrogate pair without its other half becomes U+FFFD.
#[must_use]
pub fn decode(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len());
    for unit in Units::new(raw) {
        match unit {
            Unit::Text(text) => out.push_str(text),
            Unit::Char(found) => out.push(found),
            Unit::Lone(_) => out.push(char::REPLACEMENT_CHARACTER),
        }
    }
    out
}

/// Appends a JSON string with its quotes, escaped as `JSON.stringify` does: quotes, backslashes and control characters.
pub fn write_string(out: &mut String, value: &str) {
    out.push('"');
    write_escaped(out, value);
    out.push('"');
}

/// Appends the inside of a JSON string.
pub(crate) fn write_escaped(out: &mut String, value: &str) {
    let mut kept = 0;
    for (at, byte) in value.bytes().enumerate() {
        let short = match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            0x08 => "\\b",
            0x0c => "\\f",
            b'\n' => "\\n",
            b'\r' => "\\r",
            b'\t' => "\\t",
            0..0x20 => "",
            _ => continue,
        };
        out.push_str(&value[kept..at]);
        if short.is_empty() {
            write_unit(out, u16::from(byte));
        } else {
            out.push_str(short);
        }
        kept = at + 1;
    }
    out.push_str(&value[kept..]);
}

/// Appends `\uXXXX`.
pub(crate) fn write_unit(out: &mut String, unit: u16) {
    // Writing into a string does not fail.
    let _ = write!(out, "\\u{unit:04x}");
}
