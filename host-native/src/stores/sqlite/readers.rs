//! A few threads that only read, each on a connection of its own, so that no read waits for a write.

use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;

use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::ports::StoreError;

type Read = Box<dyn FnOnce(&Connection) + Send>;

/// Sends reads to the threads. They end when the last of these is dropped.
#[derive(Clone)]
pub(super) struct Readers(mpsc::Sender<Read>);

impl Readers {
    pub(super) fn start(connections: Vec<Connection>) -> Result<(Self, Vec<thread::JoinHandle<()>>), StoreError> {
        let (sender, receiver) = mpsc::channel();
        let receiver = Arc::new(Mutex::new(receiver));
        let start = |connection| {
            let receiver = Arc::clone(&receiver);
            thread::Builder::new()
                .name("tackroom-sqlite-reader".to_owned())
                .spawn(move || serve(&connection, &receiver))
                .map_err(|error| StoreError::Unavailable(format!("A thread could not be started ({error}).")))
        };
        let threads = connections.into_iter().map(start).collect::<Result<_, _>>()?;
        Ok((Self(sender), threads))
    }

    pub(super) async fn read<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    {
        let stopped = || StoreError::Unavailable("The store has been closed.".to_owned());
        let (reply, answer) = oneshot::channel();
        let read: Read = Box::new(move |connection| {
            // A caller that no longer waits has nothing to be told.
            let _ = reply.send(work(connection));
        });
        self.0.send(read).map_err(|_| stopped())?;
        answer.await.map_err(|_| stopped())?
    }
}

fn serve(connection: &Connection, reads: &Mutex<mpsc::Receiver<Read>>) {
    loop {
        // The lock is held while waiting: the threads take turns, and a read runs outside it.
        let next = reads.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(read) = next else { return };
        read(connection);
    }
}
