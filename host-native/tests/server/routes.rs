//! Every route, as it is meant to be used.

use serde_json::json;

use crate::support::TestServer;

#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_opened_read_listed_changed_and_forgotten() {
    let server = TestServer::start().await;
    let body = json!({ "id": "first", "metadata": { "user": "ann", "n": 1 }, "model": "m", "mcpServers": { "a": {} } });
    let created = server.post("/v1/sessions", &body).await;
    assert_eq!(created.status, 201, "{created:?}");
    assert_eq!(created.header("location"), Some("/v1/sessions/first"));
    assert_eq!(created.json()["metadata"], json!({ "user": "ann", "n": 1 }));
    assert_eq!(created.json()["mcpServers"], json!({ "a": {} }));
    let again = server.post("/v1/sessions", &json!({ "id": "first" })).await;
    assert_eq!((again.status, again.code().as_str()), (409, "conflict"));
    assert!(again.json()["error"]["status"].is_string(), "{again:?}");
    server.until("first", "idle").await;

    let patch = json!({ "metadata": { "user": "bob" }, "model": null, "permissionMode": "plan" });
    let changed = server.send("PATCH", "/v1/sessions/first", &[], patch.to_string().as_bytes()).await;
    assert_eq!(changed.status, 200, "{changed:?}");
    let changed = changed.json();
    assert_eq!((&changed["metadata"]["user"], &changed["permissionMode"]), (&json!("bob"), &json!("plan")));
    assert!(changed["model"].is_null() && changed["mcpServers"].is_object(), "{changed}");
    let stale = json!({ "metadata": {}, "metadataRevision": 0 });
    let stale = server.send("PATCH", "/v1/sessions/first", &[], stale.to_string().as_bytes()).await;
    assert_eq!(stale.status, 409, "{stale:?}");

    for (query, found) in [
        ("", 1),
        ("?metadata.user=bob", 1),
        ("?metadata.user=%22bob%22", 1),
        ("?metadata.user=ann", 0),
        ("?status=idle,busy&limit=5", 1),
        ("?status=closed&status=failed", 0),
    ] {
        let page = server.get(&format!("/v1/sessions{query}")).await;
        assert_eq!(page.json()["sessions"].as_array().map(Vec::len), Some(found), "{query}: {page:?}");
    }
    assert_eq!(server.send("DELETE", "/v1/sessions/first", &[], &[]).await.status, 204);
    assert_eq!(server.get("/v1/sessions/first").await.status, 404);
    assert_eq!(server.send("DELETE", "/v1/sessions/first", &[], &[]).await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_follow_each_other() {
    let server = TestServer::start().await;
    for _ in 0..5 {
        server.session().await;
    }
    let (mut seen, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = server.get(&format!("/v1/sessions?limit=2{cursor}")).await.json();
        seen.extend(page["sessions"].as_array().unwrap().iter().map(|session| session["id"].to_string()));
        let Some(next) = page["nextCursor"].as_str() else { break };
        cursor = format!("&cursor={}", form_urlencoded::byte_serialize(next.as_bytes()).collect::<String>());
    }
    let count = seen.len();
    seen.sort();
    seen.dedup();
    assert_eq!((count, seen.len()), (5, 5));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_is_answered_by_the_turn_as_a_ui_message_stream() {
    let server = TestServer::start().await;
    let id = server.session().await;
    let answer = server.say(&id, "hello").await;
    for (name, value) in [
        ("content-type", "text/event-stream"),
        ("cache-control", "no-cache"),
        ("x-vercel-ai-ui-message-stream", "v1"),
        ("x-accel-buffering", "no"),
    ] {
        assert_eq!(answer.header(name), Some(value));
    }
    assert_eq!(answer.text(), "You said: hello");
    let turn = answer.header("x-tackroom-turn").unwrap().to_owned();
    for (n, (id, name, data)) in answer.events().into_iter().filter(|event| event.2 != "[DONE]").enumerate() {
        let place: u64 = id.strip_prefix(&format!("{turn}:")).unwrap().parse().unwrap();
        assert!(name.is_empty() && data.starts_with('{'));
        assert_eq!(place, answer.events()[0].0.rsplit_once(':').unwrap().1.parse::<u64>().unwrap() + n as u64);
    }
    let session = server.get(&format!("/v1/sessions/{id}")).await.json();
    assert_eq!((session["status"].as_str(), session["turns"].as_u64()), (Some("idle"), Some(1)), "{session}");
    let messages = session["messages"].as_array().unwrap();
    assert_eq!(messages[0]["parts"][0]["text"], "hello");
    assert_eq!((messages.len(), &messages[1]["role"]), (2, &json!("assistant")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ui_message_keeps_its_id_and_a_prompt_takes_its_place_for_the_agent() {
    let server = TestServer::start().await;
    let id = server.session().await;
    let message = json!({ "id": "mine", "role": "user", "parts": [{ "type": "text", "text": "shown" }] });
    let body = json!({ "message": message, "prompt": "told", "model": "other" });
    let answer = server.post(&format!("/v1/sessions/{id}/messages"), &body).await;
    assert_eq!(answer.text(), "You said: told");
    let session = server.get(&format!("/v1/sessions/{id}")).await.json();
    assert_eq!(session["messages"][0]["parts"], message["parts"]);
    assert_eq!(session["messages"][0]["id"], "mine");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_makes_a_message_the_same_turn() {
    let server = TestServer::start().await;
    let id = server.session().await;
    let path = format!("/v1/sessions/{id}/messages");
    let key = [("idempotency-key", "k1")];
    let first = server.send("POST", &path, &key, br#"{"message":"hello"}"#).await;
    let again = server.send("POST", &path, &key, br#"{"message":"hello"}"#).await;
    assert_eq!((first.status, again.status), (200, 200), "{again:?}");
    assert_eq!(first.header("x-tackroom-turn"), again.header("x-tackroom-turn"));
    let other = server.send("POST", &path, &key, br#"{"message":"other"}"#).await;
    assert_eq!(other.status, 400, "{other:?}");
    assert_eq!(server.get(&format!("/v1/sessions/{id}")).await.json()["turns"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approval_waits_is_answered_and_audited() {
    let server = TestServer::start().await;
    let id = server.session().await;
    server.say(&id, "approve this").await;
    let session = server.until(&id, "awaiting-input").await;
    let call = &session["pendingInput"]["approvals"][0];
    assert_eq!(call["toolName"], "bash", "{session}");
    let busy = server.post(&format!("/v1/sessions/{id}/messages"), &json!({ "message": "more" })).await;
    assert_eq!((busy.status, &busy.json()["error"]["status"]), (409, &json!("awaiting-input")));

    let answers =
        json!({ "answers": [{ "id": call["approvalId"], "approved": true, "reason": "fine" }], "who": "ann" });
    let answer = server.post(&format!("/v1/sessions/{id}/answers"), &answers).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert!(answer.text().contains("Allowed: ran"), "{answer:?}");
    let session = server.until(&id, "idle").await;
    assert_eq!(session["usage"]["costMicroUsd"], 11, "{session}");
    let repeated = server.post(&format!("/v1/sessions/{id}/answers"), &answers).await;
    assert_eq!(repeated.status, 200, "{repeated:?}");
    let audit = server.get(&format!("/v1/sessions/{id}/audit")).await.json();
    let entry = &audit["entries"][0];
    assert_eq!((&entry["who"], &entry["name"], &entry["verdict"]), (&json!("person"), &json!("ann"), &json!("allow")));
    let seq = entry["seq"].as_u64().unwrap();
    let rest = server.get(&format!("/v1/sessions/{id}/audit?after={seq}&limit=1")).await.json();
    assert_eq!(rest["entries"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn some_of_several_answers_are_kept_and_what_waits_is_told() {
    let server = TestServer::start().await;
    let id = server.session().await;
    server.say(&id, "two calls").await;
    let session = server.until(&id, "awaiting-input").await;
    let calls = session["pendingInput"]["approvals"].as_array().unwrap().clone();
    assert_eq!(calls.len(), 2, "{session}");
    let path = format!("/v1/sessions/{id}/answers");
    let one = |place: usize, yes: bool| json!({ "answers": [{ "id": calls[place]["approvalId"], "approved": yes }] });
    let first = server.post(&path, &one(0, true)).await;
    assert_eq!(first.status, 202, "{first:?}");
    let waiting = &first.json()["pendingInput"]["approvals"];
    assert_eq!(waiting[0]["decision"]["approved"], true, "{waiting}");
    assert!(waiting[1]["decision"].is_null(), "{waiting}");
    let against = server.post(&path, &one(0, false)).await;
    assert_eq!(against.status, 409, "{against:?}");
    let unknown = server.post(&path, &json!({ "answers": [{ "id": "nobody", "approved": true }] })).await;
    assert_eq!(unknown.status, 400, "{unknown:?}");
    let last = server.post(&path, &one(1, false)).await;
    assert_eq!(last.text(), "Both are answered.");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_is_answered_with_a_result() {
    let server = TestServer::start().await;
    let id = server.session().await;
    server.say(&id, "question").await;
    let session = server.until(&id, "awaiting-input").await;
    let call = &session["pendingInput"]["toolCalls"][0];
    assert_eq!(call["toolName"], "AskUserQuestion", "{session}");
    let answers = json!({ "answers": [{ "id": call["toolCallId"], "output": "red" }] });
    let answer = server.post(&format!("/v1/sessions/{id}/answers"), &answers).await;
    assert_eq!(answer.text(), "You said red");
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_are_read_out_of_the_message_that_use_chat_sends_back() {
    let server = TestServer::start().await;
    let id = server.session().await;
    server.say(&id, "approve").await;
    let session = server.until(&id, "awaiting-input").await;
    let mut message = session["messages"][1].clone();
    let parts = message["parts"].as_array_mut().unwrap();
    let part = parts.iter_mut().find(|part| part["state"] == "approval-requested").expect("a part asks");
    part["state"] = json!("approval-responded");
    part["approval"]["approved"] = json!(false);
    part["approval"]["reason"] = json!("not now");
    let answer = server.post(&format!("/v1/sessions/{id}/answers"), &json!({ "message": message })).await;
    assert!(answer.text().contains("Denied: not now"), "{answer:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_is_cut_short_and_a_session_suspended_brought_back_and_closed() {
    let server = TestServer::start().await;
    let id = server.session().await;
    let path = format!("/v1/sessions/{id}");
    let mut reading = server.open("POST", &format!("{path}/messages"), &[], br#"{"message":"hang"}"#).await;
    reading.until("text-end").await;
    let refused = server.send("POST", &format!("{path}/suspend"), &[], &[]).await;
    assert_eq!((refused.status, &refused.json()["error"]["status"]), (409, &json!("busy")));
    let cut = server.send("POST", &format!("{path}/interrupt"), &[], b"{}").await;
    assert_eq!(cut.status, 200, "{cut:?}");
    assert!(reading.rest().await.body.ends_with("data: [DONE]\n\n"));
    server.until(&id, "idle").await;

    assert_eq!(server.send("POST", &format!("{path}/suspend"), &[], &[]).await.json()["status"], "suspended");
    assert_eq!(server.say(&id, "back").await.text(), "You said: back");
    assert_eq!(server.send("POST", &format!("{path}/close"), &[], &[]).await.json()["status"], "closed");
    let late = server.post(&format!("{path}/messages"), &json!({ "message": "late" })).await;
    assert_eq!((late.status, &late.json()["error"]["status"]), (409, &json!("closed")));
    for order in ["interrupt", "suspend", "close"] {
        assert_eq!(server.send("POST", &format!("/v1/sessions/nobody/{order}"), &[], &[]).await.status, 404, "{order}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_turn_says_why() {
    let server = TestServer::start().await;
    let id = server.session().await;
    let answer = server.say(&id, "fail").await;
    assert!(answer.chunks().iter().any(|chunk| chunk["type"] == "error"), "{answer:?}");
    let session = server.get(&format!("/v1/sessions/{id}")).await.json();
    assert!(session["error"]["message"].as_str().unwrap().contains("The model is away."), "{session}");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_sandbox_to_free_a_session_is_refused_with_the_number() {
    let server = TestServer::with(|_| {}, 1).await;
    let id = server.session().await;
    let _reading = server.open("POST", &format!("/v1/sessions/{id}/messages"), &[], br#"{"message":"hang"}"#).await;
    server.until(&id, "busy").await;
    let refused = server.post("/v1/sessions", &json!({})).await;
    assert_eq!((refused.status, refused.code().as_str()), (503, "capacity"), "{refused:?}");
    assert_eq!(refused.json()["error"]["capacity"], 1);
    assert!(refused.header("retry-after").is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn health_and_counts_are_told() {
    let server = TestServer::start().await;
    let id = server.session().await;
    server.say(&id, "hello").await;
    assert_eq!(server.get("/healthz").await.json(), json!({ "status": "ok" }));
    assert_eq!(server.get("/readyz").await.json(), json!({ "status": "ready" }));
    let metrics = server.get("/metrics").await;
    assert!(metrics.header("content-type").unwrap().starts_with("text/plain; version=0.0.4"));
    for line in [
        "tackroom_ready 1",
        "tackroom_sessions_live 1",
        "tackroom_sandboxes_capacity 16",
        "tackroom_streams_finished_total 1",
        "tackroom_http_requests_total{method=\"POST\",route=\"/v1/sessions\",status=\"201\"} 1",
    ] {
        assert!(metrics.body.lines().any(|one| one == line), "{line}: {}", metrics.body);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_stops_suspends_every_session_and_ends_its_streams() {
    let mut server = TestServer::start().await;
    let (idle, waiting, busy) = (server.session().await, server.session().await, server.session().await);
    server.say(&waiting, "approve").await;
    server.until(&waiting, "awaiting-input").await;
    let mut reading =
        server.open("POST", &format!("/v1/sessions/{busy}/messages"), &[], br#"{"message":"hang"}"#).await;
    reading.until("I ha").await;
    let mut events = server.open("GET", "/v1/events", &[], &[]).await;
    events.until(": still here").await;
    let before = tokio::time::Instant::now();
    server.stop().await;
    assert!(before.elapsed().as_secs() < 10);
    reading.rest().await;
    events.rest().await;
    for id in [&idle, &waiting, &busy] {
        let session = server.manager.get(id).await;
        if let Ok(Some(record)) = session {
            assert_eq!(record.summary.status.as_str(), "suspended", "{id}");
        }
    }
}
