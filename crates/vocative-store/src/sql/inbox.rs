//! The rows of a recipient (section 5).

use super::{Dialect, ROW, Sql};
use crate::channel::Reader;
use crate::inbox::InboxQuery;

/// The newest rows; one more than the limit, which says that there is a next page.
pub(crate) fn inbox(dialect: Dialect, query: &InboxQuery) -> Sql {
    let mut sql = Sql::new(dialect);
    sql.push(&format!("SELECT {ROW} FROM mentions r WHERE r.recipient = ")).bind(query.recipient);
    if let Some(since) = query.since {
        sql.push(" AND r.at >= ").bind(since);
    }
    if let Some(until) = query.until {
        sql.push(" AND r.at < ").bind(until);
    }
    if let Some(after) = query.after {
        // The first condition bounds the walk of the index, the second is exact.
        sql.push(" AND r.at <= ").bind(after.at);
        sql.push(" AND (r.at < ").bind(after.at).push(" OR r.item > ").bind(after.item).push(")");
    }
    if let Some(from) = query.from {
        sql.push(" AND r.actor = ").bind(from);
    }
    if let Reader::Keys(keys) = &query.reader {
        sql.push(" AND ");
        super::readable(&mut sql, keys, "r");
    }
    let limit = query.limit.min(InboxQuery::MAX_LIMIT);
    sql.push(&format!(" ORDER BY r.at DESC, r.item LIMIT {}", limit + 1));
    sql
}
