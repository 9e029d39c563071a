//! The moment of a login: whose it is, whether the deployment lets it in, and what is recorded.

use vocative_store::Write;

use super::accounts::{Account, Holder, document, held, record};
use super::documents::{ATTEMPTS, as_found, set};
use super::error::PeopleError;
use super::github::{Said, User};
use super::logins::{Logins, NewLogin, document as logins_document};
use super::tokens::GithubToken;
use super::{Connected, People};
use crate::settings::{Allowed, GithubApp};

/// The scope that reads private repositories, of an OAuth app.
const REPO: &str = "repo";

impl Connected {
    /// What a login asks GitHub for. A GitHub App asks for nothing; an OAuth app for nothing either,
    /// unless the person takes the second step.
    pub(super) fn scope(&self, private_repositories: bool) -> &'static str {
        if self.app == GithubApp::OAuth && private_repositories { REPO } else { "" }
    }

    /// Whether the deployment lets an account in.
    async fn lets_in(&self, token: &str, user: &User) -> Result<bool, PeopleError> {
        let by_name = |allowed: &Allowed| matches!(allowed, Allowed::Login(login) if *login == user.login);
        if self.allow.iter().any(by_name) {
            return Ok(true);
        }
        for allowed in &self.allow {
            if let Allowed::Organization(organization) = allowed
                && self.client.is_member(token, organization, user).await?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl People {
    /// Takes in whoever GitHub has just given a token for, in one transaction with what else is to be
    /// written. Nothing is recorded of an account that is not let in, and the token is given back.
    pub(super) async fn take_in(
        &self,
        token: GithubToken,
        client: &str,
        with: &[Write],
    ) -> Result<NewLogin, PeopleError> {
        let taken = self.try_to_take_in(&token, client, with).await;
        if taken.is_err() {
            self.revoke_unrecorded(&token.access).await;
        }
        taken
    }

    async fn try_to_take_in(
        &self,
        token: &GithubToken,
        client: &str,
        with: &[Write],
    ) -> Result<NewLogin, PeopleError> {
        let github = self.github()?;
        let Said::Yes(user) = github.client.user(&token.access).await? else {
            return Err(PeopleError::GithubLoginEnded);
        };
        if !github.lets_in(&token.access, &user).await? {
            return Err(PeopleError::NotAllowed { handle: user.handle });
        }
        let token = GithubToken {
            // What was granted, not what was asked for.
            scopes: user.scopes.clone().unwrap_or_else(|| token.scopes.clone()),
            ..token.clone()
        };
        let kept = self.kept(user.id, &token)?;
        let (account_name, held_name, logins_name) =
            (document(user.id), held(&user.login), logins_document(user.id));
        for _ in 0..ATTEMPTS {
            let now = self.now();
            let account = self.documents.get::<Account>(&account_name).await?;
            let holders = self.documents.get::<Vec<Holder>>(&held_name).await?;
            let recorded = record(
                user.id,
                &user.handle,
                &user.login,
                now.as_secs(),
                account.as_ref(),
                holders.as_ref(),
            )?;
            let logins = self.documents.get::<Logins>(&logins_name).await?;
            let expected = as_found(logins.as_ref());
            let mut logins: Logins = logins.map(|found| found.value).unwrap_or_default();
            let begun = logins.begin(user.id, client, now);
            let mut writes = recorded.writes;
            writes.extend(begun.writes);
            writes.extend(with.iter().cloned());
            // A second machine that asked for less does not take away what was granted to the first.
            let keeps_former = logins.token.as_ref().is_some_and(|former| {
                former.scopes.iter().any(|scope| scope == REPO)
                    && !kept.scopes.iter().any(|scope| scope == REPO)
            });
            let former = if keeps_former {
                Some(kept.clone())
            } else {
                logins.refreshing = None;
                logins.token.replace(kept.clone())
            };
            let revocation = former.and_then(|former| self.revocation(&logins_name, &former));
            let pending = revocation.map(|(pending, write)| {
                writes.push(write);
                pending
            });
            writes.push(set(logins_name.as_str(), expected, &logins));
            if !self.documents.write(writes).await? {
                continue;
            }
            github.readable.forget(user.id);
            if let Some(pending) = pending {
                self.revoke(&pending).await;
            }
            return Ok(NewLogin {
                token: begun.token,
                account: recorded.account,
                id: begun.id,
                expires_at: begun.expires_at,
            });
        }
        Err(PeopleError::Busy)
    }
}
