-- Version 1. Described in docs/sqlite.md; every reader of a tackroom file relies on it.
CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE sessions (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    status TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL,
    updated_at_ms INTEGER NOT NULL,
    suspended_at_ms INTEGER,
    message_count INTEGER NOT NULL,
    metadata TEXT NOT NULL,
    details TEXT NOT NULL,
    generation INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    write_id TEXT NOT NULL,
    tail_from INTEGER NOT NULL,
    owner TEXT,
    lease_ends_ms INTEGER,
    CHECK ((owner IS NULL) = (lease_ends_ms IS NULL)),
    CHECK ((status = 'suspended') = (suspended_at_ms IS NOT NULL))
) STRICT;

CREATE INDEX sessions_by_update ON sessions (updated_at_ms DESC, id);
CREATE INDEX sessions_by_status ON sessions (status, updated_at_ms DESC, id);
CREATE INDEX sessions_due ON sessions (suspended_at_ms, id) WHERE suspended_at_ms IS NOT NULL;
CREATE INDEX sessions_live ON sessions (id)
    WHERE status IN ('preparing', 'idle', 'busy', 'awaiting-input');

CREATE TABLE messages (
    session INTEGER NOT NULL REFERENCES sessions (key) ON DELETE CASCADE,
    idx INTEGER NOT NULL,
    id TEXT NOT NULL,
    json TEXT NOT NULL,
    UNIQUE (session, idx)
) STRICT;

CREATE INDEX messages_by_id ON messages (id);

CREATE TABLE audit (
    session INTEGER NOT NULL REFERENCES sessions (key) ON DELETE CASCADE,
    seq INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    json TEXT NOT NULL,
    UNIQUE (session, seq)
) STRICT;

CREATE TABLE engine_states (
    session INTEGER PRIMARY KEY REFERENCES sessions (key) ON DELETE CASCADE,
    json TEXT NOT NULL
) STRICT;

CREATE TABLE resume_states (
    session INTEGER PRIMARY KEY REFERENCES sessions (key) ON DELETE CASCADE,
    state TEXT NOT NULL
) STRICT;
