//! Idle: ready for a message.

use alloc::vec::Vec;

use crate::cx::Cx;
use crate::record::Stopping;
use crate::rejection::Rejection;
use crate::session::Session;
use crate::session::phase::{Ask, join, nothing_to_do};
use crate::session::stopping::Cause;
use crate::session::writer::Then;

pub(crate) fn ask(session: &mut Session, cx: &mut Cx, command: u64, ask: Ask) -> Result<(), Rejection> {
    match ask {
        Ask::Send(_) if session.turn.is_some() => {
            Err(session.conflict("a message waits already while the session is being suspended."))
        }
        // A message during a suspension waits, and brings the session back.
        Ask::Send(send) if session.ending.is_some() => session.take_send(cx, command, send, Then::Prepare),
        Ask::Send(send) => session.take_send(cx, command, send, Then::Prompt),
        Ask::Continue(given) => session.continue_turn(cx, command, &given),
        Ask::Interrupt if session.turn.is_some() => {
            session.cancel_waiter(cx, "The message was cancelled before the agent was ready.");
            session.write(cx, [crate::session::writer::After::Reply(command)]);
            Ok(())
        }
        Ask::Interrupt => {
            nothing_to_do(session, cx, command);
            Ok(())
        }
        Ask::Suspend => {
            if !join(session, command, Stopping::Suspend) {
                session.begin_suspend(cx, Vec::from([command]), Cause::Asked);
            }
            Ok(())
        }
    }
}
