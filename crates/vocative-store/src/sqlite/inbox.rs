//! The inbox of a person: a merge of walks, which are read only as far as the page goes.

use rusqlite::{Connection, Row, Rows, params_from_iter};

use super::row;
use crate::inbox::{Gathering, InboxCursor, InboxPage, InboxQuery, InboxRow};
use crate::sql::{self, Dialect, Sql};

type Read = fn(&Row<'_>) -> rusqlite::Result<InboxRow>;

pub(super) fn page(db: &Connection, query: &InboxQuery) -> rusqlite::Result<InboxPage> {
    let messages = sql::messages(Dialect::Sqlite, query).into_iter();
    let sessions = sql::sessions(Dialect::Sqlite, query).into_iter();
    let walks: Vec<(Sql, Read)> = messages
        .map(|sql| (sql, (|found| row::mention(found).map(InboxRow::Message)) as Read))
        .chain(sessions.map(|sql| (sql, (|found| row::session(found).map(InboxRow::Session)) as Read)))
        .collect();
    if walks.len() == 1 {
        return merged(db, query, &walks);
    }
    // All walks are of one state, whatever is written meanwhile.
    db.prepare_cached("SAVEPOINT inbox")?.execute([])?;
    let page = merged(db, query, &walks);
    db.prepare_cached("RELEASE inbox")?.execute([])?;
    page
}

fn merged(db: &Connection, query: &InboxQuery, walks: &[(Sql, Read)]) -> rusqlite::Result<InboxPage> {
    let statements = walks.iter().map(|(sql, _)| db.prepare_cached(&sql.text));
    let mut statements = statements.collect::<rusqlite::Result<Vec<_>>>()?;
    let begun = statements
        .iter_mut()
        .zip(walks)
        .map(|(statement, (sql, read))| Walk::begin(statement.query(params_from_iter(&sql.args))?, *read));
    let mut open = begun.collect::<rusqlite::Result<Vec<_>>>()?;
    let mut gathering = Gathering::new(query);
    while !gathering.is_full() {
        // A person has few keys and names, so the next of them is found by looking at all.
        let next = open.iter_mut().filter(|walk| walk.next.is_some());
        let Some(walk) = next.min_by(|one, other| one.place().cmp(&other.place())) else { break };
        if let Some((place, row)) = walk.step()? {
            gathering.push(place, row);
        }
    }
    Ok(gathering.page())
}

/// A walk, and its next row.
struct Walk<'s> {
    rows: Rows<'s>,
    read: Read,
    next: Option<(InboxCursor, InboxRow)>,
}

impl<'s> Walk<'s> {
    fn begin(rows: Rows<'s>, read: Read) -> rusqlite::Result<Self> {
        let mut walk = Self { rows, read, next: None };
        walk.step()?;
        Ok(walk)
    }

    /// Where the next row stands.
    fn place(&self) -> Option<&InboxCursor> {
        self.next.as_ref().map(|(place, _)| place)
    }

    /// Takes the next row and reads the one after it.
    fn step(&mut self) -> rusqlite::Result<Option<(InboxCursor, InboxRow)>> {
        let after = self.rows.next()?.map(self.read).transpose()?;
        Ok(std::mem::replace(&mut self.next, after.map(|row| (row.place(), row))))
    }
}
