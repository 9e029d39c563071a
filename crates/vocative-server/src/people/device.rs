//! The device flow, for terminals: this server begins it and asks GitHub; the terminal shows a code and
//! collects the outcome with a secret that it alone has.

use serde::{Deserialize, Serialize};
use vocative_store::{Expected, Write};

use super::People;
use super::documents::{after, as_found, set};
use super::error::PeopleError;
use super::github::Device;
use super::logins::NewLogin;
use super::secret;

/// How long a login may take, in seconds.
const LASTS: u64 = 15 * 60;

/// A login that has begun.
#[derive(Clone, PartialEq, Eq)]
pub struct DeviceLogin {
    /// The secret with which the outcome is collected.
    pub flow: String,
    /// The code that the person enters at GitHub.
    pub user_code: String,
    /// Where.
    pub verification_uri: String,
    /// What GitHub is asked for; nothing if empty.
    pub scopes: Vec<String>,
    /// Seconds until it is over.
    pub expires_in: u64,
    /// Seconds until it is worth asking for the outcome, and between two questions.
    pub interval: u64,
}

/// What has become of it.
#[derive(Debug)]
pub enum Polled {
    /// The person has not said anything yet: ask again in so many seconds.
    Pending {
        /// Seconds.
        interval: u64,
    },
    /// The person is logged in.
    Done(NewLogin),
}

/// What is kept of it.
#[derive(Clone, Serialize, Deserialize)]
struct Waiting {
    /// GitHub's code, sealed.
    device_code: String,
    client: String,
    expires_at: u64,
    interval: u64,
    /// GitHub is not asked before.
    next: u64,
}

fn document(flow: &str) -> String {
    format!("device/{}", secret::digest(flow))
}

impl People {
    /// Begins a login for a terminal that calls itself `client`.
    ///
    /// # Errors
    /// When nobody can log in, or GitHub does not take part.
    pub async fn begin_device(
        &self,
        client: &str,
        private_repositories: bool,
    ) -> Result<DeviceLogin, PeopleError> {
        let github = self.github()?;
        let scope = github.scope(private_repositories);
        let code = github.client.device_code(scope).await?;
        let now = self.now();
        let flow = secret::new("");
        let name = document(&flow);
        let expires_in = code.expires_in.min(LASTS);
        let expires_at = after(now, expires_in);
        let waiting = Waiting {
            device_code: github.vault.seal(&name, &code.device_code),
            client: client.to_owned(),
            expires_at: expires_at.as_secs(),
            interval: code.interval,
            next: now.as_secs() + code.interval,
        };
        // A moment longer, so that whoever asks late is told that it is over.
        let write = set(name, Expected::Absent, &waiting).until(after(expires_at, LASTS));
        if !self.documents.write(vec![write]).await? {
            return Err(PeopleError::Busy);
        }
        Ok(DeviceLogin {
            flow,
            user_code: code.user_code,
            verification_uri: code.verification_uri,
            scopes: scope.split_whitespace().map(str::to_owned).collect(),
            expires_in,
            interval: code.interval,
        })
    }

    /// What has become of a login. GitHub is asked at most as often as it wants to be, however often this
    /// is, and by whichever node. The outcome is told once.
    ///
    /// # Errors
    /// `UnknownFlow` without the secret or after the outcome; otherwise why nobody is logged in.
    pub async fn poll_device(&self, flow: &str) -> Result<Polled, PeopleError> {
        let github = self.github()?;
        if !secret::is_secret(flow, "") {
            return Err(PeopleError::UnknownFlow);
        }
        let name = document(flow);
        let found = self.documents.get::<Waiting>(&name).await?.ok_or(PeopleError::UnknownFlow)?;
        let now = self.now();
        let mut waiting = found.value.clone();
        if waiting.expires_at <= now.as_secs() {
            self.documents.write(vec![Write::delete(name, Expected::Anything)]).await?;
            return Err(PeopleError::Expired);
        }
        if now.as_secs() < waiting.next {
            return Ok(Polled::Pending { interval: waiting.next - now.as_secs() });
        }
        // Whoever writes this is the one to ask.
        waiting.next = now.as_secs() + waiting.interval;
        let end = after(now, 2 * LASTS);
        let claim = set(name.as_str(), as_found(Some(&found)), &waiting).until(end);
        let Some(claimed) = self.documents.write_versioned(vec![claim]).await? else {
            return Ok(Polled::Pending { interval: waiting.interval });
        };
        let code: String =
            github.vault.open_sealed(&name, &waiting.device_code).ok_or(PeopleError::Expired)?;
        let over = match github.client.device(&code, now).await? {
            Device::Pending => return Ok(Polled::Pending { interval: waiting.interval }),
            Device::SlowDown(interval) => {
                waiting.interval = interval.unwrap_or(waiting.interval + 5).max(waiting.interval);
                waiting.next = now.as_secs() + waiting.interval;
                let expected = Expected::Version(claimed);
                self.documents.write(vec![set(name, expected, &waiting).until(end)]).await?;
                return Ok(Polled::Pending { interval: waiting.interval });
            }
            Device::Granted(token) => {
                // GitHub gives the token once, so there is one outcome.
                let once = [Write::delete(name.as_str(), Expected::Anything)];
                match self.take_in(token, &waiting.client, &once).await {
                    Ok(login) => return Ok(Polled::Done(login)),
                    Err(error) => error,
                }
            }
            Device::Expired => PeopleError::Expired,
            Device::Denied => PeopleError::Denied,
        };
        self.documents.write(vec![Write::delete(name, Expected::Anything)]).await?;
        Err(over)
    }
}

impl std::fmt::Debug for DeviceLogin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DeviceLogin").field("user_code", &self.user_code).finish_non_exhaustive()
    }
}
