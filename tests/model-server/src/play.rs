//! Plays a reply over a connection, step by step, with its delays, stalls and cuts.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::{Request, Response, StatusCode};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::record::{Kind, Recorded};
use crate::script::{Reply, Step};
use crate::{Shared, sse};

type Body = BoxBody<Bytes, io::Error>;

/// Answers one request. An error cuts the connection.
pub(crate) async fn answer(shared: Arc<Shared>, request: Request<Incoming>) -> Result<Response<Body>, io::Error> {
    let path = request.uri().path().to_owned();
    let name = path.strip_prefix("/s/").and_then(|rest| rest.split('/').next()).unwrap_or("default").to_owned();
    let bytes = request.into_body().collect().await.map_err(io::Error::other)?.to_bytes();
    let body = serde_json::from_slice::<Value>(&bytes).unwrap_or(Value::Null);
    let recorded = Recorded::read(path, body);
    let streamed = recorded.body["stream"] == true;
    let model = recorded.model.clone();
    let (number, reply) = shared.record(&name, &recorded);
    match recorded.kind {
        Kind::Count => Ok(whole(StatusCode::OK, &json!({"input_tokens": 10}))),
        Kind::Other => Ok(whole(StatusCode::NOT_FOUND, &sse::error_body(404, Some("not_found_error"), None))),
        Kind::Side if !streamed => Ok(whole(StatusCode::OK, &sse::whole(number, &model, "ok"))),
        Kind::Side => Ok(stream(number, model, Reply::text("ok"))),
        Kind::Main => play(number, model, reply).await,
    }
}

async fn play(number: u64, model: String, reply: Option<Reply>) -> Result<Response<Body>, io::Error> {
    let Some(reply) = reply else {
        let words = "the script has no reply left for this request";
        return Ok(whole(StatusCode::BAD_REQUEST, &sse::error_body(400, Some("invalid_request_error"), Some(words))));
    };
    match reply.steps.first() {
        Some(Step::Stall) => std::future::pending().await,
        Some(Step::Drop) => Err(io::Error::other("the script cuts the connection")),
        Some(Step::Error { status, kind, message }) => {
            let code = StatusCode::from_u16(*status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            Ok(whole(code, &sse::error_body(*status, kind.as_deref(), message.as_deref())))
        }
        _ => Ok(stream(number, model, reply)),
    }
}

fn whole(status: StatusCode, body: &Value) -> Response<Body> {
    let body = Full::new(Bytes::from(body.to_string())).map_err(|never: Infallible| match never {}).boxed();
    response(status, "application/json", body)
}

fn response(status: StatusCode, content_type: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(hyper::header::CONTENT_TYPE, hyper::header::HeaderValue::from_static(content_type));
    response
}

fn stream(number: u64, model: String, reply: Reply) -> Response<Body> {
    let (sender, receiver) = mpsc::channel::<Result<Frame<Bytes>, io::Error>>(16);
    tokio::spawn(async move {
        // The receiver goes away when the agent leaves: then there is nobody to play to.
        let _ = play_steps(&sender, number, &model, &reply).await;
    });
    let frames = futures_util::stream::unfold(receiver, |mut receiver| async move {
        receiver.recv().await.map(|frame| (frame, receiver))
    });
    response(StatusCode::OK, "text/event-stream", BodyExt::boxed(StreamBody::new(frames)))
}

type Frames = mpsc::Sender<Result<Frame<Bytes>, io::Error>>;
type Gone = mpsc::error::SendError<Result<Frame<Bytes>, io::Error>>;

async fn play_steps(frames: &Frames, number: u64, model: &str, reply: &Reply) -> Result<(), Gone> {
    send(frames, sse::opening(number, model)).await?;
    let mut index = 0;
    for step in &reply.steps {
        match step {
            Step::Sleep { ms } => tokio::time::sleep(Duration::from_millis(*ms)).await,
            Step::Stall => {
                frames.closed().await;
                return Ok(());
            }
            Step::Drop => return frames.send(Err(io::Error::other("the script cuts the connection"))).await,
            Step::Error { status, kind, message } => {
                return send(frames, sse::event(&sse::error_body(*status, kind.as_deref(), message.as_deref()))).await;
            }
            block => {
                let pause = if let Step::Text { delay_ms, .. } = block { *delay_ms } else { 0 };
                for event in sse::block(index, block).unwrap_or_default() {
                    if pause > 0 {
                        tokio::time::sleep(Duration::from_millis(pause)).await;
                    }
                    send(frames, event).await?;
                }
                index += 1;
            }
        }
    }
    for event in sse::closing(reply) {
        send(frames, event).await?;
    }
    Ok(())
}

async fn send(frames: &Frames, event: Bytes) -> Result<(), Gone> {
    frames.send(Ok(Frame::data(event))).await
}
