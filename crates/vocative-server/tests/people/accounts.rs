//! Who is known, and under which names.

use vocative_github_double::App;
use vocative_server::people::{AccountId, PeopleError};
use vocative_store::Timestamp;

use super::stage::Stage;

async fn holder(stage: &Stage, login: &str, at: u64) -> Option<u64> {
    let login = login.parse().expect("a login");
    let holder = stage.people.account_of(&login, Timestamp::from_secs(at)).await;
    holder.expect("the store answers").map(AccountId::get)
}

#[tokio::test]
async fn only_who_has_logged_in_is_known() {
    let stage = Stage::new().await;
    for login in ["Ann", "bob", "grace_acme", "mallory"] {
        stage.double.add_person(login);
    }
    stage.double.add_public("acme/app");
    let ann = stage.log_in("Ann").await;
    stage.log_in("grace_acme").await;
    let refused = stage.try_log_in("mallory").await;
    assert_eq!(refused.err().map(|error| error.code()), Some("login_not_allowed"));
    assert_eq!(stage.everyone(&ann).await, ["github:ann", "github:grace_acme"]);
    assert_eq!(holder(&stage, "mallory", 0).await, None);
    assert_eq!(stage.double.tokens("mallory"), 0, "the token is given back");
}

#[tokio::test]
async fn members_of_an_organization_are_let_in_as_far_as_the_token_may_know() {
    let table = [
        ("an app sees every member", App::github_app(), true, [true, true, false]),
        ("without the scope only public ones are seen", App::oauth_app(), false, [true, false, false]),
    ];
    for (which, app, _, expected) in table {
        let allow = |settings: &mut vocative_server::settings::Settings| {
            settings.allow = vec!["org:Acme".parse().expect("an organization")];
        };
        let stage = Stage::with(app, allow).await;
        for login in ["public", "private", "other"] {
            stage.double.add_person(login);
        }
        stage.double.add_member("acme", "public", true);
        stage.double.add_member("acme", "private", false);
        for (login, expected) in ["public", "private", "other"].into_iter().zip(expected) {
            assert_eq!(stage.try_log_in(login).await.is_ok(), expected, "{which}: {login}");
        }
    }
}

#[tokio::test]
async fn after_a_rename_both_names_are_the_accounts() {
    let stage = Stage::new().await;
    let id = stage.double.add_person("Ann");
    stage.double.add_public("acme/app");
    stage.log_in("Ann").await;
    stage.double.rename("Ann", "ann2");
    let ann = stage.log_in("ann2").await;
    assert_eq!(stage.everyone(&ann).await, ["github:ann2"]);
    let now = stage.double.now();
    for login in ["ann", "ann2"] {
        assert_eq!(holder(&stage, login, now).await, Some(id), "{login}");
    }
    let names = stage.people.names_of(ann.account.id).await.expect("the store answers");
    assert_eq!(names.iter().map(|name| name.login.as_str()).collect::<Vec<_>>(), ["ann", "ann2"]);
}

#[tokio::test]
async fn a_released_name_is_attributed_by_time() {
    let stage = Stage::new().await;
    let first = stage.double.add_person("Ann");
    stage.double.add_person("bob");
    stage.double.add_public("acme/app");
    stage.log_in("Ann").await;
    let bob = stage.log_in("bob").await;
    stage.double.rename("Ann", "ann2");
    let second = stage.double.add_person("ann");
    let ann = "ann".parse().expect("a login");
    let now = stage.double.now();
    assert_eq!(
        stage.people.release(&"eve".parse().expect("a login"), Timestamp::from_secs(now)).await,
        Err(PeopleError::NotHeld)
    );
    stage.people.release(&ann, Timestamp::from_secs(now)).await.expect("it is held");
    assert_eq!(stage.people.release(&ann, Timestamp::from_secs(now)).await, Err(PeopleError::NotHeld));
    assert_eq!(stage.everyone(&bob).await, ["github:bob"], "the first holder is not addressed by it");
    assert_eq!(holder(&stage, "ann", now).await, None);
    stage.double.advance(60);
    stage.log_in("ann").await;
    assert_eq!(holder(&stage, "ann", now - 1).await, Some(first));
    assert_eq!(holder(&stage, "ann", now).await, Some(second));
    stage.log_in("ann2").await;
    assert_eq!(stage.everyone(&bob).await, ["github:ann", "github:ann2", "github:bob"]);
    let early = stage.people.release(&ann, Timestamp::from_secs(now)).await;
    assert_eq!(early, Err(PeopleError::BadInstant));
}

#[tokio::test]
async fn a_login_that_ends_is_none_and_others_stay() {
    let stage = Stage::new().await;
    stage.double.add_person("Ann");
    let [one, two, three] = [stage.log_in("Ann").await, stage.log_in("Ann").await, stage.log_in("Ann").await];
    let is_session = async |login: &vocative_server::people::NewLogin| {
        stage.people.session(&login.token).await.expect("the store answers").is_some()
    };
    stage.people.end_logins(one.account.id, Some(&one.id)).await.expect("it is one");
    assert_eq!((is_session(&one).await, is_session(&two).await), (false, true));
    let again = stage.people.end_logins(one.account.id, Some(&one.id)).await;
    assert_eq!(again, Err(PeopleError::NotFound));
    stage.people.end_logins(one.account.id, None).await.expect("they end");
    assert_eq!((is_session(&two).await, is_session(&three).await), (false, false));
    let last = stage.log_in("Ann").await;
    stage.double.advance(90 * 24 * 60 * 60);
    assert!(!is_session(&last).await, "90 days are over");
}
