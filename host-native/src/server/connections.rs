//! Connections: so many at once, each with a bound on how long its client may dawdle, all ended in order at the end.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, Sleep};

use super::{App, routes};

/// How long connections may take to end once the sessions are suspended.
const FAREWELL: Duration = Duration::from_millis(500);
/// The most bytes of a request's head: an address, some headers, a cookie.
const HEAD_BYTES: usize = 64 << 10;
/// How long to wait after the system had no socket to give.
const BREATHER: Duration = Duration::from_millis(50);

pub(super) async fn serve(listener: TcpListener, app: App, stop: impl Future<Output = ()> + Send) {
    let router = routes::router(app.clone());
    let places = Arc::new(Semaphore::new(app.options.max_connections));
    let (ending, ended) = watch::channel(false);
    let mut open = JoinSet::new();
    tokio::pin!(stop);
    loop {
        let accepted = async {
            // The semaphore is never closed.
            let place = Arc::clone(&places).acquire_owned().await;
            (place, listener.accept().await)
        };
        tokio::select! {
            () = &mut stop => break,
            Some(_) = open.join_next() => {}
            (place, accepted) = accepted => match accepted {
                Ok((stream, _)) => {
                    let connection = connection(stream, router.clone(), app.clone(), ended.clone());
                    open.spawn(async move {
                        connection.await;
                        drop(place);
                    });
                }
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be taken");
                    tokio::time::sleep(BREATHER).await;
                }
            },
        }
    }
    drop(listener);
    app.manager.shutdown().await;
    ending.send_replace(true);
    let farewell = async { while open.join_next().await.is_some() {} };
    if tokio::time::timeout(FAREWELL, farewell).await.is_err() {
        tracing::debug!("some connections were cut at the end");
    }
}

async fn connection(stream: TcpStream, router: axum::Router, app: App, mut ended: watch::Receiver<bool>) {
    // Chunks of a turn are small and each is wanted at once.
    let _ = stream.set_nodelay(true);
    let io = TokioIo::new(Patient::new(stream, app.options.write_timeout));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(app.options.body_timeout)
        .max_buf_size(HEAD_BYTES)
        .serve_connection(io, TowerToHyperService::new(router));
    app.metrics.connections.fetch_add(1, Ordering::Relaxed);
    tokio::pin!(connection);
    let mut asked = false;
    loop {
        tokio::select! {
            result = &mut connection => {
                if let Err(error) = result {
                    tracing::debug!(%error, "a connection ended badly");
                }
                break;
            }
            _ = ended.changed(), if !asked => {
                asked = true;
                connection.as_mut().graceful_shutdown();
            }
        }
    }
    app.metrics.connections.fetch_sub(1, Ordering::Relaxed);
}

/// A stream whose writes fail when the other side takes nothing for too long.
struct Patient {
    stream: TcpStream,
    patience: Duration,
    stuck: Option<Pin<Box<Sleep>>>,
}

impl Patient {
    fn new(stream: TcpStream, patience: Duration) -> Self {
        Self { stream, patience, stuck: None }
    }

    /// Passes a write's outcome on; one that waits for too long becomes an error.
    fn bound<T>(&mut self, cx: &mut Context<'_>, outcome: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if outcome.is_ready() {
            self.stuck = None;
            return outcome;
        }
        let patience = self.patience;
        let stuck = self.stuck.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(Instant::now() + patience)));
        ready!(stuck.as_mut().poll(cx));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client takes nothing")))
    }
}

impl AsyncRead for Patient {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Patient {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.bound(cx, outcome)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.stream).poll_flush(cx);
        self.bound(cx, outcome)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.stream).poll_shutdown(cx);
        self.bound(cx, outcome)
    }
}
