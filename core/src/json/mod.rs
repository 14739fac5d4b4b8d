//! JSON kept as text. What agents and applications send must come out as it went in: key order, `1` against `1.0`,
//! numbers beyond 64 bits, escapes and halves of surrogate pairs do not survive a parsed tree, so values are checked
//! once and then carried verbatim.

mod scan;
mod text;

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde::de::{Deserialize, Deserializer, Error as _};
use serde::ser::{Error as _, Serialize, Serializer};

pub(crate) use text::{Unit, Units, join, write_escaped, write_unit};
pub use text::{decode, write_string};

/// How deeply a text may be nested when nothing else is said: 128 arrays and objects inside each other.
pub const MAX_DEPTH: usize = 128;

/// A JSON text that was checked and is kept exactly as it came, without the white space around it.
///
/// Two values are `==` when their texts are; [`Json::same`] looks past white space.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Json {
    text: Box<str>,
}

/// What kind of value a [`Json`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `null`
    Null,
    /// `true` or `false`
    Bool,
    /// A number of any size and precision.
    Number,
    /// A string, possibly with halves of surrogate pairs in it.
    String,
    /// An array.
    Array,
    /// An object.
    Object,
}

/// Why a text is no [`Json`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonError {
    /// The byte at which it was noticed, from 0.
    pub at: usize,
    /// What was noticed.
    pub fault: JsonFault,
}

/// What is wrong with a text that is no [`Json`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonFault {
    /// The text ends inside a value, or is empty.
    Ends,
    /// A character that cannot stand there.
    Unexpected,
    /// Something follows the value.
    Trailing,
    /// More arrays and objects inside each other than allowed.
    TooDeep,
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.fault {
            JsonFault::Ends => "it ends in the middle of a value",
            JsonFault::Unexpected => "a character cannot stand there",
            JsonFault::Trailing => "something follows the value",
            JsonFault::TooDeep => "arrays and objects are nested too deeply",
        };
        write!(f, "The text is not acceptable JSON at byte {}: {what}.", self.at)
    }
}

impl core::error::Error for JsonError {}

impl Json {
    /// Checks a text of at most [`MAX_DEPTH`] levels.
    ///
    /// # Errors
    /// Says at which byte the text stops being JSON, or where it is nested too deeply.
    pub fn parse(text: &str) -> Result<Self, JsonError> {
        Self::parse_within(text, MAX_DEPTH)
    }

    /// Checks a text of at most `max_depth` levels. Depth costs a byte of heap per level, and no stack.
    ///
    /// # Errors
    /// As [`Json::parse`].
    pub fn parse_within(text: &str, max_depth: usize) -> Result<Self, JsonError> {
        let (start, end) = scan::check(text, max_depth)?;
        Ok(Self::trusted(&text[start..end]))
    }

    /// A text that is known to be one JSON value without white space around it.
    pub(crate) fn trusted(text: &str) -> Self {
        Self { text: text.into() }
    }

    /// The JSON string of a Rust string.
    #[must_use]
    pub fn string(value: &str) -> Self {
        let mut text = String::with_capacity(value.len() + 2);
        write_string(&mut text, value);
        Self { text: text.into_boxed_str() }
    }

    /// `true` or `false`.
    #[must_use]
    pub fn boolean(value: bool) -> Self {
        Self::trusted(if value { "true" } else { "false" })
    }

    /// `null`.
    #[must_use]
    pub fn null() -> Self {
        Self::trusted("null")
    }

