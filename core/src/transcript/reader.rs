//! Reads the fields of a chunk by the package's own schema: what a client's transport would refuse is refused here.

use alloc::borrow::ToOwned as _;
use alloc::string::String;
use alloc::vec::Vec;

use super::error::FoldError;
use super::piece::Piece;
use crate::json::{Json, Kind, decode, fields_of, kind_of};

/// The fields of one chunk.
pub(crate) struct Reader<'a> {
    /// The chunk's `type`.
    pub(crate) kind: String,
    fields: Vec<(String, &'a str)>,
}

impl<'a> Reader<'a> {
    /// Reads the fields of a chunk.
    pub(crate) fn new(chunk: &'a Json) -> Result<Self, FoldError> {
        let fields = fields_of(chunk.as_str()).unwrap_or_default();
        let kind = fields.iter().find(|(key, raw)| key == "type" && kind_of(raw) == Kind::String);
        let kind = kind.map(|(_, raw)| decode(raw)).ok_or(FoldError::Malformed(String::new(), "type"))?;
        Ok(Self { kind, fields })
    }

    fn raw(&self, name: &str) -> Option<&'a str> {
        self.fields.iter().find(|(key, _)| key == name).map(|(_, raw)| *raw)
    }

    fn wrong<T>(&self, name: &'static str) -> Result<T, FoldError> {
        Err(FoldError::Malformed(self.kind.clone(), name))
    }

    fn optional(&self, name: &'static str, fits: fn(&str) -> bool) -> Result<Option<Json>, FoldError> {
        match self.raw(name) {
            None => Ok(None),
            Some(raw) if fits(raw) => Ok(Some(Json::trusted(raw).compact())),
            Some(_) => self.wrong(name),
        }
    }

    fn required(&self, name: &'static str, fits: fn(&str) -> bool) -> Result<Json, FoldError> {
        match self.optional(name, fits)? {
            Some(json) => Ok(json),
            None => self.wrong(name),
        }
    }

    /// A string that has to be there, decoded.
    pub(crate) fn id(&self, name: &'static str) -> Result<String, FoldError> {
        self.required(name, is_string).map(|json| decode(json.as_str()))
    }

    /// A string that has to be there, as a piece of text.
    pub(crate) fn piece(&self, name: &'static str) -> Result<Piece, FoldError> {
        self.required(name, is_string).map(|json| Piece::decode(json.as_str()))
    }

    /// A string that has to be there, verbatim.
    pub(crate) fn string(&self, name: &'static str) -> Result<Json, FoldError> {
        self.required(name, is_string)
    }

    /// A string that may be there, verbatim.
    pub(crate) fn string_if(&self, name: &'static str) -> Result<Option<Json>, FoldError> {
        self.optional(name, is_string)
    }

    /// A truth value that has to be there.
    pub(crate) fn flag(&self, name: &'static str) -> Result<Json, FoldError> {
        self.required(name, is_bool)
    }

    /// A truth value that may be there.
    pub(crate) fn flag_if(&self, name: &'static str) -> Result<Option<Json>, FoldError> {
        self.optional(name, is_bool)
    }

    /// Any value that has to be there.
    pub(crate) fn value(&self, name: &'static str) -> Result<Json, FoldError> {
        self.required(name, |_| true)
    }

    /// Any value that may be there.
    pub(crate) fn value_if(&self, name: &'static str) -> Result<Option<Json>, FoldError> {
        self.optional(name, |_| true)
    }

    /// `providerMetadata`.
    pub(crate) fn provider_metadata(&self) -> Result<Option<Json>, FoldError> {
        self.optional("providerMetadata", is_provider_metadata)
    }

    /// `toolMetadata`.
    pub(crate) fn tool_metadata(&self) -> Result<Option<Json>, FoldError> {
        self.optional("toolMetadata", is_object)
    }

    /// All fields, in order, without white space.
    pub(crate) fn all(&self) -> impl Iterator<Item = (String, Json)> {
        self.fields.iter().map(|(name, raw)| (name.to_owned(), Json::trusted(raw).compact()))
    }
}

pub(crate) fn is_string(raw: &str) -> bool {
    kind_of(raw) == Kind::String
}

pub(crate) fn is_bool(raw: &str) -> bool {
    kind_of(raw) == Kind::Bool
}

pub(crate) fn is_object(raw: &str) -> bool {
    kind_of(raw) == Kind::Object
}

/// An object of objects.
pub(crate) fn is_provider_metadata(raw: &str) -> bool {
    fields_of(raw).is_some_and(|fields| fields.iter().all(|(_, value)| is_object(value)))
}
