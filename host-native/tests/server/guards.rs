//! Strangers are kept out, and allowed pages let in.

use serde_json::json;
use tackroom::server::{Server, ServerError, ServerOptions};

use crate::support::TestServer;

#[tokio::test(flavor = "multi_thread")]
async fn with_a_token_nothing_is_told_without_it() {
    let server = TestServer::with(|options| options.token = Some("s3cret".to_owned()), 4).await;
    for (method, path) in [
        ("GET", "/v1/sessions"),
        ("POST", "/v1/sessions"),
        ("GET", "/v1/sessions/a"),
        ("GET", "/v1/events"),
        ("GET", "/metrics"),
        ("GET", "/nowhere"),
    ] {
        for given in ["", "Bearer wrong", "Basic s3cret", "s3cret"] {
            let answer = server.send(method, path, &[("authorization", given)], &[]).await;
            assert_eq!((answer.status, answer.code().as_str()), (401, "unauthorized"), "{method} {path} {given}");
            assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
            assert!(!answer.body.contains("s3cret"));
        }
    }
    for path in ["/healthz", "/readyz", "/openapi.json"] {
        assert_eq!(server.get(path).await.status, 200, "{path}");
    }
    let answer = server.send("GET", "/v1/sessions", &[("authorization", "Bearer s3cret")], &[]).await;
    assert_eq!(answer.json(), json!({ "sessions": [] }));
}

#[tokio::test(flavor = "multi_thread")]
async fn foreign_hosts_and_origins_are_refused_before_anything_is_done() {
    let server = TestServer::with(|options| options.allow_origins = vec!["https://app.example".to_owned()], 4).await;
    for host in ["evil.example", "evil.example:4310", "10.1.2.3"] {
        let answer = server.send("POST", "/v1/sessions", &[("host", host)], b"{}").await;
        assert_eq!((answer.status, answer.code().as_str()), (403, "foreign-host"), "{host}");
    }
    for origin in ["https://evil.example", "null", "http://localhost:3000"] {
        let answer = server.send("POST", "/v1/sessions", &[("origin", origin)], b"{}").await;
        assert_eq!((answer.status, answer.code().as_str()), (403, "foreign-origin"), "{origin}");
        assert_eq!(answer.header("access-control-allow-origin"), None);
    }
    assert_eq!(server.get("/v1/sessions").await.json(), json!({ "sessions": [] }));
    let missing = server.send("GET", "/v1/sessions", &[("host", "")], &[]).await;
    assert_eq!(missing.status, 400);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_allowed_page_may_ask_beforehand_and_read_the_answer() {
    let allow = |options: &mut ServerOptions| {
        options.token = Some("t".to_owned());
        options.allow_origins = vec!["https://app.example".to_owned()];
    };
    let server = TestServer::with(allow, 4).await;
    let origin = ("origin", "https://app.example");
    let asked =
        [origin, ("access-control-request-method", "POST"), ("access-control-request-headers", "authorization")];
    let preflight = server.send("OPTIONS", "/v1/sessions", &asked, &[]).await;
    assert_eq!((preflight.status, preflight.header("access-control-allow-origin")), (204, Some("https://app.example")));
    assert!(preflight.header("access-control-allow-methods").unwrap().contains("PATCH"));
    assert!(preflight.header("access-control-allow-headers").unwrap().contains("idempotency-key"));
    let answer = server.send("GET", "/v1/sessions", &[origin, ("authorization", "Bearer t")], &[]).await;
    assert_eq!((answer.status, answer.header("access-control-allow-origin")), (200, Some("https://app.example")));
    assert_eq!(answer.header("vary"), Some("Origin"));
    let refused = server.send("GET", "/v1/sessions", &[origin], &[]).await;
    assert_eq!((refused.status, refused.header("access-control-allow-origin")), (401, Some("https://app.example")));
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_token_only_loopback_is_listened_on() {
    let error = Server::bind(ServerOptions::new(([0, 0, 0, 0], 0).into())).await.unwrap_err();
    assert!(matches!(error, ServerError::OpenToAll(_)), "{error}");
    assert!(error.to_string().contains("--token"));
}
