//! Logins: session tokens, listed and revocable.

use serde::{Deserialize, Serialize};
use vocative_store::{Expected, Timestamp, Write};

use super::People;
use super::accounts::AccountId;
use super::documents::{ATTEMPTS, Found, after, as_found, read, set};
use super::error::PeopleError;
use super::secret;
use super::tokens::Kept;

/// How long a login lasts, in seconds: 90 days.
const LASTS: u64 = 90 * 24 * 60 * 60;
/// Logins of one account; the oldest ends when there is one more.
const MOST: usize = 100;
/// Accounts that are looked through at once for logins that have expired.
const PAGE: usize = 200;
/// The longest description of a client that is kept, in characters.
const CLIENT: usize = 80;

/// Which of an account's logins. No secret.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LoginId(pub(super) String);

impl LoginId {
    /// The id, as a caller writes it.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// As text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// By whom a request with a session token is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// The account.
    pub account: AccountId,
    /// Which of its logins.
    pub login: LoginId,
}

/// A login that has just succeeded.
#[derive(Clone, PartialEq, Eq)]
pub struct NewLogin {
    /// The session token, given out this once.
    pub token: String,
    /// Whose.
    pub account: super::Account,
    /// Which login.
    pub id: LoginId,
    /// When it ends, in seconds since 1970.
    pub expires_at: u64,
}

/// A login as its owner sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoginRow {
    /// Which.
    pub id: LoginId,
    /// What its client said that it is.
    pub client: String,
    /// When it began, in seconds since 1970.
    pub created_at: u64,
    /// When it ends.
    pub expires_at: u64,
}

/// An account's logins, and GitHub's token for them.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Logins {
    pub(super) logins: Vec<Entry>,
    pub(super) token: Option<Kept>,
    /// Until when some node is refreshing the token.
    pub(super) refreshing: Option<u64>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Entry {
    id: LoginId,
    digest: String,
    client: String,
    created_at: u64,
    expires_at: u64,
}

/// What is kept under the digest of a session token.
#[derive(Debug, Serialize, Deserialize)]
struct Kin {
    account: AccountId,
    login: LoginId,
    expires_at: u64,
}

/// What begins the names of the documents of logins.
const LOGINS: &str = "logins/";

pub(super) fn document(id: AccountId) -> String {
    format!("{LOGINS}{id}")
}

fn session_document(digest: &str) -> String {
    format!("session/{digest}")
}

/// A token that was made, and what has to be written for it.
pub(super) struct Begun {
    pub(super) token: String,
    pub(super) id: LoginId,
    pub(super) expires_at: u64,
    pub(super) writes: Vec<Write>,
}

impl Logins {
    /// Adds a login; those that have expired, and the oldest of too many, are taken out.
    pub(super) fn begin(&mut self, account: AccountId, client: &str, now: Timestamp) -> Begun {
        let mut writes = self.expire(now);
        while self.logins.len() >= MOST {
            writes.push(Write::delete(session_document(&self.logins.remove(0).digest), Expected::Anything));
        }
        let token = secret::new(secret::SESSION);
        let (digest, id) = (secret::digest(&token), LoginId(secret::id()));
        let expires_at = after(now, LASTS);
        let kin = Kin { account, login: id.clone(), expires_at: expires_at.as_secs() };
        writes.push(set(session_document(&digest), Expected::Absent, &kin).until(expires_at));
        let client = client.chars().filter(|character| !character.is_control()).take(CLIENT).collect();
        let (created_at, expires_at) = (now.as_secs(), expires_at.as_secs());
        self.logins.push(Entry { id: id.clone(), digest, client, created_at, expires_at });
        Begun { token, id, expires_at, writes }
    }

    /// Takes out the logins that have expired.
    fn expire(&mut self, now: Timestamp) -> Vec<Write> {
        let (live, expired) =
            std::mem::take(&mut self.logins).into_iter().partition(|entry| entry.expires_at > now.as_secs());
        self.logins = live;
        let expired: Vec<Entry> = expired;
        expired
            .iter()
            .map(|entry| Write::delete(session_document(&entry.digest), Expected::Anything))
            .collect()
    }

    /// Takes out one.
    fn end(&mut self, id: &LoginId) -> Option<Write> {
        let at = self.logins.iter().position(|entry| entry.id == *id)?;
        let entry = self.logins.remove(at);
        Some(Write::delete(session_document(&entry.digest), Expected::Anything))
    }

