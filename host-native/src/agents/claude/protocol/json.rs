//! JSON text as JavaScript writes it: strings may hold half of a surrogate pair, which no Rust string can.

use std::borrow::Cow;

use crate::ports::Piece;

/// Reads a JSON string literal into a piece, keeping a lone half at either end as a number. A lone half in the middle
/// becomes U+FFFD. `None` when the text is no string literal.
pub(in super::super) fn piece(literal: &str) -> Option<Piece> {
    if let Ok(text) = serde_json::from_str::<String>(literal) {
        return Some(Piece { lead: None, text, trail: None });
    }
    let units = units(literal)?;
    let mut rest = units.as_slice();
    let lead = rest.first().copied().filter(|unit| is_low(*unit));
    rest = &rest[usize::from(lead.is_some())..];
    let trail = rest.last().copied().filter(|unit| is_high(*unit));
    rest = &rest[..rest.len() - usize::from(trail.is_some())];
    Some(Piece { lead, text: String::from_utf16_lossy(rest), trail })
}

/// The UTF-16 units of a JSON string literal.
fn units(literal: &str) -> Option<Vec<u16>> {
    let inner = literal.trim().strip_prefix('"')?.strip_suffix('"')?;
    let mut units = Vec::with_capacity(inner.len());
    let mut characters = inner.chars();
    while let Some(character) = characters.next() {
        if character != '\\' {
            units.extend_from_slice(character.encode_utf16(&mut [0; 2]));
            continue;
        }
        let unit = match characters.next()? {
            'n' => 0x0a,
            't' => 0x09,
            'r' => 0x0d,
            'b' => 0x08,
            'f' => 0x0c,
            'u' => u16::from_str_radix(characters.as_str().get(..4)?, 16).ok().inspect(|_| {
                characters.nth(3);
            })?,
            plain @ ('"' | '\\' | '/') => u16::try_from(u32::from(plain)).ok()?,
            _ => return None,
        };
        units.push(unit);
    }
    Some(units)
}

fn is_high(unit: u16) -> bool {
    (0xd800..0xdc00).contains(&unit)
}

fn is_low(unit: u16) -> bool {
    (0xdc00..0xe000).contains(&unit)
}

/// JSON text with every escaped lone half put as `\ufffd`, so that Rust can read it.
pub(in super::super) fn mend(text: &str) -> Cow<'_, str> {
    let mut mended = String::new();
    let mut kept = 0;
    let mut at = 0;
    while let Some(found) = text[at..].find('\\') {
        let escape = at + found;
        let Some(unit) = escaped_unit(text, escape) else {
            // Past the backslash and what it escapes, which may be a backslash itself.
            at = escape + 1 + text[escape + 1..].chars().next().map_or(0, char::len_utf8);
            continue;
        };
        at = escape + 6;
        if is_high(unit) && escaped_unit(text, at).is_some_and(is_low) {
            at += 6;
        } else if is_high(unit) || is_low(unit) {
            mended.push_str(&text[kept..escape]);
            mended.push_str("\\ufffd");
            kept = at;
        }
    }
    if kept == 0 {
        return Cow::Borrowed(text);
    }
    mended.push_str(&text[kept..]);
    Cow::Owned(mended)
}

fn escaped_unit(text: &str, at: usize) -> Option<u16> {
    let digits = text.get(at..)?.strip_prefix("\\u")?.get(..4)?;
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_cut_in_two_keeps_both_halves() {
        let first = piece(r#""a\ud83d""#).unwrap();
        let second = piece(r#""\ude00\nb""#).unwrap();
        assert_eq!(first, Piece { lead: None, text: "a".into(), trail: Some(0xd83d) });
        assert_eq!(second, Piece { lead: Some(0xde00), text: "\nb".into(), trail: None });
    }

    #[test]
    fn a_whole_pair_and_plain_text_need_nothing() {
        assert_eq!(piece(r#""\ud83d\ude00 \"x\" \\""#).unwrap(), Piece::from("\u{1f600} \"x\" \\"));
        assert_eq!(piece("12"), None);
    }

    #[test]
    fn only_lone_halves_are_mended() {
        assert_eq!(mend(r#"{"a":"\ud83d\ude00"}"#), r#"{"a":"\ud83d\ude00"}"#);
        assert_eq!(mend(r#"{"a":"x\ud83d"}"#), r#"{"a":"x\ufffd"}"#);
        assert_eq!(mend(r#"{"a":"\ude00\ud83d"}"#), r#"{"a":"\ufffd\ufffd"}"#);
        // An escaped backslash before a `u` is no escape of a unit.
        assert_eq!(mend(r#"{"a":"\\ud83d"}"#), r#"{"a":"\\ud83d"}"#);
    }
}
