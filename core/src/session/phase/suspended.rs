//! Suspended: nothing runs; the next message or the last answer brings the session back.

use crate::cx::Cx;
use crate::rejection::Rejection;
use crate::session::Session;
use crate::session::phase::{Ask, nothing_to_do};
use crate::session::turn_end::TurnEnd;
use crate::session::writer::{After, Then};

pub(crate) fn ask(session: &mut Session, cx: &mut Cx, command: u64, ask: Ask) -> Result<(), Rejection> {
    match ask {
        Ask::Send(_) if session.turn.is_some() => {
            Err(session.conflict("its turn waits for an answer; answer first, or interrupt the turn."))
        }
        Ask::Send(send) => session.take_send(cx, command, send, Then::Prepare),
        Ask::Continue(given) => session.continue_turn(cx, command, &given),
        Ask::Interrupt if session.turn.is_some() => {
            session.audit_given_up(cx);
            let end = TurnEnd::Cut { reason: "interrupted".into(), error: None };
            let ended = session.end_turn(cx, end);
            session.write(cx, ended.into_iter().chain([After::Reply(command)]));
            Ok(())
        }
        Ask::Interrupt | Ask::Suspend => {
            nothing_to_do(session, cx, command);
            Ok(())
        }
    }
}
