//! Reading JSON text without building anything: the check that every [`super::Json`] passes once, and the walkers that
//! rely on it. Nesting is kept on the heap, so that hostile depth is an error and never an overflow of the stack.

use alloc::string::String;
use alloc::vec::Vec;

use super::{JsonError, JsonFault};

struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// What may come next at the top of the loop.
#[derive(Clone, Copy)]
enum Want {
    Value,
    ValueOrEnd,
    Key,
    KeyOrEnd,
    CommaOrEnd,
}

/// Checks the whole text and gives the range of its one value.
pub(super) fn check(text: &str, max_depth: usize) -> Result<(usize, usize), JsonError> {
    let mut scanner = Scanner { bytes: text.as_bytes(), at: 0 };
    scanner.space();
    let start = scanner.at;
    scanner.value(max_depth)?;
    let end = scanner.at;
    scanner.space();
    if scanner.at < scanner.bytes.len() {
        return Err(scanner.fault(JsonFault::Trailing));
    }
    Ok((start, end))
}

impl Scanner<'_> {
    fn fault(&self, fault: JsonFault) -> JsonError {
        JsonError { at: self.at, fault }
    }

    /// The error for the byte at hand: unexpected, or the end of the text.
    fn unexpected(&self) -> JsonError {
        self.fault(if self.at < self.bytes.len() { JsonFault::Unexpected } else { JsonFault::Ends })
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn space(&mut self) {
        while self.peek().is_some_and(is_space) {
            self.at += 1;
        }
    }

    fn value(&mut self, max_depth: usize) -> Result<(), JsonError> {
        // One closing byte for each array or object that is open.
        let mut open: Vec<u8> = Vec::new();
        let mut want = Want::Value;
        loop {
            self.space();
            let byte = self.peek();
            want = match (want, byte) {
                (Want::ValueOrEnd | Want::KeyOrEnd | Want::CommaOrEnd, Some(close)) if open.last() == Some(&close) => {
                    self.at += 1;
                    open.pop();
                    Want::CommaOrEnd
                }
                (Want::CommaOrEnd, Some(b',')) => {
                    self.at += 1;
                    if open.last() == Some(&b'}') { Want::Key } else { Want::Value }
                }
                (Want::Key | Want::KeyOrEnd, Some(b'"')) => {
                    self.string()?;
                    self.space();
                    if self.peek() != Some(b':') {
                        return Err(self.unexpected());
                    }
                    self.at += 1;
                    Want::Value
                }
                (Want::Value | Want::ValueOrEnd, Some(b'{' | b'[')) => {
                    if open.len() >= max_depth {
                        return Err(self.fault(JsonFault::TooDeep));
                    }
                    self.at += 1;
                    let object = byte == Some(b'{');
                    open.push(if object { b'}' } else { b']' });
                    if object { Want::KeyOrEnd } else { Want::ValueOrEnd }
                }
                (Want::Value | Want::ValueOrEnd, Some(_)) => {
                    self.scalar()?;
                    Want::CommaOrEnd
                }
                _ => return Err(self.unexpected()),
            };
            if open.is_empty() {
                return Ok(());
            }
        }
    }

    fn scalar(&mut self) -> Result<(), JsonError> {
        match self.peek() {
            Some(b'"') => self.string(),
            Some(b't') => self.word(b"true"),
            Some(b'f') => self.word(b"false"),
            Some(b'n') => self.word(b"null"),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => Err(self.unexpected()),
        }
    }

    fn word(&mut self, word: &[u8]) -> Result<(), JsonError> {
        for &byte in word {
            if self.peek() != Some(byte) {
                return Err(self.unexpected());
            }
            self.at += 1;
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<(), JsonError> {
        if !self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            return Err(self.unexpected());
        }
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        Ok(())
    }

    fn number(&mut self) -> Result<(), JsonError> {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    fn string(&mut self) -> Result<(), JsonError> {
        self.at += 1;
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => {
                    self.at += 1;
                    self.escape()?;
                }
                Some(0x20..) => self.at += 1,
                _ => return Err(self.unexpected()),
            }
        }
    }

    fn escape(&mut self) -> Result<(), JsonError> {
        match self.peek() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 1,
            Some(b'u') => {
                self.at += 1;
                for _ in 0..4 {
                    if !self.peek().is_some_and(|byte| byte.is_ascii_hexdigit()) {
                        return Err(self.unexpected());
                    }
                    self.at += 1;
                }
            }
            _ => return Err(self.unexpected()),
        }
        Ok(())
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// The end of the string that begins at `at` in a checked text.
fn string_end(bytes: &[u8], at: usize) -> usize {
    let mut at = at + 1;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// The end of the value that begins at `at` in a checked text.
fn value_end(bytes: &[u8], at: usize) -> usize {
    let mut at = at;
    let mut depth = 0_usize;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => {
                at = string_end(bytes, at);
                if depth == 0 {
                    return at;
                }
                continue;
            }
            b'{' | b'[' => depth += 1,
            b',' | b'}' | b']' if depth == 0 => return at,
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return at + 1;
                }
            }
            _ if depth == 0 && is_space(byte) => return at,
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

fn skip(bytes: &[u8], at: usize, also: u8) -> usize {
    let mut at = at;
    while bytes.get(at).is_some_and(|&byte| is_space(byte) || byte == also) {
        at += 1;
    }
    at
}

/// The fields of a checked object: key with its quotes, value.
pub(super) struct Entries<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Entries<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 1 }
    }
}

impl<'a> Iterator for Entries<'a> {
    type Item = (&'a str, &'a str);

    fn next(&mut self) -> Option<Self::Item> {
        let bytes = self.text.as_bytes();
        let key = skip(bytes, self.at, b',');
        if bytes.get(key) != Some(&b'"') {
            return None;
        }
        let key_end = string_end(bytes, key);
        let value = skip(bytes, key_end, b':');
        self.at = value_end(bytes, value);
        Some((&self.text[key..key_end], &self.text[value..self.at]))
    }
}

/// The elements of a checked array.
pub(super) struct Elements<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Elements<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 1 }
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<Self::Item> {
        let bytes = self.text.as_bytes();
        let value = skip(bytes, self.at, b',');
        if matches!(bytes.get(value), None | Some(b']')) {
            return None;
        }
        self.at = value_end(bytes, value);
        Some(&self.text[value..self.at])
    }
}

/// Copies a checked text without the white space between its tokens.
pub(super) fn compact_into(text: &str, out: &mut String) {
    let bytes = text.as_bytes();
    let mut kept = 0;
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        if byte == b'"' {
            at = string_end(bytes, at);
        } else if is_space(byte) {
            out.push_str(&text[kept..at]);
            at = skip(bytes, at, b' ');
            kept = at;
        } else {
            at += 1;
        }
    }
    out.push_str(&text[kept..]);
}

/// The deepest nesting of a checked text.
pub(super) fn depth(text: &str) -> usize {
    let bytes = text.as_bytes();
    let (mut at, mut depth, mut deepest) = (0, 0_usize, 0);
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => {
                at = string_end(bytes, at);
                continue;
            }
            b'{' | b'[' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += 1;
    }
    deepest
}
