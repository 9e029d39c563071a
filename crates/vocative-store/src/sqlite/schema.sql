-- Version 1. Positions are given out by the one writer, so the order of positions is that of commits.
CREATE TABLE head (one INTEGER PRIMARY KEY CHECK (one = 1), position INTEGER NOT NULL) STRICT;
INSERT INTO head VALUES (1, 0);

CREATE TABLE events (
    position INTEGER PRIMARY KEY,
    id BLOB NOT NULL,
    key BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    tags TEXT NOT NULL,
    content TEXT NOT NULL,
    sig BLOB NOT NULL,
    channel TEXT,
    address TEXT,
    target BLOB,
    snapshot INTEGER NOT NULL,
    deleted INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX events_by_id ON events (id);
CREATE UNIQUE INDEX events_by_address ON events (address) WHERE address IS NOT NULL;
CREATE INDEX events_by_target ON events (target) WHERE target IS NOT NULL;
CREATE INDEX events_by_time ON events (created_at DESC, id);
CREATE INDEX events_by_kind ON events (kind, created_at DESC, id);
CREATE INDEX events_by_key ON events (key, kind, created_at DESC, id);

CREATE TABLE tags (
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    id BLOB NOT NULL,
    event INTEGER NOT NULL,
    PRIMARY KEY (name, value, created_at DESC, id)
) STRICT, WITHOUT ROWID;

-- Whom an event names: 1 notifies, 2 refers, 3 was addressed automatically, 4 owns the agent.
CREATE TABLE names (
    event INTEGER NOT NULL,
    how INTEGER NOT NULL,
    key BLOB NOT NULL,
    PRIMARY KEY (event, how, key)
) STRICT, WITHOUT ROWID;

-- What deletions are about, stored or not, so that it is not stored again.
CREATE TABLE buried (
    event INTEGER NOT NULL,
    target BLOB NOT NULL,
    PRIMARY KEY (event, target)
) STRICT, WITHOUT ROWID;
CREATE INDEX buried_by_target ON buried (target);
CREATE TABLE buried_addresses (address TEXT PRIMARY KEY, until INTEGER NOT NULL) STRICT, WITHOUT ROWID;

CREATE TABLE channels (
    id TEXT PRIMARY KEY,
    kind INTEGER NOT NULL,
    flags INTEGER NOT NULL,
    for_members INTEGER NOT NULL,
    deleted INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE members (
    channel TEXT NOT NULL,
    key BLOB NOT NULL,
    roles TEXT NOT NULL,
    PRIMARY KEY (channel, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX members_by_key ON members (key, channel);

-- Clustered in the order in which a recipient reads, so that a page is one stretch of the file.
CREATE TABLE mentions (
    recipient BLOB NOT NULL,
    at INTEGER NOT NULL,
    item BLOB NOT NULL,
    by_event BLOB NOT NULL,
    actor BLOB NOT NULL,
    channel TEXT,
    why INTEGER NOT NULL,
    retracted INTEGER NOT NULL,
    deleted INTEGER NOT NULL,
    PRIMARY KEY (recipient, at DESC, item)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX mentions_by_item ON mentions (item, recipient);

-- The words are ours already; this tokenizer only splits them at spaces.
CREATE VIRTUAL TABLE search USING fts5
    (words, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii');
