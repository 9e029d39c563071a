//! GitHub's tokens: renewed once, sealed, revoked at the end.

use vocative_github_double::{Double, Outage};

use super::stage::{Stage, repository};

const TOKEN: &str = "/login/oauth/access_token";
const HOURS_8: u64 = 8 * 60 * 60;

#[tokio::test]
async fn a_token_is_renewed_once_whoever_asks() {
    let stage = Stage::new().await;
    stage.double.add_person("Ann");
    for name in 0..8 {
        stage.double.add_public(&format!("acme/app{name}"));
    }
    let ann = stage.log_in("Ann").await;
    let session = stage.session(&ann).await;
    let before = stage.asked(TOKEN);
    stage.double.advance(HOURS_8);
    let nodes = [&stage.people, &stage.node()];
    let questions = (0..8).map(|name| {
        let (node, session) = (nodes[name % 2], &session);
        async move { node.participants(session, &repository(&format!("acme/app{name}")), None).await }
    });
    for answer in futures_util::future::join_all(questions).await {
        assert!(answer.is_ok(), "{answer:?}");
    }
    assert_eq!(stage.asked(TOKEN) - before, 1);
    assert_eq!(stage.double.tokens("Ann"), 1);
}

#[tokio::test]
async fn a_token_that_cannot_be_renewed_now_is_renewed_later() {
    let stage = Stage::new().await;
    stage.double.add_person("Ann");
    stage.double.add_public("acme/app");
    let ann = stage.log_in("Ann").await;
    let session = stage.session(&ann).await;
    stage.double.advance(HOURS_8);
    stage.double.outage("/login", Outage::Status(503));
    let ask = async || stage.people.participants(&session, &repository("acme/app"), None).await;
    assert_eq!(ask().await.err().map(|error| error.code()), Some("github_unreachable"));
    stage.double.recover();
    assert!(ask().await.is_ok());
}

#[tokio::test]
async fn a_node_that_dies_while_it_renews_does_not_keep_others_from_it() {
    let stage = Stage::new().await;
    stage.double.add_person("Ann");
    stage.double.add_public("acme/app");
    let ann = stage.log_in("Ann").await;
    let session = stage.session(&ann).await;
    stage.double.advance(HOURS_8);
    stage.double.outage("/login", Outage::Hang);
    let asked = stage.asked(TOKEN);
    {
        let name = repository("acme/app");
        let dying = stage.people.participants(&session, &name, None);
        let mut dying = std::pin::pin!(dying);
        // It has claimed the token once GitHub is asked, and ends there.
        while stage.asked(TOKEN) == asked {
            assert!(futures_util::poll!(&mut dying).is_pending());
            tokio::task::yield_now().await;
        }
    }
    stage.double.recover();
    stage.double.advance(30);
    assert!(stage.node().participants(&session, &repository("acme/app"), None).await.is_ok());
}

#[tokio::test]
async fn with_the_last_login_the_token_ends_everywhere() {
    let stage = Stage::new().await;
    stage.double.add_person("Ann");
    let [one, two] = [stage.log_in("Ann").await, stage.log_in("Ann").await];
    assert_eq!(stage.double.tokens("Ann"), 1, "the former token is revoked");
    stage.people.end_logins(one.account.id, Some(&one.id)).await.expect("it is one");
    assert_eq!(stage.double.tokens("Ann"), 1);
    stage.people.end_logins(two.account.id, Some(&two.id)).await.expect("it is one");
    assert_eq!(stage.double.tokens("Ann"), 0);
    let kept = stage.store.documents("logins/", None, 10).await.expect("the store answers");
    assert!(kept.is_empty());
}

#[tokio::test]
async fn what_cannot_be_revoked_now_is_revoked_later() {
    let stage = Stage::new().await;
    stage.double.add_person("Ann");
    let ann = stage.log_in("Ann").await;
    stage.double.outage(Double::API, Outage::Status(503));
    stage.people.end_logins(ann.account.id, None).await.expect("it ends all the same");
    assert_eq!(stage.double.tokens("Ann"), 1);
    stage.double.recover();
    stage.node().tidy().await.expect("the store answers");
    assert_eq!(stage.double.tokens("Ann"), 0);
    let kept = stage.store.documents("revocation/", None, 10).await.expect("the store answers");
    assert!(kept.is_empty());
}

#[tokio::test]
async fn a_login_that_nobody_ends_ends_by_itself() {
    let stage = Stage::new().await;
    stage.double.add_person("Ann");
    stage.log_in("Ann").await;
    stage.double.advance(90 * 24 * 60 * 60 - 10);
    stage.people.tidy().await.expect("the store answers");
    assert_eq!(stage.double.tokens("Ann"), 1);
    stage.double.advance(20);
    stage.people.tidy().await.expect("the store answers");
    assert_eq!(stage.double.tokens("Ann"), 0);
}

#[tokio::test]
async fn what_is_stored_holds_no_token() {
    let stage = Stage::new().await;
    stage.double.add_person("Ann");
    let ann = stage.log_in("Ann").await;
    let begun = stage.people.begin_device("", false).await.expect("it begins");
    let web = stage.people.begin_web("", "http://127.0.0.1:1/v1/login/web/callback", "/", false).await;
    let web = web.expect("it begins");
    let state = web.location.split("state=").nth(1).and_then(|rest| rest.split('&').next()).expect("a state");
    let documents = stage.store.documents("", None, 100).await.expect("the store answers");
    assert!(documents.len() > 5);
    let secrets = [ann.token.as_str(), &begun.flow, &web.browser, state];
    for document in documents {
        let text = format!("{} {}", document.name, String::from_utf8_lossy(&document.value));
        for of_github in ["ghu_", "ghr_"] {
            assert!(!text.contains(of_github), "{text}");
        }
        for secret in secrets {
            assert!(!text.contains(secret), "{text}");
        }
    }
}
