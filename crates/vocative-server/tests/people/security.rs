//! What a hostile person tries, one test for each attack (section 3).

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};
use vocative_github_double::{App, Double};
use vocative_server::people::PeopleError;
use vocative_store::Timestamp;

use super::site::Site;
use super::stage::{Stage, repository};
use super::support::Person;

#[tokio::test]
async fn a_stranger_who_names_a_public_repository_lists_nobody() {
    let site = Site::new().await;
    site.double.add_public("stranger/public");
    let ann = site.log_in("Ann").await;
    let asked = site.double.asked().len();
    for token in ["", "x", "ghu_1234", "voc_", &format!("voc_{}", "A".repeat(43))] {
        for repository in ["acme/app", "stranger/public"] {
            assert_eq!(site.participants(token, repository).await.code(), "401 not_logged_in", "{token}");
        }
    }
    // A login that is let in is no right to list people by a repository that the deployment does not serve.
    assert_eq!(site.participants(&ann, "stranger/public").await.code(), "403 repo_not_readable");
    assert_eq!(site.double.asked().len(), asked, "GitHub is not asked");
    // One that is not let in becomes no session at all.
    let (location, browser) = site.begin("").await;
    let refused = site.finish(&site.consent(&location, "mallory"), &browser).await;
    assert_eq!(refused.code(), "403 login_not_allowed");
    assert!(refused.cookie("vocative").is_none());
}

#[tokio::test]
async fn an_account_that_took_over_a_name_is_nobody_here() {
    let stage = Stage::new().await;
    stage.double.add_person("Ann");
    stage.double.add_person("bob");
    stage.double.add_public("acme/app");
    let ann = stage.log_in("Ann").await;
    let bob = stage.log_in("bob").await;
    stage.double.rename("Ann", "ann-elsewhere");
    stage.double.add_person("Ann");
    let now = Timestamp::from_secs(stage.double.now());
    let refused = stage.try_log_in("Ann").await;
    let login: vocative::Login = "ann".parse().expect("a login");
    assert_eq!(refused.err(), Some(PeopleError::Held { login: login.clone() }));
    assert_eq!(stage.people.account_of(&login, now).await, Ok(Some(ann.account.id)));
    assert_eq!(stage.people.logins(ann.account.id).await.map(|rows| rows.len()), Ok(1));
    assert_eq!(stage.everyone(&bob).await, ["github:ann", "github:bob"], "it is still the first one");
    assert_eq!(stage.double.tokens("Ann"), 0, "the token of the other is given back");
    let documents = stage.store.documents("account/", None, 10).await.expect("the store answers");
    assert_eq!(documents.len(), 2, "nothing of it is recorded");
}

#[tokio::test]
async fn a_signed_request_that_is_replayed_links_nothing() {
    let site = Site::new().await;
    let ann = site.log_in("Ann").await;
    let key = Person::new();
    let challenge = async || {
        let challenge =
            site.ask("POST", "/v1/keys/challenge", |request| request.bearer_auth(&ann)).await.json();
        json!({ "account": challenge["account"], "nonce": challenge["nonce"] }).to_string()
    };
    let body = challenge().await;
    let proof = site.proof(&key, "POST", "/v1/keys", &body);
    assert_eq!(site.with_proof(&proof, "POST", "/v1/keys", &body).await.code(), "204");
    let unlink = format!("/v1/keys/{}", key.hex());
    assert_eq!(site.ask("DELETE", &unlink, |request| request.bearer_auth(&ann)).await.code(), "204");
    assert_eq!(site.with_proof(&proof, "POST", "/v1/keys", &body).await.code(), "403 bad_challenge");
    // Not with another body either, which its payload does not cover.
    let other = challenge().await;
    assert_eq!(site.with_proof(&proof, "POST", "/v1/keys", &other).await.code(), "401 bad_authorization");
    assert_eq!(site.get("/v1/keys", &ann).await.json(), json!({ "keys": [] }));
}

