//! Who may list people: callers whom GitHub lets read a repository that the deployment serves.

use vocative_github_double::{App, Outage, Rule};
use vocative_server::people::PeopleError;

use super::stage::{Stage, repository};

const REPOS: &str = "/repos/";

async fn reads(stage: &Stage, login: &vocative_server::people::NewLogin, name: &str) -> &'static str {
    let session = stage.session(login).await;
    match stage.people.participants(&session, &repository(name), None).await {
        Ok(_) => "yes",
        Err(error) => error.code(),
    }
}

#[tokio::test]
async fn github_decides_for_the_caller() {
    let stage = Stage::new().await;
    for login in ["Ann", "bob"] {
        stage.double.add_person(login);
    }
    stage.double.add_public("acme/public");
    stage.double.add_private("acme/private", &["Ann"]);
    let [apart, sso, closed] =
        ["acme/apart", "acme/sso", "acme/closed"].map(|name| stage.double.add_private(name, &["Ann"]));
    stage.double.change_repository(apart, |repository| repository.is_installed = false);
    stage.double.change_repository(sso, |repository| repository.rule = Some(Rule::SingleSignOn));
    stage.double.change_repository(closed, |repository| repository.rule = Some(Rule::AppNotAllowed));
    stage.double.add_public("ann/other");
    let (ann, bob) = (stage.log_in("Ann").await, stage.log_in("bob").await);
    let no = "repo_not_readable";
    let table = [
        ("acme/public", "yes", "yes"),
        ("ACME/Public", "yes", "yes"),
        ("acme/private", "yes", no),
        ("acme/none", no, no),
        ("acme/apart", no, no),
        ("acme/sso", no, no),
        ("acme/closed", no, no),
        ("ann/other", no, no),
    ];
    for (name, to_ann, to_bob) in table {
        assert_eq!(
            (reads(&stage, &ann, name).await, reads(&stage, &bob, name).await),
            (to_ann, to_bob),
            "{name}"
        );
    }
    let tokens: Vec<_> =
        stage.double.asked().into_iter().filter(|asked| asked.path.contains(REPOS)).collect();
    assert!(tokens.iter().all(|asked| asked.by.is_some()), "each question carries its caller's token");
    assert!(
        !tokens.iter().any(|asked| asked.path.contains("/ann/other")),
        "what is not served is not asked about"
    );
}

#[tokio::test]
async fn an_answer_counts_for_a_while_and_each_caller_has_their_own() {
    let stage = Stage::new().await;
    stage.double.add_person("Ann");
    let id = stage.double.add_private("acme/app", &["Ann"]);
    let ann = stage.log_in("Ann").await;
    // Seconds that pass, whether GitHub lets her read by then, the answer, and the questions so far.
    let table = [
        (0, true, "yes", 1),
        (299, false, "yes", 1),
        (1, false, "repo_not_readable", 2),
        (59, true, "repo_not_readable", 2),
        (1, true, "yes", 3),
    ];
    for (row, (passes, may_read, expected, asked)) in table.into_iter().enumerate() {
        stage.double.advance(passes);
        let readers = if may_read { vec!["Ann".to_owned()] } else { Vec::new() };
        stage.double.change_repository(id, |repository| repository.readers = readers);
        assert_eq!(
            (reads(&stage, &ann, "acme/app").await, stage.asked(REPOS)),
            (expected, asked),
            "row {row}"
        );
    }
}

