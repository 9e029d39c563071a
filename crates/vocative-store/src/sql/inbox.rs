//! The rows of a person (section 5): one statement for each key and each account name, which walks one
//! stretch of the index; whoever runs them merges their rows.

use vocative::Key;

use super::{Arg, Dialect, ROW, Sql};
use crate::channel::Reader;
use crate::inbox::{InboxCursor, InboxQuery, Person, Source};
use crate::session::{AccountName, Millis};
use crate::value::{EventId, Timestamp};

/// Columns of a row of a session, in the order in which both backends read them.
const SESSION_ROW: &str = "r.recipient, r.session, r.entry, r.actor, r.at, r.disputed";

/// One walk for each key.
pub(crate) fn messages(dialect: Dialect, query: &InboxQuery) -> Vec<Sql> {
    let wants_none = query.from.as_ref().is_some_and(|from| from.keys.is_empty());
    if query.source == Source::Session || wants_none {
        return Vec::new();
    }
    walks(dialect, &query.recipient.keys, |sql, key| message_walk(sql, query, key))
}

/// One walk for each account name.
pub(crate) fn sessions(dialect: Dialect, query: &InboxQuery) -> Vec<Sql> {
    let wants_none = query.from.as_ref().is_some_and(|from| from.names.is_empty());
    if query.source == Source::Message || wants_none {
        return Vec::new();
    }
    walks(dialect, &query.recipient.names, |sql, name| session_walk(sql, query, name.as_str()))
}

/// In SQLite a statement for each walk, of which as many rows are taken as are wanted; in PostgreSQL
/// all of them in one, each up to its limit.
fn walks<T>(dialect: Dialect, of: &[T], mut walk: impl FnMut(&mut Sql, &T)) -> Vec<Sql> {
    let mut all: Vec<Sql> = Vec::new();
    for (at, one) in of.iter().enumerate() {
        match (dialect, all.last_mut()) {
            (Dialect::Postgres, Some(sql)) => {
                sql.push(" UNION ALL SELECT * FROM (");
                walk(sql, one);
                sql.push(&format!(") w{at}"));
            }
            (Dialect::Postgres, None) => {
                let mut sql = Sql::new(dialect);
                sql.push("SELECT * FROM (");
                walk(&mut sql, one);
                sql.push(") w0");
                all.push(sql);
            }
            (Dialect::Sqlite, _) => {
                let mut sql = Sql::new(dialect);
                walk(&mut sql, one);
                // Statements are kept by their text, and all of these are open at once.
                sql.push(&format!(" -- {at}"));
                all.push(sql);
            }
        }
    }
    all
}

/// The rows of a message that others of these keys have, to be followed by the keys. A row stands at the
/// time of what named its recipient, the message or an edit of it, and is found there.
const OF_ANOTHER: &str = "SELECT 1 FROM events x CROSS JOIN mentions o \
     WHERE (x.id = r.item OR x.target = r.item) AND o.at = x.created_at AND o.item = r.item AND o.recipient IN ";

fn message_walk(sql: &mut Sql, query: &InboxQuery, key: &Key) {
    let Person { keys, .. } = &query.recipient;
    let has_others = keys.len() > 1;
    let is_named_by_another = |sql: &mut Sql| {
        sql.push("EXISTS (").push(OF_ANOTHER).bind_list(keys.iter().copied());
        sql.push(" AND o.retracted + o.deleted = 0 AND o.actor NOT IN ");
        sql.bind_list(keys.iter().copied()).push(")");
    };
    sql.push("SELECT r.recipient, r.item, r.by_event, r.actor, r.at, r.channel, r.why");
    for flag in ["r.retracted", "r.deleted"] {
        if has_others {
            sql.push(&format!(", CASE WHEN {flag} = 1 AND "));
            is_named_by_another(sql);
            sql.push(&format!(" THEN 0 ELSE {flag} END"));
        } else {
            sql.push(", ").push(flag);
        }
    }
    sql.push(" FROM mentions r ");
    if matches!(query.reader, Reader::Keys(_)) {
        sql.push("LEFT JOIN channels c ON c.id = r.channel ");
    }
    sql.push("WHERE r.recipient = ").bind(*key);
    if let Some(since) = query.since {
        sql.push(" AND r.at >= ").bind(Arg::Int(since.secs_from()));
    }
    if let Some(until) = query.until {
        sql.push(" AND r.at < ").bind(Arg::Int(until.secs_from()));
    }
    match &query.after {
        None => {}
        Some(InboxCursor::Message { at, item }) => {
            // The first condition bounds the walk of the index, the second is exact.
            sql.push(" AND r.at <= ").bind(*at);
            sql.push(" AND (r.at < ").bind(*at).push(" OR r.item > ").bind(*item).push(")");
        }
        // Messages of the same instant come before.
        Some(InboxCursor::Session { at, .. }) => {
            sql.push(" AND r.at < ").bind(Arg::Int(at.secs_from()));
        }
    }
    sql.push(" AND r.actor NOT IN ").bind_list(keys.iter().copied());
    if let Some(from) = &query.from {
        sql.push(" AND r.actor IN ").bind_list(from.keys.iter().copied());
    }
    if has_others {
        // Keys that the message itself names have rows at one place, which whoever merges takes for one.
        // What an edit added has none beside those, and of several the first has it.
        sql.push(" AND (r.why <> 2 OR NOT EXISTS (").push(OF_ANOTHER);
        sql.bind_list(keys.iter().copied().filter(|other| other != key));
        sql.push(" AND (o.why <> 2 OR o.at < r.at OR (o.at = r.at AND o.recipient < r.recipient))");
        sql.push(" AND o.actor NOT IN ").bind_list(keys.iter().copied()).push("))");
    }
    if let Reader::Keys(keys) = &query.reader {
        sql.push(" AND ");
        super::readable_joined(sql, keys, "r");
    }
    sql.push(" ORDER BY r.at DESC, r.item");
    limit(sql, query);
}

