//! From a filter to a statement.
//!
//! A filter is answered along one index, chosen by what it names: an id, a word, a tag, an author, a
//! kind, or time alone. Where it names several values, each gets a branch of its own that stops at the
//! limit, and the branches are merged; so the newest 500 of twenty channels cost twenty short walks.

use std::borrow::Cow;

use super::readable::readable_event;
use super::{Arg, Dialect, EVENT, FOUND, Sql};
use crate::channel::Reader;
use crate::event::indexed;
use crate::filter::Filter;
use crate::words;

/// More values than this share one branch: a statement has only so many parts.
const MOST_BRANCHES: usize = 64;
/// Values in all branches together: what a statement may be long, well under what either backend takes.
const MOST_VALUES: usize = 8192;

/// The newest events of a filter. Absent: it asks for nothing.
pub(crate) fn query(dialect: Dialect, reader: &Reader, filter: &Filter) -> Option<Sql> {
    newest(dialect, reader, filter, EVENT)
}

/// The same events without what they say.
pub(crate) fn find(dialect: Dialect, reader: &Reader, filter: &Filter) -> Option<Sql> {
    newest(dialect, reader, filter, FOUND)
}

fn newest(dialect: Dialect, reader: &Reader, filter: &Filter, columns: &str) -> Option<Sql> {
    let mut sql = Sql::new(dialect);
    let limit = filter.effective_limit();
    sql.push(&format!("SELECT {columns} FROM ("));
    if limit == 0 || !matching(&mut sql, reader, filter, Some(limit)) {
        return None;
    }
    sql.push(&format!(
        ") f JOIN events e ON e.position = f.position ORDER BY f.created_at DESC, f.id LIMIT {limit}"
    ));
    Some(sql)
}

/// How many events the filters ask for, each counted once. Absent: they ask for nothing.
pub(crate) fn count(dialect: Dialect, reader: &Reader, filters: &[Filter]) -> Option<Sql> {
    let mut sql = Sql::new(dialect);
    sql.push("SELECT COUNT(*) FROM (");
    let mut is_first = true;
    for filter in filters {
        let text = sql.text.len();
        if !is_first {
            sql.push(" UNION ");
        }
        if matching(&mut sql, reader, filter, None) {
            is_first = false;
        } else {
            sql.text.truncate(text);
        }
    }
    sql.push(") f");
    (!is_first).then_some(sql)
}

/// The index that a branch walks.
#[derive(Clone)]
enum Along {
    Ids,
    Search(Vec<String>),
    Tag(char, Vec<String>),
    Key(Arg, Option<u32>),
    Authors,
    Kind(u32),
    Kinds,
    Time,
}

/// Adds a union of `SELECT position, created_at, id`, each event once. False where nothing can match.
fn matching(sql: &mut Sql, reader: &Reader, filter: &Filter, limit: Option<usize>) -> bool {
    let is_empty = filter.ids.as_ref().is_some_and(Vec::is_empty)
        || filter.authors.as_ref().is_some_and(Vec::is_empty)
        || filter.kinds.as_ref().is_some_and(Vec::is_empty)
        || filter.tags.values().any(Vec::is_empty);
    if is_empty {
        return false;
    }
    let words = filter.search.as_deref().map(words::wanted);
    if words.as_ref().is_some_and(std::collections::BTreeSet::is_empty) {
        return false;
    }
    let words = words.map(|words| words.into_iter().collect());
    // No stored event holds the character that PostgreSQL cannot take, so nothing is lost with it.
    let filter = &without_nul(filter);
    if filter.tags.values().any(Vec::is_empty) {
        return false;
    }
    // Only what stops at a limit gains from branches.
    let most = if limit.is_some() { MOST_BRANCHES.min(MOST_VALUES / (values(filter) + 1)) } else { 1 };
    for (at, along) in branches(filter, words, most).into_iter().enumerate() {
        if at > 0 {
            sql.push(" UNION ");
        }
        branch(sql, reader, filter, &along, limit);
    }
    true
}

fn without_nul(filter: &Filter) -> Cow<'_, Filter> {
    let has_nul = |value: &String| value.contains('\0');
    if !filter.tags.values().flatten().any(has_nul) {
        return Cow::Borrowed(filter);
    }
    let mut filter = filter.clone();
    filter.tags.values_mut().for_each(|values| values.retain(|value| !has_nul(value)));
    Cow::Owned(filter)
}

/// How many values a filter names.
fn values(filter: &Filter) -> usize {
    filter.ids.as_ref().map_or(0, Vec::len)
        + filter.authors.as_ref().map_or(0, Vec::len)
        + filter.kinds.as_ref().map_or(0, Vec::len)
        + filter.tags.values().map(Vec::len).sum::<usize>()
}

