//! A community's people, a GitHub that does what a test says, and one clock for both.

#![allow(unreachable_pub, reason = "shared by the modules of this test program")]

use std::sync::Arc;

use tempfile::TempDir;
use vocative_github_double::{App, AppKind, Double};
use vocative_server::people::{NewLogin, People, PeopleError, Polled, RepositoryName, Session};
use vocative_server::settings::{GithubApp, Secret, Settings};
use vocative_store::{Store, Timestamp};

use super::support::open;

/// Who may log in unless a test says otherwise.
pub const ALLOWED: [&str; 5] = ["Ann", "bob", "eve", "grace_acme", "ann2"];

pub struct Stage {
    pub double: Arc<Double>,
    pub store: Arc<dyn Store>,
    pub settings: Settings,
    pub people: People,
    _folder: TempDir,
}

impl Stage {
    pub async fn new() -> Self {
        Self::with(App::github_app(), |_| {}).await
    }

    pub async fn with(app: App, set: impl FnOnce(&mut Settings)) -> Self {
        let folder = TempDir::new().expect("a folder");
        let kind = app.kind;
        let double = Arc::new(Double::start(app).await.expect("it starts"));
        double.set_now(1_000_000);
        let mut settings = Settings::in_folder(folder.path().to_owned());
        settings.github = github(&double, kind);
        settings.allow = ALLOWED.iter().map(|login| login.parse().expect("a login")).collect();
        settings.repositories = ["acme/*", "ann/site"].map(|name| name.parse().expect("a name")).to_vec();
        set(&mut settings);
        let store = open(folder.path());
        let people = node(&settings, &store, &double);
        Self { double, store, settings, people, _folder: folder }
    }

    /// Another node of the same community.
    pub fn node(&self) -> People {
        node(&self.settings, &self.store, &self.double)
    }

    /// Logs someone in by a terminal, as far as it goes.
    pub async fn try_log_in(&self, login: &str) -> Result<NewLogin, PeopleError> {
        let begun = self.people.begin_device("a terminal", false).await?;
        self.double.approve(&begun.user_code, login);
        self.double.advance(begun.interval);
        match self.people.poll_device(&begun.flow).await? {
            Polled::Done(login) => Ok(login),
            Polled::Pending { .. } => panic!("the person has consented"),
        }
    }

    pub async fn log_in(&self, login: &str) -> NewLogin {
        self.try_log_in(login).await.expect("they are let in")
    }

    /// Whose session a token is of.
    pub async fn session(&self, login: &NewLogin) -> Session {
        self.people.session(&login.token).await.expect("the store answers").expect("it is one")
    }

    /// How often a path was asked.
    pub fn asked(&self, path: &str) -> usize {
        self.double.asked().iter().filter(|asked| asked.path.contains(path)).count()
    }

    /// Everyone who is addressed.
    pub async fn everyone(&self, as_whom: &NewLogin) -> Vec<String> {
        let (session, repository) = (self.session(as_whom).await, repository("acme/app"));
        let found = self.people.participants(&session, &repository, None).await.expect("it is readable");
        found.into_iter().map(|row| row.id.to_string()).collect()
    }
}

fn node(settings: &Settings, store: &Arc<dyn Store>, double: &Arc<Double>) -> People {
    let double = Arc::clone(double);
    let clock = Arc::new(move || Timestamp::from_secs(double.now()));
    People::new(settings, Arc::clone(store), clock).expect("the settings are whole")
}

/// Settings for a double.
pub fn github(double: &Double, kind: AppKind) -> vocative_server::settings::Github {
    let app = App::github_app();
    vocative_server::settings::Github {
        web: double.web(),
        api: double.api(),
        app: if kind == AppKind::App { GithubApp::App } else { GithubApp::OAuth },
        client_id: Some(app.client_id),
        client_secret: Some(Secret::new(app.client_secret)),
        token_key: Some(Secret::new("0f".repeat(32))),
        ..Default::default()
    }
}

pub fn repository(name: &str) -> RepositoryName {
    name.parse().expect("a name")
}