/// Eve gets Ann to sign something, and presents it as Ann's will to link her key to Eve's account.
#[tokio::test]
async fn a_signed_request_that_was_phished_links_nothing() {
    let site = Site::new().await;
    let (ann, eve) = (site.log_in("Ann").await, site.log_in("eve").await);
    let key = Person::new();
    let challenge = async |token: &str| {
        site.ask("POST", "/v1/keys/challenge", |request| request.bearer_auth(token)).await.json()
    };
    let (of_eve, of_ann) = (challenge(&eve).await, challenge(&ann).await);
    let body = |account: &Value, nonce: &Value| json!({ "account": account, "nonce": nonce }).to_string();
    let wanted = body(&of_eve["account"], &of_eve["nonce"]);
    let own = body(&of_ann["account"], &of_ann["nonce"]);
    // What Ann signed, and what Eve sends.
    let table = [
        (
            "for another path",
            site.proof(&key, "POST", "/v1/messages", &wanted),
            &wanted,
            "401 bad_authorization",
        ),
        (
            "for another method",
            site.proof(&key, "PUT", "/v1/keys", &wanted),
            &wanted,
            "401 bad_authorization",
        ),
        ("for her own account", site.proof(&key, "POST", "/v1/keys", &own), &wanted, "401 bad_authorization"),
        (
            "for her own account, with Eve's nonce",
            site.proof(&key, "POST", "/v1/keys", &body(&of_ann["account"], &of_eve["nonce"])),
            &body(&of_ann["account"], &of_eve["nonce"]),
            "403 bad_challenge",
        ),
        ("nothing", String::new(), &wanted, "401 not_logged_in"),
    ];
    for (which, proof, body, expected) in table {
        assert_eq!(site.with_proof(&proof, "POST", "/v1/keys", body).await.code(), expected, "{which}");
    }
    // Without a payload, the signature covers no body.
    let u = site.url("/v1/keys");
    let bare = key.event(27_235, &[&["u", &u], &["method", "POST"]], "");
    let bare = data_encoding::BASE64.encode(json!(bare).to_string().as_bytes());
    assert_eq!(site.with_proof(&bare, "POST", "/v1/keys", &wanted).await.code(), "401 bad_authorization");
    // A session alone does not link whatever key it likes.
    let by_session = site.ask("POST", "/v1/keys", |request| {
        request.bearer_auth(&eve).header("content-type", "application/json").body(wanted.clone())
    });
    assert_eq!(by_session.await.code(), "401 bad_authorization");
    assert_eq!(site.get("/v1/keys", &eve).await.json(), json!({ "keys": [] }));
}

/// A phisher begins a login and sends the code to a victim, who consents. What can be kept from the
/// phisher is everything of GitHub's; what the victim can do is to see the login and end it.
#[tokio::test]
async fn a_phished_device_code_gives_nothing_of_github_and_can_be_undone() {
    let stage = Stage::new().await;
    stage.double.add_person("Ann");
    let begun = stage.people.begin_device("phisher", false).await.expect("it begins");
    stage.double.approve(&begun.user_code, "Ann");
    stage.double.advance(5);
    let Ok(vocative_server::people::Polled::Done(phished)) = stage.people.poll_device(&begun.flow).await
    else {
        panic!("she consented")
    };
    assert!(phished.token.starts_with("voc_"), "it is no token of GitHub's");
    let own = stage.log_in("Ann").await;
    let seen = stage.people.logins(own.account.id).await.expect("the store answers");
    assert_eq!(seen.iter().map(|row| row.client.as_str()).collect::<Vec<_>>(), ["a terminal", "phisher"]);
    stage.people.end_logins(own.account.id, Some(&phished.id)).await.expect("it is one");
    assert_eq!(stage.people.session(&phished.token).await, Ok(None));
    // Consent that comes too late gives nothing.
    let late = stage.people.begin_device("phisher", false).await.expect("it begins");
    stage.double.advance(15 * 60);
    assert_eq!(stage.people.poll_device(&late.flow).await.err(), Some(PeopleError::Expired));
}

