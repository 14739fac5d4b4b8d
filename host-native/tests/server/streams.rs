//! Streams that readers leave and come back to.

use serde_json::{Value, json};

use crate::support::TestServer;

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_comes_back_at_a_cursor_and_sees_every_chunk_once() {
    let server = TestServer::start().await;
    let id = server.session().await;
    let path = format!("/v1/sessions/{id}");
    let mut reading = server.open("POST", &format!("{path}/messages"), &[], br#"{"message":"slow"}"#).await;
    let seen = reading.until("thre").await;
    // Its connection closes: the turn goes on.
    drop(reading);
    let last = seen.lines().filter_map(|line| line.strip_prefix("id: ")).next_back().unwrap().to_owned();
    let rest = server.send("GET", &format!("{path}/turn"), &[("last-event-id", &last)], &[]).await;
    assert_eq!(rest.status, 200, "{rest:?}");
    let n = |cursor: &str| cursor.rsplit_once(':').unwrap().1.parse::<u64>().unwrap();
    let numbers: Vec<u64> = rest.events().iter().filter(|event| !event.0.is_empty()).map(|event| n(&event.0)).collect();
    let expected: Vec<u64> = (n(&last) + 1..).take(numbers.len()).collect();
    assert_eq!(numbers, expected);
    assert!(!rest.chunks().is_empty());
    assert_eq!(
        server.until(&id, "idle").await["messages"][1]["parts"][1]["text"],
        "one two three four five six seven eight nine ten"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_header_outweighs_the_address() {
    let server = TestServer::start().await;
    let id = server.session().await;
    let path = format!("/v1/sessions/{id}");
    let mut reading = server.open("POST", &format!("{path}/messages"), &[], br#"{"message":"slow"}"#).await;
    let seen = reading.until("thre").await;
    let ids: Vec<String> = seen.lines().filter_map(|line| line.strip_prefix("id: ")).map(str::to_owned).collect();
    let address = format!("{path}/turn?after={}", ids[0]);
    let rest = server.send("GET", &address, &[("last-event-id", ids.last().unwrap())], &[]).await;
    let n = |cursor: &str| cursor.rsplit_once(':').unwrap().1.parse::<u64>().unwrap();
    assert_eq!(n(&rest.events()[0].0), n(ids.last().unwrap()) + 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_without_a_cursor_gets_the_whole_message_and_goes_on_live() {
    let server = TestServer::start().await;
    let id = server.session().await;
    let path = format!("/v1/sessions/{id}");
    let mut reading = server.open("POST", &format!("{path}/messages"), &[], br#"{"message":"slow"}"#).await;
    reading.until("thre").await;
    let whole = server.get(&format!("{path}/turn")).await;
    assert_eq!(whole.text(), "one two three four five six seven eight nine ten");
    assert_eq!(whole.chunks()[0]["type"], "start");
    let session = server.until(&id, "idle").await;
    assert_eq!(whole.chunks()[0]["messageId"], session["messages"][1]["id"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cursor_of_another_turn_gets_the_message_as_it_stands() {
    let server = TestServer::start().await;
    let id = server.session().await;
    let path = format!("/v1/sessions/{id}");
    let mut reading = server.open("POST", &format!("{path}/messages"), &[], br#"{"message":"hang"}"#).await;
    reading.until("text-end").await;
    let old = "0198c5a1-0000-7000-8000-000000000001:3";
    let mut again = server.open("GET", &format!("{path}/turn?after={old}"), &[], &[]).await;
    let text = again.until("event: resync").await;
    assert!(text.contains("200 OK"), "{text}");
    let text = again.until("I hang.").await;
    let data = text.lines().find_map(|line| line.strip_prefix("data: ")).unwrap();
    let message: Value = serde_json::from_str(data).unwrap();
    assert_eq!(message["role"], "assistant");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_turn_there_is_nothing_to_follow() {
    let server = TestServer::start().await;
    let id = server.session().await;
    let path = format!("/v1/sessions/{id}/turn");
    assert_eq!(server.get(&path).await.status, 204);
    server.say(&id, "hello").await;
    assert_eq!(server.get(&path).await.status, 204);
    assert_eq!(server.get("/v1/sessions/nobody/turn").await.status, 404);
    for wrong in ["x", "a:b", ":1", "a:-1"] {
        let answer = server.get(&format!("{path}?after={wrong}")).await;
        assert_eq!((answer.status, answer.code().as_str()), (400, "invalid"), "{wrong}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_happens_to_sessions_is_told_and_can_be_come_back_to() {
    let server = TestServer::start().await;
    let mut reading = server.open("GET", "/v1/events", &[], &[]).await;
    reading.until(": still here").await;
    let created = server.post("/v1/sessions", &json!({ "id": "seen" })).await;
    assert_eq!(created.status, 201);
    server.until("seen", "idle").await;
    let text = reading.until("\"status\":\"idle\"").await;
    assert!(text.contains("event: session") && text.contains("\"id\":\"seen\""), "{text}");
    let first = text.lines().find_map(|line| line.strip_prefix("id: ")).unwrap();
    server.send("DELETE", "/v1/sessions/seen", &[], &[]).await;
    let mut again = server.open("GET", "/v1/events", &[("last-event-id", first)], &[]).await;
    let text = again.until("event: deleted").await;
    assert!(text.contains("\"status\":\"idle\""), "what was missed comes first: {text}");
    let mut old = server.open("GET", "/v1/events?after=1", &[], &[]).await;
    old.until("event: resync").await;
    assert_eq!(server.send("GET", "/v1/events", &[("last-event-id", "x")], &[]).await.status, 400);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_without_events_shows_that_it_lives() {
    let quick = |options: &mut tackroom::server::ServerOptions| {
        options.keep_alive = std::time::Duration::from_millis(20);
    };
    let server = TestServer::with(quick, 4).await;
    let id = server.session().await;
    let mut reading = server.open("POST", &format!("/v1/sessions/{id}/messages"), &[], br#"{"message":"hang"}"#).await;
    reading.until("text-end").await;
    reading.until(": still here").await;
}
