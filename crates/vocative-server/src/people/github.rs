//! GitHub as it is asked: which requests are made, and what their answers mean.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use vocative::Login;
use vocative_store::Timestamp;

use super::accounts::AccountId;
use super::error::{BadPeopleSettings, PeopleError};
use super::repositories::RepositoryName;
use super::secret;
use super::tokens::GithubToken;
use crate::settings::{Github, Secret};

mod transport;

use transport::{Answer, Transport};

/// The longest list of scopes and the longest token that are believed, in bytes.
const LONGEST: usize = 4096;
/// The longest time between two questions that a login waits for, in seconds.
const SLOWEST: u64 = 300;

/// Asks one GitHub as one app.
pub(super) struct Client {
    transport: Transport,
    web: String,
    api: String,
    client_id: String,
    client_secret: Option<Secret>,
}

/// A login that waits for a person's consent.
#[derive(Debug)]
pub(super) struct DeviceCode {
    pub(super) device_code: String,
    pub(super) user_code: String,
    pub(super) verification_uri: String,
    /// Seconds.
    pub(super) expires_in: u64,
    /// Seconds between two questions.
    pub(super) interval: u64,
}

/// What is said of a login that waits.
pub(super) enum Device {
    Granted(GithubToken),
    Pending,
    /// Ask less often: at this interval, in seconds, or else 5 s more than so far.
    SlowDown(Option<u64>),
    Expired,
    Denied,
}

/// Whose token it is.
#[derive(Debug)]
pub(super) struct User {
    pub(super) id: AccountId,
    pub(super) handle: String,
    pub(super) login: Login,
    /// What GitHub says that the token may do; nothing said by GitHub Apps.
    pub(super) scopes: Option<Vec<String>>,
}

/// A repository that the token reads.
#[derive(Debug)]
pub(super) struct Repository {
    pub(super) id: u64,
    /// Its owner now, which may be another than the one asked for.
    pub(super) owner: String,
    pub(super) name: String,
    pub(super) is_private: bool,
    pub(super) scopes: Option<Vec<String>>,
}

/// What an answer to a question with a token says.
pub(super) enum Said<T> {
    /// It is so.
    Yes(T),
    /// There is none, or not for this token.
    No,
    /// The token is none any more.
    BadToken,
}

#[derive(Deserialize)]
struct DeviceAnswer {
    error: Option<String>,
    device_code: Option<String>,
    user_code: Option<String>,
    verification_uri: Option<String>,
    expires_in: Option<u64>,
    interval: Option<u64>,
}

#[derive(Deserialize)]
struct TokenAnswer {
    error: Option<String>,
    interval: Option<u64>,
    access_token: Option<String>,
    scope: Option<String>,
    expires_in: Option<u64>,
    refresh_token: Option<String>,
}

#[derive(Deserialize)]
struct UserAnswer {
    id: u64,
    login: String,
    #[serde(rename = "type")]
    kind: Option<String>,
}

#[derive(Deserialize)]
struct RepositoryAnswer {
    id: u64,
    full_name: String,
    private: bool,
}

#[derive(Deserialize)]
struct MembershipAnswer {
    state: String,
}

impl Client {
    pub(super) fn new(settings: &Github) -> Result<Self, BadPeopleSettings> {
        let client_secret = match (&settings.client_secret, &settings.client_secret_file) {
            (Some(secret), _) => Some(secret.clone()),
            (None, Some(file)) => {
                let setting = "github.client_secret_file";
                let unreadable = |error| BadPeopleSettings::Unreadable { setting, error };
                let text = std::fs::read_to_string(file).map_err(unreadable)?;
                Some(Secret::new(text.trim().to_owned()))
            }
            (None, None) => None,
        };
        Ok(Self {
            transport: Transport::new()?,
            web: settings.web.clone(),
            api: settings.api.clone(),
            client_id: settings.client_id.clone().unwrap_or_default(),
            client_secret,
        })
    }

    pub(super) fn web(&self) -> &str {
        &self.web
    }

    /// Begins a login for a device.
    pub(super) async fn device_code(&self, scope: &str) -> Result<DeviceCode, PeopleError> {
        let form = [("client_id", self.client_id.as_str()), ("scope", scope)];
        let answer = self.transport.post_form(&format!("{}/login/device/code", self.web), &form).await?;
        let read: DeviceAnswer = login_answer(&answer)?;
        if let Some(code) = read.error {
            return Err(app_refused(&code));
        }
        let whole = (read.device_code, read.user_code, read.verification_uri);
        let (Some(device_code), Some(user_code), Some(verification_uri)) = whole else {
            return Err(unreadable());
        };
        // It is shown to a person who is to trust it.
        if !self.is_page(&verification_uri) {
            return Err(unreadable());
        }
        let (expires_in, interval) = (read.expires_in.unwrap_or(900), read.interval.unwrap_or(5));
        Ok(DeviceCode { device_code, user_code, verification_uri, expires_in, interval: pace(interval) })
    }

