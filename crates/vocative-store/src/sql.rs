//! Statements that both backends run. Only placeholders and search differ.

use std::collections::HashMap;

use vocative::Key;

use crate::value::{EventId, Timestamp};

mod disputes;
mod documents;
mod inbox;
mod matching;
mod readable;

use disputes::unsettled;
pub(crate) use disputes::{REFERENCE, marks, settle};
pub(crate) use documents::documents;
pub(crate) use inbox::{mentions_after, messages, sessions};
pub(crate) use matching::{count, find, query};
pub(crate) use readable::{may_read, readable_joined};

/// Columns of an event, in the order in which both backends read them.
pub(crate) const EVENT: &str =
    "e.position, e.id, e.key, e.created_at, e.kind, e.tags, e.content, e.sig, e.deleted";

/// Columns of an event that is only found, likewise.
pub(crate) const FOUND: &str = "e.position, e.created_at, e.id, \
     CAST(octet_length(e.content) + octet_length(e.tags) AS bigint)";

/// Columns of a document, likewise.
pub(crate) const DOCUMENT: &str = "d.name, d.value, d.version, d.expires_at";

/// Columns of a mention row, likewise.
pub(crate) const ROW: &str = "r.recipient, r.item, r.by_event, r.actor, r.at, r.channel, r.why, r.retracted, \
     r.deleted";

/// Columns of an event that is kept in `gone` when it is replaced or deleted, with its channel.
pub(crate) const GONE: &str = "position, id, key, created_at, kind, tags, content, sig, channel";

/// How long what is gone is kept for nodes that have not delivered it yet, in seconds. They look each second.
pub(crate) const GONE_FOR: i64 = 60;

/// The events after the position `$1` as they were committed, those that are gone meanwhile among them.
/// SQLite takes `$1` for a name, and binds it in its turn.
pub(crate) fn committed_after() -> String {
    format!(
        "SELECT {GONE}, deleted FROM events WHERE position > $1 AND deleted = 0 \
         UNION ALL SELECT {GONE}, CAST(0 AS bigint) FROM gone WHERE position > $1"
    )
}

/// Makes the mention rows of the messages that the query `touched` yields, from events and names.
pub(crate) fn mention_rows(insert: &str, touched: &str) -> String {
    include_str!("sql/mention_rows.sql").replace("{insert}", insert).replace("{touched}", touched)
}

/// The mention rows that the messages which the query `touched` yields have to have, by the columns of
/// [`ROW`].
pub(crate) fn wanted_of(touched: &str) -> String {
    mention_rows("", touched).replace(INTO_MENTIONS, "")
}

/// The same of all messages among the events `e` for which a condition holds.
pub(crate) fn wanted_rows(stretch: &str) -> String {
    let cut = |text: String, part: &str, other: &str| {
        assert!(text.contains(part), "the rule is written with it");
        text.replace(part, other)
    };
    let rule = cut(wanted_of("{touched}"), "touched(id) AS ({touched}),\n", "");
    let stretch = format!("FROM events e WHERE {stretch} AND ");
    cut(rule, "FROM touched t JOIN events e ON e.id = t.id\n    WHERE ", &stretch)
}

/// The rule ends with this, and without it only reads.
const INTO_MENTIONS: &str =
    " INTO mentions (recipient, item, by_event, actor, at, channel, why, retracted, deleted)";

/// Whose SQL is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    Sqlite,
    Postgres,
}

/// A value of a statement.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Arg {
    Int(i64),
    Text(String),
    Bytes(Vec<u8>),
}

impl From<Key> for Arg {
    fn from(key: Key) -> Self {
        Self::Bytes(key.as_bytes().to_vec())
    }
}

impl From<EventId> for Arg {
    fn from(id: EventId) -> Self {
        Self::Bytes(id.as_bytes().to_vec())
    }
}

impl From<Timestamp> for Arg {
    fn from(at: Timestamp) -> Self {
        // A later time than any that is stored asks for the same as the latest that can be.
        Self::Int(at.min(Timestamp::MAX).as_secs().cast_signed())
    }
}

