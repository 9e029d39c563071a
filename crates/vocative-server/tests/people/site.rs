//! A node with its GitHub, as a browser and a terminal see it.

#![allow(unreachable_pub, reason = "shared by the modules of this test program")]

use std::sync::Arc;

use data_encoding::{BASE64, HEXLOWER};
use reqwest::header::{HeaderMap, LOCATION, SET_COOKIE};
use reqwest::{Client, Method, RequestBuilder};
use serde_json::Value;
use sha2::{Digest, Sha256};
use vocative_github_double::{App, AppKind, Double};
use vocative_server::settings::Settings;

use super::stage::{ALLOWED, github};
use super::support::{Node, Person, settings, soon};

pub struct Site {
    pub double: Arc<Double>,
    pub node: Node,
    pub owner: Person,
    http: Client,
}

/// An answer, whole.
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub text: String,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("no JSON: {}", self.text))
    }

    /// The code of a refusal, behind its status.
    pub fn code(&self) -> String {
        match self.status {
            200..400 => self.status.to_string(),
            status => format!("{status} {}", self.json()["code"].as_str().expect("a code")),
        }
    }

    pub fn location(&self) -> &str {
        self.headers[LOCATION].to_str().expect("text")
    }

    /// The whole of a cookie that is set.
    pub fn cookie(&self, name: &str) -> Option<&str> {
        let all = self.headers.get_all(SET_COOKIE).iter().map(|value| value.to_str().expect("text"));
        all.into_iter().find(|cookie| cookie.starts_with(&format!("{name}=")))
    }

    /// The value of a cookie that is set.
    pub fn cookie_value(&self, name: &str) -> &str {
        let cookie = self.cookie(name).unwrap_or_else(|| panic!("no cookie {name}: {}", self.text));
        cookie[name.len() + 1..].split(';').next().expect("a value")
    }
}

impl Site {
    pub async fn new() -> Self {
        Self::with(|_| {}).await
    }

    pub async fn with(set: impl FnOnce(&mut Settings)) -> Self {
        let double = Arc::new(Double::start(App::github_app()).await.expect("it starts"));
        for login in ["Ann", "bob", "eve", "mallory"] {
            double.add_person(login);
        }
        double.add_public("acme/app");
        let owner = Person::new();
        let mut settings = settings(&owner);
        settings.github = github(&double, AppKind::App);
        settings.allow = ALLOWED.iter().map(|login| login.parse().expect("a login")).collect();
        settings.repositories = vec!["acme/*".parse().expect("a name")];
        set(&mut settings);
        let node = Node::start(settings).await;
        let http = Client::builder().redirect(reqwest::redirect::Policy::none()).no_proxy();
        Self { double, node, owner, http: http.build().expect("a client") }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.node.address)
    }

    /// Asks, with what `more` adds.
    pub async fn ask(
        &self,
        method: &str,
        path: &str,
        more: impl FnOnce(RequestBuilder) -> RequestBuilder,
    ) -> Answer {
        let method = Method::from_bytes(method.as_bytes()).expect("a method");
        let request = more(self.http.request(method, self.url(path)));
        let answer = soon(path, request.send()).await.expect("it answers");
        let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
        Answer { status, headers, text: answer.text().await.expect("a whole answer") }
    }

    pub async fn get(&self, path: &str, token: &str) -> Answer {
        self.ask("GET", path, |request| request.bearer_auth(token)).await
    }

    /// Asks with a body that a key signs (NIP-98).
    pub async fn signed(&self, by: &Person, method: &str, path: &str, body: &Value) -> Answer {
        let proof = self.proof(by, method, path, &body.to_string());
        self.with_proof(&proof, method, path, &body.to_string()).await
    }

    /// What signs a request.
    pub fn proof(&self, by: &Person, method: &str, path: &str, body: &str) -> String {
        let (u, payload) = (self.url(path), HEXLOWER.encode(&Sha256::digest(body)));
        let tags: [&[&str]; 3] = [&["u", &u], &["method", method], &["payload", &payload]];
        BASE64.encode(serde_json::json!(by.event(27_235, &tags, "")).to_string().as_bytes())
    }

    pub async fn with_proof(&self, proof: &str, method: &str, path: &str, body: &str) -> Answer {
        let (proof, body) = (format!("Nostr {proof}"), body.to_owned());
        self.ask(method, path, |request| {
            request.header("authorization", proof).header("content-type", "application/json").body(body)
        })
        .await
    }

    /// Begins a login in a browser: where it is sent, and what it keeps.
    pub async fn begin(&self, query: &str) -> (String, String) {
        let begun = self.ask("GET", &format!("/v1/login/web{query}"), |request| request).await;
        assert_eq!(begun.status, 303, "{}", begun.text);
        (begun.location().to_owned(), begun.cookie_value("vocative-login").to_owned())
    }

    /// Where GitHub sends the browser back to, as a path of the node, once the person has consented.
    pub fn consent(&self, location: &str, login: &str) -> String {
        let back = self.double.consent(location, login).expect("it asks for consent");
        back.strip_prefix(&self.url("")).expect("it is an address of the node").to_owned()
    }

    pub async fn finish(&self, back: &str, browser: &str) -> Answer {
        let cookie = format!("vocative-login={browser}");
        self.ask("GET", back, |request| request.header("cookie", cookie)).await
    }

    /// Logs someone in by a browser; the session token.
    pub async fn log_in(&self, login: &str) -> String {
        let (location, browser) = self.begin("").await;
        let answer = self.finish(&self.consent(&location, login), &browser).await;
        assert_eq!(answer.status, 303, "{}", answer.text);
        answer.cookie_value("vocative").to_owned()
    }

    pub async fn participants(&self, token: &str, repository: &str) -> Answer {
        self.ask("GET", "/v1/participants", |request| {
            request.bearer_auth(token).header("x-chi-repo", repository)
        })
        .await
    }
}
