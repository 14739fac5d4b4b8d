//! What is sent wrong is refused with the right code and words, and changes nothing.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use serde_json::{Value, json};
use tackroom::manager::ListQuery;

use crate::support::TestServer;

/// Everything that is kept, to compare before and after.
async fn kept(server: &TestServer) -> String {
    let query = ListQuery { limit: 500, ..ListQuery::default() };
    let page = server.manager.list(query).await.unwrap();
    let mut all = format!("{page:?}");
    for session in &page.sessions {
        all.push_str(&format!("{:?}", server.manager.get(&session.id).await.unwrap()));
        all.push_str(&format!("{:?}", server.manager.audit(&session.id, None, 500).await.unwrap()));
    }
    all
}

struct Case {
    method: &'static str,
    path: String,
    headers: Vec<(&'static str, &'static str)>,
    body: Vec<u8>,
    status: u16,
    code: &'static str,
    words: String,
}

fn case(
    method: &'static str,
    path: &str,
    body: impl AsRef<[u8]>,
    status: u16,
    code: &'static str,
    words: &str,
) -> Case {
    let body = body.as_ref().to_vec();
    Case { method, path: path.to_owned(), headers: Vec::new(), body, status, code, words: words.to_owned() }
}

/// The routes that take a body, with one that fits.
const WITH_BODY: [(&str, &str, &str); 4] = [
    ("POST", "/v1/sessions", r#"{"id":"new"}"#),
    ("PATCH", "/v1/sessions/here", r#"{"metadata":{"changed":true}}"#),
    ("POST", "/v1/sessions/ready/messages", r#"{"message":"more"}"#),
    ("POST", "/v1/sessions/here/answers", r#"{"answers":[{"id":"x","approved":true}]}"#),
];

/// The routes of one session.
const OF_SESSION: [(&str, &str); 11] = [
    ("GET", ""),
    ("PATCH", ""),
    ("DELETE", ""),
    ("POST", "/messages"),
    ("POST", "/answers"),
    ("GET", "/turn"),
    ("POST", "/interrupt"),
    ("POST", "/suspend"),
    ("POST", "/close"),
    ("GET", "/audit"),
    ("GET", "/turn?after=a:1"),
];

fn broken_bodies() -> Vec<Case> {
    let mut cases = Vec::new();
    for (method, path, good) in WITH_BODY {
        let invalid = |body: &[u8], words: &str| case(method, path, body, 400, "invalid", words);
        cases.push(invalid(b"", "empty"));
        cases.push(invalid(b"{", "not JSON"));
        cases.push(invalid(&good.as_bytes()[..good.len() - 1], "not JSON"));
        cases.push(invalid(format!("{good} x").as_bytes(), "not JSON"));
        cases.push(invalid(b"{\"message\":\"\xff\"}", "UTF-8"));
        cases.push(invalid(b"[]", "body"));
        cases.push(invalid(b"null", "body"));
        cases.push(invalid(b"\"text\"", "body"));
        cases.push(invalid(br#"{"surprise":1}"#, "surprise"));
        cases.push(invalid(&[b"[".repeat(50_000), b"]".repeat(50_000)].concat(), "JSON"));
        let mut form = case(method, path, good, 415, "unsupported-media-type", "application/json");
        form.headers.push(("content-type", "text/plain"));
        cases.push(form);
        let large = format!("{}{}", " ".repeat(5_000_000), good);
        cases.push(case(method, path, &large, 413, "too-large", "4718592"));
        let mut chunked = case(method, path, chunked(large.as_bytes()), 413, "too-large", "4718592");
        chunked.headers.extend([("transfer-encoding", "chunked"), ("content-length", "")]);
        cases.push(chunked);
    }
    for order in ["interrupt", "suspend", "close"] {
        let path = format!("/v1/sessions/here/{order}");
        cases.push(case("POST", &path, "{", 400, "invalid", "not JSON"));
        cases.push(case("POST", &path, r#"{"force":true}"#, 400, "invalid", "force"));
        cases.push(case("POST", &path, "[1]", 400, "invalid", "body"));
        cases.push(case("POST", &path, " ".repeat(5_000_000), 413, "too-large", "4718592"));
    }
    for path in ["/v1/sessions", "/v1/events", "/v1/sessions/here", "/v1/sessions/here/audit", "/healthz", "/metrics"] {
        cases.push(case("GET", path, " ".repeat(5_000_000), 413, "too-large", "4718592"));
    }
    cases
}

fn chunked(body: &[u8]) -> Vec<u8> {
    [format!("{:x}\r\n", body.len()).as_bytes(), body, b"\r\n0\r\n\r\n"].concat()
}

fn wrong_types() -> Vec<Case> {
    let create = |body: &str, words: &str| case("POST", "/v1/sessions", body, 400, "invalid", words);
    let patch = |body: &str, words: &str| case("PATCH", "/v1/sessions/here", body, 400, "invalid", words);
    let send = |body: &str, words: &str| case("POST", "/v1/sessions/ready/messages", body, 400, "invalid", words);
    let answer = |body: &str, words: &str| case("POST", "/v1/sessions/here/answers", body, 400, "invalid", words);
    let long = |field: &str| format!(r#"{{"{field}":"{}"}}"#, "x".repeat(100_000));
    vec![
        create(r#"{"id":1}"#, "id"),
        create(r#"{"id":""}"#, "empty"),
        create(r#"{"id":"a/b"}"#, "'/'"),
        create(r#"{"id":".."}"#, "'.'"),
        create(r#"{"id":"a\u0000"}"#, r"'\0'"),
        create(&long("id"), "128"),
        create(r#"{"id":"new","id":"new"}"#, "id"),
        create(r#"{"metadata":[]}"#, "metadata"),
        create(r#"{"metadata":"x"}"#, "metadata"),
        create(&format!(r#"{{"metadata":{{"x":"{}"}}}}"#, "x".repeat(70_000)), "65536"),
        create(r#"{"model":5}"#, "model"),
        create(r#"{"model":""}"#, "model"),
        create(r#"{"model":"a\u0007"}"#, "model"),
        create(&long("model"), "model"),
        create(r#"{"workingDirectory":{}}"#, "workingDirectory"),
        create(r#"{"permissionMode":[]}"#, "permissionMode"),
        create(r#"{"mcpServers":[]}"#, "mcpServers"),
        patch(r#"{"metadata":1}"#, "metadata"),
        patch(r#"{"metadataRevision":-1}"#, "metadataRevision"),
        patch(r#"{"metadataRevision":"1"}"#, "metadataRevision"),
        patch(r#"{"model":7}"#, "model"),
        send(r"{}", "message"),
        send(r#"{"message":5}"#, "message"),
        send(r#"{"message":null}"#, "message"),
        send(r#"{"message":[]}"#, "message"),
        send(r#"{"message":""}"#, "message"),
        send(r#"{"message":"hi","prompt":5}"#, "prompt"),
        send(r#"{"message":"hi","model":{}}"#, "model"),
        send(r#"{"message":{}}"#, "parts"),
        send(r#"{"message":{"role":"assistant","parts":[{"type":"text","text":"x"}]}}"#, "user"),
        send(r#"{"message":{"role":"user","parts":5}}"#, "message"),
        send(r#"{"message":{"role":"user","parts":[{"type":"text","text":5}]}}"#, "message"),
        send(r#"{"message":{"role":"user","parts":[]}}"#, "neither text nor a file"),
        answer(r"{}", "answers"),
        answer(r#"{"answers":[]}"#, "answers"),
        answer(r#"{"answers":{}}"#, "answers"),
        answer(r#"{"answers":[{"approved":true}]}"#, "id"),
        answer(r#"{"answers":[{"id":"x"}]}"#, "approved"),
        answer(r#"{"answers":[{"id":"x","approved":"yes"}]}"#, "answers[0].approved"),
        answer(r#"{"answers":[{"id":"x","approved":true,"output":1}]}"#, "not both"),
        answer(r#"{"answers":[{"id":"x","approved":false,"editedInput":{}}]}"#, "editedInput"),
        answer(r#"{"answers":[{"id":"x","output":1,"reason":"r"}]}"#, "reason"),
        answer(r#"{"answers":[{"id":"x","approved":true,"isError":true}]}"#, "isError"),
        answer(r#"{"answers":[{"id":"x","approved":true,"extra":1}]}"#, "extra"),
        answer(r#"{"answers":[{"id":"x","approved":true}]}"#, "x"),
        answer(r#"{"message":"text"}"#, "message"),
        answer(r#"{"message":[]}"#, "message"),
        answer(r#"{"message":{},"who":5}"#, "who"),
    ]
}

fn wrong_ids() -> Vec<Case> {
    let long = "x".repeat(10_000);
    let ids: [(&str, &str); 9] = [
        ("a%2Fb", "'/'"),
        ("..", "'.'"),
        ("%2E%2E", "'.'"),
        ("a.b", "'.'"),
        ("a%00", r"'\0'"),
        ("%ff", "UTF-8"),
        ("a%20b", "' '"),
        ("%C3%A4", "'ä'"),
        (&long, "10000"),
    ];
    let mut cases = Vec::new();
    for (method, rest) in OF_SESSION {
        for (id, words) in ids {
            let mut case = case(method, &format!("/v1/sessions/{id}{rest}"), "", 400, "invalid", words);
            let body =
                WITH_BODY.iter().find(|(one, path, _)| *one == method && path.ends_with(rest) && method != "GET");
            if let Some((_, _, body)) = body.filter(|_| !["/interrupt", "/suspend", "/close"].contains(&rest)) {
                case.body = body.as_bytes().to_vec();
            }
            cases.push(case);
        }
    }
    cases
}

fn wrong_routes_and_queries() -> Vec<Case> {
    let get = |path: &str, words: &str| case("GET", path, "", 400, "invalid", words);
    let route = |method, path: &str| case(method, path, "", 404, "no-such-route", "openapi.json");
    let method = |method, path: &str| case(method, path, "", 405, "method-not-allowed", method);
    vec![
        get("/v1/sessions?limit=0", "limit"),
        get("/v1/sessions?limit=501", "from 1 to 500"),
        get("/v1/sessions?limit=ten", "limit"),
        get("/v1/sessions?limit=1&limit=2", "2 times"),
        get("/v1/sessions?status=asleep", "awaiting-input"),
        get("/v1/sessions?cursor=nonsense", "cursor"),
        get("/v1/sessions?surprise=1", "surprise"),
        get("/v1/sessions/here?surprise=1", "surprise"),
        get("/v1/sessions/here/turn?after=x", "after"),
        get("/v1/sessions/here/turn?surprise=1", "surprise"),
        get("/v1/sessions/here/audit?after=-1", "after"),
        get("/v1/sessions/here/audit?limit=0", "limit"),
        get("/v1/events?after=x", "after"),
        get("/v1/events?surprise=1", "surprise"),
        get("/healthz?surprise=1", "surprise"),
        route("GET", "/"),
        route("GET", "/v1"),
        route("GET", "/v1/sessions/"),
        route("POST", "/v1/sessions/here/dance"),
        route("GET", "/v1/sessions/a/b/messages"),
        route("GET", "/v2/sessions"),
        method("PUT", "/v1/sessions"),
        method("DELETE", "/v1/sessions"),
        method("POST", "/v1/sessions/here"),
        method("GET", "/v1/sessions/here/messages"),
        method("GET", "/v1/sessions/here/close"),
        method("POST", "/v1/sessions/here/turn"),
        method("POST", "/v1/events"),
        method("POST", "/healthz"),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_is_refused_in_words_and_changes_nothing() {
    let server = TestServer::start().await;
    let created = server.post("/v1/sessions", &json!({ "id": "here", "metadata": { "kept": 1 } })).await;
    assert_eq!(created.status, 201);
    server.until("here", "idle").await;
    server.say("here", "approve").await;
    server.until("here", "awaiting-input").await;
    assert_eq!(server.post("/v1/sessions", &json!({ "id": "ready" })).await.status, 201);
    server.until("ready", "idle").await;
    let before = kept(&server).await;
    let mut cases = broken_bodies();
    cases.extend(wrong_types());
    cases.extend(wrong_ids());
    cases.extend(wrong_routes_and_queries());
    let mut key = case("POST", "/v1/sessions/ready/messages", r#"{"message":"x"}"#, 400, "invalid", "idempotency");
    key.headers.push(("idempotency-key", "\u{e9}"));
    cases.push(key);
    for case in cases {
        let answer = server.send(case.method, &case.path, &case.headers, &case.body).await;
        let shown = format!(
            "{} {} {}: {answer:?}",
            case.method,
            &case.path[..case.path.len().min(80)],
            String::from_utf8_lossy(&case.body[..case.body.len().min(80)])
        );
        assert_eq!((answer.status, answer.code().as_str()), (case.status, case.code), "{shown}");
        assert!(answer.words().contains(&case.words), "{:?} is not in: {shown}", case.words);
        assert_eq!(answer.header("content-type"), Some("application/json"), "{shown}");
        let answer: Value = answer.json();
        assert!(answer["error"]["message"].as_str().unwrap().len() < 1_000, "{shown}");
    }
    assert_eq!(kept(&server).await, before, "something changed");
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_that_are_not_there_are_not_found_at_any_route() {
    let server = TestServer::start().await;
    let before = kept(&server).await;
    for (method, rest) in OF_SESSION {
        let body = match (method, rest) {
            ("PATCH", _) => r#"{"model":"m"}"#,
            (_, "/messages") => r#"{"message":"hi"}"#,
            (_, "/answers") => r#"{"answers":[{"id":"x","approved":true}]}"#,
            _ => "",
        };
        let answer = server.send(method, &format!("/v1/sessions/nobody{rest}"), &[], body.as_bytes()).await;
        assert_eq!((answer.status, answer.code().as_str()), (404, "not-found"), "{method} {rest}: {answer:?}");
    }
    assert_eq!(kept(&server).await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_dawdles_is_let_go() {
    let quick = |options: &mut tackroom::server::ServerOptions| {
        options.body_timeout = std::time::Duration::from_millis(100);
    };
    let server = TestServer::with(quick, 4).await;
    let headers = [("content-length", "10"), ("content-type", "application/json")];
    let answer = server.open("POST", "/v1/sessions", &headers, b"{").await.rest().await;
    assert_eq!((answer.status, answer.code().as_str()), (408, "timeout"));
}
