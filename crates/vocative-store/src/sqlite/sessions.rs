//! References to sessions, in the writer's transactions.

use std::collections::BTreeSet;

use rusqlite::{Connection, OptionalExtension, Row, TransactionBehavior, params};

use super::row;
use crate::session::{
    AccountId, Added, EntryId, Millis, Published, SessionId, SessionReference, Verdict, distinct,
};
use crate::sql;

/// Entries whose references may have become disputed or settled.
#[derive(Debug, Default)]
pub(super) struct Touched(BTreeSet<(SessionId, EntryId)>);

impl Touched {
    /// Notes an entry.
    pub(super) fn add(&mut self, session: SessionId, entry: EntryId) {
        self.0.insert((session, entry));
    }
}

pub(super) fn add(
    db: &mut Connection,
    publisher: &AccountId,
    references: Vec<SessionReference>,
) -> rusqlite::Result<Added> {
    let given = references.len();
    let references = match distinct(references) {
        Ok(references) => references,
        Err(conflict) => return Ok(Added::Conflict(conflict)),
    };
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut touched = Touched::default();
    let mut added = 0;
    for reference in references {
        match of_publisher(&tx, publisher, &reference)? {
            None => {
                put(&tx, publisher, &reference, &mut touched)?;
                added += 1;
            }
            Some(stored) if stored == reference => {}
            Some(stored) => return Ok(Added::Conflict(Box::new([stored, reference]))),
        }
    }
    settle(&tx, &touched)?;
    tx.commit()?;
    Ok(Added::Done { added, unchanged: given - added })
}

/// What the publisher has said of the same entry and recipient.
fn of_publisher(
    db: &Connection,
    publisher: &AccountId,
    like: &SessionReference,
) -> rusqlite::Result<Option<SessionReference>> {
    let sql = format!(
        "SELECT {} FROM session_mentions r \
         WHERE r.session = ?1 AND r.entry = ?2 AND r.recipient = ?3 AND r.publisher = ?4",
        sql::REFERENCE
    );
    let key = [like.session.as_str(), like.entry.as_str(), like.recipient.as_str(), publisher.as_str()];
    db.prepare_cached(&sql)?.query_row(key, reference).optional()
}

fn put(
    db: &Connection,
    publisher: &AccountId,
    reference: &SessionReference,
    touched: &mut Touched,
) -> rusqlite::Result<()> {
    let SessionReference { session, entry, recipient, actor, at } = reference;
    db.prepare_cached("INSERT OR REPLACE INTO session_mentions VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0)")?
        .execute(params![
            recipient.as_str(),
            at.get(),
            session.as_str(),
            entry.as_str(),
            actor.as_str(),
            publisher.as_str()
        ])?;
    touched.0.insert((session.clone(), entry.clone()));
    Ok(())
}

/// Takes a reference of an export; one that differs is replaced, as by whoever published it.
pub(super) fn import(db: &Connection, published: &Published, touched: &mut Touched) -> rusqlite::Result<()> {
    put(db, &published.publisher, &published.reference, touched)
}

/// Takes what a verdict of an export says of one recipient.
pub(super) fn import_verdict(
    db: &Connection,
    said: &SessionReference,
    touched: &mut Touched,
) -> rusqlite::Result<()> {
    let SessionReference { session, entry, recipient, actor, at } = said;
    db.prepare_cached("INSERT OR REPLACE INTO verdicts VALUES (?1, ?2, ?3, ?4, ?5)")?.execute(params![
        session.as_str(),
        entry.as_str(),
        recipient.as_str(),
        actor.as_str(),
        at.get()
    ])?;
    touched.0.insert((session.clone(), entry.clone()));
    Ok(())
}

pub(super) fn withdraw(
    db: &mut Connection,
    publisher: &AccountId,
    session: &SessionId,
) -> rusqlite::Result<usize> {
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut touched = Touched::default();
    let mut withdrawn = 0;
    {
        let mut delete = tx.prepare_cached(
            "DELETE FROM session_mentions WHERE session = ?1 AND publisher = ?2 RETURNING entry",
        )?;
        let entries = delete.query_map([session.as_str(), publisher.as_str()], |found| found.get(0))?;
        for entry in entries {
            let entry: String = entry?;
            touched.0.insert((session.clone(), row::parsed(&entry, 0)?));
            withdrawn += 1;
        }
    }
    settle(&tx, &touched)?;
    tx.commit()?;
    Ok(withdrawn)
}

pub(super) fn set_verdict(
    db: &mut Connection,
    session: &SessionId,
    entry: &EntryId,
    verdict: Option<&Verdict>,
) -> rusqlite::Result<()> {
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    tx.prepare_cached("DELETE FROM verdicts WHERE session = ?1 AND entry = ?2")?
        .execute([session.as_str(), entry.as_str()])?;
    let mut touched = Touched(BTreeSet::from([(session.clone(), entry.clone())]));
    for recipient in verdict.iter().flat_map(|verdict| &verdict.recipients) {
        let Verdict { actor, at, .. } = verdict.expect("a recipient is one of a verdict");
        let (session, entry) = (session.clone(), entry.clone());
        let (recipient, actor) = (recipient.clone(), actor.clone());
        let said = SessionReference { session, entry, recipient, actor, at: *at };
        import_verdict(&tx, &said, &mut touched)?;
    }
    settle(&tx, &touched)?;
    tx.commit()
}

/// Says of each reference to what was touched whether it is disputed.
pub(super) fn settle(db: &Connection, touched: &Touched) -> rusqlite::Result<()> {
    if touched.0.is_empty() {
        return Ok(());
    }
    let pairs: Vec<[&str; 2]> =
        touched.0.iter().map(|(session, entry)| [session.as_str(), entry.as_str()]).collect();
    let pairs = serde_json::to_string(&pairs).expect("strings are JSON");
    let settle = sql::settle("SELECT value ->> 0, value ->> 1 FROM json_each(?1)");
    db.prepare_cached(&settle)?.execute([pairs])?;
    Ok(())
}

/// The columns of [`crate::sql::REFERENCE`].
pub(super) fn reference(found: &Row<'_>) -> rusqlite::Result<SessionReference> {
    Ok(SessionReference {
        session: row::name(found, 0)?,
        entry: row::name(found, 1)?,
        recipient: row::name(found, 2)?,
        actor: row::name(found, 3)?,
        at: Millis::new(found.get(4)?),
    })
}

/// Those, the publisher, and whether it is disputed.
pub(super) fn published(found: &Row<'_>) -> rusqlite::Result<Published> {
    Ok(Published { reference: reference(found)?, publisher: row::name(found, 5)?, disputed: found.get(6)? })
}
