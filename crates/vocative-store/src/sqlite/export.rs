//! Pages of everything, and taking them in elsewhere.

use rusqlite::{Connection, OptionalExtension, Params, Row, TransactionBehavior, params};

use super::apply::{self, Touched};
use super::pool::failed;
use super::{changes, documents, read, row, sessions, settings};
use crate::channel::Member;
use crate::error::StoreError;
use crate::facts::Facts;
use crate::setting::Setting;
use crate::sql::{self, Dialect, EVENT, REFERENCE};
use crate::store::{ExportCursor, ExportPage, Record};
use crate::value::Position;

pub(super) fn page(db: &Connection, cursor: &ExportCursor, limit: usize) -> rusqlite::Result<ExportPage> {
    let most = row::signed(limit as u64);
    let records = match cursor {
        ExportCursor::Events(after) => {
            let sql =
                format!("SELECT {EVENT} FROM events e WHERE e.position > ?1 ORDER BY e.position LIMIT ?2");
            records(db, &sql, params![row::signed(after.get()), most], |found| {
                let (position, event, deleted) = row::event(found)?;
                Ok(Record::Event { position, event, deleted })
            })?
        }
        ExportCursor::Channels(after) => {
            let after = after.as_ref().map_or("", |id| id.as_str());
            let sql = "SELECT id, kind, flags, deleted FROM channels WHERE id > ?1 ORDER BY id LIMIT ?2";
            records(db, sql, params![after, most], |found| Ok(Record::Channel(row::channel(found)?)))?
        }
        ExportCursor::Members(after) => {
            let channel = after.as_ref().map_or("", |(channel, _)| channel.as_str());
            let key = after.as_ref().map_or(&[][..], |(_, key)| key.as_bytes());
            let sql = "SELECT channel, key, roles FROM members WHERE (channel, key) > (?1, ?2) \
                 ORDER BY channel, key LIMIT ?3";
            records(db, sql, params![channel, key, most], |found| {
                let channel: String = found.get(0)?;
                let member = Member { key: row::key(found, 1)?, roles: row::json(found, 2)? };
                Ok(Record::Member(row::channel_id(&channel, 0)?, member))
            })?
        }
        ExportCursor::Settings(after) => {
            let after = after.as_deref().unwrap_or_default();
            let sql = "SELECT name, value FROM settings WHERE name > ?1 ORDER BY name LIMIT ?2";
            records(db, sql, params![after, most], |found| {
                Ok(Record::Setting(Setting { name: found.get(0)?, value: found.get(1)? }))
            })?
        }
        ExportCursor::Documents(after) => {
            let page = sql::documents(Dialect::Sqlite, "", after.as_deref(), limit);
            documents::list(db, &page)?.into_iter().map(Record::Document).collect()
        }
        ExportCursor::Verdicts(after) => {
            let (session, entry, recipient) = match after {
                None => ("", "", ""),
                Some((session, entry, recipient)) => (session.as_str(), entry.as_str(), recipient.as_str()),
            };
            let sql = format!(
                "SELECT {REFERENCE} FROM verdicts r WHERE (r.session, r.entry, r.recipient) > (?1, ?2, ?3) \
                 ORDER BY r.session, r.entry, r.recipient LIMIT ?4"
            );
            let bounds = params![session, entry, recipient, most];
            records(db, &sql, bounds, |found| Ok(Record::Verdict(sessions::reference(found)?)))?
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
                 WHERE (r.session, r.entry, r.recipient, r.publisher) > (?1, ?2, ?3, ?4) \
                 ORDER BY r.session, r.entry, r.recipient, r.publisher LIMIT ?5"
            );
            let bounds = params![session, entry, recipient, publisher, most];
            records(db, &sql, bounds, |found| Ok(Record::Reference(sessions::published(found)?)))?
        }
        ExportCursor::Mentions(after) => {
            let sql = sql::mentions_after(Dialect::Sqlite, *after, limit);
            read::rows(db, &sql)?.into_iter().map(Record::Mention).collect()
        }
    };
    Ok(ExportPage { next: cursor.next(&records, limit), records })
}

fn records(
    db: &Connection,
    sql: &str,
    bounds: impl Params,
    read: impl FnMut(&Row<'_>) -> rusqlite::Result<Record>,
) -> rusqlite::Result<Vec<Record>> {
    db.prepare_cached(sql)?.query_map(bounds, read)?.collect()
}

pub(super) fn import(db: &mut Connection, records: Vec<Record>, head: Position) -> Result<(), StoreError> {
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
    let mut last = apply::head(&tx).map_err(failed)?;
    let (mut touched, mut unsettled) = (Touched::default(), sessions::Touched::default());
    for record in records {
        match record {
            Record::Event { position, event, deleted } => {
                let mut same =
                    tx.prepare_cached("SELECT position FROM events WHERE id = ?1").map_err(failed)?;
                let same = same.query_row([event.id.as_bytes()], |found| row::position(found, 0));
                if same.optional().map_err(failed)? == Some(position) {
                    continue;
                }
                let facts = if deleted { Facts::of_deleted(&event) } else { Facts::of(&event) };
                let facts = facts.map_err(|refusal| StoreError::Damaged(refusal.to_string()))?;
                if position <= last {
                    return Err(StoreError::NotContinuing);
                }
                last = position;
                apply::insert(&tx, position, &event, &facts, deleted).map_err(failed)?;
                apply::touch(&tx, &event, &facts, true, &mut touched).map_err(failed)?;
            }
            Record::Channel(channel) => changes::set_channel(&tx, &channel).map_err(failed)?,
            Record::Member(channel, member) => {
                changes::set_member(&tx, &channel, &member).map_err(failed)?;
            }
            Record::Setting(setting) => {
                if settings::set_once(&tx, &setting).map_err(failed)? != setting.value {
                    return Err(StoreError::NotContinuing);
                }
            }
            Record::Document(document) => documents::import(&tx, &document).map_err(failed)?,
            Record::Verdict(said) => {
                sessions::import_verdict(&tx, &said, &mut unsettled).map_err(failed)?;
            }
            Record::Reference(published) => {
                sessions::import(&tx, &published, &mut unsettled).map_err(failed)?;
            }
            Record::Mention(_) => {}
        }
    }
    apply::flush(&tx, &touched).map_err(failed)?;
    sessions::settle(&tx, &unsettled).map_err(failed)?;
    apply::set_head(&tx, last.max(head)).map_err(failed)?;
    tx.commit().map_err(failed)
}