    /// An object of these fields in this order. The names must differ from each other.
    #[must_use]
    pub fn object<'a>(fields: impl IntoIterator<Item = (&'a str, &'a Json)>) -> Self {
        let mut writer = ObjectWriter::new(String::new());
        for (name, value) in fields {
            writer.field(name).push_str(value.as_str());
        }
        Self { text: writer.end().into_boxed_str() }
    }

    /// The text, verbatim.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// How many bytes the text has.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.text.len()
    }

    /// What kind of value this is.
    #[must_use]
    pub fn kind(&self) -> Kind {
        kind_of(&self.text)
    }

    /// Whether this is `null`.
    #[must_use]
    pub fn is_null(&self) -> bool {
        self.kind() == Kind::Null
    }

    /// The truth value, if this is one.
    #[must_use]
    pub fn as_bool(&self) -> Option<bool> {
        match &*self.text {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        }
    }

    /// The string, if this is one; half of a surrogate pair without its other half becomes U+FFFD.
    #[must_use]
    pub fn as_string(&self) -> Option<String> {
        (self.kind() == Kind::String).then(|| decode(&self.text))
    }

    /// The fields of an object in their order, names decoded as by [`Json::as_string`]. A name that is repeated stands
    /// where it stood first and has its last value, as in JavaScript.
    #[must_use]
    pub fn fields(&self) -> Option<Vec<(String, Json)>> {
        Some(fields_of(&self.text)?.into_iter().map(|(name, raw)| (name, Self::trusted(raw))).collect())
    }

    /// The field of an object by its name.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<Json> {
        let found = fields_of(&self.text)?.into_iter().find(|(key, _)| key == name)?;
        Some(Self::trusted(found.1))
    }

    /// The elements of an array.
    #[must_use]
    pub fn items(&self) -> Option<Vec<Json>> {
        (self.kind() == Kind::Array).then(|| scan::Elements::new(&self.text).map(Self::trusted).collect())
    }

    /// The text without white space between its tokens: the canonical form. Key order, numbers and escapes stay.
    #[must_use]
    pub fn canonical(&self) -> String {
        let mut out = String::with_capacity(self.text.len());
        scan::compact_into(&self.text, &mut out);
        out
    }

    /// The same value in its canonical form.
    #[must_use]
    pub fn compact(&self) -> Json {
        Self { text: self.canonical().into_boxed_str() }
    }

    /// Whether both have the same canonical form.
    #[must_use]
    pub fn same(&self, other: &Json) -> bool {
        self.text == other.text || self.canonical() == other.canonical()
    }

    /// How many arrays and objects stand inside each other at the deepest place; a scalar has 0.
    #[must_use]
    pub fn depth(&self) -> usize {
        scan::depth(&self.text)
    }
}

/// The kind of a checked text, told by its first byte.
pub(crate) fn kind_of(text: &str) -> Kind {
    match text.as_bytes().first() {
        Some(b'{') => Kind::Object,
        Some(b'[') => Kind::Array,
        Some(b'"') => Kind::String,
        Some(b't' | b'f') => Kind::Bool,
        Some(b'n') => Kind::Null,
        _ => Kind::Number,
    }
}

/// Whether a checked text is an array.
pub(crate) fn is_array(text: &str) -> bool {
    kind_of(text) == Kind::Array
}

/// Up to this many fields are searched one by one.
const FEW: usize = 16;

/// The fields of a checked object as slices of it; see [`Json::fields`].
pub(crate) fn fields_of(text: &str) -> Option<Vec<(String, &str)>> {
    if kind_of(text) != Kind::Object {
        return None;
    }
    let mut fields: Vec<(String, &str)> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for (key, value) in scan::Entries::new(text) {
        let name = decode(key);
        // Few names are looked through faster than they are indexed.
        if fields.len() == FEW {
            places.extend(fields.iter().enumerate().map(|(at, (name, _))| (name.clone(), at)));
        }
        let known = if fields.len() < FEW {
            fields.iter().position(|(seen, _)| *seen == name)
        } else {
            places.get(&name).copied()
        };
        if let Some(at) = known {
            fields[at].1 = value;
        } else {
            if fields.len() >= FEW {
                places.insert(name.clone(), fields.len());
            }
            fields.push((name, value));
        }
    }
    Some(fields)
}

/// The elements of a checked array as slices of it.
pub(crate) fn items_of(text: &str) -> impl Iterator<Item = &str> {
    scan::Elements::new(text)
}

/// Writes an object field by field.
pub(crate) struct ObjectWriter {
    out: String,
    first: bool,
}

impl ObjectWriter {
    /// Opens an object at the end of `out`.
    pub(crate) fn new(mut out: String) -> Self {
        out.push('{');
        Self { out, first: true }
    }

    /// Begins a field; the caller pushes its value.
    pub(crate) fn field(&mut self, name: &str) -> &mut String {
        if !self.first {
            self.out.push(',');
        }
        self.first = false;
        write_string(&mut self.out, name);
        self.out.push(':');
        &mut self.out
    }

    /// Closes the object.
    pub(crate) fn end(mut self) -> String {
        self.out.push('}');
        self.out
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl core::str::FromStr for Json {
    type Err = JsonError;

    fn from_str(text: &str) -> Result<Self, JsonError> {
        Self::parse(text)
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serde_json::value::RawValue::from_string((*self.text).to_owned())
            .map_err(|_| S::Error::custom("a checked JSON text was refused"))?
            .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<serde_json::value::RawValue>::deserialize(deserializer)?;
        Self::parse(raw.get()).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests;
