//! Closed, interrupted and failed: only a failed session can be started again.

use crate::cx::Cx;
use crate::record::Status;
use crate::rejection::Rejection;
use crate::session::Session;
use crate::session::phase::{Ask, nothing_to_do};
use crate::session::writer::Then;

pub(crate) fn ask(session: &mut Session, cx: &mut Cx, command: u64, ask: Ask) -> Result<(), Rejection> {
    match ask {
        Ask::Send(send) if session.status == Status::Failed => session.take_send(cx, command, send, Then::Prepare),
        Ask::Send(_) if session.status == Status::Closed => {
            Err(session.conflict("it has ended for good; create a new session."))
        }
        Ask::Send(_) => Err(session.conflict("it cannot be brought back; create a new session.")),
        Ask::Continue(given) => session.continue_turn(cx, command, &given),
        Ask::Suspend => Err(session.conflict("it runs nothing that could be suspended.")),
        Ask::Interrupt => {
            nothing_to_do(session, cx, command);
            Ok(())
        }
    }
}
