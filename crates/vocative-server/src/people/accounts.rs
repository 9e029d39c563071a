//! Accounts and the names they hold.
//!
//! A name belongs to the first account that logged in under it, and to no other until an admin releases
//! it. After a rename an account holds both names; both count as its own.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};
use vocative::{Id, Key, Login};
use vocative_store::{Timestamp, Write};

use super::documents::{ATTEMPTS, Found, as_found, public_change, set};
use super::error::PeopleError;
use super::{Clock, People};

/// A GitHub account by its number, which outlives its logins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AccountId(u64);

impl AccountId {
    /// The account of this number.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// Its number.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Display for AccountId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A human: an account that has logged in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// Its number at GitHub.
    pub id: AccountId,
    /// The latest login, as GitHub spells it.
    pub handle: String,
    /// The names that it holds or held, the latest last.
    pub names: Vec<Holding>,
    /// The keys that are linked to it.
    pub keys: Vec<Key>,
    /// When it logged in first, in seconds since 1970.
    pub first_login: u64,
    /// When it logged in last, in seconds since 1970.
    pub last_login: u64,
}

/// A name and the time for which an account holds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holding {
    /// The name.
    pub login: Login,
    /// From when on, in seconds since 1970; always before if absent.
    pub from: Option<u64>,
    /// Until when, exclusively; still if absent.
    pub until: Option<u64>,
}

/// One of those who held a name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Holder {
    pub(super) account: AccountId,
    pub(super) from: Option<u64>,
    pub(super) until: Option<u64>,
}

impl Holding {
    /// Whether the name was held then.
    pub fn covers(&self, at: Timestamp) -> bool {
        covers(self.from, self.until, at)
    }
}

impl Holder {
    pub(super) fn covers(&self, at: Timestamp) -> bool {
        covers(self.from, self.until, at)
    }
}

fn covers(from: Option<u64>, until: Option<u64>, at: Timestamp) -> bool {
    let at = at.as_secs();
    from.is_none_or(|from| from <= at) && until.is_none_or(|until| at < until)
}

impl Account {
    /// Under which identity the account is addressed: the name of its latest login. Nothing after that
    /// name was released, until the account logs in again.
    pub fn addressed(&self) -> Option<Id> {
        let login: Login = self.handle.parse().ok()?;
        let is_held = self.names.iter().any(|name| name.login == login && name.until.is_none());
        is_held.then_some(Id::Github(login))
    }
}

/// The name of an account's document.
pub(super) fn document(id: AccountId) -> String {
    format!("account/{id}")
}

/// What begins the names of accounts' documents.
pub(super) const ACCOUNTS: &str = "account/";
/// What begins the names of the documents of held names.
pub(super) const HELD: &str = "held/";

pub(super) fn held(login: &Login) -> String {
    format!("{HELD}{login}")
}

/// What a login makes of an account and of the names. Others may have changed either meanwhile.
pub(super) struct Recorded {
    pub(super) account: Account,
    pub(super) writes: Vec<Write>,
}

/// A login under a name: what it makes of the account and of the holders of the name.
///
/// # Errors
/// `Held` when the name is another's.
pub(super) fn record(
    id: AccountId,
    handle: &str,
    login: &Login,
    now: u64,
    account: Option<&Found<Account>>,
    holders: Option<&Found<Vec<Holder>>>,
) -> Result<Recorded, PeopleError> {
    let before = holders.map(|found| found.value.as_slice()).unwrap_or_default();
    let from = match before.last() {
        // It is the account's already.
        Some(Holder { account, until: None, .. }) if *account == id => None,
        // The first who comes has always been meant.
        None => Some(None),
        Some(Holder { until: Some(released), .. }) if *released <= now => Some(Some(*released)),
        Some(_) => return Err(PeopleError::Held { login: login.clone() }),
    };
    let fresh = || Account {
        id,
        handle: handle.to_owned(),
        names: Vec::new(),
        keys: Vec::new(),
        first_login: now,
        last_login: now,
    };
    let mut changed = account.map_or_else(fresh, |found| found.value.clone());
    changed.handle = handle.to_owned();
    changed.last_login = now;
    let mut writes = Vec::new();
    if let Some(from) = from {
        changed.names.push(Holding { login: login.clone(), from, until: None });
        let mut all = before.to_vec();
        all.push(Holder { account: id, from, until: None });
        writes.push(set(held(login), as_found(holders), &all));
    } else {
        // The name must not be released meanwhile.
        writes.push(Write::check(held(login), as_found(holders)));
    }
    let is_public = account
        .is_none_or(|found| found.value.handle != changed.handle || found.value.names != changed.names);
    if is_public {
        writes.push(public_change());
    }
    writes.push(set(document(id), as_found(account), &changed));
    Ok(Recorded { account: changed, writes })
}

