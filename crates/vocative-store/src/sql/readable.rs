//! The one predicate that says who may read what (section 1, Privacy).

use vocative::Key;

use super::{Dialect, Sql};
use crate::channel::Reader;
use crate::event::kinds;
use crate::value::ChannelId;

/// Adds `AND …`: the reader may read the event `e`.
pub(crate) fn readable_event(sql: &mut Sql, reader: &Reader) {
    let Reader::Keys(keys) = reader else { return };
    sql.push(" AND ");
    readable(sql, keys, "e");
    // A deletion is read by those who read each of its targets, and by its author: it names them.
    sql.push(&format!(" AND (e.kind <> {} OR e.key IN ", kinds::DELETION));
    sql.bind_list(keys.iter().copied());
    sql.push(
        " OR NOT EXISTS (SELECT 1 FROM buried b LEFT JOIN events x ON x.id = b.target \
         WHERE b.event = e.position AND (x.id IS NULL OR NOT ",
    );
    readable(sql, keys, "x");
    sql.push(")))");
    let [invitation, request] = kinds::WITH_CODE;
    sql.push(&format!(" AND (e.kind NOT IN ({invitation}, {request})"));
    if !keys.is_empty() {
        sql.push(" OR e.key IN ").bind_list(keys.iter().copied());
        sql.push(
            " OR EXISTS (SELECT 1 FROM members m WHERE m.channel = e.channel AND m.roles <> '[]' AND m.key IN ",
        );
        sql.bind_list(keys.iter().copied()).push(")");
    }
    sql.push(")");
}

/// Adds the condition that one of the keys may read the channel of the row `of`.
pub(crate) fn readable(sql: &mut Sql, keys: &[Key], of: &str) {
    sql.push(&format!(
        "({of}.channel IS NULL OR EXISTS (SELECT 1 FROM channels c WHERE c.id = {of}.channel AND "
    ));
    open_to(sql, keys);
    sql.push("))");
}

/// The same where the row is joined with its channel, if it has one, as `c`. Where a condition is put to
/// many rows that costs less than a query for each.
pub(crate) fn readable_joined(sql: &mut Sql, keys: &[Key], of: &str) {
    sql.push(&format!("({of}.channel IS NULL OR ("));
    open_to(sql, keys);
    sql.push("))");
}

/// Adds the condition that one of the keys may read the channel `c`.
fn open_to(sql: &mut Sql, keys: &[Key]) {
    sql.push("c.deleted = 0 AND (c.for_members = 0");
    if !keys.is_empty() {
        sql.push(" OR EXISTS (SELECT 1 FROM members m WHERE m.channel = c.id AND m.key IN ");
        sql.bind_list(keys.iter().copied());
        sql.push(")");
    }
    sql.push(")");
}

/// A count that is one where the reader may read the channel, else nothing.
pub(crate) fn may_read(dialect: Dialect, reader: &Reader, channel: &ChannelId) -> Sql {
    let mut sql = Sql::new(dialect);
    sql.push("SELECT COUNT(*) FROM (SELECT id AS channel FROM channels WHERE deleted = 0 AND id = ");
    sql.bind(channel.as_str()).push(") r");
    if let Reader::Keys(keys) = reader {
        sql.push(" WHERE ");
        readable(&mut sql, keys, "r");
    }
    sql
}
