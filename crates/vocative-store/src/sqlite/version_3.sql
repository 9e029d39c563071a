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
