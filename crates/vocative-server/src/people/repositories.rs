//! Whether a caller reads a repository: asked of GitHub, with the caller's own token, and remembered for a
//! short while. Whatever is not certain counts as no.

use std::collections::HashMap;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};

use vocative::Login;
use vocative_store::Timestamp;

use super::accounts::AccountId;
use super::error::PeopleError;
use super::github::{Repository, Said};
use super::{Connected, People};
use crate::settings::{GithubApp, is_repository_name};

/// For how long a yes and a no count, in seconds.
const YES: u64 = 5 * 60;
const NO: u64 = 60;
/// Answers that are remembered, of each kind. When there are more, all are forgotten.
const MOST: usize = 100_000;

/// `owner/name`, in lower case: GitHub compares without regard to case.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RepositoryName {
    owner: Login,
    name: String,
}

impl RepositoryName {
    /// Whose it is.
    pub fn owner(&self) -> &str {
        self.owner.as_str()
    }

    /// Its name without the owner.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl FromStr for RepositoryName {
    type Err = PeopleError;

    fn from_str(text: &str) -> Result<Self, PeopleError> {
        let bad = || PeopleError::BadRepository;
        let (owner, name) = text.split_once('/').ok_or_else(bad)?;
        let owner = owner.parse().map_err(|_| bad())?;
        if !is_repository_name(name) {
            return Err(bad());
        }
        Ok(Self { owner, name: name.to_ascii_lowercase() })
    }
}

impl std::fmt::Display for RepositoryName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.owner, self.name)
    }
}

/// What GitHub said lately.
#[derive(Default)]
pub(super) struct Readable {
    answers: Mutex<Answers>,
}

#[derive(Default)]
struct Answers {
    /// Which repository a name meant for an account; none if it read none of that name.
    names: HashMap<(AccountId, RepositoryName), (Option<u64>, Timestamp)>,
    /// Whether an account reads a repository, by the number that stays when it moves.
    repositories: HashMap<(AccountId, u64), (bool, Timestamp)>,
}

impl Readable {
    /// What was said less than its time ago.
    fn find(&self, account: AccountId, name: &RepositoryName, now: Timestamp) -> Option<bool> {
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let is_fresh = |at: Timestamp, lasts: u64| {
            now.as_secs().checked_sub(at.as_secs()).is_some_and(|age| age < lasts)
        };
        let (repository, named) = answers.names.get(&(account, name.clone()))?;
        let Some(repository) = repository else { return is_fresh(*named, NO).then_some(false) };
        let (reads, at) = answers.repositories.get(&(account, *repository))?;
        let lasts = if *reads { YES } else { NO };
        (is_fresh(*at, lasts) && is_fresh(*named, lasts)).then_some(*reads)
    }

    fn keep(
        &self,
        account: AccountId,
        name: &RepositoryName,
        repository: Option<u64>,
        reads: bool,
        now: Timestamp,
    ) {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        if answers.names.len().max(answers.repositories.len()) >= MOST {
            *answers = Answers::default();
        }
        answers.names.insert((account, name.clone()), (repository, now));
        if let Some(repository) = repository {
            answers.repositories.insert((account, repository), (reads, now));
        }
    }

    /// Forgets what was said to an account: it has logged in anew.
    pub(super) fn forget(&self, account: AccountId) {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.names.retain(|(of, _), _| *of != account);
        answers.repositories.retain(|(of, _), _| *of != account);
    }
}

impl People {
    /// Whether the deployment serves a repository and GitHub lets an account read it now.
    ///
    /// # Errors
    /// `NotReadable` if not, in the same words whatever the cause; `Unreachable` when GitHub cannot say so
    /// and has not lately; `GithubLoginEnded` when it does not know the account's login any more.
    pub async fn reads(&self, account: AccountId, name: &RepositoryName) -> Result<(), PeopleError> {
        let github = self.github()?;
        // What the deployment does not serve is not asked about.
        if !github.serves(name.owner(), name.name()) {
            return Err(PeopleError::NotReadable);
        }
        let reads = match github.readable.find(account, name, self.now()) {
            Some(reads) => reads,
            None => self.ask_whether_reads(github, account, name).await?,
        };
        if reads { Ok(()) } else { Err(PeopleError::NotReadable) }
    }

    async fn ask_whether_reads(
        &self,
        github: &Connected,
        account: AccountId,
        name: &RepositoryName,
    ) -> Result<bool, PeopleError> {
        let mut usable = self.token(account, None).await?;
        let mut said = github.client.repository(&usable.access, name).await?;
        if let Said::BadToken = said {
            usable = self.token(account, Some(&usable.kept)).await?;
            said = github.client.repository(&usable.access, name).await?;
        }
        let now = self.now();
        match said {
            Said::Yes(repository) => {
                let reads = github.counts(name, &repository);
                github.readable.keep(account, name, Some(repository.id), reads, now);
                Ok(reads)
            }
            Said::No => {
                github.readable.keep(account, name, None, false, now);
                Ok(false)
            }
            Said::BadToken => Err(PeopleError::GithubLoginEnded),
        }
    }
}

impl Connected {
    fn serves(&self, owner: &str, name: &str) -> bool {
        self.served.iter().any(|served| served.covers((owner, name)))
    }

    /// Whether a repository that the caller reads is one that was asked for. One that has moved to another
    /// owner is served only under its new name: the former one may be anybody's.
    fn counts(&self, asked: &RepositoryName, found: &Repository) -> bool {
        let is_owners = found.owner.eq_ignore_ascii_case(asked.owner());
        let is_served = is_owners || self.serves(&found.owner, &found.name);
        // What an OAuth app was granted counts, not what it asked for.
        let is_granted = self.app == GithubApp::App
            || !found.is_private
            || found.scopes.as_ref().is_some_and(|scopes| scopes.iter().any(|scope| scope == "repo"));
        is_served && is_granted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_is_an_owner_and_a_name_and_nothing_that_leads_elsewhere() {
        let table = [
            ("Acme/App", Some("acme/app")),
            ("a_corp/x.y-z_1", Some("a_corp/x.y-z_1")),
            ("acme", None),
            ("acme/", None),
            ("/app", None),
            ("acme/..", None),
            ("acme/.", None),
            ("acme/app/issues", None),
            ("acme/app?x", None),
            ("acme/app#x", None),
            ("acme/%2e%2e", None),
            ("acme/app\r\nx: y", None),
            ("ac me/app", None),
            ("acme/äpp", None),
            ("", None),
        ];
        for (text, expected) in table {
            let read = text.parse::<RepositoryName>().ok().map(|name| name.to_string());
            assert_eq!(read.as_deref(), expected, "{text:?}");
        }
    }

    #[test]
    fn a_yes_counts_for_five_minutes_and_a_no_for_one() {
        let (account, name) = (AccountId::new(1), "acme/app".parse::<RepositoryName>().expect("a name"));
        let at = Timestamp::from_secs;
        let table = [
            (Some(7), true, 299, Some(true)),
            (Some(7), true, 300, None),
            (Some(7), false, 59, Some(false)),
            (Some(7), false, 60, None),
            (None, false, 59, Some(false)),
            (None, false, 60, None),
        ];
        for (repository, reads, later, expected) in table {
            let readable = Readable::default();
            readable.keep(account, &name, repository, reads, at(1000));
            assert_eq!(readable.find(account, &name, at(1000 + later)), expected, "{repository:?} {later}");
            assert_eq!(readable.find(AccountId::new(2), &name, at(1000)), None, "it is the caller's alone");
            assert_eq!(readable.find(account, &name, at(999)), None, "a clock that went back");
        }
    }
}
