//! The order of one session's sandbox and agent operations: as they were emitted, one at a time.

use std::collections::{HashMap, VecDeque};

use crate::engine::types::Effect;

#[derive(Debug, Default)]
struct Chain {
    /// The operation that the next one waits for.
    running: Option<u64>,
    waiting: VecDeque<Effect>,
}

/// See the module. Sessions with nothing under way take no room.
#[derive(Debug, Default)]
pub(super) struct Chains {
    by_session: HashMap<String, Chain>,
    sessions: HashMap<u64, String>,
}

impl Chains {
    /// Takes an operation in; gives it back when it may begin at once.
    pub(super) fn push(&mut self, effect: Effect) -> Option<Effect> {
        let chain = self.by_session.entry(effect.session.clone()).or_default();
        if chain.running.is_some() {
            chain.waiting.push_back(effect);
            return None;
        }
        chain.running = Some(effect.id);
        self.sessions.insert(effect.id, effect.session.clone());
        Some(effect)
    }

    /// An operation is over, or the next one is not to wait for it any longer; gives the one that may begin now.
    pub(super) fn over(&mut self, effect: u64) -> Option<Effect> {
        let session = self.sessions.remove(&effect)?;
        let chain = self.by_session.get_mut(&session)?;
        let Some(next) = chain.waiting.pop_front() else {
            self.by_session.remove(&session);
            return None;
        };
        chain.running = Some(next.id);
        self.sessions.insert(next.id, session);
        Some(next)
    }

    /// Takes operations out that have not begun and for which `unwanted` holds.
    pub(super) fn take(&mut self, session: &str, unwanted: impl Fn(&Effect) -> bool) -> Vec<Effect> {
        let Some(chain) = self.by_session.get_mut(session) else { return Vec::new() };
        let (taken, kept) = chain.waiting.drain(..).partition(|effect| unwanted(effect));
        chain.waiting = kept;
        Vec::from(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::types::EffectBody;

    fn effect(id: u64, session: &str) -> Effect {
        Effect { id, session: session.to_owned(), body: EffectBody::DiscardSandbox }
    }

    #[test]
    fn one_at_a_time_for_a_session_and_side_by_side_for_several() {
        let mut chains = Chains::default();
        assert_eq!(chains.push(effect(1, "a")).map(|effect| effect.id), Some(1));
        assert_eq!(chains.push(effect(2, "a")), None);
        assert_eq!(chains.push(effect(3, "b")).map(|effect| effect.id), Some(3));
        assert_eq!(chains.push(effect(4, "a")), None);
        assert_eq!(chains.take("a", |effect| effect.id == 2).len(), 1);
        assert_eq!(chains.over(1).map(|effect| effect.id), Some(4));
        assert_eq!(chains.over(1), None);
        assert_eq!(chains.over(4), None);
        assert_eq!(chains.over(3), None);
        assert!(chains.by_session.is_empty() && chains.sessions.is_empty());
    }
}
