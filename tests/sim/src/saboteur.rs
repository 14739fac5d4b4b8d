//! Planted faults, one per invariant: each changes what the engine gives out, as a broken engine would. The simulator
//! has to find every one of them.

use tackroom_core::effect::EffectBody;
use tackroom_core::event::{Event, Warned};
use tackroom_core::step::Step;

/// A planted fault, named by the invariant that it breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// 1: a turn is started twice.
    TwoTurns,
    /// 2: a prompt leaves before the write it depends on is durable.
    PromptTooEarly,
    /// 3: a message is left out of a write that acknowledges it.
    LostMessage,
    /// 4: a lease is acquired beyond the capacity.
    TooManyLeases,
    /// 5: a resume state shows in an event.
    ShownSecret,
    /// 6: answers are delivered twice.
    AnsweredTwice,
    /// 7: a caller never gets a reply.
    NoReply,
    /// 8: a lease is never given back.
    LeakedLease,
    /// 9: the host is told no deadline.
    NoDeadline,
    /// 10: a fenced host goes on writing.
    WritesFenced,
    /// 11: a chunk is counted and not shown.
    HiddenChunk,
}

/// Every planted fault with the invariant that must catch it.
pub const ALL: [(Fault, u8); 11] = [
    (Fault::TwoTurns, 1),
    (Fault::PromptTooEarly, 2),
    (Fault::LostMessage, 3),
    (Fault::TooManyLeases, 4),
    (Fault::ShownSecret, 5),
    (Fault::AnsweredTwice, 6),
    (Fault::NoReply, 7),
    (Fault::LeakedLease, 8),
    (Fault::NoDeadline, 9),
    (Fault::WritesFenced, 10),
    (Fault::HiddenChunk, 11),
];

/// Changes a step as the fault would, now and then.
pub fn sabotage(fault: Fault, step: &mut Step, rng: &mut fastrand::Rng) {
    let rarely = rng.u8(..8) == 0;
    match fault {
        Fault::TwoTurns => repeat(step, |body| matches!(body, EffectBody::StartTurn(_))),
        Fault::AnsweredTwice => repeat(step, |body| matches!(body, EffectBody::ContinueTurn(_))),
        Fault::LostMessage if rarely => {
            for effect in &mut step.effects {
                if let EffectBody::SaveSession(save) = &mut effect.body {
                    save.messages.retain(|message| !message.json.contains("\"role\":\"user\""));
                }
            }
        }
        Fault::ShownSecret => {
            let secret = step.effects.iter().find_map(|effect| match &effect.body {
                EffectBody::StartAgent(start) => start.resume.clone(),
                _ => None,
            });
            if let Some(secret) = secret {
                let warned = Warned { session: String::new(), action: "start".into(), message: secret };
                step.events.push(Event::Warned(warned));
            }
        }
        Fault::NoReply if rarely => step.events.retain(|event| !matches!(event, Event::Accepted(_))),
        Fault::LeakedLease if rarely => {
            step.effects.retain(|effect| !matches!(effect.body, EffectBody::ReleaseSandbox(_)));
        }
        Fault::NoDeadline => step.deadline = None,
        Fault::HiddenChunk if rarely => {
            for event in &mut step.events {
                if let Event::ChunksInjected(injected) = event {
                    injected.chunks.truncate(injected.chunks.len().saturating_sub(1));
                }
            }
        }
        // The others are played by the world, which knows more than one step.
        _ => {}
    }
}

fn repeat(step: &mut Step, wanted: impl Fn(&EffectBody) -> bool) {
    let mut again: Vec<_> = step.effects.iter().filter(|effect| wanted(&effect.body)).cloned().collect();
    for effect in &mut again {
        effect.id += 1_000_000_000;
    }
    step.effects.extend(again);
}