#[tokio::test]
async fn a_poll_without_the_secret_collects_nothing() {
    let site = Site::new().await;
    let begun = site.ask("POST", "/v1/login/device", |request| request.json(&json!({}))).await.json();
    let code = begun["user_code"].as_str().expect("a code");
    site.double.approve(code, "Ann");
    let flow = begun["flow"].as_str().expect("a secret");
    let digest = data_encoding::HEXLOWER.encode(&<sha2::Sha256 as sha2::Digest>::digest(flow));
    let stored = site.node.store.documents("device/", None, 10).await.expect("the store answers");
    assert_eq!(stored[0].name, format!("device/{digest}"), "the store holds a digest, which is no secret");
    let first = if flow.starts_with('A') { 'B' } else { 'A' };
    let other = format!("{first}{}", &flow[1..]);
    let guesses = [code, "", &flow[1..], &other, &digest, &stored[0].name, &"A".repeat(43)];
    for guess in guesses {
        let polled =
            site.ask("POST", "/v1/login/device/poll", |request| request.json(&json!({ "flow": guess })));
        assert_eq!(polled.await.code(), "404 unknown_login", "{guess}");
    }
    let is_asked = site.double.asked().iter().any(|asked| asked.path.ends_with("access_token"));
    assert!(!is_asked, "GitHub is not asked either");
}

#[tokio::test]
async fn a_token_cannot_be_guessed_and_what_is_stored_is_none() {
    let site = Site::new().await;
    let ann = site.log_in("Ann").await;
    let stored = site.node.store.documents("session/", None, 10).await.expect("the store answers");
    let digest = stored[0].name.strip_prefix("session/").expect("a name");
    let guesses = [
        digest.to_owned(),
        format!("voc_{digest}"),
        format!("voc_{}", &digest[..43]),
        ann[4..].to_owned(),
        ann.to_uppercase(),
        format!("{ann}A"),
        ann[..46].to_owned(),
        format!("{}../../registry", &ann[..4]),
        format!("voc_{}", "A".repeat(43)),
        "voc_*".to_owned(),
    ];
    for guess in guesses {
        assert_eq!(site.get("/v1/me", &guess).await.code(), "401 not_logged_in", "{guess}");
    }
    assert_eq!(site.get("/v1/me", &ann).await.status, 200);
    // No token is taken from an address.
    let by_query =
        site.ask("GET", &format!("/v1/me?token={ann}&access_token={ann}"), |request| request).await;
    assert_eq!(by_query.code(), "401 not_logged_in");
}

/// Eve plants a session, or a login that she has begun, in Ann's browser before Ann logs in.
#[tokio::test]
async fn a_planted_session_is_not_the_one_that_a_login_makes() {
    let site = Site::new().await;
    let eve = site.log_in("eve").await;
    let (location, browser) = site.begin("").await;
    let cookies = format!("vocative={eve}; vocative-login={browser}");
    let back = site.consent(&location, "Ann");
    let answer = site.ask("GET", &back, |request| request.header("cookie", cookies)).await;
    let ann = answer.cookie_value("vocative");
    assert_ne!(ann, eve);
    assert_eq!(site.get("/v1/me", ann).await.json()["id"], "github:ann");
    assert_eq!(site.get("/v1/me", &eve).await.json()["id"], "github:eve");
    // Of two cookies one was planted: none counts.
    let two = format!("vocative={ann}; vocative={eve}");
    let refused = site.ask("GET", "/v1/me", |request| request.header("cookie", two)).await;
    assert_eq!(refused.code(), "401 not_logged_in");
}

