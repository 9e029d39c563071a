//! Why something about people was not done. Every code is stable.

use vocative::Login;
use vocative_store::StoreError;

/// Why a login, a question or a change was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PeopleError {
    /// The deployment has not said who may log in, for which repositories and through which app.
    #[error(
        "nobody can log in here: the operator has not set github.client_id, login.allow and repositories"
    )]
    NotConfigured,
    /// The web flow needs the app's secret.
    #[error("browsers cannot log in here: the operator has not set github.client_secret")]
    NoClientSecret,
    /// No login was begun under this secret, or it has ended.
    #[error("no login waits under this secret: begin again")]
    UnknownFlow,
    /// The person did not consent in time.
    #[error("the login was not confirmed in time: begin again")]
    Expired,
    /// The person said no.
    #[error("the login was denied on GitHub")]
    Denied,
    /// The deployment does not let this account in. Nothing of it is recorded.
    #[error("this community does not let {handle} in")]
    NotAllowed {
        /// How GitHub spells the login.
        handle: String,
    },
    /// Another account logged in under this name first.
    #[error("another account logged in as {login} before: an admin of the community may release the name")]
    Held {
        /// The name.
        login: Login,
    },
    /// The login of the web flow was not begun in this browser.
    #[error("this login was not begun in this browser, or is over: begin again")]
    OtherBrowser,
    /// Where to go after the login is not a path of this server.
    #[error("the place to return to is not a path of this server: it begins with one `/`")]
    BadReturn,
    /// No session, or one that has ended.
    #[error("this needs a login")]
    NotLoggedIn,
    /// GitHub does not take the account's token any more.
    #[error("the login at GitHub has ended: log in again")]
    GithubLoginEnded,
    /// GitHub does not answer, or not now.
    #[error("GitHub does not answer now: {why}")]
    Unreachable {
        /// In which way.
        why: &'static str,
        /// Seconds until it is worth asking again.
        retry_after: Option<u64>,
    },
    /// GitHub refuses the app itself.
    #[error("GitHub refuses this server's app: {code}")]
    AppRefused {
        /// GitHub's word for it.
        code: String,
    },
    /// Not `owner/name`.
    #[error("a repository is `owner/name`, in the header x-chi-repo")]
    BadRepository,
    /// The caller is not known to read the repository.
    #[error("{}", NOT_READABLE)]
    NotReadable,
    /// The nonce is none of this login, used, or too old.
    #[error("the challenge is not one of this account, was used, or is over: ask for another")]
    BadChallenge,
    /// The signed request was seen before.
    #[error("this signed request was used before: sign another")]
    Replayed,
    /// The key belongs to an account already.
    #[error("this key is linked to an account already")]
    KeyTaken,
    /// There is no such thing of the caller's.
    #[error("there is no such thing")]
    NotFound,
    /// Nobody holds the name, or it was released already.
    #[error("nobody holds this name")]
    NotHeld,
    /// A name is released from an instant after its holder took it, not from one before.
    #[error("the name was taken later than that")]
    BadInstant,
    /// Others changed the same at the same time, again and again.
    #[error("others changed the same at the same time: try again")]
    Busy,
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// One text for all causes, so that it tells nothing about repositories that the caller cannot read.
const NOT_READABLE: &str = "this server does not serve the repository, or GitHub does not let it see that you \
    read it: there is no such repository, you have no access, the app is not installed on it, the login lacks \
    the scope for private repositories, or the organization asks for single sign-on or keeps the app out";

impl PeopleError {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotConfigured | Self::NoClientSecret => "login_not_configured",
            Self::UnknownFlow => "unknown_login",
            Self::Expired => "login_expired",
            Self::Denied => "login_denied",
            Self::NotAllowed { .. } => "login_not_allowed",
            Self::Held { .. } => "login_held",
            Self::OtherBrowser => "login_of_another_browser",
            Self::BadReturn => "bad_return",
            Self::NotLoggedIn => "not_logged_in",
            Self::GithubLoginEnded => "github_login_ended",
            Self::Unreachable { .. } => "github_unreachable",
            Self::AppRefused { .. } => "github_app_refused",
            Self::BadRepository => "bad_repository",
            Self::NotReadable => "repo_not_readable",
            Self::BadChallenge => "bad_challenge",
            Self::Replayed => "replayed",
            Self::KeyTaken => "key_taken",
            Self::NotFound => "not_found",
            Self::NotHeld => "login_not_held",
            Self::BadInstant => "bad_instant",
            Self::Busy => "busy",
            Self::Store(error) => error.code(),
        }
    }
}

/// Why people cannot be logged in with these settings.
#[derive(Debug, thiserror::Error)]
pub enum BadPeopleSettings {
    /// A file that holds a secret.
    #[error("{setting}: {error}")]
    Unreadable {
        /// Which setting names it.
        setting: &'static str,
        /// Why.
        error: std::io::Error,
    },
    /// Not a key.
    #[error("{setting} is no key: it is 64 hex digits, as of `openssl rand -hex 32`")]
    BadKey {
        /// Which setting.
        setting: &'static str,
    },
    /// Nodes that share a database share the key too.
    #[error("with a database, github.token_key or github.token_key_file must be set, the same on every node")]
    NoKey,
    /// Requests cannot be made at all.
    #[error("no requests to GitHub can be made: {0}")]
    Client(String),
}

impl BadPeopleSettings {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unreadable { .. } => "unreadable_secret",
            Self::BadKey { .. } => "bad_token_key",
            Self::NoKey => "no_token_key",
            Self::Client(_) => "no_client",
        }
    }
}
