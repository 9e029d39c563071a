//! References to sessions: each change is one call of one function.

use tokio_postgres::{Client, Row};

use super::failure::failed;
use super::row;
use crate::error::StoreError;
use crate::session::{
    AccountId, AccountName, Added, EntryId, Millis, Published, SessionId, SessionReference, Verdict, distinct,
};

/// References as lists, one for each column.
struct Columns<'r> {
    sessions: Vec<&'r str>,
    entries: Vec<&'r str>,
    recipients: Vec<&'r str>,
    actors: Vec<&'r str>,
    ats: Vec<i64>,
}

impl<'r> Columns<'r> {
    fn of(references: impl Iterator<Item = &'r SessionReference> + Clone) -> Self {
        Self {
            sessions: references.clone().map(|said| said.session.as_str()).collect(),
            entries: references.clone().map(|said| said.entry.as_str()).collect(),
            recipients: references.clone().map(|said| said.recipient.as_str()).collect(),
            actors: references.clone().map(|said| said.actor.as_str()).collect(),
            ats: references.map(|said| said.at.get()).collect(),
        }
    }
}

pub(super) async fn add(
    client: &Client,
    publisher: &AccountId,
    references: Vec<SessionReference>,
) -> Result<Added, StoreError> {
    let given = references.len();
    let references = match distinct(references) {
        Ok(references) => references,
        Err(conflict) => return Ok(Added::Conflict(conflict)),
    };
    let Columns { sessions, entries, recipients, actors, ats } = Columns::of(references.iter());
    let sql = "SELECT o_added, o_differs, o_actor, o_at FROM vocative_refer($1, $2, $3, $4, $5, $6)";
    let said = client
        .query_one(sql, &[&publisher.as_str(), &sessions, &entries, &recipients, &actors, &ats])
        .await
        .map_err(|error| failed(&error))?;
    let differs: Option<i64> = said.try_get(1).map_err(|error| failed(&error))?;
    let Some(place) = differs else {
        let added = usize::try_from(row::number(&said, 0)?).unwrap_or(0);
        return Ok(Added::Done { added, unchanged: given - added });
    };
    let missing = || StoreError::Database("a reference is missing".to_owned());
    let place = usize::try_from(place - 1).map_err(|_| missing())?;
    let given = references.into_iter().nth(place).ok_or_else(missing)?;
    let (actor, at): (AccountName, Millis) = (row::name(&said, 2)?, Millis::new(row::number(&said, 3)?));
    let stored = SessionReference { actor, at, ..given.clone() };
    Ok(Added::Conflict(Box::new([stored, given])))
}

pub(super) async fn withdraw(
    client: &Client,
    publisher: &AccountId,
    session: &SessionId,
) -> Result<usize, StoreError> {
    let sql = "SELECT vocative_withdraw($1, $2)";
    let withdrawn = client.query_one(sql, &[&publisher.as_str(), &session.as_str()]).await;
    let withdrawn = row::number(&withdrawn.map_err(|error| failed(&error))?, 0)?;
    Ok(usize::try_from(withdrawn).unwrap_or(0))
}

pub(super) async fn set_verdict(
    client: &Client,
    session: &SessionId,
    entry: &EntryId,
    verdict: Option<&Verdict>,
) -> Result<(), StoreError> {
    let recipients = verdict.iter().flat_map(|verdict| &verdict.recipients);
    let recipients: Vec<&str> = recipients.map(AccountName::as_str).collect();
    let actor = verdict.map(|verdict| verdict.actor.as_str());
    let at = verdict.map(|verdict| verdict.at.get());
    let sql = "SELECT vocative_verdict($1, $2, $3, $4, $5)";
    let set = client.execute(sql, &[&session.as_str(), &entry.as_str(), &recipients, &actor, &at]).await;
    set.map(drop).map_err(|error| failed(&error))
}

/// Takes references and verdicts of an export; what differs is replaced, as by whoever said it.
pub(super) async fn import(
    client: &Client,
    published: &[Published],
    verdicts: &[SessionReference],
) -> Result<(), StoreError> {
    let said = Columns::of(verdicts.iter());
    let sql = "INSERT INTO verdicts SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[])
         ON CONFLICT (session, entry, recipient) DO UPDATE SET actor = excluded.actor, at = excluded.at";
    let columns = [&said.sessions, &said.entries, &said.recipients, &said.actors];
    let run = client.execute(sql, &[columns[0], columns[1], columns[2], columns[3], &said.ats]).await;
    run.map_err(|error| failed(&error))?;
    let told = Columns::of(published.iter().map(|published| &published.reference));
    let publishers: Vec<&str> = published.iter().map(|published| published.publisher.as_str()).collect();
    let sql = "INSERT INTO session_mentions (session, entry, recipient, actor, at, publisher, disputed)
         SELECT *, 0 FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::text[])
         ON CONFLICT (session, entry, recipient, publisher)
         DO UPDATE SET actor = excluded.actor, at = excluded.at";
    let columns = [&told.sessions, &told.entries, &told.recipients, &told.actors];
    let run =
        client.execute(sql, &[columns[0], columns[1], columns[2], columns[3], &told.ats, &publishers]).await;
    run.map_err(|error| failed(&error))?;
    let sessions = [said.sessions, told.sessions].concat();
    let entries = [said.entries, told.entries].concat();
    let run = client.execute("SELECT vocative_settle($1, $2)", &[&sessions, &entries]).await;
    run.map(drop).map_err(|error| failed(&error))
}

/// The columns of [`crate::sql::REFERENCE`].
pub(super) fn reference(found: &Row) -> Result<SessionReference, StoreError> {
    Ok(SessionReference {
        session: row::name(found, 0)?,
        entry: row::name(found, 1)?,
        recipient: row::name(found, 2)?,
        actor: row::name(found, 3)?,
        at: Millis::new(row::number(found, 4)?),
    })
}

/// Those, the publisher, and whether it is disputed.
pub(super) fn published(found: &Row) -> Result<Published, StoreError> {
    Ok(Published {
        reference: reference(found)?,
        publisher: row::name(found, 5)?,
        disputed: row::number(found, 6)? != 0,
    })
}
