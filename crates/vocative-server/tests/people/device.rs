//! The device flow: every answer of GitHub's, and how often it is asked.

use vocative_github_double::{App, Outage};
use vocative_server::people::{PeopleError, Polled};

use super::stage::Stage;

const TOKEN: &str = "/login/oauth/access_token";

/// What a poll says, in a word.
fn word(polled: &Result<Polled, PeopleError>) -> String {
    match polled {
        Ok(Polled::Done(login)) => login.account.handle.clone(),
        Ok(Polled::Pending { interval }) => format!("pending {interval}"),
        Err(error) => error.code().to_owned(),
    }
}

#[tokio::test]
async fn a_person_logs_in_and_the_outcome_is_told_once() {
    let stage = Stage::new().await;
    stage.double.add_person("Ann");
    let begun = stage.people.begin_device("vocative on a laptop", false).await.expect("it begins");
    assert!(begun.verification_uri.starts_with(&stage.double.web()));
    assert_eq!((begun.expires_in, begun.interval, begun.scopes.len()), (900, 5, 0));
    stage.double.advance(5);
    assert_eq!(word(&stage.people.poll_device(&begun.flow).await), "pending 5");
    stage.double.approve(&begun.user_code, "Ann");
    stage.double.advance(5);
    // Any node serves any step.
    let Ok(Polled::Done(login)) = stage.node().poll_device(&begun.flow).await else {
        panic!("she consented")
    };
    assert_eq!(login.account.handle, "Ann");
    assert_eq!(login.account.addressed().map(|id| id.to_string()).as_deref(), Some("github:ann"));
    assert!(login.token.starts_with("voc_") && login.token.len() == 47);
    assert_eq!(login.expires_at, stage.double.now() + 90 * 24 * 60 * 60);
    assert_eq!(word(&stage.people.poll_device(&begun.flow).await), "unknown_login");
    let rows = stage.people.logins(login.account.id).await.expect("the store answers");
    assert_eq!(rows.len(), 1);
    assert_eq!((&rows[0].id, rows[0].client.as_str()), (&login.id, "vocative on a laptop"));
}

#[tokio::test]
async fn github_is_asked_at_its_pace_however_often_a_client_asks() {
    let stage = Stage::new().await;
    stage.double.add_person("Ann");
    let begun = stage.people.begin_device("", false).await.expect("it begins");
    // Seconds that pass, whether GitHub answers slow_down (with the new interval, or without), what the
    // client is told, and how often GitHub has been asked by then.
    let table = [
        (0, None, "pending 5", 0),
        (4, None, "pending 1", 0),
        (1, None, "pending 5", 1),
        (1, None, "pending 4", 1),
        (4, Some(true), "pending 10", 2),
        (9, None, "pending 1", 2),
        (1, None, "pending 10", 3),
        (10, Some(false), "pending 15", 4),
        (14, None, "pending 1", 4),
        (1, None, "pending 15", 5),
    ];
    let nodes = [&stage.people, &stage.node()];
    for (row, (passes, slow_down, expected, asked)) in table.into_iter().enumerate() {
        if let Some(with_interval) = slow_down {
            stage.double.slow_down(&begun.user_code, with_interval);
        }
        stage.double.advance(passes);
        let polled = nodes[row % 2].poll_device(&begun.flow).await;
        assert_eq!((word(&polled).as_str(), stage.asked(TOKEN)), (expected, asked), "row {row}");
    }
}

#[tokio::test]
async fn every_refusal_ends_the_login_and_says_why() {
    type Makes = fn(&Stage, &str);
    let table: [(&str, Makes, &str); 6] = [
        ("denied", |stage, code| stage.double.deny(code), "login_denied"),
        ("expired at GitHub", |stage, code| stage.double.expire(code), "login_expired"),
        ("forgotten by GitHub", |stage, code| stage.double.forget(code), "login_expired"),
        ("expired here", |stage, _| stage.double.advance(900), "login_expired"),
        ("not let in", |stage, code| stage.double.approve(code, "mallory"), "login_not_allowed"),
        (
            "no device flow",
            |stage, _| stage.double.change_app(|app| app.device_flow = false),
            "github_app_refused",
        ),
    ];
    for (which, make, expected) in table {
        let stage = Stage::new().await;
        stage.double.add_person("mallory");
        let begun = stage.people.begin_device("", false).await.expect("it begins");
        make(&stage, &begun.user_code);
        stage.double.advance(5);
        assert_eq!(word(&stage.people.poll_device(&begun.flow).await), expected, "{which}");
        if expected != "github_app_refused" {
            assert_eq!(word(&stage.people.poll_device(&begun.flow).await), "unknown_login", "{which}");
        }
    }
}

#[tokio::test]
async fn an_outage_of_github_does_not_end_a_login() {
    let stage = Stage::new().await;
    stage.double.add_person("Ann");
    let begun = stage.people.begin_device("", false).await.expect("it begins");
    stage.double.approve(&begun.user_code, "Ann");
    let outages = [
        Outage::Status(503),
        Outage::Status(302),
        Outage::CutOff,
        Outage::PrimaryLimit { reset: 9 },
        Outage::SecondaryLimit { retry_after: 7 },
        Outage::Body("<html>".to_owned()),
        Outage::Body("{}".to_owned()),
        Outage::Body(r#"{"access_token":"a\nb"}"#.to_owned()),
        Outage::Body("x".repeat(2 << 20)),
    ];
    for outage in outages {
        stage.double.outage("/login", outage.clone());
        stage.double.advance(5);
        let polled = stage.people.poll_device(&begun.flow).await;
        assert_eq!(word(&polled), "github_unreachable", "{outage:?}");
        stage.double.recover();
    }
    stage.double.outage("/login", Outage::SecondaryLimit { retry_after: 7 });
    let refused = stage.people.begin_device("", false).await;
    assert!(matches!(refused, Err(PeopleError::Unreachable { retry_after: Some(7), .. })), "{refused:?}");
    stage.double.recover();
    stage.double.advance(5);
    assert_eq!(word(&stage.people.poll_device(&begun.flow).await), "Ann");
}

#[tokio::test]
async fn nobody_logs_in_where_the_operator_has_not_said_who() {
    type Leaves = fn(&mut vocative_server::settings::Settings);
    let table: [Leaves; 3] = [
        |settings| settings.allow.clear(),
        |settings| settings.repositories.clear(),
        |settings| settings.github.client_id = None,
    ];
    for leave in table {
        let stage = Stage::with(App::github_app(), leave).await;
        let refused = stage.people.begin_device("", false).await;
        assert_eq!(refused.err().map(|error| error.code()), Some("login_not_configured"));
        assert!(stage.double.asked().is_empty());
    }
}
