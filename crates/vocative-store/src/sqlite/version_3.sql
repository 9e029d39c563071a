-- Version 3. Small values with a version each, which the product changes in transactions of its own.
CREATE TABLE documents (
    name TEXT PRIMARY KEY,
    value BLOB NOT NULL,
    version INTEGER NOT NULL,
    expires_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX documents_by_end ON documents (expires_at) WHERE expires_at IS NOT NULL;
CREATE TABLE document_versions (one INTEGER PRIMARY KEY CHECK (one = 1), last_value INTEGER NOT NULL) STRICT;
INSERT INTO document_versions VALUES (1, 0);

-- What accounts say of sessions: who named whom in which entry, and when, in milliseconds. Clustered in the
-- order in which a recipient reads.
CREATE TABLE session_mentions (
    recipient TEXT NOT NULL,
    at INTEGER NOT NULL,
    session TEXT NOT NULL,
    entry TEXT NOT NULL,
    actor TEXT NOT NULL,
    publisher TEXT NOT NULL,
    disputed INTEGER NOT NULL,
    PRIMARY KEY (recipient, at DESC, session, entry, actor, publisher)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX session_mentions_by_entry ON session_mentions (session, entry, recipient, publisher);

-- What the markers in stored sessions say of their entries.
CREATE TABLE verdicts (
    session TEXT NOT NULL,
    entry TEXT NOT NULL,
    recipient TEXT NOT NULL,
    actor TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (session, entry, recipient)
) STRICT, WITHOUT ROWID;
