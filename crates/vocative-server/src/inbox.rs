//! Whose inbox it is, and what stands in it (section 5).
//!
//! A caller is several keys, and several names of an account, each for a time: what names a login is for
//! whoever held it then.

use vocative::{Key, Login};
use vocative_store::{
    AccountName, InboxCursor, InboxPage, InboxQuery, InboxRow, Millis, Person, Reader, Source, Store,
    StoreError, Timestamp,
};

use crate::api::{Api, Caller, Problem};
use crate::people::Holding;

/// Whose inbox it is.
pub(crate) struct Owner {
    keys: Vec<Key>,
    names: Vec<(AccountName, Holding)>,
}

/// What is asked of it.
#[derive(Clone, Default)]
pub(crate) struct Asked {
    pub(crate) since: Option<Millis>,
    pub(crate) until: Option<Millis>,
    pub(crate) from: Option<Person>,
    pub(crate) after: Option<InboxCursor>,
    pub(crate) source: Source,
    pub(crate) limit: usize,
}

impl Owner {
    /// The caller, with the account and its keys if there is one.
    ///
    /// # Errors
    /// When it is not known now who the caller is.
    pub(crate) async fn of(api: &Api, caller: &Caller) -> Result<Self, Problem> {
        let account = caller.find_account(api).await?;
        let mut keys = caller.keys.clone();
        let mut names = Vec::new();
        if let Some(account) = account {
            keys.extend(account.keys.iter().filter(|key| !caller.keys.contains(key)));
            for holding in account.names {
                // Every login is a name.
                if let Some(name) = account_name(&holding.login) {
                    names.push((name, holding));
                }
            }
        }
        Ok(Self { keys, names })
    }

    /// Whether a row is for this person.
    fn has(&self, row: &InboxRow) -> bool {
        let InboxRow::Session(row) = row else { return true };
        let at = Timestamp::from_secs(u64::try_from(row.at.get().div_euclid(1000)).unwrap_or(0));
        self.names.iter().any(|(name, holding)| *name == row.recipient && holding.covers(at))
    }
}

fn account_name(login: &Login) -> Option<AccountName> {
    format!("github:{login}").parse().ok()
}

/// A page of the inbox.
///
/// # Errors
/// What the store says.
pub(crate) async fn page(store: &dyn Store, owner: &Owner, asked: &Asked) -> Result<InboxPage, StoreError> {
    let recipient = Person {
        keys: owner.keys.clone(),
        names: owner.names.iter().map(|(name, _)| name.clone()).collect(),
    };
    let mut query = InboxQuery {
        recipient,
        reader: Reader::Keys(owner.keys.clone()),
        source: asked.source,
        since: asked.since,
        until: asked.until,
        from: asked.from.clone(),
        after: asked.after.clone(),
        limit: asked.limit,
    };
    let mut rows = Vec::new();
    loop {
        let page = store.inbox(&query).await?;
        rows.extend(page.rows.into_iter().filter(|row| owner.has(row)));
        // A name that passed to someone else leaves gaps; a page has as many rows as were asked for.
        let missing = asked.limit - rows.len();
        match page.next {
            Some(next) if missing > 0 => {
                query.after = Some(next);
                query.limit = missing;
            }
            next => return Ok(InboxPage { rows, next }),
        }
    }
}

/// Someone by a public key or a login.
pub(crate) fn person(text: &str) -> Option<Person> {
    match text.strip_prefix("github:") {
        Some(login) => account_name(&login.parse().ok()?).map(Person::from),
        None => crate::public_key(text).map(Person::from),
    }
}

/// An instant as seconds since 1970 or as a date and time.
pub(crate) fn instant(text: &str) -> Option<Millis> {
    if let Ok(seconds) = text.parse::<i64>() {
        return seconds.checked_mul(1000).map(Millis::new);
    }
    vocative_pi::Timestamp::parse_loose(text).map(|time| Millis::new(time.millis()))
}

/// Milliseconds since 1970 as a date and time; of those beyond what a date can say, the last that can.
pub(crate) fn shown(millis: i128) -> String {
    let latest = vocative_pi::Timestamp::LATEST;
    let time = i64::try_from(millis).ok().and_then(vocative_pi::Timestamp::from_millis);
    time.unwrap_or(latest).to_string()
}
