-- Version 2. What the product keeps once for the whole community, such as the relay's key.
CREATE TABLE settings (name text COLLATE "C" PRIMARY KEY, value bytea NOT NULL);

-- Whom messages refer to, which version 1 left to their tags.
INSERT INTO names
SELECT e.position, 2, decode(t.tag ->> 1, 'hex') FROM events e, jsonb_array_elements(e.tags::jsonb) AS t(tag)
WHERE e.kind IN (9, 40002, 45001, 45003) AND t.tag ->> 0 = 'mention' AND jsonb_array_length(t.tag) = 2
    AND t.tag ->> 1 ~ '^[0-9a-fA-F]{64}$'
ON CONFLICT DO NOTHING;
