//! Effects become operations of adapters, at once and each in a task of its own; their answers come back as reports.

use std::sync::Arc;

use super::caught::caught;
use super::message::{Report, Reporter};
use super::{Driver, Ports, convert, convert_agent};
use crate::engine::types::effect::{Approve, ClaimLive, ListDue, LoadSession, RenewLeases};
use crate::engine::types::input::{ClaimedPage, Due, Failure, FailureKind};
use crate::engine::types::{Effect, EffectBody, Outcome};
use crate::manager::ApprovalRequest;
use crate::ports::{Save, StoreError};

/// Runs an operation in a task of its own and reports its outcome; a panic in it is a failure.
pub(super) fn run<F>(reporter: &Reporter, effect: u64, what: &'static str, operation: F) -> tokio::task::AbortHandle
where
    F: Future<Output = Outcome> + Send + 'static,
{
    let reporter = reporter.clone();
    let task = tokio::spawn(async move {
        let outcome = caught(operation).await;
        let outcome = outcome.unwrap_or_else(|panic| Outcome::Failed(convert_agent::broke_down(what, &panic)));
        reporter.report(Report::Completed(effect, outcome));
    });
    task.abort_handle()
}

fn stored<T>(result: Result<T, StoreError>, outcome: impl FnOnce(T) -> Outcome) -> Outcome {
    result.map_or_else(|error| Outcome::Failed(convert_agent::store_failure(&error)), outcome)
}

impl Driver {
    /// Does what the engine asks.
    pub(super) fn dispatch(&mut self, effect: Effect) {
        let Effect { id, session, body } = effect;
        let ports = Arc::clone(&self.ports);
        let reporter = self.reporter();
        match body {
            EffectBody::LoadSession(load) => {
                run(&reporter, id, "store", load_session(ports, session, load));
            }
            EffectBody::ClaimLive(claim) => {
                run(&reporter, id, "store", claim_live(ports, claim));
            }
            EffectBody::RenewLeases(renew) => {
                run(&reporter, id, "store", renew_leases(ports, renew));
            }
            EffectBody::SaveSession(save) => {
                self.saving.insert(id);
                run(&reporter, id, "store", save_session(ports, convert::save_out(save)));
            }
            EffectBody::DeleteSession(delete) => {
                let delete = async move { ports.store.delete(&session, delete.generation).await };
                run(&reporter, id, "store", async move { stored(delete.await, |()| Outcome::Done) });
            }
            EffectBody::ListDue(due) => {
                run(&reporter, id, "store", list_due(ports, due));
            }
            EffectBody::Approve(approve) => {
                run(&reporter, id, "approval callback", ask(ports, approve));
            }
            EffectBody::StartTurn(start) => self.start_turn(id, session, start),
            EffectBody::ContinueTurn(answers) => self.continue_turn(id, session, answers),
            EffectBody::InterruptTurn(agent) => self.interrupt_turn(id, agent.agent),
            EffectBody::DestroyAgent(agent) => {
                self.cut_slices(agent.agent);
                self.runtime.take(Effect { id, session, body: EffectBody::DestroyAgent(agent) });
            }
            body @ (EffectBody::AcquireSandbox(_)
            | EffectBody::ReleaseSandbox(_)
            | EffectBody::DiscardSandbox
            | EffectBody::StartAgent(_)
            | EffectBody::StopAgent(_)) => self.runtime.take(Effect { id, session, body }),
        }
    }

    fn interrupt_turn(&self, id: u64, agent: u64) {
        let running = self.runtime.agent(agent).cloned();
        run(&self.reporter(), id, "agent", async move {
            let Some(running) = running else {
                let message = "The agent is not there any more.".to_owned();
                return Outcome::Failed(Failure { kind: FailureKind::Gone, message });
            };
            match running.interrupt().await {
                Ok(()) => Outcome::Done,
                Err(error) => Outcome::Failed(convert_agent::agent_failure(&error)),
            }
        });
    }
}

async fn load_session(ports: Arc<Ports>, session: String, load: LoadSession) -> Outcome {
    let claimed = ports.store.claim(&session, &load.owner, load.lease_ms).await;
    stored(claimed, |session| Outcome::Loaded(session.map(convert::stored_in)))
}

async fn claim_live(ports: Arc<Ports>, claim: ClaimLive) -> Outcome {
    let claimed = ports.store.claim_live(&claim.owner, claim.lease_ms, claim.after.as_deref(), claim.limit).await;
    stored(claimed, |claimed| {
        let sessions = claimed.sessions.into_iter().map(convert::stored_in).collect();
        Outcome::Claimed(ClaimedPage { sessions, more: claimed.more })
    })
}

async fn renew_leases(ports: Arc<Ports>, renew: RenewLeases) -> Outcome {
    let sessions: Vec<(String, u64)> = renew.sessions.into_iter().map(|held| (held.session, held.generation)).collect();
    stored(ports.store.renew(&renew.owner, renew.lease_ms, &sessions).await, Outcome::Renewed)
}

async fn save_session(ports: Arc<Ports>, save: Save) -> Outcome {
    stored(ports.store.save(save).await, |()| Outcome::Done)
}

async fn list_due(ports: Arc<Ports>, due: ListDue) -> Outcome {
    let found = ports.store.list_due(due.for_ms, due.limit).await;
    stored(found, |due| Outcome::Due(Due { now_ms: due.now_ms, sessions: due.sessions }))
}

async fn ask(ports: Arc<Ports>, approve: Approve) -> Outcome {
    let Some(approver) = &ports.approver else { return Outcome::Verdict(None) };
    let Approve { turn, approval, summary } = approve;
    let session = convert::summary_out(summary);
    let verdict = approver(ApprovalRequest { session, turn, call: convert::pending_out(approval) }).await;
    Outcome::Verdict(verdict.map(convert::verdict_in))
}
