//! What has to hold of a session after the kill: everything acknowledged is there, once, and it goes on.

use std::collections::HashSet;

use serde_json::Value;
use tackroom_kill::{Api, Heard, Sent, waiting};

use crate::books::{Book, Books, Fate, Log};

/// How many acknowledged messages of a session are sent again under their keys.
const REPEATED: usize = 3;

/// Looks at a session, answers what it waits for, repeats what was sent, and gives it another message.
pub(crate) fn session(api: Api, books: &Books, book: &Book) -> Result<(), String> {
    let id = &book.id;
    let found = api.settled(id)?;
    let mut log = book.log();
    status(id, &found, &log)?;
    conversation(id, &found, &log)?;
    pause(id, &found, &log)?;
    audit(api, id, &log)?;
    repeat_acknowledged(api, id, &log, books)?;
    log.waits.clear();
    let allowed = api.answer_all(id)?;
    log.allowed += allowed.len();
    repeat_unknown(api, id, &mut log, books)?;
    log.allowed += api.answer_all(id)?.len();
    goes_on(api, id, &mut log, books)?;
    let found = api.settled(id)?;
    conversation(id, &found, &log)?;
    if found["status"] != "idle" {
        return Err(format!("{id} is {} after another message: {}", found["status"], found["error"]));
    }
    Ok(())
}

fn status(id: &str, found: &Value, log: &Log) -> Result<(), String> {
    let status = found["status"].as_str().unwrap_or_default();
    let right = match status {
        "idle" | "suspended" | "awaiting-input" => true,
        // Nothing was kept of a session whose agent was not yet there.
        "failed" => !log.has_finished,
        _ => false,
    };
    if right { Ok(()) } else { Err(format!("{id} came back {status}: {}", found["error"])) }
}

/// The texts of the user's messages, in order.
fn texts(found: &Value) -> Vec<String> {
    let messages = found["messages"].as_array().cloned().unwrap_or_default();
    let users = messages.iter().filter(|message| message["role"] == "user");
    let text = |message: &Value| {
        let parts = message["parts"].as_array().cloned().unwrap_or_default();
        parts.iter().filter_map(|part| part["text"].as_str()).collect::<String>()
    };
    users.map(text).collect()
}

fn conversation(id: &str, found: &Value, log: &Log) -> Result<(), String> {
    let texts = texts(found);
    let mut known = HashSet::new();
    let mut taken = Vec::new();
    for message in &log.messages {
        known.insert(message.text.as_str());
        let places = texts.iter().enumerate().filter(|(_, text)| **text == message.text).map(|(at, _)| at);
        let places = places.collect::<Vec<_>>();
        let right = match message.fate {
            Fate::Taken { .. } => places.len() == 1,
            Fate::Unknown => places.len() < 2,
            Fate::Refused => places.is_empty(),
        };
        if !right {
            let (text, fate) = (&message.text, &message.fate);
            return Err(format!("{id}: {text:?}, {fate:?}, stands at {places:?} of {} messages", texts.len()));
        }
        if let (Fate::Taken { at, .. }, Some(place)) = (&message.fate, places.first()) {
            taken.push((message, *at, *place));
        }
    }
    // One that was acknowledged before another was sent stands before it.
    for (first, at, place) in &taken {
        if let Some((second, ..)) = taken.iter().find(|(second, _, later)| at < &second.sent && later < place) {
            return Err(format!("{id}: {:?} stands before {:?}, which was first", second.text, first.text));
        }
    }
    match texts.iter().find(|text| !known.contains(text.as_str())) {
        None => Ok(()),
        Some(stray) => Err(format!("{id}: nobody sent {stray:?}")),
    }
}

fn pause(id: &str, found: &Value, log: &Log) -> Result<(), String> {
    let open = waiting(found, |decided| decided.is_none());
    for waits in &log.waits {
        if !open.iter().any(|(open, _)| open == waits) {
            return Err(format!("{id} waited for {waits}, and now for {open:?}, being {}", found["status"]));
        }
    }
    Ok(())
}

fn audit(api: Api, id: &str, log: &Log) -> Result<(), String> {
    let entries = api.audit(id).map_err(|error| error.to_string())?;
    for given in log.answers.iter().filter(|given| given.acknowledged) {
        let of_id = |entry: &&Value| {
            (entry["approvalId"] == given.id.as_str() || entry["toolCallId"] == given.id.as_str())
                && entry["who"] == "person"
        };
        let found = entries.iter().filter(of_id).collect::<Vec<_>>();
        let verdict = match (given.id.contains("approval"), given.yes) {
            (false, _) => "result",
            (true, true) => "allow",
            (true, false) => "deny",
        };
        if found.len() != 1 || found[0]["verdict"] != verdict {
            return Err(format!("{id}: {verdict} of {} was acknowledged, and the audit log has {found:?}", given.id));
        }
    }
    Ok(())
}

/// A message that was acknowledged is the same turn when it is sent again.
fn repeat_acknowledged(api: Api, id: &str, log: &Log, books: &Books) -> Result<(), String> {
    let round = books.round.load(std::sync::atomic::Ordering::SeqCst);
    for message in log.messages.iter().rev().filter(|message| message.round == round).take(REPEATED) {
        let Fate::Taken { turn, .. } = &message.fate else { continue };
        match api.send(id, &message.text, &message.key).map_err(|error| error.to_string())? {
            Sent::Turn(again, stream) if again == *turn => {
                // Its end: the pause, if it waits.
                Heard::read(stream).map_err(|error| format!("{id}: the turn {turn} sent again: {error}"))?;
            }
            other => return Err(format!("{id}: {:?} sent again as {turn} was answered {other:?}", message.text)),
        }
    }
    Ok(())
}

/// A message of which nothing was heard is there once when it is sent again, whether it had been taken or not.
fn repeat_unknown(api: Api, id: &str, log: &mut Log, books: &Books) -> Result<(), String> {
    for at in 0..log.messages.len() {
        if log.messages[at].fate != Fate::Unknown {
            continue;
        }
        log.allowed += api.answer_all(id)?.len();
        let message = &mut log.messages[at];
        match api.send(id, &message.text, &message.key).map_err(|error| error.to_string())? {
            Sent::Turn(turn, stream) => {
                message.fate = Fate::Taken { at: books.tick(), turn };
                Heard::read(stream).map_err(|error| format!("{id}: {:?} sent again: {error}", message.text))?;
            }
            other => return Err(format!("{id}: {:?} sent again was answered {other:?}", message.text)),
        }
    }
    Ok(())
}

/// Another message is answered. The first may still bring an undelivered one along, which may be one that fails.
fn goes_on(api: Api, id: &str, log: &mut Log, books: &Books) -> Result<(), String> {
    for last in [false, true] {
        let (text, key) = (format!("[fast] {}", books.name("m")), books.name("key"));
        let sent = books.tick();
        let round = books.round.load(std::sync::atomic::Ordering::SeqCst);
        let heard = match api.send(id, &text, &key).map_err(|error| error.to_string())? {
            Sent::Turn(turn, stream) => {
                let fate = Fate::Taken { at: books.tick(), turn };
                log.messages.push(crate::books::Message { text, key, round, sent, fate });
                Heard::read(stream).map_err(|error| format!("{id}: another message: {error}"))?
            }
            other => return Err(format!("{id}: another message was answered {other:?}")),
        };
        log.allowed += api.answer_all(id)?.len();
        if last && !(heard.finished && heard.errors.is_empty()) {
            return Err(format!("{id}: another message came to no good end: {heard:?}"));
        }
    }
    log.has_finished = true;
    Ok(())
}
