-- Version 1. The same tables as in SQLite; what differs is said. Texts compare by their bytes, so that
-- both backends page in the same order.
--
-- Whoever appends locks this row first and commits while holding it: so positions are given out in the
-- order of commits, which those of a sequence would not be.
CREATE TABLE head (one bigint PRIMARY KEY CHECK (one = 1), position bigint NOT NULL);
INSERT INTO head VALUES (1, 0);

CREATE TABLE events (
    position bigint PRIMARY KEY,
    id bytea NOT NULL,
    key bytea NOT NULL,
    created_at bigint NOT NULL,
    kind bigint NOT NULL,
    tags text NOT NULL,
    content text NOT NULL,
    sig bytea NOT NULL,
    channel text COLLATE "C",
    address text COLLATE "C",
    target bytea,
    snapshot bigint NOT NULL,
    deleted bigint NOT NULL
);
CREATE UNIQUE INDEX events_by_id ON events (id);
CREATE UNIQUE INDEX events_by_address ON events (address) WHERE address IS NOT NULL;
CREATE INDEX events_by_target ON events (target) WHERE target IS NOT NULL;
CREATE INDEX events_by_time ON events (created_at DESC, id);
CREATE INDEX events_by_kind ON events (kind, created_at DESC, id);
CREATE INDEX events_by_key ON events (key, kind, created_at DESC, id);

CREATE TABLE tags (
    name text COLLATE "C" NOT NULL,
    value text COLLATE "C" NOT NULL,
    created_at bigint NOT NULL,
    id bytea NOT NULL,
    event bigint NOT NULL
);
CREATE INDEX tags_by_value ON tags (name, value, created_at DESC, id) INCLUDE (event);
CREATE INDEX tags_by_event ON tags (event);

CREATE TABLE names (
    event bigint NOT NULL,
    how bigint NOT NULL,
    key bytea NOT NULL,
    PRIMARY KEY (event, how, key)
);

CREATE TABLE buried (event bigint NOT NULL, target bytea NOT NULL, PRIMARY KEY (event, target));
CREATE INDEX buried_by_target ON buried (target);
CREATE TABLE buried_addresses (address text COLLATE "C" PRIMARY KEY, until bigint NOT NULL);

CREATE TABLE channels (
    id text COLLATE "C" PRIMARY KEY,
    kind bigint NOT NULL,
    flags bigint NOT NULL,
    for_members bigint NOT NULL,
    deleted bigint NOT NULL
);
CREATE TABLE members (
    channel text COLLATE "C" NOT NULL,
    key bytea NOT NULL,
    roles text NOT NULL,
    PRIMARY KEY (channel, key)
);
CREATE INDEX members_by_key ON members (key, channel);

-- The rows of a recipient stand in one partition, whatever their number.
CREATE TABLE mentions (
    recipient bytea NOT NULL,
    at bigint NOT NULL,
    item bytea NOT NULL,
    by_event bytea NOT NULL,
    actor bytea NOT NULL,
    channel text COLLATE "C",
    why bigint NOT NULL,
    retracted bigint NOT NULL,
    deleted bigint NOT NULL,
    PRIMARY KEY (item, recipient)
) PARTITION BY HASH (recipient);
CREATE INDEX mentions_by_recipient ON mentions (recipient, at DESC, item);
DO $$
BEGIN
    FOR part IN 0..15 LOOP
        EXECUTE format(
            'CREATE TABLE mentions_%s PARTITION OF mentions FOR VALUES WITH (MODULUS 16, REMAINDER %s)',
            part, part);
    END LOOP;
END $$;

-- The words are ours already, so an array serves and no parser of texts is in the way.
CREATE TABLE search (event bigint PRIMARY KEY, words text[] NOT NULL);
CREATE INDEX search_by_word ON search USING gin (words);
