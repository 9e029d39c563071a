//! Pages of everything, in the order in which the other backend gives them.

use tokio_postgres::{Client, Row};

use super::read::{self, int, run};
use super::row;
use super::sessions;
use crate::channel::Member;
use crate::error::StoreError;
use crate::setting::Setting;
use crate::sql::{self, Arg, DOCUMENT, Dialect, EVENT, REFERENCE};
use crate::store::{ExportCursor, ExportPage, Record};

type Read = fn(&Row) -> Result<Record, StoreError>;

pub(super) async fn page(
    client: &Client,
    cursor: &ExportCursor,
    limit: usize,
) -> Result<ExportPage, StoreError> {
    let (sql, mut args, read): (String, Vec<Arg>, Read) = match cursor {
        ExportCursor::Events(after) => {
            let sql =
                format!("SELECT {EVENT} FROM events e WHERE e.position > $1 ORDER BY e.position LIMIT $2");
            (sql, vec![int(after.get())], event)
        }
        ExportCursor::Channels(after) => {
            let after = after.as_ref().map_or("", |id| id.as_str());
            let sql = "SELECT id, kind, flags, deleted FROM channels WHERE id > $1 ORDER BY id LIMIT $2";
            (sql.to_owned(), vec![after.into()], |found| Ok(Record::Channel(row::channel(found)?)))
        }
        ExportCursor::Members(after) => {
            let channel = after.as_ref().map_or("", |(channel, _)| channel.as_str());
            let key = after.as_ref().map_or(&[][..], |(_, key)| key.as_bytes());
            let sql = "SELECT channel, key, roles FROM members WHERE (channel, key) > ($1, $2) \
                 ORDER BY channel, key LIMIT $3";
            (sql.to_owned(), vec![channel.into(), Arg::Bytes(key.to_vec())], member)
        }
        ExportCursor::Settings(after) => {
            let after = after.as_deref().unwrap_or_default();
            let sql = "SELECT name, value FROM settings WHERE name > $1 ORDER BY name LIMIT $2";
            (sql.to_owned(), vec![after.into()], setting)
        }
        ExportCursor::Documents(after) => {
            let after = after.as_deref().unwrap_or_default();
            let sql =
                format!("SELECT {DOCUMENT} FROM documents d WHERE d.name > $1 ORDER BY d.name LIMIT $2");
            (sql, vec![after.into()], |found| Ok(Record::Document(row::document(found)?)))
        }
        ExportCursor::Verdicts(after) => {
            let (session, entry, recipient) = match after {
                None => ("", "", ""),
                Some((session, entry, recipient)) => (session.as_str(), entry.as_str(), recipient.as_str()),
            };
            let sql = format!(
                "SELECT {REFERENCE} FROM verdicts r WHERE (r.session, r.entry, r.recipient) > ($1, $2, $3) \
                 ORDER BY r.session, r.entry, r.recipient LIMIT $4"
            );
            let bounds = [session, entry, recipient].map(Arg::from).to_vec();
            (sql, bounds, |found| Ok(Record::Verdict(sessions::reference(found)?)))
        }
        ExportCursor::References(after) => {
            let (session, entry, recipient, publisher) = match after {
                None => ("", "", "", ""),
                Some((session, entry, recipient, publisher)) => {
                    (session.as_str(), entry.as_str(), recipient.as_str(), publisher.as_str())
                }
            };
            let sql = format!(
                "SELECT {REFERENCE}, r.publisher, r.disputed FROM session_mentions r \
                 WHERE (r.session, r.entry, r.recipient, r.publisher) > ($1, $2, $3, $4) \
                 ORDER BY r.session, r.entry, r.recipient, r.publisher LIMIT $5"
            );
            let bounds = [session, entry, recipient, publisher].map(Arg::from).to_vec();
            (sql, bounds, |found| Ok(Record::Reference(sessions::published(found)?)))
        }
        ExportCursor::Mentions(after) => {
            let rows = read::rows(client, &sql::mentions_after(Dialect::Postgres, *after, limit)).await?;
            let records: Vec<Record> = rows.into_iter().map(Record::Mention).collect();
            return Ok(ExportPage { next: cursor.next(&records, limit), records });
        }
    };
    args.push(int(limit as u64));
    let found = run(client, &sql, &args).await?;
    let records: Vec<Record> = found.iter().map(read).collect::<Result<_, _>>()?;
    Ok(ExportPage { next: cursor.next(&records, limit), records })
}

fn event(found: &Row) -> Result<Record, StoreError> {
    let (position, event, deleted) = row::event(found)?;
    Ok(Record::Event { position, event, deleted })
}

fn member(found: &Row) -> Result<Record, StoreError> {
    let channel = row::channel_id(found, 0)?;
    let channel = channel.ok_or_else(|| StoreError::Damaged("a member of no channel".to_owned()))?;
    Ok(Record::Member(channel, Member { key: row::key(found, 1)?, roles: row::json(found, 2)? }))
}

fn setting(found: &Row) -> Result<Record, StoreError> {
    let (name, value) = (row::text(found, 0)?.to_owned(), row::blob(found, 1)?);
    Ok(Record::Setting(Setting { name, value }))
}
