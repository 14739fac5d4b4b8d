//! Awaiting input: the turn waits for answers as long as it takes.

use alloc::vec::Vec;

use crate::cx::Cx;
use crate::record::Stopping;
use crate::rejection::Rejection;
use crate::session::Session;
use crate::session::phase::{Ask, join};
use crate::session::stopping::Cause;

pub(crate) fn ask(session: &mut Session, cx: &mut Cx, command: u64, ask: Ask) -> Result<(), Rejection> {
    let interrupting = session.ending.as_ref().is_some_and(|ending| ending.kind == Stopping::Interrupt);
    match ask {
        Ask::Send(_) => Err(session.conflict("its turn waits for an answer; answer first, or interrupt the turn.")),
        Ask::Continue(_) | Ask::Suspend if interrupting => Err(session.conflict("its turn is being cut short.")),
        Ask::Continue(given) => session.continue_turn(cx, command, &given),
        Ask::Interrupt if session.ending.is_some() && !interrupting => {
            Err(session.conflict("it is being suspended; interrupt it when that is done."))
        }
        Ask::Interrupt => {
            if !join(session, command, Stopping::Interrupt) {
                session.begin_interrupt(cx, Vec::from([command]), Cause::Asked);
            }
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
