//! The inbox of a person: all walks of one source are one statement.

use tokio_postgres::Client;

use super::read::run;
use super::row;
use crate::error::StoreError;
use crate::inbox::{Gathering, InboxPage, InboxQuery, InboxRow};
use crate::sql::{self, Dialect};

pub(super) async fn page(client: &Client, query: &InboxQuery) -> Result<InboxPage, StoreError> {
    let mut rows = Vec::new();
    for sql in sql::messages(Dialect::Postgres, query) {
        for found in run(client, &sql.text, &sql.args).await? {
            rows.push(InboxRow::Message(row::mention(&found)?));
        }
    }
    for sql in sql::sessions(Dialect::Postgres, query) {
        for found in run(client, &sql.text, &sql.args).await? {
            rows.push(InboxRow::Session(row::session(&found)?));
        }
    }
    let mut rows: Vec<_> = rows.into_iter().map(|row| (row.place(), row)).collect();
    rows.sort_by(|(one, _), (other, _)| one.cmp(other));
    let mut gathering = Gathering::new(query);
    for (place, row) in rows {
        if gathering.is_full() {
            break;
        }
        gathering.push(place, row);
    }
    Ok(gathering.page())
}
