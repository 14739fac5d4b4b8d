//! The way from callers to the loop: each call becomes a message, and its answer comes back beside it.

use std::sync::Arc;

use serde::Deserialize;
use tokio::sync::{mpsc, oneshot};

use super::message::{Accepted, Joined, Message, Query};
use super::streams::TurnChannel;
use super::{convert, ids};
use crate::engine::types::input::{self, CommandBody};
use crate::manager::{
    Answers, AuditEntry, Continued, CreateSession, Cursor, Hub, SendMessage, SessionError, Start, Stats, TurnStream,
    UpdateSession, UserMessage,
};
use crate::ports::{ListPage, ListQuery, MessageRecord, SessionRecord, SessionSummary, Store};

/// The part of a UI message that names it.
#[derive(Deserialize)]
struct Named {
    id: Option<String>,
}

/// The id that a client gave its message. What else may be wrong with the message is the engine's to say.
fn id_of(message: &str) -> Option<String> {
    serde_json::from_str::<Named>(message).ok()?.id.filter(|id| !id.is_empty())
}

/// How often a read or a change is tried again when another one came between.
const TRIES: usize = 100;

/// What all clones share.
struct Shared {
    messages: mpsc::UnboundedSender<Message>,
    store: Arc<dyn Store>,
    hub: Arc<Hub>,
}

impl Drop for Shared {
    fn drop(&mut self) {
        // Nobody can ask anything any more: everything is ended in order, as far as the runtime lasts.
        let (reply, _) = oneshot::channel();
        let _ = self.messages.send(Message::Shutdown(reply));
    }
}

/// A cloneable way to the loop.
#[derive(Clone)]
pub(crate) struct Handle {
    shared: Arc<Shared>,
}

impl std::fmt::Debug for Handle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Handle").finish_non_exhaustive()
    }
}

impl Handle {
    pub(super) fn new(messages: mpsc::UnboundedSender<Message>, store: Arc<dyn Store>, hub: Arc<Hub>) -> Self {
        Self { shared: Arc::new(Shared { messages, store, hub }) }
    }

    pub(crate) fn hub(&self) -> &Arc<Hub> {
        &self.shared.hub
    }

    async fn command(&self, session: &str, body: CommandBody) -> Result<Accepted, SessionError> {
        let (reply, answer) = oneshot::channel();
        let message = Message::Command { session: session.to_owned(), body, reply };
        self.shared.messages.send(message).map_err(|_| SessionError::stopped())?;
        answer.await.unwrap_or_else(|_| Err(SessionError::stopped()))
    }

    async fn ask<T>(&self, question: impl FnOnce(oneshot::Sender<T>) -> Query) -> Result<T, SessionError> {
        let (reply, answer) = oneshot::channel();
        let message = Message::Query(question(reply));
        self.shared.messages.send(message).map_err(|_| SessionError::stopped())?;
        answer.await.map_err(|_| SessionError::stopped())
    }

    fn stream(&self, joined: Joined) -> TurnStream {
        TurnStream::new(self.clone(), joined.channel, joined.part, joined.start)
    }

    pub(crate) async fn create(&self, create: CreateSession) -> Result<SessionSummary, SessionError> {
        let id = create.id.unwrap_or_else(ids::mint);
        let metadata = create.metadata.unwrap_or_else(|| "{}".to_owned());
        let settings = convert::settings_in(create.settings);
        let body = CommandBody::Create(input::Create { metadata, settings, fork: None });
        Ok(self.command(&id, body).await?.summary)
    }

    pub(crate) async fn send(&self, session: &str, send: SendMessage) -> Result<TurnStream, SessionError> {
        let (message, message_is_text, user_message) = match send.message {
            UserMessage::Text(text) => (text, true, ids::mint()),
            UserMessage::Json(json) => {
                let id = id_of(&json).unwrap_or_else(ids::mint);
                (json, false, id)
            }
        };
        let turn = ids::mint();
        let body = CommandBody::Send(input::Send {
            assistant_message: ids::answer_of(&turn),
            turn,
            user_message,
            message,
            message_is_text,
            prompt: send.prompt,
            model: send.model,
            idempotency_key: send.idempotency_key,
            when_busy: input::WhenBusy::Reject,
        });
        let accepted = self.command(session, body).await?;
        // The engine names the turn of every message that it accepts.
        accepted.turn.map(|joined| self.stream(joined)).ok_or_else(SessionError::stopped)
    }

    pub(crate) async fn continue_turn(&self, session: &str, answers: Answers) -> Result<Continued, SessionError> {
        let body = CommandBody::Continue(input::Continue {
            answers: answers.answers.into_iter().map(convert::answer_in).collect(),
            message: answers.message,
            who: answers.who,
        });
        let accepted = self.command(session, body).await?;
        Ok(Continued {
            session: accepted.summary,
            turn: accepted.turn.map(|joined| self.stream(joined)),
            repeated: accepted.repeated,
        })
    }

    pub(crate) async fn update(&self, session: &str, update: UpdateSession) -> Result<SessionSummary, SessionError> {
        let body = CommandBody::Update(input::Update {
            metadata: update.metadata,
            settings: update.settings.map(convert::settings_in),
            metadata_revision: update.metadata_revision,
        });
        Ok(self.command(session, body).await?.summary)
    }

