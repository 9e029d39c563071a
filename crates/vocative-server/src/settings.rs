//! What an operator decides (section 6): every setting with its default, and where each value came from.
//!
//! Flags win over the environment, which wins over the file. Reading those three is the command's work;
//! here is what they result in.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use vocative::Key;

use crate::people::Account;

mod people;
mod sources;

pub(crate) use people::is_repository_name;
pub use people::{Allowed, BadName, Github, GithubApp, Served};
pub use sources::{BadSetting, Sources};

/// The settings of one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Where to listen. Port 0 takes a free one.
    pub listen: SocketAddr,
    /// The folder that holds the store when no database is named.
    pub data: PathBuf,
    /// `postgres://…`; absent: SQLite in `data`.
    pub database: Option<Secret>,
    /// `nats://…`; absent: this process is the only node.
    pub bus: Option<Secret>,
    /// The address that clients use: `wss://…` or `ws://…`. NIP-42 and NIP-98 are bound to it.
    /// Absent: derived from `listen`.
    pub public_url: Option<String>,
    /// Where the bytes of shared sessions are: the URL of an object store (`file`, `s3`, `gs`, `az`).
    /// Absent: a folder in `data`.
    pub objects: Option<String>,
    /// What the object store needs beside its URL, such as credentials, by the names of its service.
    pub object_options: Vec<(String, Secret)>,
    /// Every node sees the same local folder of objects.
    pub shared_folder: bool,
    /// Accounts whose references count whoever their actor is.
    pub trusted_publishers: Vec<String>,
    /// The community's first admin.
    pub owner: Option<Key>,
    /// What the community calls itself (NIP-11).
    pub name: String,
    /// Who may create channels. Absent: members, or everyone while there is no owner who could be first.
    pub create_channels: Option<Who>,
    /// Whose events of kinds that the specification does not list are stored, outside channels.
    pub other_kinds: Who,
    /// Bounds on what one client may ask for.
    pub limits: Limits,
    /// Who may log in (section 3). Nobody while it is empty.
    pub allow: Vec<Allowed>,
    /// The repositories whose readers find each other here (section 3).
    pub repositories: Vec<Served>,
    /// The GitHub through which people log in.
    pub github: Github,
}

/// Who may do something in the community.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Who {
    /// Its admins.
    Admins,
    /// Every key that is a member of some channel, and the admins.
    Members,
    /// Every key.
    Anyone,
}

impl Who {
    /// The word for it in a file.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Admins => "admins",
            Self::Members => "members",
            Self::Anyone => "anyone",
        }
    }
}

/// Bounds of one node on what clients may ask for (section 1, Delivery).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Events a second that one key may publish.
    pub events_per_second: u32,
    /// `REQ` and `COUNT` a second of one key; of one connection while it has none.
    pub requests_per_second: u32,
    /// Logins a minute that are begun from one address.
    pub logins_per_minute: u32,
    /// Connections of one address.
    pub connections_per_address: usize,
    /// Open subscriptions of one connection.
    pub subscriptions: usize,
    /// Filters of one subscription.
    pub filters: usize,
    /// Bytes that may wait for a slow reader before it is dropped.
    pub pending_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            events_per_second: 50,
            requests_per_second: 20,
            logins_per_minute: 30,
            connections_per_address: 20,
            subscriptions: 64,
            filters: 20,
            pending_bytes: 32 * 1024 * 1024,
        }
    }
}

impl Settings {
    /// The address of a node on this machine alone.
    pub const LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 7787);

    /// Every default, with the store in this folder.
    pub fn in_folder(data: PathBuf) -> Self {
        Self {
            listen: Self::LISTEN,
            data,
            database: None,
            bus: None,
            public_url: None,
            objects: None,
            object_options: Vec::new(),
            shared_folder: false,
            trusted_publishers: Vec::new(),
            owner: None,
            name: "Vocative".to_owned(),
            create_channels: None,
            other_kinds: Who::Members,
            limits: Limits::default(),
            allow: Vec::new(),
            repositories: Vec::new(),
            github: Github::default(),
        }
    }

    /// Whether an account's references count whoever their actor is. It is named by its number, or by
    /// `github:` and a login that it holds.
    pub(crate) fn trusts(&self, account: &Account) -> bool {
        let is_trusted =
            |named: &str| self.trusted_publishers.iter().any(|trusted| trusted.eq_ignore_ascii_case(named));
        let mut held = account.names.iter().filter(|name| name.until.is_none());
        is_trusted(&account.id.to_string()) || held.any(|name| is_trusted(&format!("github:{}", name.login)))
    }

    /// Who may create channels.
    pub fn create_channels(&self) -> Who {
        let default = if self.owner.is_some() { Who::Members } else { Who::Anyone };
        self.create_channels.unwrap_or(default)
    }
}

/// A value that no log, error or printed configuration shows.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Hides a value.
    pub fn new(value: String) -> Self {
        Self(value)
    }

    /// Of an address the scheme, so that one sees what is set.
    fn shown(&self) -> String {
        match self.0.split_once("://") {
            Some((scheme, _)) => format!("{scheme}://(hidden)"),
            None => "(hidden)".to_owned(),
        }
    }

    /// The value, for whom it is meant.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("(hidden)")
    }
}
