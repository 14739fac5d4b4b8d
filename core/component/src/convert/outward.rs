//! From the engine to the contract: everything that a host is given.

use super::{Convert, engine, record, variant, wit};

variant!(engine::record => wit::session: Status {
    Preparing, Idle, Busy, AwaitingInput, Suspended, Closed, Failed, Interrupted,
});
record!(engine::record => wit::session: Usage { input_tokens, output_tokens, total_tokens, cost_micro_usd });
record!(engine::record => wit::session: TurnError { code, message });
record!(engine::record => wit::session: Settings { working_directory, model, permission_mode, mcp_servers });
variant!(engine::record => wit::session: PendingKind { Approval, Result });
record!(engine::record => wit::session: Decision { approved, reason });
record!(engine::record => wit::session: PendingInput { kind, approval_id, tool_call_id, tool_name, input, decision });
variant!(engine::record => wit::session: Stopping { Interrupt, Suspend, Close, Delete });
record!(engine::record => wit::session: Summary {
    id, status, metadata, settings, created_at_ms, updated_at_ms, suspended_at_ms, turns, usage, error, pending,
    message_count, turn, revision, metadata_revision, stopping, degraded,
});
record!(engine::record => wit::session: StoredMessage { index, id, json });
record!(engine::record => wit::session: AuditEntry {
    seq, at_ms, turn, approval_id, tool_call_id, tool_name, who, verdict, reason, rule,
});
variant!(engine::record => wit::session: AuditWho { Person(value), Approver, Kept, Engine });
variant!(engine::rejection => wit::rejection: Rejection {
    NotFound(value), Conflict(value), Capacity(value), Invalid(value), Store(value), Unavailable(value),
});
record!(engine::rejection => wit::rejection: Conflict { session, status, message });
record!(engine::rejection => wit::rejection: Invalid { field, message });
record!(engine::limits => wit::limits: Config {
    epoch, owner, capacity, faulted, approver, idle_timeout_ms, close_suspended_after_ms, turn_timeout_ms,
    suspend_idle_when_full, suspend_waiting_when_full, limits,
});
record!(engine::limits => wit::limits: Limits {
    acquire_timeout_ms, start_timeout_ms, stop_timeout_ms, interrupt_timeout_ms, store_timeout_ms,
    acknowledge_timeout_ms, slice_timeout_ms, approve_timeout_ms, release_timeout_ms, shutdown_timeout_ms, lease_ms,
    renew_every_ms, due_every_ms, partial_save_ms, retry_first_ms, retry_longest_ms, message_bytes, answer_bytes,
    message_parts, chunk_bytes, metadata_bytes, setting_bytes, answer_input_bytes, pending, idempotency_keys,
    key_bytes, kept_answers, replay_chunks, sessions, tick_work, claim_page,
});
variant!(engine::input => wit::input: AnswerBody { Allow(value), Deny(value), Result(value) });
record!(engine::input => wit::input: Allow { reason, edited_input });
record!(engine::input => wit::input: Deny { reason });
record!(engine::input => wit::input: ResultBody { output, is_error });
record!(engine::effect => wit::effect: Effect { id, session, body });
variant!(engine::effect => wit::effect: EffectBody {
    LoadSession(value), ClaimLive(value), RenewLeases(value), SaveSession(value), DeleteSession(value),
    ListDue(value), AcquireSandbox(value), ReleaseSandbox(value), DiscardSandbox, StartAgent(value), StartTurn(value),
    ContinueTurn(value), InterruptTurn(value), StopAgent(value), DestroyAgent(value), Approve(value),
});
record!(engine::effect => wit::effect: LoadSession { owner, lease_ms });
record!(engine::effect => wit::effect: ClaimLive { owner, lease_ms, after, limit });
record!(engine::effect => wit::effect: HeldSession { session, generation });
record!(engine::effect => wit::effect: RenewLeases { owner, lease_ms, sessions });
record!(engine::effect => wit::effect: Save {
    write_id, generation, revision, summary, engine_state, messages, tail_from, audit, resume, owner, lease_ms,
});
variant!(engine::effect => wit::effect: ResumeChange { Keep, Replace(value), Drop });
record!(engine::effect => wit::effect: DeleteSession { generation });
record!(engine::effect => wit::effect: ListDue { for_ms, limit });
record!(engine::effect => wit::effect: AcquireSandbox { resume, generation });
record!(engine::effect => wit::effect: ReleaseSandbox { lease, keep });
record!(engine::effect => wit::effect: StartAgent { lease, generation, settings, metadata, resume });
record!(engine::effect => wit::effect: StartTurn { agent, turn, prompt_id, text, files, model });
record!(engine::effect => wit::effect: Answer { approval_id, tool_call_id, tool_name, input, answer });
record!(engine::effect => wit::effect: ContinueTurn { agent, turn, delivery_id, answers, words });
record!(engine::effect => wit::effect: AgentRef { agent });
record!(engine::effect => wit::effect: Approve { turn, approval, summary });
variant!(engine::event => wit::event: Event {
    Ready, Accepted(value), Refused(value), TurnStarted(value), Undelivered(value), SessionUpdated(value),
    SessionDeleted(value), SessionReleased(value), ChunksInjected(value), StreamEnded(value), Audited(value),
    Warned(value), ShutDown,
});
record!(engine::event => wit::event: Accepted { command, summary, turn, incomplete, repeated });
record!(engine::event => wit::event: Refused { command, rejection });
record!(engine::event => wit::event: TurnStarted { session, turn, assistant_message, next_seq });
record!(engine::event => wit::event: Undelivered { session, turn, message });
record!(engine::event => wit::event: ChunksInjected { session, turn, first_seq, chunks, replay_from });
variant!(engine::event => wit::event: StreamEnd { Finished, Paused, Failed, Interrupted });
record!(engine::event => wit::event: StreamEnded { session, turn, end, next_seq });
record!(engine::event => wit::event: Audited { session, entry });
record!(engine::event => wit::event: Warned { session, action, message });
record!(engine::step => wit::step: Step { effects, events, deadline });
record!(engine::step => wit::step: Pushed { first_seq, edits, replay_from, step });
record!(engine::step => wit::step: Edit { at, change });
variant!(engine::step => wit::step: Change { Drop, Inject(value) });
record!(engine::view => wit::view: LiveMessage { turn, index, id, json, next_seq });
record!(engine::view => wit::view: Rebuilt { turn, chunks, next_seq, open });
record!(engine::view => wit::view: Stats { sessions, live, leases, waiting, effects, ready });
