//! References that accounts push (section 4): claims about who named whom when, without any text.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use axum::body::Bytes;
use vocative::Login;
use vocative_pi::{EntryId, Evidence, Findings, Opened, Options, Reduction, SessionId, Sink, check};
use vocative_store::{
    AccountId, AccountName, Added, BadValue, Expected, Millis, SessionReference, Store, StoreError,
    Timestamp, Verdict, Write, Written,
};

use super::shared::{Sessions, seconds};
use crate::people::{Account, People, PeopleError};

/// The most bytes of an artifact.
pub(crate) const MOST_BYTES: usize = 64 * 1024 * 1024;
/// How far ahead of this machine's clock the times of others may be, in milliseconds.
const AHEAD: i64 = 15 * 60 * 1000;

/// What became of the references of an artifact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Taken {
    pub(crate) added: usize,
    pub(crate) unchanged: usize,
    pub(crate) ignored: usize,
}

/// Why an artifact was not taken. Nothing of it is stored.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotTaken {
    /// It is damaged.
    #[error(transparent)]
    Invalid(Box<vocative_pi::Problem>),
    /// It is something else.
    #[error("this is no reduced artifact: reduce the session first")]
    NoArtifact,
    /// A reference is of the future.
    #[error("{session}/{entry} is later than now: set the clock of the machine that wrote it")]
    Later {
        /// The session.
        session: SessionId,
        /// The entry.
        entry: EntryId,
    },
    /// Recipients who have never logged in.
    #[error("nobody has logged in here under these names")]
    UnknownRecipients(BTreeSet<Login>),
    /// The publisher has said something else before.
    #[error("you have pushed another reference to the same message and person")]
    Conflict(Box<[SessionReference; 2]>),
    /// Who is who is not known now.
    #[error(transparent)]
    People(#[from] PeopleError),
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Keeps what a check of an artifact finds.
#[derive(Default)]
struct Found {
    findings: Findings,
    reduction: Option<Reduction>,
}

impl Sink for Found {
    fn problem(&mut self, problem: vocative_pi::Problem) {
        self.findings.problem(problem);
    }

    fn reduction(&mut self, reduction: Reduction) {
        self.reduction = Some(reduction);
    }
}

/// Reads an artifact: its canonical bytes, and nothing after them.
fn read(bytes: &[u8]) -> Result<Reduction, NotTaken> {
    let mut found = Found::default();
    let checked = check(bytes, Options::default(), &mut found).map_err(|_| NotTaken::NoArtifact)?;
    if let Some(problem) = found.findings.problems.into_iter().next() {
        return Err(NotTaken::Invalid(Box::new(problem)));
    }
    found.reduction.filter(|_| checked.is_artifact && checked.lines == 3).ok_or(NotTaken::NoArtifact)
}

fn name(login: &Login) -> Result<AccountName, BadValue> {
    format!("github:{login}").parse()
}

/// Under what the store keeps an account's references and sessions.
pub(crate) fn key(account: &Account) -> String {
    account.id.to_string()
}

fn damaged(what: BadValue) -> StoreError {
    StoreError::Database(what.to_string())
}

/// Takes the references of an artifact as claims of their publisher.
///
/// Those whose actor is somebody else are left out, unless the operator trusts the publisher: a fork of a
/// teammate's session holds theirs too. Whether an actor is the publisher is a matter of who held the name
/// when the message was written.
///
/// # Errors
/// Why nothing was taken.
pub(crate) async fn take(
    sessions: &Sessions,
    people: &People,
    publisher: &Account,
    is_trusted: bool,
    bytes: Bytes,
    now: Timestamp,
) -> Result<Taken, NotTaken> {
    let reduction = sessions.reading(move || read(&bytes)).await?;
    let latest = i64::try_from(now.as_secs()).unwrap_or(i64::MAX / 2000) * 1000 + AHEAD;
    let mut references = Vec::new();
    let mut recipients = Vec::new();
    let mut ignored = 0;
    for (key, reference) in reduction.references() {
        let millis = reference.at.millis();
        let at = seconds(reference.at);
        if millis > latest {
            return Err(NotTaken::Later { session: key.session.clone(), entry: key.entry.clone() });
        }
        let is_own = publisher.names.iter().any(|name| name.login == *reference.actor && name.covers(at));
        if !is_own && !is_trusted {
            ignored += 1;
            continue;
        }
        recipients.push((&*key.recipient, at));
        let read = || -> Result<_, BadValue> {
            Ok(SessionReference {
                session: key.session.as_str().parse()?,
                entry: key.entry.as_str().parse()?,
                recipient: name(&key.recipient)?,
                actor: name(&reference.actor)?,
                at: Millis::new(millis),
            })
        };
        references.push(read().map_err(damaged)?);
    }
    let unknown = people.unregistered(&recipients).await?;
    if !unknown.is_empty() {
        return Err(NotTaken::UnknownRecipients(unknown));
    }
    let publisher: AccountId = key(publisher).parse().map_err(damaged)?;
    match sessions.store().add_references(&publisher, references).await? {
        Added::Done { added, unchanged } => Ok(Taken { added, unchanged, ignored }),
        Added::Conflict(conflict) => Err(NotTaken::Conflict(conflict)),
    }
}

/// Lets the markers inside a session that its own author shares decide what publishers dispute.
///
/// A session's id is whatever its file says. Where two accounts share sessions of one id, neither decides:
/// else whoever shares last could make others' references look false.
///
/// # Errors
/// What the store says. Doing it again does it.
pub(crate) async fn settle(
    store: &Arc<dyn Store>,
    sharer: &Account,
    session: &Opened,
) -> Result<(), StoreError> {
    let id = &session.header.id;
    let claim = format!("session-id/{id}/{}", key(sharer));
    let is_claimed = store.document(&claim).await?.is_some();
    if !is_claimed
        && let Written::Changed(name) =
            store.write(vec![Write::set(claim, Expected::Anything, Vec::new())]).await?
    {
        return Err(StoreError::Database(format!("{name} changed")));
    }
    let is_disputed = store.documents(&format!("session-id/{id}/"), None, 2).await?.len() > 1;
    for (entry, verdict) in verdicts(sharer, session).map_err(damaged)? {
        let verdict = Some(verdict).filter(|_| !is_disputed);
        store.set_verdict(&id.as_str().parse().map_err(damaged)?, &entry, verdict).await?;
    }
    Ok(())
}

/// What the markers by the sharer say of each message of this very session.
fn verdicts(
    sharer: &Account,
    session: &Opened,
) -> Result<BTreeMap<vocative_store::EntryId, Verdict>, BadValue> {
    let is_own = |item: &&Evidence| {
        let at = seconds(item.at);
        let is_sharer =
            sharer.names.iter().any(|name| name.login == item.marker.actor.login && name.covers(at));
        is_sharer && item.marker.session == session.header.id
    };
    let mut verdicts: BTreeMap<vocative_store::EntryId, Verdict> = BTreeMap::new();
    for item in session.all_evidence().iter().filter(is_own) {
        let (actor, at) = (name(&item.marker.actor.login)?, Millis::new(item.at.millis()));
        let verdict = verdicts.entry(item.marker.entry.as_str().parse()?).or_insert_with(|| Verdict {
            actor,
            at,
            recipients: Vec::new(),
        });
        for recipient in &item.marker.recipients {
            let recipient = name(&recipient.login)?;
            if !verdict.recipients.contains(&recipient) {
                verdict.recipients.push(recipient);
            }
        }
    }
    Ok(verdicts)
}
