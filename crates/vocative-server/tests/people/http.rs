//! The paths of the interface: what they take, answer and refuse.

use serde_json::json;

use super::site::Site;
use super::support::{Node, Person, settings};

#[tokio::test]
async fn a_terminal_begins_and_waits() {
    let site = Site::new().await;
    let begun = site.ask("POST", "/v1/login/device", |request| request.json(&json!({ "client": "t" }))).await;
    assert_eq!(begun.status, 200, "{}", begun.text);
    let begun = begun.json();
    assert_eq!(begun["server"], site.url(""));
    assert_eq!(begun["verification_uri"], format!("{}/login/device", site.double.web()));
    assert_eq!((&begun["interval"], &begun["scopes"]), (&json!(5), &json!([])));
    let flow = json!({ "flow": begun["flow"] });
    let polled = site.ask("POST", "/v1/login/device/poll", |request| request.json(&flow)).await;
    assert_eq!(polled.status, 202);
    let interval = polled.json()["interval"].as_u64().expect("a number");
    assert!((1..=5).contains(&interval));
}

#[tokio::test]
async fn a_browser_logs_in_and_goes_on() {
    let site = Site::new().await;
    let (location, browser) = site.begin("?return_to=/inbox%3Fx=1").await;
    assert!(location.starts_with(&format!("{}/login/oauth/authorize?", site.double.web())), "{location}");
    assert!(location.contains("code_challenge_method=S256") && !location.contains("scope"), "{location}");
    let answer = site.finish(&site.consent(&location, "Ann"), &browser).await;
    assert_eq!((answer.status, answer.location()), (303, "/inbox?x=1"));
    let cookie = answer.cookie("vocative").expect("a cookie");
    for attribute in ["HttpOnly", "SameSite=Lax", "Path=/", "Max-Age=77"] {
        assert!(cookie.contains(attribute), "{cookie}");
    }
    assert!(!cookie.contains("Secure") && !cookie.contains("Domain"), "this node has no TLS: {cookie}");
    let session = format!("vocative={}", answer.cookie_value("vocative"));
    let me = site.ask("GET", "/v1/me", |request| request.header("cookie", session)).await.json();
    assert_eq!((&me["id"], &me["handle"]), (&json!("github:ann"), &json!("Ann")));
    assert_eq!(me["github"], site.double.web());
}

#[tokio::test]
async fn behind_tls_cookies_are_secure_and_of_this_host() {
    let site = Site::with(|settings| settings.public_url = Some("wss://chat.example.com".to_owned())).await;
    let begun = site.ask("GET", "/v1/login/web", |request| request).await;
    let cookie = begun.cookie("__Host-vocative-login").expect("a cookie");
    assert!(
        cookie.contains("; Secure") && cookie.contains("Path=/") && !cookie.contains("Domain"),
        "{cookie}"
    );
    let redirect = "redirect_uri=https%3A%2F%2Fchat.example.com%2Fv1%2Flogin%2Fweb%2Fcallback&";
    assert!(begun.location().contains(redirect), "{}", begun.location());
}

#[tokio::test]
async fn people_are_found_by_those_who_read_the_repository() {
    let site = Site::new().await;
    let (ann, _) = (site.log_in("Ann").await, site.log_in("bob").await);
    let all = site.participants(&ann, "acme/app").await;
    let expected = json!({ "participants": [
        { "id": "github:ann", "handle": "Ann" }, { "id": "github:bob", "handle": "bob" },
    ] });
    assert_eq!((all.status, all.json()), (200, expected));
    let found = site.ask("GET", "/v1/participants?q=B", |request| {
        request.bearer_auth(&ann).header("x-chi-repo", "acme/app")
    });
    assert_eq!(found.await.json()["participants"], json!([{ "id": "github:bob", "handle": "bob" }]));
    let table = [
        (vec![], "400 bad_repository"),
        (vec!["acme"], "400 bad_repository"),
        (vec!["acme/app", "acme/other"], "400 bad_repository"),
        (vec!["acme/../user"], "400 bad_repository"),
        (vec!["other/app"], "403 repo_not_readable"),
        (vec!["acme/none"], "403 repo_not_readable"),
    ];
    let mut texts = Vec::new();
    for (names, expected) in table {
        let refused = site.ask("GET", "/v1/participants", |request| {
            names.iter().fold(request.bearer_auth(&ann), |request, name| request.header("x-chi-repo", *name))
        });
        let refused = refused.await;
        assert_eq!(refused.code(), expected, "{names:?}");
        if refused.status == 403 {
            texts.push(refused.text);
        }
    }
    assert_eq!(texts[0], texts[1], "one text for all causes");
}