#[tokio::test]
async fn a_page_of_another_site_changes_nothing() {
    let site = Site::new().await;
    let cookie = format!("vocative={}", site.log_in("Ann").await);
    let own = site.url("");
    let with = |origin: Option<&str>| {
        let (cookie, origin) = (cookie.clone(), origin.map(str::to_owned));
        move |request: reqwest::RequestBuilder| {
            let request = request.header("cookie", cookie);
            origin.into_iter().fold(request, |request, origin| request.header("origin", origin))
        }
    };
    let others = [None, Some("https://evil.net"), Some("null"), Some("http://127.0.0.1:1"), Some("")];
    for (method, path) in
        [("DELETE", "/v1/logins"), ("POST", "/v1/keys/challenge"), ("DELETE", "/v1/keys/00")]
    {
        for origin in others {
            let answer = site.ask(method, path, with(origin)).await;
            assert_eq!(answer.code(), "403 other_origin", "{method} {path} {origin:?}");
        }
    }
    // What another site's page reads without a right to, the browser keeps from it.
    let read = site.ask("GET", "/v1/me", with(Some("https://evil.net"))).await;
    assert!(!read.headers.contains_key("access-control-allow-origin"));
    assert_eq!(site.ask("POST", "/v1/keys/challenge", with(Some(&own))).await.status, 200);
    assert_eq!(site.ask("DELETE", "/v1/logins", with(Some(&own))).await.status, 204);
}

/// Eve's login ends in Ann's browser, or Ann's in Eve's.
#[tokio::test]
async fn a_state_is_good_in_its_own_browser_and_once() {
    let site = Site::new().await;
    let (of_ann, anns_browser) = site.begin("").await;
    let (of_eve, eves_browser) = site.begin("").await;
    let (anns_back, eves_back) = (site.consent(&of_ann, "Ann"), site.consent(&of_eve, "eve"));
    let other = "400 login_of_another_browser";
    assert_eq!(site.finish(&eves_back, &anns_browser).await.code(), other, "Eve's login in Ann's browser");
    assert_eq!(site.finish(&anns_back, &eves_browser).await.code(), other, "Ann's in Eve's");
    assert_eq!(site.ask("GET", &anns_back, |request| request).await.code(), other, "in none");
    for browser in ["", "x", &"A".repeat(43)] {
        assert_eq!(site.finish(&anns_back, browser).await.code(), other, "{browser}");
    }
    for query in ["", "?code=x", "?state=x&code=x", "?state=", "?error=access_denied"] {
        let back = format!("/v1/login/web/callback{query}");
        assert_eq!(site.finish(&back, &anns_browser).await.code(), other, "{query}");
    }
    // None of this has used up what is right.
    assert_eq!(site.finish(&anns_back, &anns_browser).await.status, 303);
    assert_eq!(site.finish(&anns_back, &anns_browser).await.code(), other, "it is used");
}

/// The code of another login, injected behind a state that is right: PKCE.
#[tokio::test]
async fn a_code_of_another_login_is_not_exchanged() {
    let site = Site::new().await;
    let (of_ann, browser) = site.begin("").await;
    let (of_eve, _) = site.begin("").await;
    let part = |back: &str, name: &str| {
        let (_, query) = back.split_once('?').expect("a query");
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.into_iter().find(|(known, _)| *known == name).expect("a part").1.to_owned()
    };
    let (anns, eves) = (site.consent(&of_ann, "Ann"), site.consent(&of_eve, "eve"));
    let mixed = format!("/v1/login/web/callback?code={}&state={}", part(&eves, "code"), part(&anns, "state"));
    assert_eq!(site.finish(&mixed, &browser).await.code(), "404 unknown_login");
}

