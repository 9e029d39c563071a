//! Discovery: who is addressable, told to those who read a repository that the deployment serves.

use serde::Serialize;
use vocative::Id;

use super::People;
use super::error::PeopleError;
use super::logins::Session;
use super::repositories::RepositoryName;

/// An addressable human.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Participant {
    /// Who it is.
    pub id: Id,
    /// As GitHub spells it.
    pub handle: String,
}

impl People {
    /// The people of the community, for a caller who reads the repository now: all of them, by name, or
    /// those that answer a query, best first, at most 50 (S-5).
    ///
    /// # Errors
    /// `NotReadable` unless the deployment serves the repository and GitHub lets the caller read it;
    /// `Unreachable` when GitHub cannot say so.
    pub async fn participants(
        &self,
        session: &Session,
        repository: &RepositoryName,
        query: Option<&str>,
    ) -> Result<Vec<Participant>, PeopleError> {
        self.reads(session.account, repository).await?;
        let registry = self.registry().await?;
        Ok(match query {
            Some(query) => registry.rank(query),
            None => registry.rows().to_vec(),
        })
    }
}
