//! Linking keys of the community to accounts. Whoever links has to hold both at once: a login gets a
//! challenge, and the key signs a request that carries it. Links join inboxes; they address nobody new.

use serde::{Deserialize, Serialize};
use vocative::{Id, Key};
use vocative_store::{EventId, Expected, Write};

use super::People;
use super::accounts::{Account, AccountId, document};
use super::documents::{ATTEMPTS, after, as_found, public_change, set};
use super::error::PeopleError;
use super::logins::{LoginId, Logins, Session, document as logins_document};
use super::secret;

/// How long a challenge is good for, in seconds.
const LASTS: u64 = 5 * 60;
/// For how long a signed request is remembered, in seconds: longer than it is taken.
const REMEMBERED: u64 = 5 * 60;

/// What a key has to sign, with the account.
#[derive(Clone, PartialEq, Eq)]
pub struct Challenge {
    /// The account that it is for.
    pub account: Id,
    /// The nonce, good for once.
    pub nonce: String,
    /// Seconds for which it is good.
    pub expires_in: u64,
}

#[derive(Serialize, Deserialize)]
struct Waiting {
    account: AccountId,
    login: LoginId,
    expires_at: u64,
}

fn challenge_document(nonce: &str) -> String {
    format!("challenge/{}", secret::digest(nonce))
}

fn key_document(key: Key) -> String {
    format!("key/{key}")
}

impl People {
    /// A challenge for an account and its login.
    ///
    /// # Errors
    /// `NotHeld` while the account is not addressed by any name.
    pub async fn challenge(&self, session: &Session) -> Result<Challenge, PeopleError> {
        let account = self.account(session.account).await?.ok_or(PeopleError::NotLoggedIn)?;
        let account = account.addressed().ok_or(PeopleError::NotHeld)?;
        let nonce = secret::new("");
        let expires_at = after(self.now(), LASTS);
        let waiting = Waiting {
            account: session.account,
            login: session.login.clone(),
            expires_at: expires_at.as_secs(),
        };
        let write = set(challenge_document(&nonce), Expected::Absent, &waiting).until(expires_at);
        if !self.documents.write(vec![write]).await? {
            return Err(PeopleError::Busy);
        }
        Ok(Challenge { account, nonce, expires_in: LASTS })
    }

    /// Links the key that signed a request, by this event, to the account that the request names. The
    /// signature covers the account and the nonce. To link a key again that is the account's changes
    /// nothing.
    ///
    /// # Errors
    /// `BadChallenge`, `Replayed`, and `KeyTaken`, which does not tell by whom.
    pub async fn link(&self, key: Key, event: EventId, account: &Id, nonce: &str) -> Result<(), PeopleError> {
        if !secret::is_secret(nonce, "") {
            return Err(PeopleError::BadChallenge);
        }
        let challenge_name = challenge_document(nonce);
        let signed_name = format!("signed/{event}");
        for _ in 0..ATTEMPTS {
            let now = self.now();
            let found = self.documents.get::<Waiting>(&challenge_name).await?;
            let found = found.ok_or(PeopleError::BadChallenge)?;
            let Waiting { account: id, login, expires_at } = &found.value;
            let logins = self.documents.get::<Logins>(&logins_document(*id)).await?;
            let is_logged_in = logins.as_ref().is_some_and(|logins| logins.value.has(login, now));
            let holder = self.documents.get::<Account>(&document(*id)).await?;
            let holder = holder.filter(|holder| holder.value.addressed().as_ref() == Some(account));
            let is_live = *expires_at > now.as_secs() && is_logged_in;
            let Some(mut holder) = holder.filter(|_| is_live) else { return Err(PeopleError::BadChallenge) };
            if self.documents.version(&signed_name).await? != 0 {
                return Err(PeopleError::Replayed);
            }
            let owner = self.documents.get::<AccountId>(&key_document(key)).await?;
            if owner.as_ref().is_some_and(|owner| owner.value != *id) {
                return Err(PeopleError::KeyTaken);
            }
            let expected = as_found(Some(&holder));
            if !holder.value.keys.contains(&key) {
                holder.value.keys.push(key);
            }
            let writes = vec![
                Write::delete(challenge_name.as_str(), as_found(Some(&found))),
                set(signed_name.as_str(), Expected::Absent, &()).until(after(now, REMEMBERED)),
                // The login must not end meanwhile.
                Write::check(logins_document(*id), as_found(logins.as_ref())),
                set(key_document(key), as_found(owner.as_ref()), id),
                set(document(*id), expected, &holder.value),
                public_change(),
            ];
            if self.documents.write(writes).await? {
                return Ok(());
            }
        }
        Err(PeopleError::Busy)
    }

    /// Unlinks a key of an account's.
    ///
    /// # Errors
    /// `NotFound` when it is not linked to this account.
    pub async fn unlink(&self, id: AccountId, key: Key) -> Result<(), PeopleError> {
        for _ in 0..ATTEMPTS {
            let owner = self.documents.get::<AccountId>(&key_document(key)).await?;
            let owner = owner.filter(|owner| owner.value == id).ok_or(PeopleError::NotFound)?;
            let account = self.documents.get::<Account>(&document(id)).await?;
            let mut account = account.ok_or(PeopleError::NotFound)?;
            let expected = as_found(Some(&account));
            account.value.keys.retain(|linked| *linked != key);
            let writes = vec![
                Write::delete(key_document(key), as_found(Some(&owner))),
                set(document(id), expected, &account.value),
                public_change(),
            ];
            if self.documents.write(writes).await? {
                return Ok(());
            }
        }
        Err(PeopleError::Busy)
    }
}

impl std::fmt::Debug for Challenge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Challenge").field("account", &self.account).finish_non_exhaustive()
    }
}
