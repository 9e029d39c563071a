-- Version 3. Small values with a version each, which the product changes in transactions of its own.
CREATE TABLE documents (
    name text COLLATE "C" PRIMARY KEY,
    value bytea NOT NULL,
    version bigint NOT NULL,
    expires_at bigint
);
CREATE INDEX documents_by_end ON documents (expires_at) WHERE expires_at IS NOT NULL;
CREATE SEQUENCE document_versions;
