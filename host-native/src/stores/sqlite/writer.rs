//! The one thread that writes. It takes every write that waits and commits them together, so that a hundred writers
//! wait for one flush of the disk, and a write that is refused takes none of the others with it.

use std::sync::mpsc;
use std::thread;

use rusqlite::Connection;
use tokio::sync::oneshot;

use super::error::OrStoreError as _;
use crate::ports::StoreError;

/// The most writes in one commit; bounds how long the first of them waits for the last.
const GROUP: usize = 256;

/// One write. It may be run again in a transaction of its own when its group failed.
trait Job: Send {
    fn run(&mut self, connection: &Connection) -> Result<(), StoreError>;
    fn refused(&self) -> bool;
    /// Answers the caller, with the group's error where it has one.
    fn finish(self: Box<Self>, group: Result<(), StoreError>);
}

struct Write<T, F> {
    work: F,
    outcome: Option<Result<T, StoreError>>,
    reply: oneshot::Sender<Result<T, StoreError>>,
}

impl<T, F> Job for Write<T, F>
where
    T: Send,
    F: FnMut(&Connection) -> Result<T, StoreError> + Send,
{
    fn run(&mut self, connection: &Connection) -> Result<(), StoreError> {
        self.outcome = None;
        connection.execute_batch("SAVEPOINT write").or_store_error()?;
        let outcome = (self.work)(connection);
        let undo = if outcome.is_ok() { "RELEASE write" } else { "ROLLBACK TO write; RELEASE write" };
        // SQLite gives the whole transaction up after some errors; there is no savepoint to go back to then.
        if !connection.is_autocommit() {
            connection.execute_batch(undo).or_store_error()?;
        } else if let Err(error) = outcome {
            return Err(error);
        }
        self.outcome = Some(outcome);
        Ok(())
    }

    fn refused(&self) -> bool {
        matches!(self.outcome, Some(Err(_)))
    }

    fn finish(self: Box<Self>, group: Result<(), StoreError>) {
        let outcome = match (group, self.outcome) {
            // A refusal may rest on what the group would have written, so its failure comes first.
            (Err(error), _) => Err(error),
            (Ok(()), Some(outcome)) => outcome,
            (Ok(()), None) => Err(StoreError::Unavailable("The write was not tried.".to_owned())),
        };
        // A caller that no longer waits has nothing to be told.
        let _ = self.reply.send(outcome);
    }
}

/// Sends writes to the thread. The thread ends, and closes the file, when the last of these is dropped.
#[derive(Clone)]
pub(super) struct Writer(mpsc::Sender<Box<dyn Job>>);

impl Writer {
    pub(super) fn start(connection: Connection) -> Result<(Self, thread::JoinHandle<()>), StoreError> {
        let (sender, receiver) = mpsc::channel();
        let thread = thread::Builder::new()
            .name("tackroom-sqlite-writer".to_owned())
            .spawn(move || serve(&connection, &receiver))
            .map_err(|error| StoreError::Unavailable(format!("A thread could not be started ({error}).")))?;
        Ok((Self(sender), thread))
    }

    pub(super) async fn write<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnMut(&Connection) -> Result<T, StoreError> + Send + 'static,
    {
        let stopped = || StoreError::Unavailable("The store has been closed.".to_owned());
        let (reply, answer) = oneshot::channel();
        self.0.send(Box::new(Write { work, outcome: None, reply })).map_err(|_| stopped())?;
        answer.await.map_err(|_| stopped())?
    }
}

fn serve(connection: &Connection, jobs: &mpsc::Receiver<Box<dyn Job>>) {
    while let Ok(first) = jobs.recv() {
        let mut group = vec![first];
        group.extend(jobs.try_iter().take(GROUP - 1));
        match commit(connection, &mut group) {
            // One write too large for the disk must not fail those that would fit.
            Err(StoreError::Broken(_)) if group.len() > 1 => {
                for job in group {
                    let mut alone = [job];
                    let outcome = commit(connection, &mut alone);
                    let [job] = alone;
                    job.finish(outcome);
                }
            }
            outcome => group.into_iter().for_each(|job| job.finish(outcome.clone())),
        }
    }
}

fn commit(connection: &Connection, group: &mut [Box<dyn Job>]) -> Result<(), StoreError> {
    connection.execute_batch("BEGIN IMMEDIATE").or_store_error()?;
    let outcome = run_group(connection, group);
    if !connection.is_autocommit() {
        // Whatever failed, the next group begins outside a transaction; the first error is the one that tells why.
        let rolled_back = connection.execute_batch("ROLLBACK").or_store_error();
        return outcome.and(rolled_back);
    }
    outcome
}

/// Runs the jobs of a group and commits, unless every one of them was refused.
fn run_group(connection: &Connection, group: &mut [Box<dyn Job>]) -> Result<(), StoreError> {
    for job in group.iter_mut() {
        job.run(connection)?;
    }
    if group.iter().all(|job| job.refused()) {
        return Ok(());
    }
    connection.execute_batch("COMMIT").or_store_error()
}