fn branches(filter: &Filter, words: Option<Vec<String>>, most: usize) -> Vec<Along> {
    if filter.ids.is_some() {
        return vec![Along::Ids];
    }
    if let Some(words) = words {
        return vec![Along::Search(words)];
    }
    // Whom and what an event names is rarer than where it stands.
    let by_rank = |name: &char| match name {
        'e' | 'a' | 'd' | 'q' => 0,
        'p' => 1,
        'h' => 2,
        _ => 3,
    };
    if let Some((&name, values)) = filter.tags.iter().min_by_key(|(name, _)| by_rank(name)) {
        let mut values: Vec<String> = values.iter().map(|value| indexed(value)).collect();
        values.sort_unstable();
        values.dedup();
        if values.len() > most {
            return vec![Along::Tag(name, values)];
        }
        return values.into_iter().map(|value| Along::Tag(name, vec![value])).collect();
    }
    let kinds = filter.kinds.as_deref();
    if let Some(authors) = &filter.authors {
        if authors.len() * kinds.map_or(1, <[u32]>::len) <= most {
            let kinds = kinds.map_or(vec![None], |kinds| kinds.iter().copied().map(Some).collect());
            let pairs = authors.iter().flat_map(|key| kinds.iter().map(|kind| (*key, *kind)));
            return pairs.map(|(key, kind)| Along::Key(key.into(), kind)).collect();
        }
        return vec![Along::Authors];
    }
    match kinds {
        Some(kinds) if kinds.len() <= most => kinds.iter().map(|kind| Along::Kind(*kind)).collect(),
        Some(_) => vec![Along::Kinds],
        None => vec![Along::Time],
    }
}

fn branch(sql: &mut Sql, reader: &Reader, filter: &Filter, along: &Along, limit: Option<usize>) {
    // The order is asked of the table that is walked, so that its index gives it.
    let walked = if matches!(along, Along::Tag(..)) { "t" } else { "e" };
    // An event that has several of the values is one event.
    let distinct = if matches!(along, Along::Tag(_, values) if values.len() > 1) { "DISTINCT " } else { "" };
    sql.push(&format!(
        "SELECT * FROM (SELECT {distinct}e.position AS position, {walked}.created_at AS created_at, {walked}.id AS id \
         FROM "
    ));
    match along {
        Along::Search(words) => search(sql, words),
        Along::Tag(name, values) => {
            sql.push("tags t JOIN events e ON e.position = t.event WHERE t.name = ");
            sql.bind(&*name.to_string());
            one_of(sql, " AND t.value", values.iter().map(|value| Arg::from(&**value)));
        }
        Along::Key(key, kind) => {
            sql.push("events e WHERE e.key = ").bind(key.clone());
            if let Some(kind) = kind {
                sql.push(" AND e.kind = ").bind(Arg::Int(i64::from(*kind)));
            }
        }
        Along::Kind(kind) => {
            sql.push("events e WHERE e.kind = ").bind(Arg::Int(i64::from(*kind)));
        }
        Along::Ids | Along::Authors | Along::Kinds | Along::Time => {
            sql.push("events e WHERE 1 = 1");
        }
    }
    sql.push(" AND e.deleted = 0");
    conditions(sql, filter, along, walked);
    readable_event(sql, reader);
    if let Some(limit) = limit {
        sql.push(&format!(" ORDER BY {walked}.created_at DESC, {walked}.id LIMIT {limit}"));
    }
    sql.push(") b");
}

/// What the walked index does not already give.
fn conditions(sql: &mut Sql, filter: &Filter, along: &Along, walked: &str) {
    if let Some(since) = filter.since {
        sql.push(&format!(" AND {walked}.created_at >= ")).bind(since);
    }
    if let Some(until) = filter.until {
        sql.push(&format!(" AND {walked}.created_at <= ")).bind(until);
    }
    if let Some(ids) = &filter.ids {
        one_of(sql, " AND e.id", ids.iter().map(|id| Arg::from(*id)));
    }
    if let Some(authors) = filter.authors.as_ref().filter(|_| !matches!(along, Along::Key(..))) {
        one_of(sql, " AND e.key", authors.iter().map(|key| Arg::from(*key)));
    }
    if let Some(kinds) = filter.kinds.as_ref().filter(|_| !matches!(along, Along::Key(..) | Along::Kind(_))) {
        one_of(sql, " AND e.kind", kinds.iter().map(|kind| Arg::Int(i64::from(*kind))));
    }
    let is_walked = |name: char| matches!(along, Along::Tag(walked, _) if *walked == name);
    for (&name, values) in filter.tags.iter().filter(|(name, _)| !is_walked(**name)) {
        sql.push(
            " AND EXISTS (SELECT 1 FROM tags o WHERE o.created_at = e.created_at AND o.id = e.id \
             AND o.name = ",
        );
        sql.bind(&*name.to_string());
        one_of(sql, " AND o.value", values.iter().map(|value| Arg::Text(indexed(value))));
        sql.push(")");
    }
}

fn one_of(sql: &mut Sql, column: &str, values: impl ExactSizeIterator<Item = Arg>) {
    let is_one = values.len() == 1;
    sql.push(column).push(if is_one { " = " } else { " IN " });
    if is_one {
        for value in values {
            sql.bind(value);
        }
    } else {
        sql.bind_list(values);
    }
}

fn search(sql: &mut Sql, words: &[String]) {
    match sql.dialect {
        Dialect::Sqlite => {
            // Words hold letters, digits and marks only, so quoting them is enough.
            let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
            sql.push("search s JOIN events e ON e.position = s.rowid WHERE s.search MATCH ");
            sql.bind(&*quoted.join(" AND "));
        }
        Dialect::Postgres => {
            sql.push("search s JOIN events e ON e.position = s.event WHERE s.words @> string_to_array(");
            sql.bind(&*words.join(" ")).push(", ' ')");
        }
    }
}
