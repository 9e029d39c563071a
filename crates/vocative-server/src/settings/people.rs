//! Who may log in, whose readers find each other, and through which GitHub (section 3).

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Deserializer};
use toml::{Table, Value};
use url::{Host, Url};
use vocative::Login;

use super::Secret;

/// Someone who may log in: a login, or `org:` and an organization whose members may.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Allowed {
    /// The account of this login.
    Login(Login),
    /// The members of this organization.
    Organization(Login),
}

/// Repositories that the deployment serves: `owner/name`, or `owner/*` for all of an owner. Compared
/// without regard to case, as GitHub does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Served {
    owner: Login,
    /// In lower case; every name if absent.
    name: Option<String>,
}

/// The GitHub through which people log in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Github {
    /// The address of its web pages, without a slash at the end.
    pub web: String,
    /// The address of its API, without a slash at the end.
    pub api: String,
    /// What kind of app is registered there.
    pub app: GithubApp,
    /// The app's id. Nobody can log in without.
    pub client_id: Option<String>,
    /// The app's secret, without which only terminals can log in, and no token can be revoked.
    pub client_secret: Option<Secret>,
    /// The file that holds the secret.
    pub client_secret_file: Option<PathBuf>,
    /// The key under which GitHub's tokens are stored: 64 hex digits.
    pub token_key: Option<Secret>,
    /// The file that holds this key.
    pub token_key_file: Option<PathBuf>,
}

/// The kinds of apps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GithubApp {
    /// A GitHub App with Metadata: read and expiring user tokens.
    #[default]
    App,
    /// An OAuth app: no scope; `repo` for private repositories only by an explicit second step.
    OAuth,
}

/// Why a text is no such value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadName {
    /// Neither a login nor an organization.
    #[error("who may log in is a GitHub login, or `org:` and an organization")]
    Allowed,
    /// Not repositories.
    #[error("a served repository is `owner/name`, or `owner/*`")]
    Served,
}

impl FromStr for Allowed {
    type Err = BadName;

    fn from_str(text: &str) -> Result<Self, BadName> {
        let bad = |_| BadName::Allowed;
        match text.strip_prefix("org:") {
            Some(name) => name.parse().map(Self::Organization).map_err(bad),
            None => text.parse().map(Self::Login).map_err(bad),
        }
    }
}

impl fmt::Display for Allowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Login(login) => write!(f, "{login}"),
            Self::Organization(name) => write!(f, "org:{name}"),
        }
    }
}

impl Served {
    /// Whether a repository, by owner and name, is one of these.
    pub fn covers(&self, (owner, name): (&str, &str)) -> bool {
        let is_name = || self.name.as_ref().is_none_or(|own| own.eq_ignore_ascii_case(name));
        self.owner.as_str().eq_ignore_ascii_case(owner) && is_name()
    }
}

impl FromStr for Served {
    type Err = BadName;

    fn from_str(text: &str) -> Result<Self, BadName> {
        let (owner, name) = text.split_once('/').ok_or(BadName::Served)?;
        let owner = owner.parse().map_err(|_| BadName::Served)?;
        match name {
            "*" => Ok(Self { owner, name: None }),
            name if is_repository_name(name) => Ok(Self { owner, name: Some(name.to_ascii_lowercase()) }),
            _ => Err(BadName::Served),
        }
    }
}

impl fmt::Display for Served {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.owner, self.name.as_deref().unwrap_or("*"))
    }
}

/// Whether a text can be the name of a repository. It becomes a part of a path.
pub(crate) fn is_repository_name(text: &str) -> bool {
    (1..=100).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
        && !matches!(text, "." | "..")
}

macro_rules! deserialize_from_text {
    ($($name:ty),*) => {$(
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
            }
        }
    )*};
}

deserialize_from_text!(Allowed, Served);

impl Default for Github {
    fn default() -> Self {
        Self {
            web: "https://github.com".to_owned(),
            api: "https://api.github.com".to_owned(),
            app: GithubApp::App,
            client_id: None,
            client_secret: None,
            client_secret_file: None,
            token_key: None,
            token_key_file: None,
        }
    }
}

impl Github {
    /// The settings as a file would hold them, with secrets hidden.
    pub(super) fn shown(&self) -> Table {
        let app = match self.app {
            GithubApp::App => "app",
            GithubApp::OAuth => "oauth",
        };
        let path = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
        let hidden = |secret: &Option<Secret>| secret.as_ref().map(Secret::shown);
        let all = [
            ("web", Some(self.web.clone())),
            ("api", Some(self.api.clone())),
            ("app", Some(app.to_owned())),
            ("client_id", self.client_id.clone()),
            ("client_secret", hidden(&self.client_secret)),
            ("client_secret_file", path(&self.client_secret_file)),
            ("token_key", hidden(&self.token_key)),
            ("token_key_file", path(&self.token_key_file)),
        ];
        let given = all.into_iter().filter_map(|(name, value)| value.map(|value| (name, value)));
        given.map(|(name, value)| (name.to_owned(), Value::String(value))).collect()
    }
}

/// A list of texts as a file would hold it; nothing if it is empty.
pub(super) fn shown_list(items: &[impl ToString]) -> Option<Value> {
    let items: Vec<Value> = items.iter().map(|item| Value::String(item.to_string())).collect();
    (!items.is_empty()).then_some(Value::Array(items))
}

/// Who may log in, as a file would hold it.
pub(super) fn shown_allow(allow: &[Allowed]) -> Option<Value> {
    shown_list(allow).map(|allow| Value::Table(Table::from_iter([("allow".to_owned(), allow)])))
}

/// The section `github` as a source may give it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct GivenGithub {
    web: Option<String>,
    api: Option<String>,
    app: Option<GithubApp>,
    client_id: Option<String>,
    client_secret: Option<String>,
    client_secret_file: Option<PathBuf>,
    token_key: Option<String>,
    token_key_file: Option<PathBuf>,
}

impl GivenGithub {
    /// The settings that result; or which one is bad, and why.
    pub(super) fn github(self) -> Result<Github, (&'static str, String)> {
        let defaults = Github::default();
        Ok(Github {
            web: self.web.map_or(Ok(defaults.web), |given| address("github.web", &given))?,
            api: self.api.map_or(Ok(defaults.api), |given| address("github.api", &given))?,
            app: self.app.unwrap_or_default(),
            client_id: self.client_id,
            client_secret: self.client_secret.map(Secret::new),
            client_secret_file: self.client_secret_file,
            token_key: self.token_key.map(Secret::new),
            token_key_file: self.token_key_file,
        })
    }
}

/// An address to which secrets are sent: by TLS, or on this machine.
fn address(setting: &'static str, given: &str) -> Result<String, (&'static str, String)> {
    let bad = |why: &str| (setting, why.to_owned());
    let url = Url::parse(given).map_err(|_| bad("an address begins with https://"))?;
    let is_bare = url.query().is_none()
        && url.fragment().is_none()
        && url.username().is_empty()
        && url.password().is_none();
    let is_local = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    match url.scheme() {
        _ if !is_bare => Err(bad("an address has no user, query or fragment")),
        "https" => Ok(url.as_str().trim_end_matches('/').to_owned()),
        "http" if is_local => Ok(url.as_str().trim_end_matches('/').to_owned()),
        "http" => Err(bad("tokens go there: http:// is for this machine only, write https://")),
        _ => Err(bad("an address begins with https://")),
    }
}
