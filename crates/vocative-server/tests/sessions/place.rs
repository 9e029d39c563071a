//! A site whose sessions are in a folder of their own, and what people send to it.

use std::sync::Arc;

use serde_json::Value;
use tempfile::TempDir;
use vocative_pi::artifact::Artifact;
use vocative_pi::{EntryId, Origin, Reduction, Reference, ReferenceKey, SessionId, Timestamp};
use vocative_server::settings::Settings;

use crate::lines::file;
use crate::site::{Answer, Site};

/// A site, and the tokens of those who have logged in.
pub struct Place {
    pub site: Site,
    pub ann: String,
    pub bob: String,
    pub eve: String,
    pub folder: TempDir,
}

impl Place {
    pub async fn new() -> Self {
        Self::with(|_| {}).await
    }

    pub async fn with(set: impl FnOnce(&mut Settings)) -> Self {
        let folder = TempDir::new().expect("a folder");
        let data = folder.path().to_owned();
        let site = Site::with(|settings| {
            settings.data = data;
            set(settings);
        });
        let site = site.await;
        let (ann, bob) = (site.log_in("Ann").await, site.log_in("bob").await);
        let eve = site.log_in("eve").await;
        Self { site, ann, bob, eve, folder }
    }

    pub async fn push(&self, token: &str, bytes: Vec<u8>) -> Answer {
        let answer =
            self.site.ask("POST", "/v1/references", |request| request.bearer_auth(token).body(bytes));
        answer.await
    }

    /// Shares a session of these lines under its id in the path.
    pub async fn share(&self, token: &str, id: &str, lines: &[String]) -> Answer {
        let path = format!("/v1/sessions/{id}");
        let body = file(lines);
        self.site.ask("PUT", &path, |request| request.bearer_auth(token).body(body)).await
    }

    /// The status of reading an entry, given as `account/session/entry`, with a query.
    pub async fn read(&self, token: &str, place: &str) -> Answer {
        let (account, rest) = place.split_once('/').expect("an account");
        let (session, entry) = rest.rsplit_once('/').expect("an entry");
        self.site.get(&format!("/v1/sessions/{account}/{session}/entries/{entry}"), token).await
    }

    /// The rows of someone's inbox.
    pub async fn rows(&self, token: &str) -> Vec<Value> {
        let page = self.site.get("/v1/inbox", token).await;
        assert_eq!(page.status, 200, "{}", page.text);
        page.json()["rows"].as_array().expect("rows").clone()
    }
}

/// An artifact of references, each `session/entry recipient actor`, of one time.
pub fn artifact_at(at: &str, references: &[&str]) -> Vec<u8> {
    let at = Timestamp::parse(at.as_bytes()).expect("a time");
    let login = |text: &str| Arc::new(text.parse().expect("a login"));
    let mut reduction = Reduction::default();
    for reference in references {
        let [place, recipient, actor] = reference.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{reference}");
        };
        let (session, entry) = place.split_once('/').expect("an entry");
        let session = SessionId::from_evidence(session).expect("an id");
        let entry = EntryId::from_evidence(entry).expect("an id");
        reduction.add_input(session.clone());
        reduction.add_marker(session.clone(), EntryId::from_evidence(&format!("m{entry}")).expect("an id"));
        let key = ReferenceKey { session, entry, recipient: login(recipient) };
        reduction.add(key, Reference { actor: login(actor), at, origin: Origin { file: 0, line: 3 } });
    }
    let mut bytes = Vec::new();
    Artifact::of(&reduction).write(&mut bytes).expect("memory takes it");
    bytes
}

/// An artifact of the minute in which the lines of tests are written.
pub fn artifact(references: &[&str]) -> Vec<u8> {
    artifact_at(&crate::lines::time(1), references)
}
