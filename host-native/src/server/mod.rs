//! The HTTP face of a session manager, so that an application in any language can keep its sessions here.
//!
//! [`Server::bind`] checks the options, [`Server::run`] answers until it is told to stop. Every route is described by
//! the document that is served at `/openapi.json`. Closing a connection never ends a turn.

mod body;
mod connections;
mod error;
mod guard;
mod metrics;
mod path;
mod routes;
mod shapes;
mod sse;
mod time;

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;

pub use time::iso;

use crate::manager::SessionManager;
use guard::Guard;
use metrics::Metrics;

/// The most bytes of a body: a message of 4 MiB, and room for what JSON adds.
const MAX_BODY: usize = 9 << 19;

/// How a server is run.
#[derive(Clone)]
pub struct ServerOptions {
    /// Where it listens. Port 0 takes any that is free.
    pub listen: SocketAddr,
    /// What clients have to send as `Authorization: Bearer TOKEN`. Needed to listen beyond loopback.
    pub token: Option<String>,
    /// Origins of web pages that may use the server, such as `https://app.example`; `*` for all, with a token only.
    pub allow_origins: Vec<String>,
    /// Names other than `localhost` that the server is reached by.
    pub allow_hosts: Vec<String>,
    /// The most bytes of a request's body. 4,718,592 by default.
    pub max_body: usize,
    /// The most time that a client may take to send a request's head, and again its body. 30 s by default.
    pub body_timeout: Duration,
    /// The longest that an answer may be stuck because its reader takes nothing. 60 s by default.
    pub write_timeout: Duration,
    /// How often an event stream without events shows that it lives. 15 s by default.
    pub keep_alive: Duration,
    /// The most connections at once. 4,096 by default.
    pub max_connections: usize,
}

impl std::fmt::Debug for ServerOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerOptions").field("listen", &self.listen).finish_non_exhaustive()
    }
}

impl ServerOptions {
    /// The defaults, listening here.
    #[must_use]
    pub fn new(listen: SocketAddr) -> Self {
        Self {
            listen,
            token: None,
            allow_origins: Vec::new(),
            allow_hosts: Vec::new(),
            max_body: MAX_BODY,
            body_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_mins(1),
            keep_alive: Duration::from_secs(15),
            max_connections: 4_096,
        }
    }
}

/// Why a server does not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// The address is not one of this machine alone, and there is no token.
    #[error(
        "Without a token the server listens on loopback only, and {0} can be reached from elsewhere. Set a token \
         (--token or TACKROOM_TOKEN), or listen on 127.0.0.1."
    )]
    OpenToAll(SocketAddr),
    /// The token cannot be sent in a header.
    #[error("The token has to be 1 to 4096 visible ASCII characters without blanks.")]
    BadToken,
    /// An origin that no browser sends.
    #[error("{0:?} is no origin: it has to be like https://app.example or http://localhost:3000, without a path.")]
    BadOrigin(String),
    /// All origins, and nothing that keeps strangers out.
    #[error("All origins (*) can be allowed only with a token: any web page could use the server otherwise.")]
    AnyOriginWithoutToken,
    /// The address is taken or not this machine's.
    #[error("The server cannot listen on {address}: {error}")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        error: std::io::Error,
    },
}

/// What every handler has at hand.
#[derive(Clone)]
pub(crate) struct App(Arc<Inner>);

pub(crate) struct Inner {
    manager: SessionManager,
    options: ServerOptions,
    guard: Guard,
    metrics: Metrics,
}

impl std::ops::Deref for App {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}

/// A server that has its address and does not answer yet.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    options: ServerOptions,
}

impl Server {
    /// Checks the options and takes the address.
    ///
    /// # Errors
    /// See [`ServerError`].
    pub async fn bind(options: ServerOptions) -> Result<Self, ServerError> {
        check(&options)?;
        let bind = |error| ServerError::Bind { address: options.listen, error };
        let listener = TcpListener::bind(options.listen).await.map_err(bind)?;
        let address = listener.local_addr().map_err(bind)?;
        Ok(Self { listener, address, options })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers requests until `stop` resolves; then suspends every session, lets the open streams end, and returns,
    /// within the manager's deadline for a shutdown and half a second.
    pub async fn run(self, manager: SessionManager, stop: impl Future<Output = ()> + Send) {
        let guard = Guard {
            ip: self.address.ip(),
            token: self.options.token.clone().map(String::into_bytes),
            origins: self.options.allow_origins.clone(),
            hosts: self.options.allow_hosts.clone(),
        };
        let inner = Inner { manager, options: self.options, guard, metrics: Metrics::default() };
        connections::serve(self.listener, App(Arc::new(inner)), stop).await;
    }
}

fn check(options: &ServerOptions) -> Result<(), ServerError> {
    match &options.token {
        None if !options.listen.ip().is_loopback() => return Err(ServerError::OpenToAll(options.listen)),
        Some(token)
            if token.is_empty() || token.len() > 4_096 || !token.bytes().all(|byte| byte.is_ascii_graphic()) =>
        {
            return Err(ServerError::BadToken);
        }
        _ => {}
    }
    for origin in &options.allow_origins {
        if origin == "*" {
            if options.token.is_none() {
                return Err(ServerError::AnyOriginWithoutToken);
            }
            continue;
        }
        let rest = origin.split_once("://").map(|(_, rest)| rest.trim_end_matches('/'));
        if rest.is_none_or(|rest| rest.is_empty() || rest.contains(['/', '?', '#', '@', ' ', '*'])) {
            return Err(ServerError::BadOrigin(origin.clone()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(listen: &str) -> ServerOptions {
        ServerOptions::new(listen.parse().unwrap())
    }

    #[test]
    fn only_a_token_opens_the_server_to_others() {
        assert!(matches!(check(&options("0.0.0.0:0")), Err(ServerError::OpenToAll(_))));
        assert!(matches!(check(&options("[::]:0")), Err(ServerError::OpenToAll(_))));
        assert!(check(&options("127.0.0.1:0")).is_ok());
        assert!(check(&ServerOptions { token: Some("t".into()), ..options("0.0.0.0:0") }).is_ok());
        for token in ["", "a b", "ä"] {
            assert!(check(&ServerOptions { token: Some(token.into()), ..options("127.0.0.1:0") }).is_err(), "{token}");
        }
    }

    #[test]
    fn an_origin_has_no_path_and_all_of_them_need_a_token() {
        let with = |origin: &str| ServerOptions { allow_origins: vec![origin.into()], ..options("127.0.0.1:0") };
        assert!(check(&with("https://app.example")).is_ok());
        for origin in ["app.example", "https://", "https://a/b", "*"] {
            assert!(check(&with(origin)).is_err(), "{origin}");
        }
        assert!(check(&ServerOptions { token: Some("t".into()), ..with("*") }).is_ok());
    }
}
