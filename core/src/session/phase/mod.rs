//! The table of commands and statuses: one file per phase.

use crate::cx::Cx;
use crate::input::{Command, CommandBody, Continue, Send};
use crate::record::{Status, Stopping};
use crate::rejection::Rejection;
use crate::session::Session;
use crate::session::writer::After;

mod awaiting_input;
mod busy;
mod ended;
mod idle;
mod preparing;
mod suspended;

/// A command whose outcome depends on the phase.
pub(crate) enum Ask {
    Send(Send),
    Continue(Continue),
    Interrupt,
    Suspend,
}

/// Takes a command in: first what is the same in every phase, then the phase's own.
pub(crate) fn command(session: &mut Session, cx: &mut Cx, command: Command) -> Result<(), Rejection> {
    let id = command.id;
    if session.ending.as_ref().is_some_and(|ending| ending.kind == Stopping::Delete)
        && !matches!(command.body, CommandBody::Delete)
    {
        return Err(session.conflict("it is being deleted."));
    }
    let ask = match command.body {
        CommandBody::Create(_) => {
            return Err(session.conflict("a session of this id exists already; choose another id."));
        }
        CommandBody::Update(update) => return session.update(cx, id, update),
        CommandBody::Close => {
            close(session, cx, id);
            return Ok(());
        }
        CommandBody::Delete => {
            session.delete(cx, id);
            return Ok(());
        }
        CommandBody::Send(send) => {
            if session.repeats(cx, id, &send)? {
                return Ok(());
            }
            Ask::Send(send)
        }
        CommandBody::Continue(given) => Ask::Continue(given),
        CommandBody::Interrupt => Ask::Interrupt,
        CommandBody::Suspend => Ask::Suspend,
    };
    match session.status {
        Status::Preparing => preparing::ask(session, cx, id, ask),
        Status::Idle => idle::ask(session, cx, id, ask),
        Status::Busy => busy::ask(session, cx, id, ask),
        Status::AwaitingInput => awaiting_input::ask(session, cx, id, ask),
        Status::Suspended => suspended::ask(session, cx, id, ask),
        Status::Closed | Status::Failed | Status::Interrupted => ended::ask(session, cx, id, ask),
    }
}

fn close(session: &mut Session, cx: &mut Cx, command: u64) {
    if session.status == Status::Closed {
        if session.writer.is_quiet() {
            return cx.accept(command, session.summary(), None, false);
        }
        return session.write(cx, [After::Reply(command)]);
    }
    session.close(cx, alloc::vec::Vec::from([After::Reply(command)]));
}

/// A command that finds nothing to do.
fn nothing_to_do(session: &Session, cx: &mut Cx, command: u64) {
    cx.accept(command, session.summary(), None, false);
}

/// Joins a command to what is under way already.
fn join(session: &mut Session, command: u64, kind: Stopping) -> bool {
    match &mut session.ending {
        Some(ending) if ending.kind == kind => {
            ending.commands.push(command);
            true
        }
        _ => false,
    }
}
