//! A validator for the part of JSON Schema that the document uses; a keyword that it does not know fails the test.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use serde_json::Value;

/// What is wrong with a value, nothing where it fits.
pub(crate) fn check(document: &Value, schema: &Value, value: &Value, at: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    for (keyword, rule) in schema.as_object().expect("a schema is an object") {
        match keyword.as_str() {
            "description" | "default" => {}
            "$ref" => {
                let name = rule.as_str().unwrap().strip_prefix("#/").unwrap();
                let target = document.pointer(&format!("/{name}")).unwrap_or_else(|| panic!("{name} is not there"));
                wrong.extend(check(document, target, value, at));
            }
            "type" => {
                let kinds = rule.as_array().cloned().unwrap_or_else(|| vec![rule.clone()]);
                if !kinds.iter().any(|kind| is(kind.as_str().unwrap(), value)) {
                    wrong.push(format!("{at}: {value} is not {rule}"));
                }
            }
            "enum" if !rule.as_array().unwrap().contains(value) => {
                wrong.push(format!("{at}: {value} is not in {rule}"));
            }
            "const" if rule != value => wrong.push(format!("{at}: {value} is not {rule}")),
            "minimum" if value.as_i64() < rule.as_i64() => wrong.push(format!("{at}: {value} is below {rule}")),
            "maximum" if value.as_i64() > rule.as_i64() => wrong.push(format!("{at}: {value} is above {rule}")),
            "enum" | "const" | "minimum" | "maximum" => {}
            "pattern" => {
                let pattern = regex_lite::Regex::new(rule.as_str().unwrap()).unwrap();
                if value.as_str().is_some_and(|text| !pattern.is_match(text)) {
                    wrong.push(format!("{at}: {value} is not {rule}"));
                }
            }
            "format" => {
                assert_eq!(rule, "date-time");
                let time = regex_lite::Regex::new(r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$").unwrap();
                if !value.as_str().is_some_and(|text| time.is_match(text)) {
                    wrong.push(format!("{at}: {value} is no time"));
                }
            }
            "items" => {
                for (place, item) in value.as_array().into_iter().flatten().enumerate() {
                    wrong.extend(check(document, rule, item, &format!("{at}[{place}]")));
                }
            }
            "required" => {
                for name in rule.as_array().unwrap() {
                    if value.is_object() && value.get(name.as_str().unwrap()).is_none() {
                        wrong.push(format!("{at}: {name} is missing"));
                    }
                }
            }
            "properties" | "additionalProperties" => {}
            "oneOf" => {
                let fits = |one: &&Value| check(document, one, value, at).is_empty();
                if rule.as_array().unwrap().iter().filter(fits).count() != 1 {
                    wrong.push(format!("{at}: {value} fits not one of {rule}"));
                }
            }
            other => panic!("{at}: the keyword {other} is not known here"),
        }
    }
    for (name, field) in value.as_object().into_iter().flatten() {
        let known = schema.get("properties").and_then(|properties| properties.get(name));
        let other = schema.get("additionalProperties");
        match (known, other) {
            (Some(rule), _) => wrong.extend(check(document, rule, field, &format!("{at}.{name}"))),
            (None, Some(Value::Bool(false))) => wrong.push(format!("{at}.{name} is not documented")),
            (None, Some(rule)) if rule.is_object() => {
                wrong.extend(check(document, rule, field, &format!("{at}.{name}")));
            }
            _ => {}
        }
    }
    wrong
}

fn is(kind: &str, value: &Value) -> bool {
    match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("the type {other} is not known here"),
    }
}
