-- Version 4. What was replaced or deleted, for a short while, as in SQLite.
CREATE TABLE gone (
    position bigint PRIMARY KEY,
    id bytea NOT NULL,
    key bytea NOT NULL,
    created_at bigint NOT NULL,
    kind bigint NOT NULL,
    tags text NOT NULL,
    content text NOT NULL,
    sig bytea NOT NULL,
    channel text COLLATE "C",
    since bigint NOT NULL
);
CREATE INDEX gone_by_time ON gone (since);
