-- Version 2. What the product keeps once for the whole community, such as the relay's key.
CREATE TABLE settings (name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID;

-- Whom messages refer to, which version 1 left to their tags.
INSERT OR IGNORE INTO names
SELECT e.position, 2, unhex(t.value ->> 1) FROM events e, json_each(e.tags) t
WHERE e.kind IN (9, 40002, 45001, 45003) AND t.value ->> 0 = 'mention' AND json_array_length(t.value) = 2
    AND length(unhex(t.value ->> 1)) = 32;
