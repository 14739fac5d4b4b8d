//! A scripted model server on loopback, so that real coding agents can be driven without a model.
//!
//! It speaks Anthropic Messages. Each session has a base URL of its own, `/s/NAME`, and a script under that name; what
//! the agents send is recorded. It never leaves loopback and keeps no header, so no key can be found in it.

mod play;
mod record;
mod script;
mod sse;

use std::collections::HashMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

pub use record::{Kind, Recorded, ToolResult};
pub use script::{Reply, Script, Step};

/// What is known of one session.
#[derive(Default)]
struct Session {
    script: Script,
    requests: Vec<Recorded>,
}

/// What the server and its connections share.
pub(crate) struct Shared {
    sessions: Mutex<HashMap<String, Session>>,
    changed: watch::Sender<u64>,
}

impl Shared {
    fn sessions(&self) -> MutexGuard<'_, HashMap<String, Session>> {
        // A panic while the lock is held leaves nothing half-done: every change is one assignment or push.
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a request; for a main one, takes the reply to play.
    pub(crate) fn record(&self, name: &str, request: &Recorded) -> (u64, Option<Reply>) {
        let mut sessions = self.sessions();
        let session = sessions.entry(name.to_owned()).or_default();
        session.requests.push(request.clone());
        let reply = (request.kind == Kind::Main).then(|| take(&mut session.script, request)).flatten();
        drop(sessions);
        let mut number = 0;
        self.changed.send_modify(|count| {
            *count += 1;
            number = *count;
        });
        (number, reply)
    }
}

fn take(script: &mut Script, request: &Recorded) -> Option<Reply> {
    let holds = |reply: &Reply| reply.when_last.as_ref().is_none_or(|text| request.last.contains(text));
    let reply = script.replies.iter_mut().find(|reply| reply.times > 0 && holds(reply))?;
    if reply.times != u32::MAX {
        reply.times -= 1;
    }
    Some(reply.clone())
}

/// A running server. Dropping it cuts every connection.
pub struct ModelServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    accept: tokio::task::JoinHandle<()>,
}

impl ModelServer {
    /// Starts a server on a free port of loopback.
    ///
    /// # Errors
    ///
    /// When no port can be bound.
    pub async fn start() -> io::Result<Self> {
        Self::start_on(0).await
    }

    /// Starts a server on this port of loopback; 0 chooses a free one.
    ///
    /// # Errors
    ///
    /// When the port cannot be bound.
    pub async fn start_on(port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared { sessions: Mutex::default(), changed: watch::Sender::new(0) });
        let accept = tokio::spawn(accept(listener, Arc::clone(&shared)));
        Ok(Self { address, shared, accept })
    }

    /// The base URL of the session of this name.
    #[must_use]
    pub fn base_url(&self, name: &str) -> String {
        format!("http://{}/s/{name}", self.address)
    }

    /// Puts a session's script in place, and forgets what was recorded of it.
    pub fn script(&self, name: &str, script: Script) {
        self.shared.sessions().insert(name.to_owned(), Session { script, requests: Vec::new() });
    }

    /// Every request of a session so far.
    #[must_use]
    pub fn requests(&self, name: &str) -> Vec<Recorded> {
        self.shared.sessions().get(name).map(|session| session.requests.clone()).unwrap_or_default()
    }

    /// The main requests of a session so far.
    #[must_use]
    pub fn main_requests(&self, name: &str) -> Vec<Recorded> {
        self.requests(name).into_iter().filter(|request| request.kind == Kind::Main).collect()
    }

    /// Waits until so many main requests came; `false` when they did not within `within`.
    pub async fn wait_for_main(&self, name: &str, count: usize, within: Duration) -> bool {
        let mut changed = self.shared.changed.subscribe();
        tokio::time::timeout(within, async {
            while self.main_requests(name).len() < count {
                if changed.changed().await.is_err() {
                    return;
                }
            }
        })
        .await
        .is_ok()
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.accept.abort();
    }
}

/// A base URL at which connections are refused.
///
/// # Errors
///
/// When no port can be bound.
pub async fn refused_url() -> io::Result<String> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    Ok(format!("http://{}", listener.local_addr()?))
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let Ok((stream, _)) = accepted else { continue };
                let shared = Arc::clone(&shared);
                connections.spawn(async move {
                    let service = service_fn(move |request| play::answer(Arc::clone(&shared), request));
                    // A connection that ends badly is the agent's to notice: agents are killed in these tests.
                    let _ = hyper::server::conn::http1::Builder::new()
                        .serve_connection(TokioIo::new(stream), service)
                        .await;
                });
            }
            Some(_) = connections.join_next() => {}
        }
    }
}
