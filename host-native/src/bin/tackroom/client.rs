//! The program's own client: plain HTTP to a server of tackroom, with its event streams.

use std::collections::VecDeque;

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::header::{self, HeaderValue};
use hyper::{Method, Request, Response, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;

use crate::exit::{Failure, Kind};

/// A way to a server.
#[derive(Clone)]
pub(crate) struct Client {
    authority: String,
    token: Option<String>,
}

impl Client {
    /// A client of the server at this address.
    ///
    /// # Errors
    /// An address that is none of a server.
    pub(crate) fn new(url: &str, token: Option<String>) -> Result<Self, Failure> {
        let wrong = |words: &str| Failure::usage(format!("server: {url:?} cannot be used; {words}"));
        let uri: Uri = url.parse().map_err(|_| wrong("it has to be an address such as http://127.0.0.1:4310."))?;
        match uri.scheme_str() {
            Some("http") => {}
            Some("https") => {
                return Err(wrong("this program speaks plain HTTP only; reach the server without its proxy."));
            }
            _ => return Err(wrong("it has to begin with http://.")),
        }
        let authority = uri.authority().ok_or_else(|| wrong("it names no host."))?;
        if uri.path() != "/" || uri.query().is_some() || authority.as_str().contains('@') {
            return Err(wrong("it has to be a host and a port alone, such as http://127.0.0.1:4310."));
        }
        let port = authority.port_u16().unwrap_or(80);
        Ok(Self { authority: format!("{}:{port}", authority.host()), token })
    }

    async fn request(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Response<Incoming>, Failure> {
        let gone = |error: &dyn std::fmt::Display| {
            Failure::unavailable(format!("The server at http://{} does not answer: {error}.", self.authority))
        };
        let stream = TcpStream::connect(&self.authority).await.map_err(|error| gone(&error))?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(|error| gone(&error))?;
        // It ends by itself when the answer has been read or dropped; its errors show there.
        tokio::spawn(connection);
        let mut request = Request::builder().method(method).uri(path).header(header::HOST, &self.authority);
        if let Some(token) = &self.token {
            let value = HeaderValue::from_str(&format!("Bearer {token}"))
                .map_err(|_| Failure::usage("token: it cannot be sent in a header; it has to be visible ASCII."))?;
            request = request.header(header::AUTHORIZATION, value);
        }
        if body.is_some() {
            request = request.header(header::CONTENT_TYPE, "application/json");
        }
        let body = body.map(Value::to_string).unwrap_or_default();
        let request = request.body(Full::new(Bytes::from(body))).map_err(Failure::failed)?;
        sender.send_request(request).await.map_err(|error| gone(&error))
    }

    /// Asks for JSON; `Null` for an answer without a body.
    ///
    /// # Errors
    /// What the server refuses, in its words.
    pub(crate) async fn json(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Value, Failure> {
        let response = self.request(method, path, body).await?;
        let status = response.status();
        let bytes = read(response).await?;
        if !status.is_success() {
            return Err(refused(status, &bytes));
        }
        if bytes.is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_slice(&bytes)
            .map_err(|error| Failure::failed(format!("The server's answer is not JSON: {error}.")))
    }

    /// Asks for a stream of events; none where the server answers that there is none.
    ///
    /// # Errors
    /// What the server refuses, in its words.
    pub(crate) async fn events(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Option<Events>, Failure> {
        let response = self.request(method, path, body).await?;
        let status = response.status();
        if !status.is_success() {
            return Err(refused(status, &read(response).await?));
        }
        let kind = response.headers().get(header::CONTENT_TYPE);
        if kind.is_none_or(|kind| kind != "text/event-stream") {
            return Ok(None);
        }
        Ok(Some(Events { body: response.into_body(), buffer: Vec::new(), ready: VecDeque::new() }))
    }
}

async fn read(response: Response<Incoming>) -> Result<Bytes, Failure> {
    let body = response.into_body().collect().await;
    body.map(http_body_util::Collected::to_bytes)
        .map_err(|error| Failure::unavailable(format!("The server's answer broke off: {error}.")))
}

fn refused(status: StatusCode, bytes: &[u8]) -> Failure {
    let kind = match status.as_u16() {
        400 => Kind::Usage,
        404 => Kind::NotFound,
        409 => Kind::Conflict,
        503 => Kind::Unavailable,
        _ => Kind::Failed,
    };
    let value: Value = serde_json::from_slice(bytes).unwrap_or_default();
    match value["error"]["message"].as_str() {
        Some(message) => Failure::new(kind, message),
        None => Failure::new(kind, format!("The server answered {status}.")),
    }
}

/// One event.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) name: String,
    pub(crate) data: String,
}

/// Events as they come.
pub(crate) struct Events {
    body: Incoming,
    buffer: Vec<u8>,
    ready: VecDeque<Event>,
}

impl Events {
    /// The next event; none at the end.
    ///
    /// # Errors
    /// The connection broke off.
    pub(crate) async fn next(&mut self) -> Result<Option<Event>, Failure> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(Some(event));
            }
            let Some(frame) = self.body.frame().await else { return Ok(None) };
            let frame = frame.map_err(|error| Failure::unavailable(format!("The stream broke off: {error}.")))?;
            if let Ok(bytes) = frame.into_data() {
                self.buffer.extend_from_slice(&bytes);
                split(&mut self.buffer, &mut self.ready);
            }
        }
    }
}

/// Takes whole events off the buffer's front.
fn split(buffer: &mut Vec<u8>, ready: &mut VecDeque<Event>) {
    while let Some(end) = buffer.windows(2).position(|pair| pair == b"\n\n") {
        let block: Vec<u8> = buffer.drain(..end + 2).collect();
        let mut event = Event::default();
        for line in String::from_utf8_lossy(&block).lines() {
            if let Some(data) = line.strip_prefix("data: ") {
                event.data.push_str(data);
            } else if let Some(name) = line.strip_prefix("event: ") {
                name.clone_into(&mut event.name);
            }
        }
        if !event.data.is_empty() {
            ready.push_back(event);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_split_wherever_the_bytes_are_cut() {
        let text = b": still here\n\nid: a:1\ndata: {\"x\":1}\n\nevent: resync\ndata: {}\n\ndata: [DONE]\n\n";
        for cut in 0..text.len() {
            let (mut buffer, mut ready) = (Vec::new(), VecDeque::new());
            for piece in [&text[..cut], &text[cut..]] {
                buffer.extend_from_slice(piece);
                split(&mut buffer, &mut ready);
            }
            let seen: Vec<_> = ready.iter().map(|event| (event.name.as_str(), event.data.as_str())).collect();
            assert_eq!(seen, [("", "{\"x\":1}"), ("resync", "{}"), ("", "[DONE]")], "cut at {cut}");
        }
    }

    #[test]
    fn only_plain_http_to_a_host_is_spoken() {
        assert!(Client::new("http://127.0.0.1:4310", None).is_ok());
        assert!(Client::new("http://[::1]:4310/", None).is_ok());
        for url in ["", "127.0.0.1:4310", "https://a", "http://", "http://a/b", "http://u:p@a", "ftp://a"] {
            assert!(Client::new(url, None).is_err(), "{url}");
        }
    }
}