    /// Whether an address is one of GitHub's web pages.
    fn is_page(&self, address: &str) -> bool {
        let own = url::Url::parse(&self.web).map(|url| url.origin());
        let other = url::Url::parse(address).map(|url| url.origin());
        own.is_ok() && own == other && !address.chars().any(char::is_control)
    }

    /// Asks once for the outcome of a device's login.
    pub(super) async fn device(&self, device_code: &str, now: Timestamp) -> Result<Device, PeopleError> {
        let form = [
            ("client_id", self.client_id.as_str()),
            ("device_code", device_code),
            ("grant_type", "urn:ietf:params:oauth:grant-type:device_code"),
        ];
        let answer = self.token(&form).await?;
        match answer.error.as_deref() {
            None => token(answer, now).map(Device::Granted),
            Some("authorization_pending") => Ok(Device::Pending),
            Some("slow_down") => Ok(Device::SlowDown(answer.interval.map(pace))),
            // GitHub forgets a code some time after it has expired.
            Some("expired_token" | "token_expired" | "incorrect_device_code") => Ok(Device::Expired),
            Some("access_denied") => Ok(Device::Denied),
            Some(code) => Err(app_refused(code)),
        }
    }

    /// Where a browser goes to log in.
    pub(super) fn authorize(
        &self,
        redirect: &str,
        state: &str,
        challenge: &str,
        scope: &str,
    ) -> Result<String, PeopleError> {
        self.client_secret.as_ref().ok_or(PeopleError::NoClientSecret)?;
        let mut url = url::Url::parse(&format!("{}/login/oauth/authorize", self.web))
            .map_err(|_| PeopleError::NotConfigured)?;
        url.query_pairs_mut().extend_pairs([
            ("client_id", self.client_id.as_str()),
            ("redirect_uri", redirect),
            ("state", state),
            ("code_challenge", challenge),
            ("code_challenge_method", "S256"),
        ]);
        if !scope.is_empty() {
            url.query_pairs_mut().append_pair("scope", scope);
        }
        Ok(url.into())
    }

    /// Exchanges the code that a browser brought back.
    pub(super) async fn exchange(
        &self,
        code: &str,
        redirect: &str,
        verifier: &str,
        now: Timestamp,
    ) -> Result<GithubToken, PeopleError> {
        let secret = self.client_secret.as_ref().ok_or(PeopleError::NoClientSecret)?;
        let form = [
            ("client_id", self.client_id.as_str()),
            ("client_secret", secret.reveal()),
            ("code", code),
            ("redirect_uri", redirect),
            ("code_verifier", verifier),
        ];
        let answer = self.token(&form).await?;
        match answer.error.as_deref() {
            None => token(answer, now),
            Some("bad_verification_code") => Err(PeopleError::UnknownFlow),
            Some(code) => Err(app_refused(code)),
        }
    }

    /// Renews a token; nothing when GitHub does not renew it any more.
    pub(super) async fn refresh(
        &self,
        refresh: &str,
        now: Timestamp,
    ) -> Result<Option<GithubToken>, PeopleError> {
        let secret = self.client_secret.as_ref().map(Secret::reveal).unwrap_or_default();
        let form = [
            ("client_id", self.client_id.as_str()),
            ("client_secret", secret),
            ("grant_type", "refresh_token"),
            ("refresh_token", refresh),
        ];
        let answer = self.token(&form).await?;
        match answer.error.as_deref() {
            None => token(answer, now).map(Some),
            Some("bad_refresh_token" | "unauthorized") => Ok(None),
            Some(code) => Err(app_refused(code)),
        }
    }

    async fn token(&self, form: &[(&str, &str)]) -> Result<TokenAnswer, PeopleError> {
        let url = format!("{}/login/oauth/access_token", self.web);
        login_answer(&self.transport.post_form(&url, form).await?)
    }

    /// Whose token it is.
    pub(super) async fn user(&self, token: &str) -> Result<Said<User>, PeopleError> {
        let answer = self.transport.get(&format!("{}/user", self.api), token).await?;
        match answer.status {
            200 => {
                let read: UserAnswer = body(&answer)?;
                let login = read.login.parse().ok().filter(|_| read.kind.is_none_or(|kind| kind == "User"));
                let login = login.ok_or_else(unreadable)?;
                let id = AccountId::new(read.id);
                Ok(Said::Yes(User { id, handle: read.login, login, scopes: scopes(&answer) }))
            }
            401 => Ok(Said::BadToken),
            _ => Err(unexpected(&answer)),
        }
    }

