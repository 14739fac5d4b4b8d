//! A blocking HTTP client of one request a connection: a test that kills its server has to see where an answer broke off.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// The longest that a server may say nothing; it says that it lives more often.
const SILENCE: Duration = Duration::from_mins(1);

/// Sends one request, and returns when the head of the answer has come.
///
/// # Errors
/// The server is not there, or went away before the head was whole.
pub fn request(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: Option<&Value>,
) -> io::Result<Response> {
    let mut stream = TcpStream::connect_timeout(&address, SILENCE)?;
    stream.set_read_timeout(Some(SILENCE))?;
    stream.set_nodelay(true)?;
    let body = body.map(Value::to_string).unwrap_or_default();
    let mut head = format!("{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n");
    for (name, value) in headers {
        head.extend([name, ": ", value, "\r\n"]);
    }
    if !body.is_empty() {
        head.push_str("content-type: application/json\r\n");
    }
    head.extend(["content-length: ", &body.len().to_string(), "\r\n\r\n", &body]);
    stream.write_all(head.as_bytes())?;
    Response::read(BufReader::new(stream)).map_err(|error| silent(error, method, path))
}

/// An answer whose head has come.
#[derive(Debug)]
pub struct Response {
    /// The status code.
    pub status: u16,
    headers: Vec<(String, String)>,
    body: BufReader<Body>,
}

impl Response {
    fn read(mut stream: BufReader<TcpStream>) -> io::Result<Self> {
        let first = line(&mut stream)?;
        let status = first.split(' ').nth(1).and_then(|code| code.parse().ok());
        let status = status.ok_or_else(|| io::Error::other(format!("{first:?} is no status line")))?;
        let mut headers = Vec::new();
        loop {
            let line = line(&mut stream)?;
            if line.is_empty() {
                break;
            }
            if let Some((name, value)) = line.split_once(':') {
                headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
            }
        }
        let find = |name: &str| headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
        let left = if find("transfer-encoding") == Some("chunked") {
            Left::Chunked { in_chunk: 0 }
        } else {
            Left::Bytes(find("content-length").and_then(|length| length.parse().ok()).unwrap_or(0))
        };
        Ok(Self { status, headers, body: BufReader::new(Body { stream, left }) })
    }

    /// A header's value, by its name in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The whole body as JSON.
    ///
    /// # Errors
    /// It broke off, or is no JSON.
    pub fn json(mut self) -> io::Result<Value> {
        let mut text = String::new();
        self.body.read_to_string(&mut text)?;
        if text.is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_str(&text).map_err(io::Error::other)
    }

    /// The body as server-sent events.
    #[must_use]
    pub fn events(self) -> Events {
        Events { body: self.body }
    }
}

/// The data of server-sent events, one by one; an error where the stream broke off.
#[derive(Debug)]
pub struct Events {
    body: BufReader<Body>,
}

impl Iterator for Events {
    type Item = io::Result<String>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let mut line = String::new();
            match self.body.read_line(&mut line) {
                Err(error) => return Some(Err(silent(error, "the events of", "a stream"))),
                Ok(0) => return None,
                Ok(_) => {}
            }
            if let Some(data) = line.strip_prefix("data: ") {
                return Some(Ok(data.trim_end().to_owned()));
            }
        }
    }
}

/// Says which request it was that got no answer.
fn silent(error: io::Error, method: &str, path: &str) -> io::Error {
    if error.kind() == io::ErrorKind::WouldBlock {
        return io::Error::other(format!("{method} {path} was not answered within {SILENCE:?}"));
    }
    error
}

fn line(stream: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    if stream.read_line(&mut line)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    line.truncate(line.trim_end().len());
    Ok(line)
}

#[derive(Debug)]
enum Left {
    Bytes(usize),
    Chunked { in_chunk: usize },
    Nothing,
}

#[derive(Debug)]
struct Body {
    stream: BufReader<TcpStream>,
    left: Left,
}

impl Body {
    /// Reads at most so many bytes, of which there is one at least to come.
    fn some(&mut self, buffer: &mut [u8], most: usize) -> io::Result<usize> {
        let most = most.min(buffer.len());
        match self.stream.read(&mut buffer[..most])? {
            0 if most > 0 => Err(io::ErrorKind::UnexpectedEof.into()),
            read => Ok(read),
        }
    }
}

impl Read for Body {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.left {
            Left::Nothing | Left::Bytes(0) => Ok(0),
            Left::Bytes(left) => {
                let read = self.some(buffer, left)?;
                self.left = Left::Bytes(left - read);
                Ok(read)
            }
            Left::Chunked { in_chunk: 0 } => {
                let size = line(&mut self.stream)?;
                let size = usize::from_str_radix(size.split(';').next().unwrap_or_default(), 16);
                let size = size.map_err(io::Error::other)?;
                self.left = Left::Chunked { in_chunk: size };
                if size == 0 {
                    self.left = Left::Nothing;
                    return Ok(0);
                }
                self.read(buffer)
            }
            Left::Chunked { in_chunk } => {
                let read = self.some(buffer, in_chunk)?;
                self.left = Left::Chunked { in_chunk: in_chunk - read };
                if read == in_chunk {
                    line(&mut self.stream)?;
                }
                Ok(read)
            }
        }
    }
}
