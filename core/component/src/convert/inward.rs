//! From the contract to the engine: everything that a host gives.

use super::{Convert, engine, record, variant, wit};

record!(wit::time => engine::time: Now { wall_ms, monotonic_ms });
variant!(wit::session => engine::record: Status {
    Preparing, Idle, Busy, AwaitingInput, Suspended, Closed, Failed, Interrupted,
});
record!(wit::session => engine::record: Usage { input_tokens, output_tokens, total_tokens, cost_micro_usd });
record!(wit::session => engine::record: TurnError { code, message });
record!(wit::session => engine::record: Settings { working_directory, model, permission_mode, mcp_servers });
variant!(wit::session => engine::record: PendingKind { Approval, Result });
record!(wit::session => engine::record: Decision { approved, reason });
record!(wit::session => engine::record: PendingInput { kind, approval_id, tool_call_id, tool_name, input, decision });
variant!(wit::session => engine::record: Stopping { Interrupt, Suspend, Close, Delete });
record!(wit::session => engine::record: Summary {
    id, status, metadata, settings, created_at_ms, updated_at_ms, suspended_at_ms, turns, usage, error, pending,
    message_count, turn, revision, metadata_revision, stopping, degraded,
});
record!(wit::session => engine::record: StoredMessage { index, id, json });
record!(wit::session => engine::record: StoredSession { generation, revision, summary, engine_state, tail, resume });
record!(wit::limits => engine::limits: Config {
    epoch, owner, capacity, faulted, approver, idle_timeout_ms, close_suspended_after_ms, turn_timeout_ms,
    suspend_idle_when_full, suspend_waiting_when_full, limits,
});
record!(wit::limits => engine::limits: Limits {
    acquire_timeout_ms, start_timeout_ms, stop_timeout_ms, interrupt_timeout_ms, store_timeout_ms,
    acknowledge_timeout_ms, slice_timeout_ms, approve_timeout_ms, release_timeout_ms, shutdown_timeout_ms, lease_ms,
    renew_every_ms, due_every_ms, partial_save_ms, retry_first_ms, retry_longest_ms, message_bytes, answer_bytes,
    message_parts, chunk_bytes, metadata_bytes, setting_bytes, answer_input_bytes, pending, idempotency_keys,
    key_bytes, kept_answers, replay_chunks, sessions, tick_work, claim_page,
});
variant!(wit::input => engine::input: Input { Start, Command(value), Completed(value), Notice(value), Tick, Shutdown });
record!(wit::input => engine::input: Command { id, session, body });
variant!(wit::input => engine::input: CommandBody {
    Create(value), Send(value), Continue(value), Update(value), Interrupt, Suspend, Close, Delete,
});
record!(wit::input => engine::input: Create { metadata, settings, fork });
record!(wit::input => engine::input: Fork { session, message });
variant!(wit::input => engine::input: WhenBusy { Reject, Queue, Steer });
record!(wit::input => engine::input: Send {
    turn, assistant_message, user_message, message, message_is_text, prompt, model, idempotency_key, when_busy,
});
record!(wit::input => engine::input: Continue { answers, message, who });
record!(wit::input => engine::input: AnswerInput { id, answer });
variant!(wit::input => engine::input: AnswerBody { Allow(value), Deny(value), Result(value) });
record!(wit::input => engine::input: Allow { reason, edited_input });
record!(wit::input => engine::input: Deny { reason });
record!(wit::input => engine::input: ResultBody { output, is_error });
record!(wit::input => engine::input: Update { metadata, settings, metadata_revision });
record!(wit::input => engine::input: Completed { effect, outcome });
variant!(wit::input => engine::input: Outcome {
    Done, Failed(value), Loaded(value), Claimed(value), Renewed(value), Due(value), Acquired, Started(value),
    Stopped(value), SliceEnded(value), Verdict(value),
});
record!(wit::input => engine::input: Failure { kind, message });
variant!(wit::input => engine::input: FailureKind {
    Unavailable, Broken, Exists, Stale, Fenced, Held, Capacity, Gone, Other,
});
record!(wit::input => engine::input: ClaimedPage { sessions, more });
record!(wit::input => engine::input: Due { now_ms, sessions });
record!(wit::input => engine::input: SliceEnd { outcome, usage, resume, not_taken });
variant!(wit::input => engine::input: SliceOutcome { Finished, Paused, Failed(value), Interrupted });
record!(wit::input => engine::input: SliceFailure { message, alive });
record!(wit::input => engine::input: Verdict { approved, reason, edited_input, rule });
record!(wit::input => engine::input: Notice { agent, body });
variant!(wit::input => engine::input: NoticeBody { Checkpoint(value), Exited(value) });
record!(wit::transcript => engine::input: Piece { lead, text, trail });
record!(wit::transcript => engine::input: Delta { id, piece });
variant!(wit::transcript => engine::input: Chunk {
    TextDelta(value), ReasoningDelta(value), ToolInputDelta(value), Json(value),
});