impl People {
    /// Lets go of a name from an instant on: references under it from then on are not its holder's, and
    /// the next account that logs in under it holds it.
    ///
    /// # Errors
    /// `NotHeld`, and `BadInstant` for one before the holder had the name.
    pub async fn release(&self, login: &Login, at: Timestamp) -> Result<(), PeopleError> {
        for _ in 0..ATTEMPTS {
            let holders = self.documents.get::<Vec<Holder>>(&held(login)).await?;
            let Some(mut holders) = holders else { return Err(PeopleError::NotHeld) };
            let expected = as_found(Some(&holders));
            let last = holders.value.last_mut().filter(|holder| holder.until.is_none());
            let Some(last) = last else { return Err(PeopleError::NotHeld) };
            if last.from.is_some_and(|from| at.as_secs() <= from) {
                return Err(PeopleError::BadInstant);
            }
            last.until = Some(at.as_secs());
            let id = last.account;
            let account = self.documents.get::<Account>(&document(id)).await?;
            let Some(mut account) = account else { return Err(PeopleError::NotHeld) };
            let account_expected = as_found(Some(&account));
            for name in &mut account.value.names {
                if name.login == *login && name.until.is_none() {
                    name.until = Some(at.as_secs());
                }
            }
            let writes = vec![
                set(held(login), expected, &holders.value),
                set(document(id), account_expected, &account.value),
                public_change(),
            ];
            if self.documents.write(writes).await? {
                return Ok(());
            }
        }
        Err(PeopleError::Busy)
    }

    /// Whose name this was at an instant. Nobody's if no account that logged in held it then.
    ///
    /// # Errors
    /// What the store says.
    pub async fn account_of(&self, login: &Login, at: Timestamp) -> Result<Option<AccountId>, PeopleError> {
        Ok(self.registry().await?.account_of(login, at))
    }

    /// Which of these names nobody held at their instants.
    ///
    /// # Errors
    /// What the store says.
    pub(crate) async fn unregistered(
        &self,
        names: &[(&Login, Timestamp)],
    ) -> Result<BTreeSet<Login>, PeopleError> {
        let registry = self.registry().await?;
        let unknown = names.iter().filter(|(login, at)| registry.account_of(login, *at).is_none());
        Ok(unknown.map(|(login, _)| (*login).clone()).collect())
    }

    /// The names that an account holds or held, each with its time. All count as its own within it.
    ///
    /// # Errors
    /// What the store says.
    pub async fn names_of(&self, id: AccountId) -> Result<Vec<Holding>, PeopleError> {
        Ok(self.registry().await?.account(id).map(|account| account.names.clone()).unwrap_or_default())
    }

    /// An account.
    ///
    /// # Errors
    /// What the store says.
    pub async fn account(&self, id: AccountId) -> Result<Option<Account>, PeopleError> {
        Ok(self.registry().await?.account(id).cloned())
    }

    /// The account that a key is linked to.
    ///
    /// # Errors
    /// What the store says.
    pub async fn account_with(&self, key: Key) -> Result<Option<AccountId>, PeopleError> {
        Ok(self.registry().await?.account_with(key))
    }
}

/// The clock of this machine.
pub(crate) fn machine_clock() -> Clock {
    std::sync::Arc::new(|| {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_secs(since.as_secs())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found<T>(value: T) -> Found<T> {
        Found { value, version: 1 }
    }

    #[test]
    fn a_name_is_its_first_holders_until_it_is_released() {
        let login: Login = "ann".parse().expect("a login");
        let (ann, eve) = (AccountId(1), AccountId(2));
        let holder = |account, from, until| Holder { account, from, until };
        let table = [
            ("nobody's", vec![], eve, Ok(Some(None))),
            ("her own", vec![holder(ann, None, None)], ann, Ok(None)),
            ("another's", vec![holder(ann, None, None)], eve, Err(())),
            ("released", vec![holder(ann, None, Some(90))], eve, Ok(Some(Some(90)))),
            ("released, and back", vec![holder(ann, None, Some(90))], ann, Ok(Some(Some(90)))),
            ("to be released", vec![holder(ann, None, Some(101))], eve, Err(())),
            (
                "another's who came then",
                vec![holder(ann, None, Some(90)), holder(eve, Some(90), None)],
                ann,
                Err(()),
            ),
        ];
        for (which, holders, who, expected) in table {
            let holders = (!holders.is_empty()).then(|| found(holders));
            let recorded = record(who, "Ann", &login, 100, None, holders.as_ref());
            let from = recorded.map(|recorded| recorded.account.names.last().map(|name| name.from));
            assert_eq!(from.map_err(|_| ()), expected, "{which}");
        }
    }

    #[test]
    fn an_account_is_addressed_by_the_name_that_it_holds() {
        let name = |login: &str, until| Holding { login: login.parse().expect("a login"), from: None, until };
        let table = [
            ("Ann", vec![name("ann", None)], Some("github:ann")),
            ("Ann-2", vec![name("ann", None), name("ann-2", None)], Some("github:ann-2")),
            ("Ann", vec![name("ann", Some(5))], None),
        ];
        for (handle, names, expected) in table {
            let account = Account {
                id: AccountId(1),
                handle: handle.to_owned(),
                names,
                keys: Vec::new(),
                first_login: 0,
                last_login: 0,
            };
            assert_eq!(account.addressed().map(|id| id.to_string()).as_deref(), expected, "{handle}");
        }
    }
}
