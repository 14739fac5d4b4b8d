//! Preparing: one message or final answer may wait for the agent.

use crate::cx::Cx;
use crate::record::Stopping;
use crate::rejection::Rejection;
use crate::session::Session;
use crate::session::phase::Ask;
use crate::session::writer::{After, Then};

pub(crate) fn ask(session: &mut Session, cx: &mut Cx, command: u64, ask: Ask) -> Result<(), Rejection> {
    match ask {
        Ask::Send(_) if session.turn.is_some() => {
            let answered = session.turn.as_ref().is_some_and(|turn| !turn.pending.is_empty());
            let message = if answered {
                "its turn waits for answers; give them first."
            } else {
                "a message waits for its agent already; send the next one after that turn."
            };
            Err(session.conflict(message))
        }
        Ask::Send(send) => session.take_send(cx, command, send, Then::Prepare),
        Ask::Continue(given) => session.continue_turn(cx, command, &given),
        Ask::Interrupt => {
            session.cancel_waiter(cx, "The message was cancelled before the agent was ready.");
            if session.runtime.is_live() && session.ending.as_ref().is_none_or(|e| e.kind != Stopping::Suspend) {
                session.settle_ready(cx);
            }
            session.write(cx, [After::Reply(command)]);
            Ok(())
        }
        Ask::Suspend => Err(session.conflict("it is being prepared; suspend it when it is idle, or close it.")),
    }
}
