//! Text whose ends may be halves of surrogate pairs. JavaScript splits strings anywhere, so one character can arrive in
//! two chunks; a Rust string cannot hold half of it.

use alloc::string::String;

use crate::json::{Unit, Units, join, write_escaped, write_unit};

/// A piece of text as one chunk carries it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Piece {
    /// A low surrogate (0xDC00 to 0xDFFF) before the text, which completes the piece before.
    pub lead: Option<u16>,
    /// The text between.
    pub text: String,
    /// A high surrogate (0xD800 to 0xDBFF) after the text, which the next piece completes.
    pub trail: Option<u16>,
}

impl Piece {
    /// Text without halves at its ends.
    #[must_use]
    pub fn whole(text: impl Into<String>) -> Self {
        Self { lead: None, text: text.into(), trail: None }
    }

    /// Decodes a checked JSON string; halves that stand elsewhere than at the ends become U+FFFD.
    pub(crate) fn decode(raw: &str) -> Self {
        let mut piece = Self { lead: None, text: String::with_capacity(raw.len()), trail: None };
        for unit in Units::new(raw) {
            let lost = piece.trail.take().is_some();
            if lost {
                piece.text.push(char::REPLACEMENT_CHARACTER);
            }
            match unit {
                Unit::Text(text) => piece.text.push_str(text),
                Unit::Char(found) => piece.text.push(found),
                Unit::Lone(half @ 0xd800..=0xdbff) => piece.trail = Some(half),
                Unit::Lone(half) if piece.lead.is_none() && piece.text.is_empty() => piece.lead = Some(half),
                Unit::Lone(_) => piece.text.push(char::REPLACEMENT_CHARACTER),
            }
        }
        piece
    }

    /// How many bytes the piece adds to a text at most.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.text.len() + 3 * (usize::from(self.lead.is_some()) + usize::from(self.trail.is_some()))
    }

    /// Appends the piece as a JSON string, halves as escapes.
    pub(crate) fn write(&self, out: &mut String) {
        out.push('"');
        if let Some(half) = self.lead {
            write_unit(out, half);
        }
        write_escaped(out, &self.text);
        if let Some(half) = self.trail {
            write_unit(out, half);
        }
        out.push('"');
    }
}

/// A text that grows by pieces. A high surrogate at its end is held back until the next piece.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Growing {
    text: String,
    high: Option<u16>,
}

impl Growing {
    pub(crate) fn new(text: String) -> Self {
        Self { text, high: None }
    }

    /// The text without a half that is held back.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn bytes(&self) -> usize {
        self.text.len() + if self.high.is_some() { 3 } else { 0 }
    }

    /// The half held back, if any.
    pub(crate) fn high(&self) -> Option<u16> {
        self.high
    }

    pub(crate) fn push(&mut self, piece: &Piece) {
        match (self.high, piece.lead) {
            (Some(high), Some(low)) => {
                self.text.push(join(high, low).unwrap_or(char::REPLACEMENT_CHARACTER));
                self.high = None;
            }
            (None, Some(_)) => self.text.push(char::REPLACEMENT_CHARACTER),
            (Some(_), None) if !piece.text.is_empty() || piece.trail.is_some() => self.close(),
            (_, None) => {}
        }
        self.text.push_str(&piece.text);
        if piece.trail.is_some() {
            self.high = piece.trail;
        }
    }

    /// Gives up on the other half of what is held back.
    pub(crate) fn close(&mut self) {
        if self.high.take().is_some() {
            self.text.push(char::REPLACEMENT_CHARACTER);
        }
    }

    /// Appends the inside of the JSON string that the text is, as if it ended here.
    pub(crate) fn write(&self, out: &mut String) {
        out.push('"');
        write_escaped(out, &self.text);
        if self.high.is_some() {
            out.push(char::REPLACEMENT_CHARACTER);
        }
        out.push('"');
    }
}

#[cfg(test)]
mod tests {
    use super::{Growing, Piece};

    fn grow(pieces: &[&str]) -> alloc::string::String {
        let mut text = Growing::default();
        for raw in pieces {
            text.push(&Piece::decode(raw));
        }
        text.close();
        text.text().into()
    }

    #[test]
    fn halves_join_across_pieces_or_are_replaced() {
        assert_eq!(grow(&[r#""a\ud83d""#, r#""\ude00b""#]), "a😀b");
        assert_eq!(grow(&[r#""a\ud83d""#, r#""""#, r#""\ude00b""#]), "a😀b");
        assert_eq!(grow(&[r#""\ud83d""#, r#""\ude00\ud83d""#, r#""\ude00""#]), "😀😀");
        assert_eq!(grow(&[r#""\ude00""#]), "\u{fffd}");
        assert_eq!(grow(&[r#""\ud83d""#, r#""x""#]), "\u{fffd}x");
        assert_eq!(grow(&[r#""\ud83d""#, r#""\ud83d""#, r#""\ude00""#]), "\u{fffd}😀");
        assert_eq!(grow(&[r#""\ud83d\ud83dx\ude00\ude00""#]), "\u{fffd}\u{fffd}x\u{fffd}\u{fffd}");
        assert_eq!(grow(&[r#""\ud83d""#]), "\u{fffd}");
    }

    #[test]
    fn a_piece_writes_what_it_was_read_from() {
        for raw in [r#""\ude00a\ud83d""#, r#""\ude00\ud83d""#, r#""\"\\\n""#, r#""""#] {
            let mut out = alloc::string::String::new();
            Piece::decode(raw).write(&mut out);
            assert_eq!(out, raw);
        }
    }

    #[test]
    fn numbers_that_are_no_halves_do_not_corrupt_the_text() {
        let mut text = Growing::default();
        text.push(&Piece { lead: Some(0x41), text: "a".into(), trail: Some(0x42) });
        text.push(&Piece { lead: Some(0x43), text: "b".into(), trail: None });
        assert_eq!(text.text(), "\u{fffd}a\u{fffd}b");
    }
}
