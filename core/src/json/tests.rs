//! Hostile and odd JSON texts.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::{Json, JsonFault, Kind, decode, write_string};

#[test]
fn what_is_json_is_kept_verbatim() {
    for text in [
        "null",
        "true",
        "0",
        "-0",
        "1.0",
        "1e400",
        "12345678901234567890123",
        "\"\\ud800\"",
        "[ ]",
        "{ }",
        "[1 , 2]",
        "{\"b\":1,\"a\":{\"x\":[{}]}}",
        "\"\\u0041\\/\"",
    ] {
        assert_eq!(Json::parse(text).unwrap().as_str(), text);
        assert_eq!(Json::parse(&alloc::format!(" \n{text}\t")).unwrap().as_str(), text);
    }
}

#[test]
fn what_is_not_json_is_refused_where_it_stops() {
    for (text, at) in [
        ("", 0),
        ("nul", 3),
        ("01", 1),
        ("1.", 2),
        ("-", 1),
        ("+1", 0),
        ("1e", 2),
        (".5", 0),
        ("\"a", 2),
        ("\"\\x\"", 2),
        ("\"\\u12g4\"", 5),
        ("\"\n\"", 1),
        ("[1,]", 3),
        ("[,1]", 1),
        ("[1 2]", 3),
        ("{\"a\"}", 4),
        ("{\"a\":}", 5),
        ("{\"a\":1,}", 7),
        ("{a:1}", 1),
        ("[1}", 2),
        ("{\"a\":1]", 6),
        ("1 1", 2),
        ("]", 0),
        ("[", 1),
        ("\u{feff}1", 0),
        ("NaN", 0),
    ] {
        assert_eq!(Json::parse(text).unwrap_err().at, at, "{text}");
    }
}

#[test]
fn depth_is_bounded_and_costs_no_stack() {
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    assert_eq!(Json::parse(&nested(128)).unwrap().depth(), 128);
    assert_eq!(Json::parse(&nested(129)).unwrap_err().fault, JsonFault::TooDeep);
    assert_eq!(Json::parse(&"[".repeat(1_000_000)).unwrap_err().fault, JsonFault::TooDeep);
}

#[test]
fn fields_and_items_are_found() {
    let json = Json::parse("{ \"a\" : [1, \"]\\\"}\", {\"x\":[]}] , \"b\":null,\"a\": 2.0 }").unwrap();
    let fields = json.fields().unwrap();
    let seen: Vec<_> = fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(seen, [("a", "2.0"), ("b", "null")]);
    let items = Json::parse("[1, \"]\\\"}\" , {\"x\": []}]").unwrap().items().unwrap();
    assert_eq!(items.iter().map(Json::as_str).collect::<Vec<_>>(), ["1", "\"]\\\"}\"", "{\"x\": []}"]);
    let many: Vec<String> = (0..40).map(|at| alloc::format!("\"k{}\":{at},", at % 30)).collect();
    let many = many.concat();
    let many = Json::parse(&alloc::format!("{{{many}\"k29\":0}}")).unwrap().fields().unwrap();
    assert_eq!(many.len(), 30);
    for (name, value) in [("k0", "30"), ("k9", "39"), ("k10", "10"), ("k29", "0")] {
        assert!(many.iter().any(|(seen, found)| seen == name && found.as_str() == value), "{name}");
    }
    assert_eq!(json.field("b").map(|value| value.kind()), Some(Kind::Null));
    assert_eq!(json.canonical(), "{\"a\":[1,\"]\\\"}\",{\"x\":[]}],\"b\":null,\"a\":2.0}");
}

#[test]
fn strings_are_decoded_and_escaped() {
    assert_eq!(decode("\"a\\ud83d\\ude00\\n\\u0041\\ud800x\\ude00\""), "a😀\nA\u{fffd}x\u{fffd}");
    let mut out = String::new();
    write_string(&mut out, "\u{1}\u{8}\"\\/é\u{7f}\n");
    assert_eq!(out, "\"\\u0001\\b\\\"\\\\/é\u{7f}\\n\"");
    assert_eq!(Json::parse(&out).unwrap().as_string().unwrap(), "\u{1}\u{8}\"\\/é\u{7f}\n");
}

#[test]
fn serde_carries_the_text() {
    let json: Json = serde_json::from_str("{\"z\":1.0,\"a\":\"\\ud800\"}").unwrap();
    assert_eq!(serde_json::to_string(&json).unwrap(), json.to_string());
}
