//! Linking keys to accounts.

use vocative::Key;
use vocative_server::people::PeopleError;
use vocative_store::EventId;

use super::stage::Stage;

fn key(number: u8) -> Key {
    Key::from_bytes([number; 32])
}

fn event(number: u8) -> EventId {
    EventId::from_bytes([number; 32])
}

#[tokio::test]
async fn a_key_belongs_to_one_account_until_it_is_unlinked() {
    let stage = Stage::new().await;
    for login in ["Ann", "bob"] {
        stage.double.add_person(login);
    }
    let (ann, bob) = (stage.log_in("Ann").await, stage.log_in("bob").await);
    let link = async |login: &vocative_server::people::NewLogin, number, by| {
        let session = stage.session(login).await;
        let challenge = stage.people.challenge(&session).await.expect("a challenge");
        stage.people.link(key(number), event(by), &challenge.account, &challenge.nonce).await
    };
    assert_eq!(link(&ann, 1, 1).await, Ok(()));
    assert_eq!(link(&ann, 1, 2).await, Ok(()), "again changes nothing");
    assert_eq!(link(&ann, 2, 3).await, Ok(()));
    assert_eq!(link(&bob, 1, 4).await, Err(PeopleError::KeyTaken));
    let account = stage.people.account(ann.account.id).await.expect("the store answers").expect("an account");
    assert_eq!(account.keys, [key(1), key(2)]);
    assert_eq!(stage.node().account_with(key(2)).await, Ok(Some(ann.account.id)));
    assert_eq!(stage.people.unlink(bob.account.id, key(1)).await, Err(PeopleError::NotFound));
    assert_eq!(stage.people.unlink(ann.account.id, key(1)).await, Ok(()));
    assert_eq!(stage.people.account_with(key(1)).await, Ok(None));
    assert_eq!(link(&bob, 1, 5).await, Ok(()));
}

#[tokio::test]
async fn a_challenge_is_for_one_account_one_login_once_and_soon() {
    let stage = Stage::new().await;
    for login in ["Ann", "bob"] {
        stage.double.add_person(login);
    }
    let (ann, _) = (stage.log_in("Ann").await, stage.log_in("bob").await);
    let session = stage.session(&ann).await;
    let challenge = async || stage.people.challenge(&session).await.expect("a challenge");
    let (own, other) = ("github:ann".parse().expect("an id"), "github:bob".parse().expect("an id"));
    let refused = Err(PeopleError::BadChallenge);
    let fresh = challenge().await;
    assert_eq!(stage.people.link(key(1), event(1), &other, &fresh.nonce).await, refused);
    assert_eq!(stage.people.link(key(1), event(1), &own, "").await, refused);
    assert_eq!(stage.people.link(key(1), event(1), &own, &fresh.nonce).await, Ok(()));
    assert_eq!(stage.people.link(key(2), event(2), &own, &fresh.nonce).await, refused, "used");
    let late = challenge().await;
    stage.double.advance(300);
    assert_eq!(stage.people.link(key(2), event(3), &own, &late.nonce).await, refused, "5 minutes are over");
    let ended = challenge().await;
    stage.people.end_logins(ann.account.id, Some(&ann.id)).await.expect("it ends");
    assert_eq!(stage.people.link(key(2), event(4), &own, &ended.nonce).await, refused, "its login ended");
}