    /// Whether the account of the token is a member of an organization, as far as the token may know.
    pub(super) async fn is_member(
        &self,
        token: &str,
        organization: &Login,
        user: &User,
    ) -> Result<bool, PeopleError> {
        let url = format!("{}/user/memberships/orgs/{organization}", self.api);
        let answer = self.transport.get(&url, token).await?;
        match answer.status {
            200 => return Ok(body::<MembershipAnswer>(&answer)?.state == "active"),
            // Without the right to ask, only what is public counts.
            401 | 403 | 404 => {}
            _ => return Err(unexpected(&answer)),
        }
        let url = format!("{}/orgs/{organization}/public_members/{}", self.api, user.login);
        match self.transport.get(&url, token).await? {
            Answer { status: 204, .. } => Ok(true),
            Answer { status: 302 | 401 | 403 | 404, .. } => Ok(false),
            answer => Err(unexpected(&answer)),
        }
    }

    /// The repository of this name, if the token reads it. A move is followed on the API's own host.
    pub(super) async fn repository(
        &self,
        token: &str,
        name: &RepositoryName,
    ) -> Result<Said<Repository>, PeopleError> {
        let url = format!("{}/repos/{}/{}", self.api, name.owner(), name.name());
        let answer = self.transport.get_following(&url, token).await?;
        match answer.status {
            200 => {
                let read: RepositoryAnswer = body(&answer)?;
                let (owner, name) = read.full_name.split_once('/').ok_or_else(unreadable)?;
                Ok(Said::Yes(Repository {
                    id: read.id,
                    owner: owner.to_owned(),
                    name: name.to_owned(),
                    is_private: read.private,
                    scopes: scopes(&answer),
                }))
            }
            401 => Ok(Said::BadToken),
            // Single sign-on and rules of organizations are a 403, a block for legal reasons a 451.
            403 | 404 | 451 => Ok(Said::No),
            _ => Err(unexpected(&answer)),
        }
    }

    /// Whether tokens can be revoked.
    pub(super) fn can_revoke(&self) -> bool {
        self.client_secret.is_some()
    }

    /// Ends a token. One that has ended already is no error.
    pub(super) async fn revoke(&self, token: &str) -> Result<(), PeopleError> {
        let secret = self.client_secret.as_ref().ok_or(PeopleError::NoClientSecret)?;
        let url = format!("{}/applications/{}/token", self.api, self.client_id);
        let body = serde_json::json!({ "access_token": token }).to_string();
        let answer = self.transport.delete(&url, &self.client_id, secret.reveal(), body).await?;
        match answer.status {
            204 | 404 | 422 => Ok(()),
            _ => Err(unexpected(&answer)),
        }
    }
}

/// An answer of the login pages: errors come in bodies with status 200.
fn login_answer<T: DeserializeOwned>(answer: &Answer) -> Result<T, PeopleError> {
    match answer.status {
        200 | 400 | 401 | 403 => body(answer),
        404 => Err(app_refused("not_found")),
        _ => Err(unexpected(answer)),
    }
}

fn body<T: DeserializeOwned>(answer: &Answer) -> Result<T, PeopleError> {
    serde_json::from_slice(&answer.body).map_err(|_| unreadable())
}

fn unreadable() -> PeopleError {
    PeopleError::Unreachable { why: "its answer cannot be understood", retry_after: None }
}

fn unexpected(answer: &Answer) -> PeopleError {
    tracing::warn!(status = answer.status, "GitHub answered with an unexpected status");
    let why = if answer.status >= 500 { "it fails" } else { "it answers with an unexpected status" };
    PeopleError::Unreachable { why, retry_after: None }
}

/// GitHub's word for why it refuses the app, if it is a word.
fn app_refused(code: &str) -> PeopleError {
    let is_word = code.len() <= 64 && code.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    let code = if is_word { code } else { "unknown" };
    tracing::error!(code, "GitHub refuses this server's app");
    PeopleError::AppRefused { code: code.to_owned() }
}

fn pace(interval: u64) -> u64 {
    interval.clamp(1, SLOWEST)
}

/// The token of an answer that is none of refusal.
fn token(answer: TokenAnswer, now: Timestamp) -> Result<GithubToken, PeopleError> {
    // It becomes a header.
    let is_token =
        |token: &String| token.len() <= LONGEST && token.bytes().all(|byte| byte.is_ascii_graphic());
    let access = answer.access_token.filter(is_token).ok_or_else(unreadable)?;
    let expires_at = answer.expires_in.map(|seconds| now.as_secs().saturating_add(seconds));
    let scopes = list(answer.scope.as_deref().unwrap_or_default());
    Ok(GithubToken { access, expires_at, refresh: answer.refresh_token.filter(is_token), scopes })
}

/// What GitHub says that the token of a question may do.
fn scopes(answer: &Answer) -> Option<Vec<String>> {
    answer.header("x-oauth-scopes").filter(|header| header.len() <= LONGEST).map(list)
}

fn list(text: &str) -> Vec<String> {
    text.split([',', ' ']).filter(|scope| !scope.is_empty()).map(str::to_owned).collect()
}

/// A fresh verifier (PKCE).
pub(super) fn verifier() -> String {
    secret::new("")
}
