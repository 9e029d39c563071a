//! People (section 3): who has logged in through GitHub, under which names, and what they may see.
//!
//! A human is known here when, and only when, a login has succeeded that the deployment lets in. This
//! module knows nothing of HTTP on our side: handlers bring what was said and take what is decided.
//! Everything stands in documents of the store, so any node serves any step.

use std::sync::Arc;

use vocative_store::{Store, Timestamp};

use crate::settings::{Allowed, GithubApp, Served, Settings};

mod accounts;
mod admission;
mod device;
mod documents;
mod error;
mod github;
mod keys;
mod logins;
mod participants;
mod registry;
mod repositories;
mod secret;
mod tokens;
mod vault;
mod web;

pub(crate) use accounts::machine_clock;
pub use accounts::{Account, AccountId, Holding};
pub use device::{DeviceLogin, Polled};
pub use error::{BadPeopleSettings, PeopleError};
pub use keys::Challenge;
pub use logins::{LoginId, LoginRow, NewLogin, Session};
pub use participants::Participant;
pub use repositories::RepositoryName;
pub(crate) use web::LASTS as WEB_LOGIN;
pub use web::{Returned, WebLogin};

use documents::Documents;
use github::Client;
use registry::Registry;
use repositories::Readable;
use tokens::Refreshing;
use vault::Vault;

/// What time it is, in seconds since 1970.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// The people of a community, as a node knows them.
pub struct People {
    documents: Documents,
    clock: Clock,
    registry: Registry,
    /// Absent: nobody can log in.
    github: Option<Connected>,
}

/// What it takes to log people in.
struct Connected {
    client: Client,
    app: GithubApp,
    allow: Vec<Allowed>,
    served: Vec<Served>,
    vault: Vault,
    refreshing: Refreshing,
    readable: Readable,
}

impl People {
    /// The people of the community that a store holds. Nobody can log in unless the settings say who may,
    /// for which repositories, and through which app.
    ///
    /// # Errors
    /// When a secret cannot be read, or the key that GitHub's tokens are stored under has to be given.
    pub fn new(settings: &Settings, store: Arc<dyn Store>, clock: Clock) -> Result<Self, BadPeopleSettings> {
        let github = match missing(settings) {
            Some(missing) => {
                let is_begun = settings.github.client_id.is_some()
                    || !settings.allow.is_empty()
                    || !settings.repositories.is_empty();
                if is_begun {
                    tracing::warn!(missing, "nobody can log in: a setting is missing");
                }
                None
            }
            None => Some(Connected {
                client: Client::new(&settings.github)?,
                app: settings.github.app,
                allow: settings.allow.clone(),
                served: settings.repositories.clone(),
                vault: Vault::open(settings)?,
                refreshing: Refreshing::default(),
                readable: Readable::default(),
            }),
        };
        Ok(Self { documents: Documents::new(store), clock, registry: Registry::default(), github })
    }

    fn now(&self) -> Timestamp {
        (self.clock)()
    }

    fn github(&self) -> Result<&Connected, PeopleError> {
        self.github.as_ref().ok_or(PeopleError::NotConfigured)
    }

    /// The address of GitHub's web pages, if people can log in.
    pub fn github_web(&self) -> Option<&str> {
        self.github.as_ref().map(|github| github.client.web())
    }

    /// Forgets what has expired, ends what outlived its last login, and tries again to revoke what could
    /// not be revoked; called now and then.
    ///
    /// # Errors
    /// What the store says.
    pub async fn tidy(&self) -> Result<(), PeopleError> {
        self.end_expired_logins().await?;
        self.revoke_pending().await?;
        self.documents.forget(self.now()).await
    }
}

/// The setting without which nobody can log in.
fn missing(settings: &Settings) -> Option<&'static str> {
    let given = [
        ("github.client_id", settings.github.client_id.is_some()),
        ("login.allow", !settings.allow.is_empty()),
        ("repositories", !settings.repositories.is_empty()),
    ];
    given.into_iter().find(|(_, is_given)| !is_given).map(|(name, _)| name)
}

impl std::fmt::Debug for People {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("People").finish_non_exhaustive()
    }
}
