//! Clients that use sessions until the server is gone, and write down what they heard.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use fastrand::Rng;
use tackroom_kill::{Api, Heard, Response, Sent};

use crate::books::{Book, Books, Fate, Given, Message};

/// What a message asks the agent to play, each as likely as the others.
const KINDS: [&str; 12] =
    ["fast", "fast", "fast", "slow", "slow", "tool", "ask", "ask", "two", "question", "fail", "exit"];

/// A client. It ends when the server is gone, or when it is told to stop.
pub(crate) struct Client<'a> {
    pub(crate) api: Api,
    pub(crate) books: &'a Books,
    pub(crate) dice: Rng,
}

impl Client<'_> {
    pub(crate) fn run(mut self) {
        while !self.books.stop.load(Ordering::SeqCst) {
            if let Err(error) = self.act() {
                // Only the kill may break a connection; it is told to the clients before it happens.
                if !self.books.stop.load(Ordering::SeqCst) {
                    self.books.problem(format!("a connection broke before the kill: {error}"));
                }
                return;
            }
        }
    }

    fn act(&mut self) -> io::Result<()> {
        let books = self.books.all();
        let roll = self.dice.u32(..100);
        let Some(book) = self.dice.choice(&books).filter(|_| roll >= 6) else { return self.create() };
        match roll {
            6..55 => self.send(book),
            55..75 => {
                let waits = books.iter().find(|book| !book.log().waits.is_empty());
                self.answer(waits.unwrap_or(book))
            }
            75..85 => self.follow(book),
            85..93 => {
                let status = self.api.command(&book.id, "suspend")?;
                self.expect(&book.id, "suspend", status, &[200, 409]);
                Ok(())
            }
            _ => self.interrupt(book),
        }
    }

    fn expect(&self, id: &str, what: &str, status: u16, right: &[u16]) {
        if !right.contains(&status) {
            self.books.problem(format!("{id}: {what} was answered {status}, not one of {right:?}"));
        }
    }

    fn create(&mut self) -> io::Result<()> {
        let id = self.books.name("s");
        let status = self.api.create(&id)?;
        self.expect(&id, "create", status, &[201]);
        if status == 201 {
            self.books.add(id);
        }
        Ok(())
    }

    fn send(&mut self, book: &Arc<Book>) -> io::Result<()> {
        let kind = self.dice.choice(KINDS).unwrap_or("fast");
        let text = format!("[{kind}] {}", self.books.name("m"));
        let key = self.books.name("key");
        let round = self.books.round.load(Ordering::SeqCst);
        let (at, given_up) = {
            let mut log = book.log();
            let (text, key) = (text.clone(), key.clone());
            log.messages.push(Message { text, key, round, sent: self.books.tick(), fate: Fate::Unknown });
            (log.messages.len() - 1, log.given_up)
        };
        match self.api.send(&book.id, &text, &key)? {
            Sent::Turn(turn, stream) => {
                book.log().messages[at].fate = Fate::Taken { at: self.books.tick(), turn };
                self.listen(book, stream, given_up)
            }
            Sent::Waits => {
                self.books.problem(format!("{}: a message was answered 202", book.id));
                Ok(())
            }
            Sent::Refused(status, body) => {
                if status != 409 {
                    self.books.problem(format!("{}: a message was answered {status}: {body}", book.id));
                }
                book.log().messages[at].fate = Fate::Refused;
                Ok(())
            }
        }
    }

    /// Reads a stream to its end, or leaves early.
    fn listen(&mut self, book: &Book, stream: Response, given_up: u64) -> io::Result<()> {
        if self.dice.u32(..100) < 15 {
            return leave(stream, self.dice.usize(..8));
        }
        let heard = Heard::read(stream)?;
        let mut log = book.log();
        if heard.finished && heard.asked.is_empty() && heard.errors.is_empty() {
            log.has_finished = true;
        }
        if !heard.asked.is_empty() && heard.finished && heard.errors.is_empty() && log.given_up == given_up {
            log.waits = heard.asked;
        }
        Ok(())
    }

    fn answer(&mut self, book: &Arc<Book>) -> io::Result<()> {
        let (mut ids, given_up, from) = {
            let mut log = book.log();
            let ids = std::mem::take(&mut log.waits);
            let kept = if ids.len() > 1 && self.dice.bool() { ids[1..].to_vec() } else { Vec::new() };
            log.waits = kept;
            (ids, log.given_up, log.answers.len())
        };
        let part = !book.log().waits.is_empty();
        ids.truncate(if part { 1 } else { ids.len() });
        if ids.is_empty() {
            return Ok(());
        }
        let answers = ids.into_iter().map(|id| (id, self.dice.u32(..3) > 0)).collect::<Vec<_>>();
        {
            let mut log = book.log();
            log.allowed += answers.iter().filter(|(_, yes)| *yes).count();
            log.answers.extend(answers.iter().map(|(id, yes)| Given {
                id: id.clone(),
                yes: *yes,
                acknowledged: false,
            }));
        }
        let acknowledge = || {
            let mut log = book.log();
            for given in &mut log.answers[from..] {
                given.acknowledged |= answers.iter().any(|(id, _)| *id == given.id);
            }
        };
        match self.api.answer(&book.id, &answers)? {
            Sent::Turn(_, stream) => {
                acknowledge();
                self.listen(book, stream, given_up)
            }
            Sent::Waits => {
                acknowledge();
                Ok(())
            }
            Sent::Refused(status, body) => {
                // Somebody else may have answered last, or given the pause up.
                let meanwhile = book.log().given_up != given_up;
                if status == 200 {
                    acknowledge();
                } else if !meanwhile {
                    self.books.problem(format!("{}: {answers:?} were answered {status}: {body}", book.id));
                }
                Ok(())
            }
        }
    }

    fn follow(&mut self, book: &Book) -> io::Result<()> {
        let stream = self.api.follow(&book.id)?;
        self.expect(&book.id, "a follower", stream.status, &[200, 204]);
        leave(stream, self.dice.usize(..40))
    }

    fn interrupt(&self, book: &Book) -> io::Result<()> {
        book.give_up();
        let done = self.api.command(&book.id, "interrupt");
        // Whatever began meanwhile may have been given up too.
        book.give_up();
        self.expect(&book.id, "interrupt", done?, &[200, 409]);
        Ok(())
    }
}

/// Reads some events and goes away.
fn leave(stream: Response, events: usize) -> io::Result<()> {
    for event in stream.events().take(events) {
        event?;
    }
    Ok(())
}
