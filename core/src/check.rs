//! The numbered invariants of the engine, as the architecture page lists them.

use alloc::format;
use alloc::string::String;

use crate::cx::{Cx, Kind};
use crate::record::Status;
use crate::session::Session;
use crate::session::runtime::Runtime;
use crate::session::turn::TurnState;
use crate::timers::TimerKey;

fn holds(condition: bool, number: u8, session: &str, words: &str) -> Result<(), String> {
    if condition { Ok(()) } else { Err(format!("invariant {number} is broken for {session:?}: {words}")) }
}

/// Checks what can be seen in one session.
pub(crate) fn session(session: &Session, cx: &Cx) -> Result<(), String> {
    let id = session.id.as_str();
    let slices = cx.outstanding.values().filter(|o| o.session == id && o.kind == Kind::Slice).count();
    holds(slices <= 1, 1, id, "at most one turn runs in a session")?;
    let running = session.turn.as_ref().is_some_and(|turn| matches!(turn.state, TurnState::Running(_)));
    holds(running || slices == 0, 1, id, "no slice runs without its turn")?;
    let durable = session.turn.as_ref().is_none_or(|turn| turn.durable && session.writer.is_durable());
    holds(!running || durable, 2, id, "nothing is given to the agent before it is durable")?;
    let lease = session.runtime.lease();
    let needs = matches!(session.status, Status::Idle | Status::Busy | Status::AwaitingInput);
    holds(!needs || lease.is_some(), 4, id, "a live session holds a lease")?;
    let keeps = session.status.is_live() || !session.writer.is_quiet() || session.ending.is_some();
    holds(keeps || session.runtime.is_none(), 4, id, "a session that is not live holds no lease")?;
    if let Some(lease) = lease {
        let counted = cx.slots.held.get(&lease).is_some_and(|slot| slot.session == id);
        holds(counted, 4, id, "a lease held is counted")?;
    }
    if session.status == Status::AwaitingInput {
        let paused = session.turn.as_ref().is_some_and(|turn| {
            !turn.pending.is_empty() && matches!(turn.state, TurnState::Paused | TurnState::Answered)
        });
        holds(paused, 7, id, "a session that awaits input has something to answer")?;
    }
    let queued = cx.slots.queue.iter().any(|other| other == id);
    holds(queued == (session.runtime == Runtime::Queued), 8, id, "the queue holds those who wait for a lease")
}

/// Checks what can be seen in the whole host.
pub(crate) fn host(cx: &Cx) -> Result<(), String> {
    if let Some(capacity) = cx.slots.capacity {
        holds(cx.slots.held.len() <= capacity as usize, 4, "", "leases never exceed the capacity")?;
    }
    for id in cx.outstanding.keys() {
        holds(cx.timers.is_set(&TimerKey::Effect(*id)), 9, "", "every effect has a deadline")?;
    }
    Ok(())
}
