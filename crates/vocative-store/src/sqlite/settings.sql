-- Version 2. What the product keeps once for the whole community, such as the relay's key.
CREATE TABLE settings (name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID;