#[tokio::test]
async fn nobody_is_sent_elsewhere_after_a_login() {
    let site = Site::new().await;
    let to = [
        "//evil.net",
        "https://evil.net",
        "/%5Cevil.net",
        "%5C%5Cevil.net",
        "/%0d%0aset-cookie:x=y",
        "/%09/evil.net",
        "javascript:alert(1)",
        "",
    ];
    for to in to {
        let refused = site.ask("GET", &format!("/v1/login/web?return_to={to}"), |request| request).await;
        assert_eq!(refused.code(), "400 bad_return", "{to}");
    }
    // Nor does what a request says about itself change where GitHub sends the browser.
    for name in ["host", "x-forwarded-host", "origin", "referer"] {
        let begun = site.ask("GET", "/v1/login/web", |request| request.header(name, "evil.net")).await;
        assert!(!begun.location().contains("evil"), "{name}: {}", begun.location());
    }
}

#[tokio::test]
async fn a_redirect_never_carries_a_token_elsewhere() {
    let stage = Stage::new().await;
    let evil = Double::start(App::github_app()).await.expect("it starts");
    stage.double.add_person("Ann");
    let ann = stage.log_in("Ann").await;
    let session = stage.session(&ann).await;
    let port = stage.double.address().port();
    let elsewhere = [
        format!("{}/repositories/1", evil.api()),
        format!("//{}/repositories/1", evil.address()),
        format!("http://127.0.0.1:{port}@{}/repositories/1", evil.address()),
        format!("http://localhost:{port}/api/v3/repositories/1"),
        format!("https://127.0.0.1:{port}/api/v3/repositories/1"),
        format!("http://x:y@127.0.0.1:{port}/api/v3/repositories/1"),
        "file:///etc/passwd".to_owned(),
        // To itself, without end.
        format!("{}/repos/acme/app", stage.double.api()),
    ];
    for to in elsewhere {
        stage.double.redirect("/repos/acme/app", &to);
        let before = stage.double.asked().len();
        let refused = stage.people.participants(&session, &repository("acme/app"), None).await;
        assert_eq!(refused.err().map(|error| error.code()), Some("github_unreachable"), "{to}");
        let asked = stage.double.asked();
        assert!(asked[before..].iter().all(|asked| asked.path == "/api/v3/repos/acme/app"), "{to}");
        assert!(asked.len() - before <= 4, "{to}");
    }
    assert!(evil.asked().is_empty(), "{:?}", evil.asked());
}

#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn logs_hold_no_token() {
    let written = Written::default();
    let log = {
        let written = written.clone();
        tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE).with_writer(move || written.clone())
    };
    log.with_ansi(false).init();
    tracing::info!("the log is read");
    let site = Site::new().await;
    let (location, browser) = site.begin("").await;
    let back = site.consent(&location, "Ann");
    let ann = site.finish(&back, &browser).await.cookie_value("vocative").to_owned();
    site.participants(&ann, "acme/app").await;
    site.participants(&ann, "acme/none").await;
    site.finish(&back, &browser).await;
    let begun = site.ask("POST", "/v1/login/device", |request| request.json(&json!({}))).await.json();
    let flow = begun["flow"].as_str().expect("a secret").to_owned();
    site.double.outage("/", vocative_github_double::Outage::Status(500));
    site.participants(&ann, "acme/other").await;
    site.ask("POST", "/v1/login/device", |request| request.json(&json!({}))).await;
    site.ask("DELETE", "/v1/logins", |request| request.bearer_auth(&ann)).await;
    let tokens = site.double.asked().into_iter().filter_map(|asked| asked.token);
    let mut secrets: Vec<String> = tokens.collect();
    assert!(!secrets.is_empty(), "GitHub was asked with a token");
    let code = back.split("code=").nth(1).and_then(|rest| rest.split('&').next()).expect("a code");
    secrets.extend([ann, flow, browser, code.to_owned(), App::github_app().client_secret, "ghr_".to_owned()]);
    drop(site);
    let written = written.0.lock().unwrap_or_else(PoisonError::into_inner);
    let written = String::from_utf8_lossy(&written);
    assert!(written.contains("the log is read") && written.contains("GitHub answered"));
    for secret in secrets {
        assert!(!written.contains(&secret), "{secret}\n{written}");
    }
}
