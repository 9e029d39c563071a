//! Where settings come from: flags win over the environment, which wins over a file.
//!
//! Each source is read into the same table and checked by itself, so that an error names the source and
//! the setting. Nothing here reads a file or the environment; the command hands over what they hold.

use std::net::SocketAddr;
use std::path::PathBuf;

use serde::Deserialize;
use toml::{Table, Value};

use super::people::{self, GivenGithub};
use super::{Allowed, Limits, Secret, Served, Settings, Who};
use crate::public_key;

/// What is wrong with a setting.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{source_name}: {problem}")]
pub struct BadSetting {
    /// The flag, the variable or the file.
    pub source_name: String,
    /// What is wrong.
    pub problem: String,
}

impl BadSetting {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        "bad_setting"
    }
}

/// The settings that have been read so far, those of the strongest source first.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    tables: Vec<Table>,
}

/// The settings as a source may give them. The names are those of the file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Given {
    listen: Option<SocketAddr>,
    data: Option<PathBuf>,
    database: Option<String>,
    bus: Option<String>,
    public_url: Option<String>,
    objects: Option<String>,
    shared_folder: Option<bool>,
    trusted_publishers: Option<Vec<String>>,
    owner: Option<String>,
    name: Option<String>,
    create_channels: Option<Who>,
    other_kinds: Option<Who>,
    limits: GivenLimits,
    login: GivenLogin,
    repositories: Option<Vec<Served>>,
    github: GivenGithub,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct GivenLogin {
    allow: Option<Vec<Allowed>>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct GivenLimits {
    events_per_second: Option<u32>,
    requests_per_second: Option<u32>,
    logins_per_minute: Option<u32>,
    connections_per_address: Option<usize>,
    subscriptions: Option<usize>,
    filters: Option<usize>,
    pending_bytes: Option<usize>,
}

/// Every setting by its path in the file. Of the environment's names these are the ends, in capitals:
/// `VOCATIVE_PUBLIC_URL`, `VOCATIVE_LIMITS_FILTERS`.
const NAMES: [&str; 29] = [
    "listen",
    "data",
    "database",
    "bus",
    "public_url",
    "objects",
    "shared_folder",
    "trusted_publishers",
    "owner",
    "name",
    "create_channels",
    "other_kinds",
    "limits.events_per_second",
    "limits.requests_per_second",
    "limits.logins_per_minute",
    "limits.connections_per_address",
    "limits.subscriptions",
    "limits.filters",
    "limits.pending_bytes",
    "login.allow",
    "repositories",
    "github.web",
    "github.api",
    "github.app",
    "github.client_id",
    "github.client_secret",
    "github.client_secret_file",
    "github.token_key",
    "github.token_key_file",
];

/// The value of a setting that was given as one text. Lists are separated by commas.
fn value(name: &str, text: String) -> Result<Value, String> {
    match name {
        "login.allow" | "repositories" | "trusted_publishers" => Ok(list(&text)),
        "shared_folder" => text.parse().map(Value::Boolean).map_err(|_| "true or false is needed".to_owned()),
        _ if name.starts_with("limits.") => {
            text.parse().map(Value::Integer).map_err(|_| "a whole number is needed".to_owned())
        }
        _ => Ok(Value::String(text)),
    }
}

impl Sources {
    /// Adds a flag. It wins over everything that is added later.
    ///
    /// # Errors
    /// When the value is none for this setting.
    pub fn flag(&mut self, name: &'static str, value: Option<String>) -> Result<(), BadSetting> {
        match value {
            Some(value) => self.one(&format!("--{}", name.replace('_', "-")), name, value),
            None => Ok(()),
        }
    }

    /// Adds what the environment says.
    ///
    /// # Errors
    /// When a variable's value is none for its setting.
    pub fn environment(&mut self, variable: impl Fn(&str) -> Option<String>) -> Result<(), BadSetting> {
        for name in NAMES {
            let variable_name = format!("VOCATIVE_{}", name.replace('.', "_").to_uppercase());
            if let Some(value) = variable(&variable_name).filter(|value| !value.is_empty()) {
                self.one(&variable_name, name, value)?;
            }
        }
        Ok(())
    }

    /// Adds a file, which is TOML.
    ///
    /// # Errors
    /// When it is no TOML, or holds something else than settings.
    pub fn file(&mut self, path: &str, text: &str) -> Result<(), BadSetting> {
        let bad = |error: toml::de::Error| {
            // The error quotes the line, which may hold a password; what it says and where is enough.
            let line = error.span().map_or(1, |span| text[..span.start].matches('\n').count() + 1);
            BadSetting { source_name: format!("{path}:{line}"), problem: error.message().to_owned() }
        };
        let table: Table = text.parse().map_err(bad)?;
        let _: Given = toml::from_str(text).map_err(bad)?;
        self.tables.push(table);
        Ok(())
    }

    /// Adds one value as text.
    fn one(&mut self, source_name: &str, name: &str, text: String) -> Result<(), BadSetting> {
        let bad = |problem: String| BadSetting { source_name: source_name.to_owned(), problem };
        let value = value(name, text).map_err(bad)?;
        let mut table = Table::new();
        match name.split_once('.') {
            None => table.insert(name.to_owned(), value),
            Some((section, key)) => {
                let inner = Table::from_iter([(key.to_owned(), value)]);
                table.insert(section.to_owned(), Value::Table(inner))
            }
        };
        let _: Given =
            table.clone().try_into().map_err(|error: toml::de::Error| bad(error.message().to_owned()))?;
        self.tables.push(table);
        Ok(())
    }

    /// What all sources together say, with the defaults and the store in `data` where none says where.
    ///
    /// # Errors
    /// When the owner is no key, or a limit is 0.
    pub fn settings(&self, data: PathBuf) -> Result<Settings, BadSetting> {
        let mut all = Table::new();
        for table in self.tables.iter().rev() {
            overlay(&mut all, table);
        }
        let bad = |setting: &str, problem: String| BadSetting { source_name: setting.to_owned(), problem };
        let given: Given =
            all.try_into().map_err(|error: toml::de::Error| bad("settings", error.message().to_owned()))?;
        let defaults = Settings::in_folder(data);
        let owner = match given.owner {
            Some(text) => Some(public_key(&text).ok_or_else(|| {
                bad("owner", "an owner is a public key: npub1… or 64 hex digits".to_owned())
            })?),
            None => None,
        };
        let limits = Limits {
            events_per_second: given.limits.events_per_second.unwrap_or(defaults.limits.events_per_second),
            requests_per_second: given
                .limits
                .requests_per_second
                .unwrap_or(defaults.limits.requests_per_second),
            logins_per_minute: given.limits.logins_per_minute.unwrap_or(defaults.limits.logins_per_minute),
            connections_per_address: given
                .limits
                .connections_per_address
                .unwrap_or(defaults.limits.connections_per_address),
            subscriptions: given.limits.subscriptions.unwrap_or(defaults.limits.subscriptions),
            filters: given.limits.filters.unwrap_or(defaults.limits.filters),
            pending_bytes: given.limits.pending_bytes.unwrap_or(defaults.limits.pending_bytes),
        };
        if let Some((name, _)) = limits.named().iter().find(|(_, value)| *value == 0) {
            return Err(bad(&format!("limits.{name}"), "a limit is at least 1".to_owned()));
        }
        Ok(Settings {
            listen: given.listen.unwrap_or(defaults.listen),
            data: given.data.unwrap_or(defaults.data),
            database: given.database.map(Secret::new),
            bus: given.bus.map(Secret::new),
            public_url: given.public_url,
            objects: given.objects,
            object_options: Vec::new(),
            shared_folder: given.shared_folder.unwrap_or(defaults.shared_folder),
            trusted_publishers: given.trusted_publishers.unwrap_or_default(),
            owner,
            name: given.name.unwrap_or(defaults.name),
            create_channels: given.create_channels,
            other_kinds: given.other_kinds.unwrap_or(defaults.other_kinds),
            limits,
            allow: given.login.allow.unwrap_or_default(),
            repositories: given.repositories.unwrap_or_default(),
            github: given.github.github().map_err(|(setting, problem)| bad(setting, problem))?,
        })
    }
}

/// A list as one text, its parts between commas.
fn list(text: &str) -> Value {
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    Value::Array(parts.map(Value::from).collect())
}

fn overlay(all: &mut Table, stronger: &Table) {
    for (name, value) in stronger {
        match (all.get_mut(name), value) {
            (Some(Value::Table(below)), Value::Table(above)) => overlay(below, above),
            _ => {
                all.insert(name.clone(), value.clone());
            }
        }
    }
}

impl Limits {
    fn named(&self) -> [(&'static str, u64); 7] {
        [
            ("events_per_second", u64::from(self.events_per_second)),
            ("requests_per_second", u64::from(self.requests_per_second)),
            ("logins_per_minute", u64::from(self.logins_per_minute)),
            ("connections_per_address", self.connections_per_address as u64),
            ("subscriptions", self.subscriptions as u64),
            ("filters", self.filters as u64),
            ("pending_bytes", self.pending_bytes as u64),
        ]
    }
}

impl Settings {
    /// The settings as a file would hold them, with secrets hidden (section 6).
    pub fn shown(&self) -> String {
        let hidden = |secret: &Option<Secret>| secret.as_ref().map(Secret::shown);
        let mut table = Table::new();
        let mut set = |name: &str, value: Option<Value>| {
            if let Some(value) = value {
                table.insert(name.to_owned(), value);
            }
        };
        set("listen", Some(self.listen.to_string().into()));
        set("data", Some(self.data.display().to_string().into()));
        set("database", hidden(&self.database).map(Value::from));
        set("bus", hidden(&self.bus).map(Value::from));
        set("public_url", self.public_url.clone().map(Value::from));
        set("objects", self.objects.clone().map(Value::from));
        set("shared_folder", Some(self.shared_folder.into()));
        set("trusted_publishers", Some(self.trusted_publishers.clone().into()));
        set("owner", self.owner.map(|key| key.to_string().into()));
        set("name", Some(self.name.clone().into()));
        set("create_channels", Some(self.create_channels().as_str().into()));
        set("other_kinds", Some(self.other_kinds.as_str().into()));
        let limits = self.limits.named().map(|(name, value)| (name.to_owned(), Value::from(value as i64)));
        set("limits", Some(Value::Table(Table::from_iter(limits))));
        set("login", people::shown_allow(&self.allow));
        set("repositories", people::shown_list(&self.repositories));
        set("github", Some(Value::Table(self.github.shown())));
        table.to_string()
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::{BadSetting, Settings, Sources};

    fn settings(
        flags: &[(&'static str, &str)],
        environment: &[(&str, &str)],
        file: &str,
    ) -> Result<Settings, BadSetting> {
        let mut sources = Sources::default();
        for (name, value) in flags {
            sources.flag(name, Some((*value).to_owned()))?;
        }
        sources.environment(|name| {
            environment.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })?;
        sources.file("vocative.toml", file)?;
        sources.settings(PathBuf::from("/data"))
    }

    #[test]
    fn flags_win_over_the_environment_and_that_over_the_file() {
        let file = "name = 'file'\nlisten = '127.0.0.1:1'\npublic_url = 'wss://file'\n[limits]\nfilters = 3\nsubscriptions = 4";
        let environment = [
            ("VOCATIVE_LISTEN", "127.0.0.1:2"),
            ("VOCATIVE_PUBLIC_URL", "wss://env"),
            ("VOCATIVE_LIMITS_FILTERS", "5"),
        ];
        let read = settings(&[("public_url", "wss://flag")], &environment, file).expect("settings");
        assert_eq!(read.public_url.as_deref(), Some("wss://flag"));
        assert_eq!(read.listen.port(), 2);
        assert_eq!(read.name, "file");
        assert_eq!((read.limits.filters, read.limits.subscriptions), (5, 4));
        assert_eq!(settings(&[], &[], ""), Ok(Settings::in_folder(PathBuf::from("/data"))));
    }

    #[test]
    fn a_bad_setting_is_told_with_its_source() {
        type Pairs = &'static [(&'static str, &'static str)];
        let table: [(Pairs, Pairs, &str, &str); 10] = [
            (&[("listen", "here")], &[], "", "--listen"),
            (&[], &[("VOCATIVE_LIMITS_FILTERS", "many")], "", "VOCATIVE_LIMITS_FILTERS"),
            (&[], &[], "name = 'x'\nlistne = 'y'", "vocative.toml:2"),
            (&[], &[], "database = 'postgres://u:secret@h'\nname =", "vocative.toml:2"),
            (&[("owner", "ann")], &[], "", "owner"),
            (&[], &[], "[limits]\nfilters = 0", "limits.filters"),
            (&[], &[("VOCATIVE_LOGIN_ALLOW", "ann, org:"), ("X", "")], "", "VOCATIVE_LOGIN_ALLOW"),
            (&[], &[], "\nrepositories = ['acme']", "vocative.toml:2"),
            (&[], &[], "[github]\nweb = 'ftp://h'", "github.web"),
            (&[], &[], "[github]\napi = 'http://example.com'", "github.api"),
        ];
        for (flags, environment, file, source) in table {
            let error = settings(flags, environment, file).expect_err(source);
            assert_eq!(error.source_name, source, "{error}");
            assert!(!error.to_string().contains("secret"), "{error}");
        }
    }

    #[test]
    fn lists_come_from_a_file_or_separated_by_commas() {
        let environment = [
            ("VOCATIVE_LOGIN_ALLOW", "gszep, org:Acme"),
            ("VOCATIVE_GITHUB_APP", "oauth"),
            ("VOCATIVE_GITHUB_CLIENT_SECRET", "hunter2"),
        ];
        let file = "repositories = ['acme/*', 'Ann/Site']\n[github]\nclient_id = 'x'\nclient_secret = 'y'";
        let read = settings(&[], &environment, file).expect("settings");
        assert_eq!(read.allow.iter().map(ToString::to_string).collect::<Vec<_>>(), ["gszep", "org:acme"]);
        let served = |name| read.repositories.iter().any(|served| served.covers(name));
        let table = [("ACME", "any", true), ("ann", "site", true), ("ann", "other", false)];
        for (owner, name, expected) in table {
            assert_eq!(served((owner, name)), expected, "{owner}/{name}");
        }
        let shown = read.shown();
        assert!(!shown.contains("hunter2") && shown.contains("acme/*"), "{shown}");
        let again = settings(&[], &[], &shown).expect("settings");
        assert_eq!((again.allow, again.repositories), (read.allow, read.repositories));
    }

    #[test]
    fn what_is_shown_hides_secrets_and_is_a_file_of_settings() {
        let secret = [("database", "postgres://u:hunter2@h/db"), ("bus", "nats://token@h")];
        let read = settings(&secret, &[], "").expect("settings");
        let shown = read.shown();
        assert!(!shown.contains("hunter2") && !shown.contains("token"), "{shown}");
        assert!(shown.contains("postgres://") && shown.contains("nats://"), "{shown}");
        assert!(settings(&[], &[], &shown).is_ok(), "{shown}");
        assert!(!format!("{read:?}").contains("hunter2"));
    }
}
