-- Version 3. Small values with a version each, which the product changes in transactions of its own.
CREATE TABLE documents (
    name text COLLATE "C" PRIMARY KEY,
    value bytea NOT NULL,
    version bigint NOT NULL,
    expires_at bigint
);
CREATE INDEX documents_by_end ON documents (expires_at) WHERE expires_at IS NOT NULL;
CREATE SEQUENCE document_versions;

-- What accounts say of sessions: who named whom in which entry, and when, in milliseconds.
CREATE TABLE session_mentions (
    recipient text COLLATE "C" NOT NULL,
    at bigint NOT NULL,
    session text COLLATE "C" NOT NULL,
    entry text COLLATE "C" NOT NULL,
    actor text COLLATE "C" NOT NULL,
    publisher text COLLATE "C" NOT NULL,
    disputed bigint NOT NULL,
    PRIMARY KEY (session, entry, recipient, publisher)
);
CREATE INDEX session_mentions_by_recipient
    ON session_mentions (recipient, at DESC, session, entry, actor) INCLUDE (disputed);

-- What the markers in stored sessions say of their entries.
CREATE TABLE verdicts (
    session text COLLATE "C" NOT NULL,
    entry text COLLATE "C" NOT NULL,
    recipient text COLLATE "C" NOT NULL,
    actor text COLLATE "C" NOT NULL,
    at bigint NOT NULL,
    PRIMARY KEY (session, entry, recipient)
);