fn session_walk(sql: &mut Sql, query: &InboxQuery, name: &str) {
    // Whoever merges takes what several publishers say for one row; a limit has to count it as one.
    let distinct = if sql.dialect == Dialect::Postgres { "DISTINCT " } else { "" };
    sql.push(&format!("SELECT {distinct}{SESSION_ROW} FROM session_mentions r WHERE r.recipient = "));
    sql.bind(name);
    let int = |at: Millis| Arg::Int(at.get());
    if let Some(since) = query.since {
        sql.push(" AND r.at >= ").bind(int(since));
    }
    if let Some(until) = query.until {
        sql.push(" AND r.at < ").bind(int(until));
    }
    match &query.after {
        None => {}
        Some(InboxCursor::Message { at, .. }) => {
            // Further than any session goes.
            let millis = i64::try_from(at.as_secs()).map_or(i64::MAX, |secs| secs.saturating_mul(1000));
            sql.push(" AND r.at <= ").bind(Arg::Int(millis));
        }
        Some(InboxCursor::Session { at, session, entry, actor }) => {
            sql.push(" AND r.at <= ").bind(int(*at)).push(" AND (r.at < ").bind(int(*at));
            sql.push(" OR (r.session, r.entry, r.actor) > (").bind(session.as_str()).push(", ");
            sql.bind(entry.as_str()).push(", ").bind(actor.as_str()).push("))");
        }
    }
    sql.push(" AND r.actor NOT IN ").bind_list(query.recipient.names.iter().map(AccountName::as_str));
    if let Some(from) = &query.from {
        sql.push(" AND r.actor IN ").bind_list(from.names.iter().map(AccountName::as_str));
    }
    sql.push(" ORDER BY r.at DESC, r.session, r.entry, r.actor");
    limit(sql, query);
}

/// One more than the page holds, which says that there is a next one.
fn limit(sql: &mut Sql, query: &InboxQuery) {
    if sql.dialect == Dialect::Postgres {
        sql.push(&format!(" LIMIT {}", query.effective_limit() + 1));
    }
}

/// The rows of everyone after one, in the order in which they stand.
pub(crate) fn mentions_after(
    dialect: Dialect,
    after: Option<(Key, Timestamp, EventId)>,
    limit: usize,
) -> Sql {
    let mut sql = Sql::new(dialect);
    let order = format!("ORDER BY r.recipient, r.at DESC, r.item LIMIT {limit}");
    sql.push(&format!("SELECT {ROW} FROM ("));
    // First what is left of the recipient, then the others: so each is one stretch, however much one has.
    if let Some((recipient, at, item)) = after {
        sql.push("SELECT * FROM (SELECT * FROM mentions r WHERE r.recipient = ").bind(recipient);
        sql.push(" AND r.at <= ").bind(at).push(" AND (r.at < ").bind(at);
        sql.push(" OR r.item > ").bind(item).push(&format!(") {order}) own UNION ALL "));
        sql.push("SELECT * FROM (SELECT * FROM mentions r WHERE r.recipient > ").bind(recipient);
        sql.push(&format!(" {order}) others"));
    } else {
        sql.push("SELECT * FROM mentions");
    }
    sql.push(&format!(") r {order}"));
    sql
}
