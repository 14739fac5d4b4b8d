//! The demonstration's own client, small enough to be read as an example: HTTP/1.0 over a socket, events line by line.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

/// Nothing here takes this long.
const LONG: Duration = Duration::from_mins(1);

/// A server's address, such as `127.0.0.1:4310`.
pub(super) struct Client(pub(super) String);

impl Client {
    fn request(&self, method: &str, path: &str, body: &str) -> Result<(u16, BufReader<TcpStream>)> {
        let mut stream = TcpStream::connect(&self.0).with_context(|| format!("reach the server at {}", self.0))?;
        stream.set_read_timeout(Some(LONG))?;
        let (host, length) = (&self.0, body.len());
        let kind = if body.is_empty() { "" } else { "content-type: application/json\r\n" };
        write!(stream, "{method} {path} HTTP/1.0\r\nhost: {host}\r\n{kind}content-length: {length}\r\n\r\n{body}")?;
        let mut answer = BufReader::new(stream);
        let mut line = String::new();
        answer.read_line(&mut line)?;
        let status =
            line.split(' ').nth(1).and_then(|status| status.parse().ok()).context("read the answer's status")?;
        while line != "\r\n" {
            line.clear();
            ensure!(answer.read_line(&mut line)? > 0, "the answer of {method} {path} broke off");
        }
        Ok((status, answer))
    }

    /// Asks for JSON.
    pub(super) fn json(&self, method: &str, path: &str, body: &str) -> Result<Value> {
        let (status, mut answer) = self.request(method, path, body)?;
        let mut text = String::new();
        answer.read_to_string(&mut text)?;
        ensure!((200..300).contains(&status), "{method} {path} was answered {status}: {text}");
        if text.is_empty() { Ok(Value::Null) } else { Ok(serde_json::from_str(&text)?) }
    }

    /// Asks for a turn and gives each chunk to `show` as it comes.
    pub(super) fn turn(&self, path: &str, body: &str, mut show: impl FnMut(&Value)) -> Result<()> {
        let (status, mut answer) = self.request("POST", path, body)?;
        let mut line = String::new();
        while answer.read_line(&mut line)? > 0 {
            match line.trim_end().strip_prefix("data: ") {
                Some("[DONE]") => return Ok(()),
                Some(data) => show(&serde_json::from_str(data).with_context(|| format!("read the chunk {data}"))?),
                None if status != 200 => bail!("POST {path} was answered {status}: {line}"),
                None => {}
            }
            line.clear();
        }
        bail!("the turn's stream broke off before its end")
    }

    /// Waits until the session is in this status.
    pub(super) fn until(&self, session: &str, status: &str) -> Result<Value> {
        let end = Instant::now() + LONG;
        loop {
            let found = self.json("GET", session, "")?;
            if found["status"] == status {
                return Ok(found);
            }
            ensure!(Instant::now() < end, "the session does not become {status}: {found}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}
