//! Finds the server that holds the sessions: the one that is named, the owner of the data directory, or one started in
//! this process for as long as the command takes.

use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use tackroom::server::ServerOptions;

use crate::cli::Where;
use crate::client::Client;
use crate::exit::Failure;
use crate::host::Host;
use crate::owner::{Card, Held, Owner, held};
use crate::settings::Settings;

/// A way to the sessions.
pub(crate) struct Connection {
    pub(crate) client: Client,
    local: Option<Local>,
}

/// A server in this process.
struct Local {
    stop: oneshot::Sender<()>,
    served: JoinHandle<()>,
    owner: Owner,
}

impl Connection {
    /// Finds the server, or starts one.
    ///
    /// # Errors
    /// Settings that cannot be used, a directory that is another's, a server that does not answer.
    pub(crate) async fn open(at: &Where) -> Result<Self, Failure> {
        let settings = Settings::read(&at.settings)?;
        let named = at.server.clone().or_else(|| std::env::var("TACKROOM_SERVER").ok().filter(|url| !url.is_empty()));
        if let Some(url) = named {
            return Ok(Self { client: Client::new(&url, settings.token)?, local: None });
        }
        match held(&settings.data)? {
            Held::By(Card { url: Some(url), token, .. }) => Ok(Self { client: Client::new(&url, token)?, local: None }),
            Held::By(Card { pid, .. }) => Err(Failure::unavailable(format!(
                "Process {pid} owns {} and is just starting; try again.",
                settings.data.display()
            ))),
            Held::Free => Self::start(&settings).await,
        }
    }

    async fn start(settings: &Settings) -> Result<Self, Failure> {
        let token = format!("{}{}", uuid::Uuid::new_v4().simple(), uuid::Uuid::new_v4().simple());
        let mut options = ServerOptions::new(([127, 0, 0, 1], 0).into());
        options.token = Some(token.clone());
        let Host { manager, server, owner } = Host::open(settings, options).await?;
        let client = Client::new(&format!("http://{}", server.address()), Some(token))?;
        let (stop, stopped) = oneshot::channel::<()>();
        let served = tokio::spawn(server.run(manager, async move {
            // A sender that is dropped means the same.
            let _ = stopped.await;
        }));
        Ok(Self { client, local: Some(Local { stop, served, owner }) })
    }

    /// Suspends the sessions of a server that was started here, and ends it.
    pub(crate) async fn end(self) {
        let Some(Local { stop, served, owner }) = self.local else { return };
        // A server that has ended by itself needs no word.
        let _ = stop.send(());
        let _ = served.await;
        drop(owner);
    }
}
