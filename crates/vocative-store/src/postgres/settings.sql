-- Version 2. What the product keeps once for the whole community, such as the relay's key.
CREATE TABLE settings (name text COLLATE "C" PRIMARY KEY, value bytea NOT NULL);