    pub(crate) async fn update_with<F>(&self, session: &str, change: F) -> Result<SessionSummary, SessionError>
    where
        F: Fn(&str) -> Result<String, SessionError>,
    {
        let mut last = None;
        for _ in 0..TRIES {
            let summary = self.summary(session).await?;
            let update = UpdateSession {
                metadata: Some(change(&summary.metadata)?),
                settings: None,
                metadata_revision: Some(summary.metadata_revision),
            };
            match self.update(session, update).await {
                Err(conflict @ SessionError::Conflict { .. }) => last = Some(conflict),
                other => return other,
            }
        }
        Err(last.unwrap_or_else(SessionError::stopped))
    }

    async fn summary(&self, session: &str) -> Result<SessionSummary, SessionError> {
        let live = self.ask(|reply| Query::Summaries { sessions: vec![session.to_owned()], reply }).await?;
        if let Some(summary) = live.into_iter().next().flatten() {
            return Ok(summary);
        }
        let stored = self.shared.store.load(session).await?;
        stored.map(|record| record.summary).ok_or_else(|| SessionError::NotFound { session: session.to_owned() })
    }

    pub(crate) async fn interrupt(&self, session: &str) -> Result<SessionSummary, SessionError> {
        Ok(self.command(session, CommandBody::Interrupt).await?.summary)
    }

    pub(crate) async fn suspend(&self, session: &str) -> Result<SessionSummary, SessionError> {
        Ok(self.command(session, CommandBody::Suspend).await?.summary)
    }

    pub(crate) async fn close(&self, session: &str) -> Result<SessionSummary, SessionError> {
        Ok(self.command(session, CommandBody::Close).await?.summary)
    }

    pub(crate) async fn delete(&self, session: &str) -> Result<(), SessionError> {
        self.command(session, CommandBody::Delete).await.map(|_| ())
    }

    pub(crate) async fn get(&self, session: &str) -> Result<Option<SessionRecord>, SessionError> {
        for _ in 0..TRIES {
            let Some(mut record) = self.shared.store.load(session).await? else { return Ok(None) };
            let Some((summary, message)) = self.ask(|reply| Query::Live { session: session.to_owned(), reply }).await?
            else {
                return Ok(Some(record));
            };
            let kept = u32::try_from(record.messages.len()).unwrap_or(u32::MAX);
            record.summary = summary;
            let Some(message) = message else { return Ok(Some(record)) };
            let place = message.index as usize;
            let message = MessageRecord { index: message.index, id: message.id, json: message.json };
            match record.messages.get_mut(place) {
                Some(stored) => *stored = message,
                None if place == kept as usize => record.messages.push(message),
                // The session went on between the two reads.
                None => continue,
            }
            return Ok(Some(record));
        }
        Err(SessionError::unavailable("The session changes too fast to be read; try again in a moment."))
    }

    pub(crate) async fn list(&self, query: ListQuery) -> Result<ListPage, SessionError> {
        let mut page = self.shared.store.list(&query).await?;
        let sessions = page.sessions.iter().map(|summary| summary.id.clone()).collect();
        let live = self.ask(|reply| Query::Summaries { sessions, reply }).await?;
        for (summary, live) in page.sessions.iter_mut().zip(live) {
            if let Some(live) = live {
                *summary = live;
            }
        }
        page.sessions.retain(|summary| query.statuses.is_empty() || query.statuses.contains(&summary.status));
        Ok(page)
    }

    pub(crate) async fn follow(
        &self,
        session: &str,
        after: Option<Cursor>,
    ) -> Result<Option<TurnStream>, SessionError> {
        let joined = self.ask(|reply| Query::Follow { session: session.to_owned(), after, reply }).await?;
        if let Some(joined) = joined {
            return Ok(Some(self.stream(joined)));
        }
        self.summary(session).await.map(|_| None)
    }

    /// The message of a turn, as it stands or as it is kept, and the number of the chunk that follows it.
    pub(crate) async fn message_of_turn(&self, channel: &Arc<TurnChannel>) -> Option<(String, u64)> {
        let live = self.ask(|reply| Query::Message { channel: Arc::clone(channel), reply }).await.ok()?;
        if live.is_some() {
            return live;
        }
        let record = self.shared.store.load(channel.session()).await.ok()??;
        let id = ids::answer_of(channel.turn());
        let message = record.messages.into_iter().rev().find(|message| message.id == id)?;
        Some((message.json, channel.next_seq()))
    }

    pub(crate) async fn audit(
        &self,
        session: &str,
        after: Option<u64>,
        limit: u32,
    ) -> Result<Vec<AuditEntry>, SessionError> {
        let entries = self.shared.store.audit(session, after, limit).await?;
        if entries.is_empty() {
            self.summary(session).await?;
        }
        Ok(entries)
    }

    pub(crate) async fn stats(&self) -> Result<Stats, SessionError> {
        self.ask(|reply| Query::Stats { reply }).await
    }

    pub(crate) async fn ready(&self) -> Result<(), SessionError> {
        if !self.stats().await?.ready {
            return Err(SessionError::unavailable("The host is starting or stopping; calls are not taken now."));
        }
        Ok(self.shared.store.ready().await?)
    }

    /// Waits until commands are taken.
    pub(super) async fn wait_until_ready(&self) {
        // A host that has stopped will never be ready, and its calls say so.
        let _ = self.ask(|reply| Query::Ready { reply }).await;
    }

    pub(crate) async fn shutdown(&self) {
        let (reply, ended) = oneshot::channel();
        if self.shared.messages.send(Message::Shutdown(reply)).is_ok() {
            // An answer that is dropped means that the loop has ended, too.
            let _ = ended.await;
        }
    }
}

impl Joined {
    pub(super) fn fresh(channel: Arc<TurnChannel>) -> Self {
        let part = channel.part();
        Self { channel, part, start: Start::Fresh }
    }
}
