//! Calls of the functions that write. Each is one statement, and its own transaction.

use deadpool_postgres::ClientWrapper;
use tokio_postgres::{Client, Error};

use super::batch::{Batch, said};
use super::failure::failed;
use super::row;
use super::{documents, sessions};
use crate::channel::Change;
use crate::error::{Outcome, Refusal, StoreError};
use crate::facts::Facts;
use crate::setting::Setting;
use crate::store::Record;
use crate::value::Position;

const APPEND: &str = "SELECT o_code, o_position, o_other FROM vocative_append($1, $2, $3, $4, $5, $6, $7, $8, \
     $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27)";

/// Why a batch was not stored: the database said so, or what it said cannot be read, or it said nothing.
pub(super) enum Failure {
    Said(Error),
    OfStore(StoreError),
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::OfStore(error)
    }
}

/// Stores a batch and answers for each of its events.
pub(super) async fn append(client: &ClientWrapper, batch: &Batch) -> Result<Vec<Outcome>, Failure> {
    let append = client.prepare_cached(APPEND).await.map_err(Failure::Said)?;
    let rows = client.query(&append, &batch.args()).await.map_err(Failure::Said)?;
    rows.iter().map(outcome).collect::<Result<_, _>>().map_err(Failure::OfStore)
}

fn outcome(found: &tokio_postgres::Row) -> Result<Outcome, StoreError> {
    Ok(match row::number(found, 0)? {
        0 => Outcome::Stored(row::position(found, 1)?),
        1 => Outcome::Duplicate,
        2 => Outcome::Refused(Refusal::Deleted),
        3 => Outcome::Refused(Refusal::Superseded { by: row::id(found, 2)? }),
        _ => Outcome::Refused(Refusal::Outdated),
    })
}

pub(super) async fn import(
    client: &ClientWrapper,
    records: Vec<Record>,
    head: Position,
) -> Result<(), StoreError> {
    let mut batch = Batch::import(head);
    let (mut changes, mut settings, mut kept) = (Vec::new(), Vec::new(), Vec::new());
    let (mut published, mut verdicts) = (Vec::new(), Vec::new());
    for record in records {
        match record {
            Record::Event { position, event, deleted } => {
                let facts = if deleted { Facts::of_deleted(&event) } else { Facts::of(&event) };
                let facts = facts.map_err(|refusal| StoreError::Damaged(refusal.to_string()))?;
                batch.push(&event, facts);
                batch.place(position, deleted);
            }
            Record::Channel(channel) => changes.push(said(&Change::SetChannel(channel))),
            Record::Member(channel, member) => changes.push(said(&Change::SetMember(channel, member))),
            Record::Setting(setting) => settings.push(setting),
            Record::Document(document) => kept.push(document),
            Record::Verdict(said) => verdicts.push(said),
            Record::Reference(one) => published.push(one),
            Record::Mention(_) => {}
        }
    }
    append(client, &batch).await.map_err(|failure| match failure {
        Failure::Said(error) => failed(&error),
        Failure::OfStore(error) => error,
    })?;
    let sql = "SELECT vocative_change(said::jsonb) FROM unnest($1::text[]) AS change(said)";
    client.execute(sql, &[&changes]).await.map_err(|error| failed(&error))?;
    for setting in settings {
        if set_once(client, &setting).await? != setting.value {
            return Err(StoreError::NotContinuing);
        }
    }
    if !kept.is_empty() {
        documents::import(client, &kept).await?;
    }
    if !published.is_empty() || !verdicts.is_empty() {
        sessions::import(client, &published, &verdicts).await?;
    }
    Ok(())
}

/// Keeps the value unless there is one, and answers what is kept: what another node has set while this
/// one waited is the value that both get.
pub(super) async fn set_once(client: &Client, setting: &Setting) -> Result<Vec<u8>, StoreError> {
    let sql = "INSERT INTO settings VALUES ($1, $2) \
         ON CONFLICT (name) DO UPDATE SET value = settings.value RETURNING value";
    let kept = client.query_one(sql, &[&setting.name, &setting.value]).await;
    row::blob(&kept.map_err(|error| failed(&error))?, 0)
}