impl From<&str> for Arg {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

/// A statement that is being written. A value never becomes part of the text.
#[derive(Debug)]
pub(crate) struct Sql {
    pub(crate) dialect: Dialect,
    pub(crate) text: String,
    pub(crate) args: Vec<Arg>,
    /// The number of each value: one that is named often is sent once.
    numbers: HashMap<Arg, usize>,
}

impl Sql {
    pub(crate) fn new(dialect: Dialect) -> Self {
        Self { dialect, text: String::new(), args: Vec::new(), numbers: HashMap::new() }
    }

    /// Adds text of the statement.
    pub(crate) fn push(&mut self, text: &str) -> &mut Self {
        self.text.push_str(text);
        self
    }

    /// Adds a placeholder for a value.
    pub(crate) fn bind(&mut self, arg: impl Into<Arg>) -> &mut Self {
        let arg = arg.into();
        let number = *self.numbers.entry(arg.clone()).or_insert_with(|| {
            self.args.push(arg);
            self.args.len()
        });
        let sign = if self.dialect == Dialect::Sqlite { '?' } else { '$' };
        self.text.push_str(&format!("{sign}{number}"));
        self
    }

    /// Adds `(a, b, c)` with a placeholder for each value; `(NULL)` for none, which nothing equals.
    pub(crate) fn bind_list<A: Into<Arg>>(&mut self, args: impl IntoIterator<Item = A>) -> &mut Self {
        self.push("(");
        let mut is_first = true;
        for arg in args {
            if !is_first {
                self.push(", ");
            }
            self.bind(arg);
            is_first = false;
        }
        if is_first {
            self.push("NULL");
        }
        self.push(")")
    }
}

/// Those that are the same in every release.
const CHECKS: [(&str, &str); 7] = [
    (
        "events behind the last position",
        "SELECT COUNT(*) FROM events WHERE position > (SELECT position FROM head)",
    ),
    (
        "mention rows without a message",
        "SELECT COUNT(*) FROM mentions r WHERE NOT EXISTS (SELECT 1 FROM events e WHERE e.id = r.item)",
    ),
    (
        "tags without an event",
        "SELECT COUNT(*) FROM tags t WHERE NOT EXISTS \
         (SELECT 1 FROM events e WHERE e.position = t.event AND e.deleted = 0)",
    ),
    (
        "events of a channel without its tag",
        "SELECT COUNT(*) FROM events e WHERE e.deleted = 0 AND e.channel IS NOT NULL AND NOT EXISTS \
         (SELECT 1 FROM tags t WHERE t.name IN ('h', 'd') AND t.value = e.channel \
         AND t.created_at = e.created_at AND t.id = e.id)",
    ),
    (
        "messages without a mention row",
        "SELECT COUNT(*) FROM events e JOIN names n ON n.event = e.position WHERE n.how = 1 \
         AND n.key <> e.key AND e.kind IN (9, 40002, 45001, 45003) AND NOT EXISTS \
         (SELECT 1 FROM mentions r WHERE r.recipient = n.key AND r.at = e.created_at AND r.item = e.id)",
    ),
    (
        "documents of a version that was not given out",
        "SELECT COUNT(*) FROM documents WHERE version > (SELECT last_value FROM document_versions)",
    ),
    (
        "names without an event",
        "SELECT COUNT(*) FROM names n WHERE NOT EXISTS (SELECT 1 FROM events e WHERE e.position = n.event)",
    ),
];

/// What must hold between tables: what it is called where it does not, and a statement that counts it.
pub(crate) fn checks() -> Vec<(&'static str, String)> {
    let mut checks: Vec<_> = CHECKS.iter().map(|(name, sql)| (*name, (*sql).to_owned())).collect();
    checks.push(("references whose dispute is not what others say", unsettled()));
    checks
}

#[cfg(test)]
mod tests {
    use super::{wanted_of, wanted_rows};

    #[test]
    fn the_rule_can_be_read_instead_of_written() {
        for rule in [wanted_of("SELECT 1"), wanted_rows("e.position > 1")] {
            assert!(rule.contains("SELECT r.recipient") && !rule.contains("INTO") && !rule.contains('{'));
        }
    }
}