    pub(super) fn has(&self, id: &LoginId, now: Timestamp) -> bool {
        self.logins.iter().any(|entry| entry.id == *id && entry.expires_at > now.as_secs())
    }
}

impl People {
    /// By whom a request with this session token is made; nobody if it was never given out, has been
    /// revoked, or is over.
    ///
    /// # Errors
    /// What the store says.
    pub async fn session(&self, token: &str) -> Result<Option<Session>, PeopleError> {
        if !secret::is_secret(token, secret::SESSION) {
            return Ok(None);
        }
        let found = self.documents.get::<Kin>(&session_document(&secret::digest(token))).await?;
        let now = self.now().as_secs();
        let kin = found.map(|found| found.value).filter(|kin| kin.expires_at > now);
        Ok(kin.map(|kin| Session { account: kin.account, login: kin.login }))
    }

    /// An account's logins that are not over, the latest first.
    ///
    /// # Errors
    /// What the store says.
    pub async fn logins(&self, account: AccountId) -> Result<Vec<LoginRow>, PeopleError> {
        let now = self.now().as_secs();
        let found = self.documents.get::<Logins>(&document(account)).await?;
        let entries = found.map(|found| found.value.logins).unwrap_or_default();
        let live = entries.into_iter().rev().filter(|entry| entry.expires_at > now);
        let row = |entry: Entry| LoginRow {
            id: entry.id,
            client: entry.client,
            created_at: entry.created_at,
            expires_at: entry.expires_at,
        };
        Ok(live.map(row).collect())
    }

    /// Ends one login of an account, or all of them. With the last, GitHub's token is dropped and revoked.
    ///
    /// # Errors
    /// `NotFound` when the account has no such login.
    pub async fn end_logins(&self, account: AccountId, id: Option<&LoginId>) -> Result<(), PeopleError> {
        let name = document(account);
        for _ in 0..ATTEMPTS {
            let Some(mut found) = self.documents.get::<Logins>(&name).await? else {
                return if id.is_some() { Err(PeopleError::NotFound) } else { Ok(()) };
            };
            let expected = as_found(Some(&found));
            let mut writes = found.value.expire(self.now());
            match id {
                Some(id) => writes.push(found.value.end(id).ok_or(PeopleError::NotFound)?),
                None => {
                    let ids: Vec<_> = found.value.logins.iter().map(|entry| entry.id.clone()).collect();
                    writes.extend(ids.iter().filter_map(|id| found.value.end(id)));
                }
            }
            if self.keep(&name, expected, found, writes).await? {
                return Ok(());
            }
        }
        Err(PeopleError::Busy)
    }

    /// Writes what is left of an account's logins, and revokes the token if none is left; whether nobody
    /// else came first.
    async fn keep(
        &self,
        name: &str,
        expected: Expected,
        found: Found<Logins>,
        mut writes: Vec<Write>,
    ) -> Result<bool, PeopleError> {
        if !found.value.logins.is_empty() {
            writes.push(set(name, expected, &found.value));
            return self.documents.write(writes).await;
        }
        writes.push(Write::delete(name, expected));
        let revocation = found.value.token.as_ref().and_then(|kept| self.revocation(name, kept));
        let pending = revocation.map(|(pending, write)| {
            writes.push(write);
            pending
        });
        let is_done = self.documents.write(writes).await?;
        if let Some(pending) = pending.filter(|_| is_done) {
            self.revoke(&pending).await;
        }
        Ok(is_done)
    }

    /// Ends what outlived its last login, of some accounts at a time.
    pub(super) async fn end_expired_logins(&self) -> Result<(), PeopleError> {
        let Ok(github) = self.github() else { return Ok(()) };
        let after = github.refreshing.sweep_after();
        let page = self.documents.page(LOGINS, after.as_deref(), PAGE).await?;
        let next = page.last().filter(|_| page.len() == PAGE).map(|document| document.name.clone());
        github.refreshing.set_sweep_after(next);
        for document in page {
            let mut found = read::<Logins>(&document)?;
            let expected = as_found(Some(&found));
            let writes = found.value.expire(self.now());
            if !writes.is_empty() {
                // Where someone else came first, the next round finds it.
                self.keep(&document.name, expected, found, writes).await?;
            }
        }
        Ok(())
    }
}

impl std::fmt::Debug for NewLogin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NewLogin")
            .field("account", &self.account)
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}
