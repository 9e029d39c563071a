//! GitHub's tokens: on the server only, sealed, renewed by one node at a time, and revoked when the
//! account's last login ends.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use vocative_store::{Expected, Write};

use super::accounts::AccountId;
use super::documents::{ATTEMPTS, after, as_found, read, set};
use super::error::PeopleError;
use super::logins::{Logins, document};
use super::{People, secret};

/// How long before its end a token is renewed, in seconds.
const EARLY: u64 = 60;
/// For how long a node that renews a token keeps others from it, in seconds.
const CLAIM: u64 = 30;
/// How often it is looked whether another node has renewed it, and how often in all.
const LOOK: (Duration, usize) = (Duration::from_millis(100), 120);
/// For how long it is tried to revoke a token, in seconds: a week.
const PENDING: u64 = 7 * 24 * 60 * 60;
/// Revocations that are tried at once.
const PAGE: usize = 20;
const REVOCATIONS: &str = "revocation/";

/// A token of GitHub's, in the clear.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct GithubToken {
    pub(super) access: String,
    /// Seconds since 1970; never if absent.
    pub(super) expires_at: Option<u64>,
    pub(super) refresh: Option<String>,
    pub(super) scopes: Vec<String>,
}

/// A token as it is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Kept {
    sealed: String,
    expires_at: Option<u64>,
    pub(super) scopes: Vec<String>,
}

/// A token that is to be revoked.
pub(super) struct Pending {
    document: String,
    token: GithubToken,
}

/// Whose token this node is renewing, and how far it has looked for logins that are over.
#[derive(Default)]
pub(super) struct Refreshing {
    accounts: Mutex<HashMap<AccountId, Weak<tokio::sync::Mutex<()>>>>,
    sweep: Mutex<Option<String>>,
}

impl Refreshing {
    /// Whoever holds the lock of an account renews its token.
    fn of(&self, account: AccountId) -> Arc<tokio::sync::Mutex<()>> {
        let mut accounts = self.accounts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lock) = accounts.get(&account).and_then(Weak::upgrade) {
            return lock;
        }
        accounts.retain(|_, lock| lock.strong_count() > 0);
        let lock = Arc::default();
        accounts.insert(account, Arc::downgrade(&lock));
        lock
    }

    pub(super) fn sweep_after(&self) -> Option<String> {
        self.sweep.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn set_sweep_after(&self, after: Option<String>) {
        *self.sweep.lock().unwrap_or_else(PoisonError::into_inner) = after;
    }
}

/// A token that can be asked with, and by what it is known.
pub(super) struct Usable {
    pub(super) access: String,
    pub(super) kept: Kept,
}

impl People {
    /// A token as it is kept for an account.
    pub(super) fn kept(&self, account: AccountId, token: &GithubToken) -> Result<Kept, PeopleError> {
        let sealed = self.github()?.vault.seal(&document(account), token);
        Ok(Kept { sealed, expires_at: token.expires_at, scopes: token.scopes.clone() })
    }

    fn opened(&self, place: &str, kept: &Kept) -> Option<GithubToken> {
        self.github.as_ref()?.vault.open_sealed(place, &kept.sealed)
    }

    /// The scopes that GitHub has granted to an account's login.
    ///
    /// # Errors
    /// What the store says.
    pub async fn granted(&self, account: AccountId) -> Result<Vec<String>, PeopleError> {
        let found = self.documents.get::<Logins>(&document(account)).await?;
        Ok(found.and_then(|found| found.value.token).map(|kept| kept.scopes).unwrap_or_default())
    }

    /// A token to ask GitHub with for an account, renewed if it has to be, or if it is one that GitHub
    /// did not take.
    ///
    /// # Errors
    /// `GithubLoginEnded` when there is none any more.
    pub(super) async fn token(
        &self,
        account: AccountId,
        refused: Option<&Kept>,
    ) -> Result<Usable, PeopleError> {
        let github = self.github()?;
        let name = document(account);
        let lock = github.refreshing.of(account);
        let mut turn = None;
        for _ in 0..LOOK.1 {
            let found = self.documents.get::<Logins>(&name).await?.ok_or(PeopleError::GithubLoginEnded)?;
            let expected = as_found(Some(&found));
            let mut logins = found.value;
            let kept = logins.token.clone().ok_or(PeopleError::GithubLoginEnded)?;
            let now = self.now();
            let is_over = kept.expires_at.is_some_and(|end| end <= now.as_secs() + EARLY);
            let token = self.opened(&name, &kept);
            if let Some(token) = token.as_ref().filter(|_| !is_over && refused != Some(&kept)) {
                return Ok(Usable { access: token.access.clone(), kept });
            }
            if turn.is_none() {
                // Another request of this node may be renewing it: look again when it is done.
                turn = Some(lock.lock().await);
                continue;
            }
            if logins.refreshing.is_some_and(|until| until > now.as_secs()) {
                tokio::time::sleep(LOOK.0).await;
                continue;
            }
            let Some(refresh) = token.and_then(|token| token.refresh) else {
                self.drop_token(account, &kept).await?;
                return Err(PeopleError::GithubLoginEnded);
            };
            logins.refreshing = Some(now.as_secs() + CLAIM);
            if !self.documents.write(vec![set(name.as_str(), expected, &logins)]).await? {
                continue;
            }
            match github.client.refresh(&refresh, now).await {
                Ok(Some(fresh)) => return self.renewed(account, &kept, fresh).await,
                Ok(None) => {
                    self.drop_token(account, &kept).await?;
                    return Err(PeopleError::GithubLoginEnded);
                }
                Err(error) => {
                    self.change(account, |logins| logins.refreshing = None).await?;
                    return Err(error);
                }
            }
        }
        Err(PeopleError::Busy)
    }

