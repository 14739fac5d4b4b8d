//! Busy: a turn is under way, or its approvals are being decided.

use alloc::vec::Vec;

use crate::cx::Cx;
use crate::record::Stopping;
use crate::rejection::Rejection;
use crate::session::Session;
use crate::session::phase::{Ask, join};
use crate::session::stopping::Cause;

pub(crate) fn ask(session: &mut Session, cx: &mut Cx, command: u64, ask: Ask) -> Result<(), Rejection> {
    match ask {
        Ask::Send(_) => Err(session.conflict("a turn is under way; wait for its end or interrupt it.")),
        Ask::Continue(given) if session.ending.is_none() => session.continue_turn(cx, command, &given),
        Ask::Continue(_) => Err(session.conflict("its turn is being cut short.")),
        Ask::Interrupt => {
            if !join(session, command, Stopping::Interrupt) {
                session.begin_interrupt(cx, Vec::from([command]), Cause::Asked);
            }
            Ok(())
        }
        Ask::Suspend => Err(session.conflict("a turn is under way; interrupt it first, or wait for its end.")),
    }
}
