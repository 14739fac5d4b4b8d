//! Merges metadata as the package does: objects deeply, arrays replaced, prototype keys skipped.

use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::error::FoldError;
use crate::json::{Json, Kind, ObjectWriter, decode, fields_of, items_of, kind_of};

/// What `{ ...value }` and `for (key in value)` see of a value.
fn entries(raw: &str) -> Vec<(String, String)> {
    match kind_of(raw) {
        Kind::Object => {
            let fields = fields_of(raw).unwrap_or_default();
            fields.into_iter().map(|(name, value)| (name, value.to_owned())).collect()
        }
        Kind::Array => items_of(raw).enumerate().map(|(at, value)| (at.to_string(), value.to_owned())).collect(),
        Kind::String => {
            let text = decode(raw);
            let chars = text.chars().enumerate();
            chars.map(|(at, found)| (at.to_string(), Json::string(&format!("{found}")).to_string())).collect()
        }
        Kind::Null | Kind::Bool | Kind::Number => Vec::new(),
    }
}

/// Lays `over` on `base`; both are without white space. Depth of recursion is that of the values, which is bounded.
pub(crate) fn merge(base: &Json, over: &Json) -> Result<Json, FoldError> {
    merge_raw(base.as_str(), over.as_str()).map(|text| Json::trusted(&text))
}

fn merge_raw(base: &str, over: &str) -> Result<String, FoldError> {
    let mut merged = entries(base);
    // Extending puts them in one by one; collecting would bring a sort's code along, which is kilobytes.
    let mut places = alloc::collections::BTreeMap::<String, usize>::new();
    places.extend(merged.iter().enumerate().map(|(at, (name, _))| (name.clone(), at)));
    for (name, value) in entries(over) {
        if matches!(&*name, "__proto__" | "constructor" | "prototype") {
            continue;
        }
        if !matches!(kind_of(base), Kind::Object | Kind::Array) {
            return Err(FoldError::Unmergeable(name, base.to_owned()));
        }
        if let Some(&at) = places.get(&name) {
            let old: &mut String = &mut merged[at].1;
            let both = kind_of(old) == Kind::Object && kind_of(&value) == Kind::Object;
            *old = if both { merge_raw(old, &value)? } else { value };
        } else {
            places.insert(name.clone(), merged.len());
            merged.push((name, value));
        }
    }
    let mut writer = ObjectWriter::new(String::with_capacity(base.len() + over.len()));
    for (name, value) in &merged {
        writer.field(name).push_str(value);
    }
    Ok(writer.end())
}

#[cfg(test)]
mod tests {
    use super::merge;
    use crate::json::Json;

    fn merged(base: &str, over: &str) -> alloc::string::String {
        match merge(&Json::parse(base).unwrap(), &Json::parse(over).unwrap()) {
            Ok(json) => json.as_str().into(),
            Err(error) => alloc::format!("{error}"),
        }
    }

    #[test]
    fn objects_merge_and_all_else_is_replaced() {
        assert_eq!(
            merged(r#"{"a":{"x":1},"b":[1]}"#, r#"{"b":[2],"a":{"y":2.0}}"#),
            r#"{"a":{"x":1,"y":2.0},"b":[2]}"#
        );
        assert_eq!(merged(r#"{"a":{"x":1}}"#, r#"{"a":null}"#), r#"{"a":null}"#);
        assert_eq!(merged(r#"{"a":1}"#, r#"{"__proto__":1,"constructor":2,"prototype":3}"#), r#"{"a":1}"#);
        assert_eq!(merged("[1,2]", r#"{"1":3}"#), r#"{"0":1,"1":3}"#);
        assert_eq!(merged(r#"{"a":1}"#, "5"), r#"{"a":1}"#);
        assert_eq!(merged("5", r#"{"a":1}"#), "TypeError: Cannot use 'in' operator to search for 'a' in 5");
    }
}