#[tokio::test]
async fn an_outage_is_told_with_the_time_to_wait() {
    let site = Site::new().await;
    let ann = site.log_in("Ann").await;
    site.double.outage("/api", vocative_github_double::Outage::SecondaryLimit { retry_after: 42 });
    let refused = site.participants(&ann, "acme/app").await;
    assert_eq!(refused.code(), "503 github_unreachable");
    assert_eq!(refused.headers["retry-after"], "42");
}

#[tokio::test]
async fn logins_are_listed_and_ended() {
    let site = Site::new().await;
    let (one, two) = (site.log_in("Ann").await, site.log_in("Ann").await);
    let listed = site.get("/v1/logins", &two).await.json();
    let rows = listed["logins"].as_array().expect("a list");
    assert_eq!(rows.iter().map(|row| row["current"] == true).collect::<Vec<_>>(), [true, false]);
    let end = format!("/v1/logins/{}", rows[1]["id"].as_str().expect("an id"));
    for expected in ["204", "404 not_found"] {
        assert_eq!(site.ask("DELETE", &end, |request| request.bearer_auth(&two)).await.code(), expected);
    }
    assert_eq!(site.get("/v1/me", &one).await.code(), "401 not_logged_in");
    assert_eq!(site.ask("DELETE", "/v1/logins", |request| request.bearer_auth(&two)).await.status, 204);
    assert_eq!(site.get("/v1/me", &two).await.code(), "401 not_logged_in");
    assert_eq!(site.double.tokens("Ann"), 0);
}

#[tokio::test]
async fn a_key_is_linked_by_its_signature_and_unlinked() {
    let site = Site::new().await;
    let ann = site.log_in("Ann").await;
    let key = Person::new();
    let challenge = site.ask("POST", "/v1/keys/challenge", |request| request.bearer_auth(&ann)).await.json();
    let body = json!({ "account": challenge["account"], "nonce": challenge["nonce"] });
    assert_eq!(site.signed(&key, "POST", "/v1/keys", &body).await.code(), "204");
    assert_eq!(site.get("/v1/keys", &ann).await.json(), json!({ "keys": [key.hex()] }));
    let path = format!("/v1/keys/{}", key.hex());
    for expected in ["204", "404 not_found"] {
        assert_eq!(site.ask("DELETE", &path, |request| request.bearer_auth(&ann)).await.code(), expected);
    }
}

#[tokio::test]
async fn the_owner_releases_a_name() {
    let site = Site::new().await;
    site.log_in("Ann").await;
    let body = json!({ "id": "github:ann", "from": super::support::now() });
    let refused = site.signed(&Person::new(), "POST", "/v1/names/release", &body).await;
    assert_eq!(refused.code(), "403 not_owner");
    for expected in ["204", "404 login_not_held"] {
        assert_eq!(site.signed(&site.owner, "POST", "/v1/names/release", &body).await.code(), expected);
    }
}

#[tokio::test]
async fn without_settings_nobody_logs_in_and_all_else_works() {
    let owner = Person::new();
    let node = Node::start(settings(&owner)).await;
    let url = format!("http://{}/v1/login/device", node.address);
    // The client needs a provider of TLS, which a node that asks GitHub sets.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let answer = reqwest::Client::new().post(url).json(&json!({})).send().await.expect("it answers");
    assert_eq!(answer.status(), 404);
    assert!(answer.text().await.expect("text").contains("login_not_configured"));
    node.connect_as(&owner).await;
}
