//! The document says what is served, and what is served is in the document.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::schema::check;
use crate::support::{Answer, TestServer};

const METHODS: [&str; 4] = ["get", "post", "patch", "delete"];

/// Checks an answer against the document, its status included, and notes the operation.
fn fits(document: &Value, seen: &mut BTreeSet<(String, String)>, method: &str, route: &str, answer: &Answer) {
    let operation = &document["paths"][route][method];
    assert!(operation.is_object(), "{method} {route} is not documented");
    seen.insert((method.to_owned(), route.to_owned()));
    let response = &operation["responses"][answer.status.to_string()];
    let everywhere = [405, 413].contains(&answer.status);
    assert!(response.is_object() || everywhere, "{method} {route} may not answer {}: {answer:?}", answer.status);
    let kind = answer.header("content-type").map(|kind| kind.split(';').next().unwrap());
    let Some(kind) = kind else {
        assert!(response.get("content").is_none() && answer.body.is_empty(), "{method} {route}: {answer:?}");
        return;
    };
    if everywhere && response.is_null() {
        let wrong = check(document, &json!({ "$ref": "#/components/schemas/Error" }), &answer.json(), "body");
        assert_eq!(wrong, Vec::<String>::new(), "{method} {route}");
        return;
    }
    let schema = &response["content"][kind]["schema"];
    assert!(schema.is_object(), "{method} {route} may not answer {} as {kind}", answer.status);
    if kind == "application/json" {
        let wrong = check(document, schema, &answer.json(), "body");
        assert_eq!(wrong, Vec::<String>::new(), "{method} {route} {}", answer.status);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_documented_route_answers_as_documented() {
    let server = TestServer::start().await;
    let document = server.get("/openapi.json").await.json();
    assert_eq!(document["info"]["version"], env!("CARGO_PKG_VERSION"));
    let mut seen = BTreeSet::new();
    let mut play = async |method: &str, route: &str, path: String, body: Value| {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let answer = server.send(&method.to_uppercase(), &path, &[], body.as_bytes()).await;
        fits(&document, &mut seen, method, route, &answer);
        answer
    };
    let none = Value::Null;
    let create = json!({ "id": "a", "metadata": { "x": 1.0 }, "model": "m", "mcpServers": {}, "permissionMode": "p" });
    play("post", "/v1/sessions", "/v1/sessions".into(), create.clone()).await;
    play("post", "/v1/sessions", "/v1/sessions".into(), create).await;
    play("post", "/v1/sessions", "/v1/sessions".into(), json!({ "id": 1 })).await;
    server.until("a", "idle").await;
    let one = "/v1/sessions/{id}";
    play("patch", one, "/v1/sessions/a".into(), json!({ "metadata": { "y": [] }, "model": null })).await;
    let messages = "/v1/sessions/{id}/messages";
    play("post", messages, "/v1/sessions/a/messages".into(), json!({ "message": "two" })).await;
    server.until("a", "awaiting-input").await;
    play("get", "/v1/sessions", "/v1/sessions?metadata.y=[]&limit=1".into(), none.clone()).await;
    play("get", "/v1/sessions", "/v1/sessions?limit=0".into(), none.clone()).await;
    let waiting = play("get", one, "/v1/sessions/a".into(), none.clone()).await.json();
    play("post", messages, "/v1/sessions/a/messages".into(), json!({ "message": "more" })).await;
    play("get", "/v1/sessions/{id}/turn", "/v1/sessions/a/turn".into(), none.clone()).await;
    let answers = "/v1/sessions/{id}/answers";
    for place in 0..2 {
        let id = &waiting["pendingInput"]["approvals"][place]["approvalId"];
        let body = json!({ "answers": [{ "id": id, "approved": true, "reason": "yes" }] });
        play("post", answers, "/v1/sessions/a/answers".into(), body).await;
    }
    server.until("a", "idle").await;
    play("get", "/v1/sessions/{id}/audit", "/v1/sessions/a/audit".into(), none.clone()).await;
    play("get", "/v1/sessions/{id}/turn", "/v1/sessions/a/turn".into(), none.clone()).await;
    play("post", messages, "/v1/sessions/a/messages".into(), json!({ "message": "question" })).await;
    server.until("a", "awaiting-input").await;
    play("get", one, "/v1/sessions/a".into(), none.clone()).await;
    for order in ["interrupt", "suspend", "close"] {
        let route = format!("/v1/sessions/{{id}}/{order}");
        play("post", &route, format!("/v1/sessions/a/{order}"), none.clone()).await;
        play("post", &route, format!("/v1/sessions/nobody/{order}"), none.clone()).await;
        server
            .until(
                "a",
                match order {
                    "interrupt" => "idle",
                    "suspend" => "suspended",
                    _ => "closed",
                },
            )
            .await;
        play("get", one, "/v1/sessions/a".into(), none.clone()).await;
    }
    play("delete", one, "/v1/sessions/a".into(), none.clone()).await;
    play("delete", one, "/v1/sessions/a".into(), none.clone()).await;
    for route in ["/healthz", "/readyz", "/metrics", "/openapi.json"] {
        play("get", route, route.into(), none.clone()).await;
    }
    let mut events = server.open("GET", "/v1/events", &[], &[]).await;
    assert!(events.until("\r\n\r\n").await.contains("content-type: text/event-stream"));
    play("get", "/v1/events", "/v1/events?after=x".into(), none).await;

    let documented = document["paths"]
        .as_object()
        .unwrap()
        .iter()
        .flat_map(|(route, item)| item.as_object().unwrap().keys().map(|method| (method.clone(), route.clone())));
    assert_eq!(seen, documented.collect());
}

#[tokio::test(flavor = "multi_thread")]
async fn every_served_route_is_documented() {
    let server = TestServer::start().await;
    let document = server.get("/openapi.json").await.json();
    for (route, item) in document["paths"].as_object().unwrap() {
        let path = route.replace("{id}", "nobody");
        for method in ["GET", "POST", "PATCH", "DELETE", "PUT", "OPTIONS", "TRACE"] {
            let answer = server.send(method, &path, &[], &[]);
            let documented = item.get(method.to_lowercase()).is_some();
            // An endless stream is known by its head.
            if (method, route.as_str()) == ("GET", "/v1/events") {
                assert!(documented);
                continue;
            }
            let answer = answer.await;
            assert_eq!(answer.status != 405, documented, "{method} {route}: {answer:?}");
            if answer.status == 405 {
                let allowed = answer.header("allow").unwrap().to_lowercase();
                let listed: BTreeSet<&str> = allowed.split(',').filter(|method| *method != "head").collect();
                let known: BTreeSet<&str> = METHODS.into_iter().filter(|method| item.get(method).is_some()).collect();
                assert_eq!(listed, known, "{route}");
            }
        }
    }
    // The router's own list is read, so that a route nobody documented is found.
    let source = include_str!("../../src/server/routes/mod.rs");
    let served: BTreeSet<&str> =
        source.split(".route(\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    let documented: BTreeSet<&str> = document["paths"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(served, documented);
}
