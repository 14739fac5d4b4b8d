//! `tackroom chat`: a conversation in the terminal, streamed, with approvals and questions asked as they come.

mod ask;
mod show;
mod terminal;

use hyper::Method;
use serde_json::{Value, json};

use crate::cli::Chat;
use crate::client::{Client, Events};
use crate::connect::Connection;
use crate::exit::Failure;
use crate::sessions::{path, plain};
use show::Shower;
use terminal::{Line, Terminal};

const HELP: &str = "Say something, or: /interrupt gives a waiting approval up, /suspend stops the agent until you come \
                    back, /close ends the session, /quit leaves it as it is. Ctrl-C cuts an answer short.";

pub(crate) async fn run(chat: Chat) -> Result<(), Failure> {
    let connection = Connection::open(&chat.at).await?;
    let outcome = talk(&connection.client, &chat).await;
    connection.end().await;
    outcome
}

async fn talk(client: &Client, chat: &Chat) -> Result<(), Failure> {
    let mut terminal = Terminal::open();
    let session = match &chat.session {
        Some(id) => client.json(Method::GET, &path(id), None).await?,
        None => client.json(Method::POST, "/v1/sessions", Some(&new_session(chat))).await?,
    };
    let id = session["id"].as_str().unwrap_or_default().to_owned();
    let mut talk = Talk { client: client.clone(), path: path(&id) };
    if let Some(message) = &chat.message {
        talk.say(&mut terminal, message).await?;
        return Ok(());
    }
    terminal.note(&format!("Session {id}. {HELP}"));
    // What a session that is come back to still waits for, or is just saying.
    if let Some(events) = client.events(Method::GET, &format!("{}/turn", talk.path), None).await? {
        talk.listen(&mut terminal, events).await?;
    }
    talk.settle(&mut terminal).await?;
    loop {
        let line = match terminal.ask("> ").await {
            Line::Text(line) => line,
            Line::End | Line::Interrupt => break,
        };
        let outcome = match line.trim() {
            "" => continue,
            "/quit" | "/exit" => break,
            "/help" => {
                terminal.note(HELP);
                continue;
            }
            "/interrupt" => talk.order(&mut terminal, "interrupt").await,
            "/suspend" => talk.order(&mut terminal, "suspend").await,
            "/close" => {
                talk.order(&mut terminal, "close").await?;
                break;
            }
            order if order.starts_with('/') => {
                terminal.note(&format!("There is no {order}. {HELP}"));
                continue;
            }
            message => talk.say(&mut terminal, message).await,
        };
        // A refusal is told, and the conversation goes on.
        if let Err(failure) = outcome {
            terminal.note(&failure.message);
        }
    }
    terminal.note(&format!("Come back with: tackroom chat --session {id}"));
    Ok(())
}

fn new_session(chat: &Chat) -> Value {
    let mut session = json!({ "metadata": { "from": "tackroom chat" } });
    let directory = std::env::current_dir().ok();
    if let Some(directory) = directory.as_ref().and_then(|path| path.to_str()) {
        session["metadata"]["directory"] = directory.into();
    }
    for (name, value) in [("model", &chat.model), ("permissionMode", &chat.permission_mode)] {
        if let Some(value) = value {
            session[name] = value.as_str().into();
        }
    }
    session
}

struct Talk {
    client: Client,
    path: String,
}

impl Talk {
    async fn say(&mut self, terminal: &mut Terminal, message: &str) -> Result<(), Failure> {
        let body = json!({ "message": message });
        let events = self.client.events(Method::POST, &format!("{}/messages", self.path), Some(&body)).await?;
        if let Some(events) = events {
            self.listen(terminal, events).await?;
        }
        self.settle(terminal).await
    }

    async fn order(&mut self, terminal: &mut Terminal, order: &str) -> Result<(), Failure> {
        let session = self.client.json(Method::POST, &format!("{}/{order}", self.path), None).await?;
        terminal.note(&format!("The session is {}.", session["status"].as_str().unwrap_or("?")));
        Ok(())
    }

    /// Shows a stream to its end; Ctrl-C cuts the turn short, and its end is shown too.
    async fn listen(&mut self, terminal: &mut Terminal, mut events: Events) -> Result<(), Failure> {
        let mut shower = Shower::default();
        loop {
            tokio::select! {
                event = events.next() => match event? {
                    Some(event) => terminal.write(&shower.show(&event)),
                    None => break,
                },
                () = terminal::interrupted() => self.order(terminal, "interrupt").await?,
            }
        }
        terminal.write(&shower.end());
        Ok(())
    }

    /// Asks for what the turn waits for, until it waits no more.
    async fn settle(&mut self, terminal: &mut Terminal) -> Result<(), Failure> {
        loop {
            let session = self.client.json(Method::GET, &self.path, None).await?;
            if session["status"] == "failed"
                && let Some(message) = session["error"]["message"].as_str()
            {
                terminal.note(&plain(message));
            }
            let answers = ask::answers(terminal, &session["pendingInput"]).await;
            if answers.is_empty() {
                return Ok(());
            }
            let body = json!({ "answers": answers, "who": std::env::var("USER").unwrap_or_default() });
            let events = self.client.events(Method::POST, &format!("{}/answers", self.path), Some(&body)).await?;
            if let Some(events) = events {
                self.listen(terminal, events).await?;
            }
        }
    }
}
