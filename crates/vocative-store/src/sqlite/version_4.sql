-- Version 4. What was replaced or deleted, for a short while: it was committed, so whoever listens is to
-- get it, and whoever delivers may not have read it yet. `since` is in seconds since 1970.
CREATE TABLE gone (
    position INTEGER PRIMARY KEY,
    id BLOB NOT NULL,
    key BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    tags TEXT NOT NULL,
    content TEXT NOT NULL,
    sig BLOB NOT NULL,
    channel TEXT,
    since INTEGER NOT NULL
) STRICT;
CREATE INDEX gone_by_time ON gone (since);

-- The rows of a message are found by whom it names, so this would only cost a write for each row.
DROP INDEX mentions_by_item;