    /// Keeps a renewed token, unless the account has logged out or in meanwhile.
    async fn renewed(
        &self,
        account: AccountId,
        former: &Kept,
        fresh: GithubToken,
    ) -> Result<Usable, PeopleError> {
        let kept = self.kept(account, &fresh)?;
        let mut is_kept = false;
        let is_there = self
            .change(account, |logins| {
                logins.refreshing = None;
                is_kept = logins.token.as_ref() == Some(former);
                if is_kept {
                    logins.token = Some(kept.clone());
                }
            })
            .await?;
        match (is_there, is_kept) {
            (true, true) => Ok(Usable { access: fresh.access, kept }),
            (is_there, _) => {
                self.revoke_unrecorded(&fresh.access).await;
                Err(if is_there { PeopleError::Busy } else { PeopleError::GithubLoginEnded })
            }
        }
    }

    /// GitHub does not take the token any more, so it is not kept.
    async fn drop_token(&self, account: AccountId, kept: &Kept) -> Result<(), PeopleError> {
        self.change(account, |logins| {
            if logins.token.as_ref() == Some(kept) {
                (logins.token, logins.refreshing) = (None, None);
            }
        })
        .await?;
        Ok(())
    }

    /// Changes what is kept of an account's logins; whether there still are any.
    async fn change(
        &self,
        account: AccountId,
        mut change: impl FnMut(&mut Logins),
    ) -> Result<bool, PeopleError> {
        let name = document(account);
        for _ in 0..ATTEMPTS {
            let Some(mut found) = self.documents.get::<Logins>(&name).await? else { return Ok(false) };
            let expected = as_found(Some(&found));
            change(&mut found.value);
            if self.documents.write(vec![set(name.as_str(), expected, &found.value)]).await? {
                return Ok(true);
            }
        }
        Err(PeopleError::Busy)
    }

    /// What is to be written so that a token is revoked, if it can be, even if GitHub does not answer now.
    pub(super) fn revocation(&self, place: &str, kept: &Kept) -> Option<(Pending, Write)> {
        let github = self.github.as_ref().filter(|github| github.client.can_revoke())?;
        let token = self.opened(place, kept)?;
        let name = format!("{REVOCATIONS}{}", secret::id());
        let sealed = github.vault.seal(&name, &token);
        let write = set(name.as_str(), Expected::Absent, &sealed).until(after(self.now(), PENDING));
        Some((Pending { document: name, token }, write))
    }

    /// Tries to revoke a token; it stays to be revoked when GitHub does not answer.
    pub(super) async fn revoke(&self, pending: &Pending) -> bool {
        let Ok(github) = self.github() else { return false };
        let mut access = pending.token.access.clone();
        let is_over = pending.token.expires_at.is_some_and(|end| end <= self.now().as_secs());
        if let Some(refresh) = pending.token.refresh.as_ref().filter(|_| is_over) {
            // What would renew it has to end too, and only a valid token can be named.
            match github.client.refresh(refresh, self.now()).await {
                Ok(Some(fresh)) => access = fresh.access,
                Ok(None) => {}
                Err(_) => return false,
            }
        }
        let is_revoked = github.client.revoke(&access).await.is_ok();
        if is_revoked {
            let done = vec![Write::delete(pending.document.as_str(), Expected::Anything)];
            // Where it stays, it is tried once more, which does no harm.
            let _ = self.documents.write(done).await;
        }
        is_revoked
    }

    /// Tries to revoke a token of which nothing is recorded.
    pub(super) async fn revoke_unrecorded(&self, access: &str) {
        if let Some(github) = self.github.as_ref().filter(|github| github.client.can_revoke()) {
            // Its client logs why not; nothing here depends on it.
            let _ = github.client.revoke(access).await;
        }
    }

    /// Tries again what could not be revoked.
    pub(super) async fn revoke_pending(&self) -> Result<(), PeopleError> {
        let Ok(github) = self.github() else { return Ok(()) };
        for document in self.documents.page(REVOCATIONS, None, PAGE).await? {
            let sealed: String = read(&document)?.value;
            let Some(token) = github.vault.open_sealed(&document.name, &sealed) else { continue };
            if !self.revoke(&Pending { document: document.name, token }).await {
                break;
            }
        }
        Ok(())
    }
}
