//! The way of a chunk from an agent to a reader behind a socket, through a thousand sessions at once.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Instant;

use anyhow::{Result, ensure};
use tackroom::server::{Server, ServerOptions};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use super::Ground;
use super::crowd::{Bursting, Kept, Rounds, Seen, name, together};
use crate::report::{Row, Unit};

const GROUP: &str = "chunks from agent to a reader over HTTP";

/// Sends a message and reads the events of its turn.
async fn read(address: SocketAddr, session: &str) -> Result<Seen> {
    let mut stream = TcpStream::connect(address).await?;
    let body = r#"{"message":"Burst."}"#;
    let head = format!(
        "POST /v1/sessions/{session}/messages HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all((head + body).as_bytes()).await?;
    let (mut seen, mut reader, mut line) = (Seen::default(), BufReader::new(stream), Vec::new());
    reader.read_until(b'\n', &mut line).await?;
    ensure!(line.starts_with(b"HTTP/1.1 200"), "The server refused: {}", String::from_utf8_lossy(&line));
    let mut ended = false;
    loop {
        line.clear();
        if reader.read_until(b'\n', &mut line).await? == 0 {
            break;
        }
        if line.starts_with(b"data: {") {
            seen.chunk();
        } else if line.starts_with(b"event: resync") {
            seen.resyncs += 1;
        }
        ended |= line.starts_with(b"data: [DONE]");
    }
    ensure!(ended, "The events of a turn broke off.");
    seen.last = Some(Instant::now());
    Ok(seen)
}

/// The row.
pub(super) async fn measure(ground: &Ground) -> Result<Vec<Row>> {
    let kept = if ground.quick { Kept::Memory } else { Kept::Disk };
    let Bursting { manager, sessions, count } = Bursting::start(ground, kept, "http").await?;
    let server = Server::bind(ServerOptions::new((Ipv4Addr::LOCALHOST, 0).into())).await?;
    let address = server.address();
    let (stop, stopped) = oneshot::channel::<()>();
    let running = tokio::spawn(server.run(manager, async move {
        // A sender that is gone stops it as well.
        let _ = stopped.await;
    }));
    let mut rounds = Rounds::default();
    for _ in 0..ground.count(5, 2) {
        let mut tasks = JoinSet::new();
        for n in 0..sessions {
            tasks.spawn(async move { read(address, &name(n)).await });
        }
        rounds.add(&together(tasks).await?)?;
    }
    drop(stop);
    running.await?;
    let what = format!("{sessions} sessions, a connection each, in batches of 16, {}", kept.words());
    let note = format!(
        "{count} chunks of 20 bytes in each turn; {} readers fell behind; client and server share the cores.",
        rounds.resyncs
    );
    let row = Row::of(GROUP, what, Unit::PerSecond, rounds.rates.figures());
    Ok(row.map(|row| row.note(note)).into_iter().collect())
}