#[tokio::test]
async fn it_fails_closed() {
    let stage = Stage::new().await;
    stage.double.add_person("Ann");
    stage.double.add_public("acme/app");
    stage.double.add_public("acme/other");
    let ann = stage.log_in("Ann").await;
    assert_eq!(reads(&stage, &ann, "acme/app").await, "yes");
    let outages = [
        Outage::Status(500),
        Outage::Status(200),
        Outage::Status(204),
        Outage::CutOff,
        Outage::PrimaryLimit { reset: 0 },
        Outage::SecondaryLimit { retry_after: 3 },
        Outage::Body("{}".to_owned()),
        Outage::Body(r#"{"id":"x","full_name":"acme/other","private":false}"#.to_owned()),
    ];
    for outage in outages {
        stage.double.outage("/api/v3", outage.clone());
        assert_eq!(reads(&stage, &ann, "acme/app").await, "yes", "what is fresh counts: {outage:?}");
        assert_eq!(reads(&stage, &ann, "acme/other").await, "github_unreachable", "{outage:?}");
        stage.double.recover();
    }
    assert_eq!(reads(&stage, &ann, "acme/other").await, "yes", "an outage is not remembered");
    stage.double.outage("/api/v3", Outage::Status(500));
    stage.double.advance(300);
    assert_eq!(reads(&stage, &ann, "acme/app").await, "github_unreachable", "what is old does not");
}

#[tokio::test]
async fn a_move_is_followed_within_an_owner_and_to_what_is_served() {
    let stage = Stage::new().await;
    stage.double.add_person("Ann");
    let ids = ["acme/a", "acme/b", "acme/c"].map(|name| stage.double.add_public(name));
    let ann = stage.log_in("Ann").await;
    for (id, to) in ids.into_iter().zip(["acme/renamed", "ann/site", "eve/mine"]) {
        stage.double.move_repository(id, to);
    }
    let table =
        [("acme/a", "yes"), ("acme/b", "yes"), ("acme/c", "repo_not_readable"), ("acme/renamed", "yes")];
    for (name, expected) in table {
        assert_eq!(reads(&stage, &ann, name).await, expected, "{name}");
    }
}

#[tokio::test]
async fn an_oauth_app_sees_private_repositories_by_a_second_step() {
    let stage = Stage::with(App::oauth_app(), |_| {}).await;
    stage.double.add_person("Ann");
    stage.double.add_private("acme/private", &["Ann"]);
    let first = stage.log_in("Ann").await;
    assert_eq!(reads(&stage, &first, "acme/private").await, "repo_not_readable");
    let second = async |granted: &[&str]| {
        let begun = stage.people.begin_device("", true).await.expect("it begins");
        assert_eq!(begun.scopes, ["repo"]);
        stage.double.approve_scopes(&begun.user_code, "Ann", granted);
        stage.double.advance(5);
        stage.people.poll_device(&begun.flow).await.expect("she consented");
    };
    second(&[]).await;
    assert_eq!(reads(&stage, &first, "acme/private").await, "repo_not_readable", "what was granted counts");
    second(&["repo"]).await;
    assert_eq!(reads(&stage, &first, "acme/private").await, "yes");
    assert_eq!(stage.people.granted(first.account.id).await, Ok(vec!["repo".to_owned()]));
    stage.log_in("Ann").await;
    stage.double.advance(300);
    assert_eq!(reads(&stage, &first, "acme/private").await, "yes", "another machine takes nothing away");
    assert_eq!(stage.double.tokens("Ann"), 1, "what is not kept is revoked");
}

#[tokio::test]
async fn a_query_finds_by_handle() {
    let stage = Stage::new().await;
    for login in ["Ann", "bob", "grace_acme", "ann2"] {
        stage.double.add_person(login);
    }
    stage.double.add_public("acme/app");
    let mut ann = stage.log_in("Ann").await;
    for login in ["bob", "grace_acme", "ann2"] {
        ann = stage.log_in(login).await;
    }
    let session = stage.session(&ann).await;
    let table: [(&str, &[&str]); 6] = [
        ("an", &["Ann", "ann2"]),
        ("ANN", &["Ann", "ann2"]),
        ("acme", &["grace_acme"]),
        ("b", &["bob"]),
        ("zed", &[]),
        ("", &["Ann", "ann2", "bob", "grace_acme"]),
    ];
    for (query, expected) in table {
        let found = stage.people.participants(&session, &repository("acme/app"), Some(query)).await;
        let found = found.expect("it is readable");
        assert_eq!(found.iter().map(|row| row.handle.as_str()).collect::<Vec<_>>(), expected, "{query:?}");
    }
}

#[tokio::test]
async fn whoever_has_withdrawn_the_app_at_github_logs_in_anew() {
    let stage = Stage::new().await;
    stage.double.add_person("Ann");
    stage.double.add_public("acme/app");
    let ann = stage.log_in("Ann").await;
    stage.double.withdraw("Ann");
    let session = stage.session(&ann).await;
    let refused = stage.people.participants(&session, &repository("acme/app"), None).await;
    assert_eq!(refused.err(), Some(PeopleError::GithubLoginEnded));
    stage.log_in("Ann").await;
    assert_eq!(reads(&stage, &ann, "acme/app").await, "yes");
}
