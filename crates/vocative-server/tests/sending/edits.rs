//! Edits, what a message has said, and forwards.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::stage::{compose, get, keys, message, post, publication, send, sign, uncomposed, values};
use crate::support::{Community, Person, now};

fn edit(id: &str, text: &str) -> Value {
    json!({ "action": "edit", "message": id, "text": text })
}

#[tokio::test]
async fn each_version_says_whom_it_names() {
    let stage = Community::new().await;
    let (ada, bo) = (Person::new(), Person::new());
    stage.admit("open", &ada, "Ada").await;
    stage.admit("open", &bo, "Bo").await;
    let (_, first) = send(&stage.node, &stage.ann, &message("@Ada helo")).await;
    let id = first.id.to_hex();
    let (typo, _) = send(&stage.node, &stage.ann, &edit(&id, "@Ada hello")).await;
    assert_eq!((values(&typo["event"], "p"), values(&typo["event"], "mention")), (vec![], vec![ada.hex()]));
    let (added, _) = send(&stage.node, &stage.ann, &edit(&id, "hello @Bo")).await;
    assert_eq!(
        (values(&added["event"], "p"), values(&added["event"], "mention")),
        (vec![bo.hex()], vec![bo.hex()])
    );
    assert_eq!(keys(&added["newly_added"]), BTreeSet::from([bo.hex()]));
    // A stranger's edit never reaches the store; one that did would not count.
    let (status, read) = get(&stage.node, &stage.ann, &format!("/v1/messages/{id}")).await;
    assert_eq!((status, &read["is_edited"]), (200, &json!(true)));
    assert_eq!(read["current"]["event"]["content"], "hello @Bo");
    assert_eq!(read["original"]["content"], "@Ada helo");
    let (_, history) = get(&stage.node, &stage.ann, &format!("/v1/messages/{id}/history")).await;
    let row = |version: &Value| {
        let names = version["occurrences"].as_array().expect("occurrences").iter();
        let names =
            names.map(|found| found["key"].as_str().unwrap_or_default().to_owned()).collect::<Vec<_>>();
        (version["event"]["content"].as_str().expect("text").to_owned(), names)
    };
    let rows: Vec<_> = history["versions"].as_array().expect("versions").iter().map(row).collect();
    let expected = [("@Ada helo", ada.hex()), ("@Ada hello", ada.hex()), ("hello @Bo", bo.hex())];
    assert_eq!(rows, expected.map(|(text, key)| (text.to_owned(), vec![key])));
    assert_eq!(history["count"], 3);
    for (skip, limit, expected) in
        [(0, 1, &rows[..1]), (1, 1, &rows[1..2]), (1, 50, &rows[1..]), (3, 50, &[])]
    {
        let path = format!("/v1/messages/{id}/history?skip={skip}&limit={limit}");
        let (_, page) = get(&stage.node, &stage.ann, &path).await;
        let page: Vec<_> = page["versions"].as_array().expect("versions").iter().map(row).collect();
        assert_eq!(page, expected, "{path}");
    }
    for bad in ["limit=0", "limit=51", "skip=-1", "other=1"] {
        let (status, _) = get(&stage.node, &stage.ann, &format!("/v1/messages/{id}/history?{bad}")).await;
        assert_eq!(status, 400, "{bad}");
    }
}

#[tokio::test]
async fn only_the_author_and_the_owner_of_an_agent_edit() {
    let stage = Community::new().await;
    let agent = Person::new();
    stage.admit("open", &agent, "Scout").await;
    let mut client = stage.node.connect().await;
    client.store(&agent.event(10_100, &[&["p", &stage.owner.hex()]], "")).await;
    let (_, said) = send(&stage.node, &agent, &message("by the agent")).await;
    let id = said.id.to_hex();
    let (status, code, _) = uncomposed(&stage.node, &stage.ann, &edit(&id, "by Ann")).await;
    assert_eq!((status, &*code), (403, "not_yours"));
    let forged = stage.ann.event(40_003, &[&["h", "open"], &["e", &id]], "by Ann");
    let (status, answer) = post(&stage.node, &stage.ann, "/v1/messages", &json!({ "event": forged })).await;
    assert_eq!((status, &answer["code"]), (403, &json!("not_yours")));
    send(&stage.node, &stage.owner, &edit(&id, "by the owner")).await;
    send(&stage.node, &agent, &edit(&id, "by the agent again")).await;
    let (_, read) = get(&stage.node, &stage.bob, &format!("/v1/messages/{id}")).await;
    assert_eq!(read["current"]["event"]["content"], "by the agent again");
}

#[tokio::test]
async fn an_edit_that_was_overtaken_is_not_stored() {
    let stage = Community::new().await;
    let (_, said) = send(&stage.node, &stage.ann, &message("one")).await;
    let id = said.id.to_hex();
    let composed = compose(&stage.node, &stage.ann, &edit(&id, "two")).await;
    let later = now() + 60;
    let other = stage.ann.event_at(
        later,
        40_003,
        &[&["h", "open"], &["e", &id], &["buzz:mention-snapshot"]],
        "three",
    );
    stage.node.connect().await.store(&other).await;
    let late = publication(&edit(&id, "two"), &sign(&stage.ann, &composed));
    let (status, answer) = post(&stage.node, &stage.ann, "/v1/messages", &late).await;
    assert_eq!((status, &answer["code"]), (409, &json!("edited_meanwhile")));
    let (composed, _) = send(&stage.node, &stage.ann, &edit(&id, "four")).await;
    assert_eq!(composed["event"]["created_at"], later + 1, "it counts though the clock is behind");
    let (_, read) = get(&stage.node, &stage.ann, &format!("/v1/messages/{id}")).await;
    assert_eq!(read["current"]["event"]["content"], "four");
}

#[tokio::test]
async fn an_edit_of_the_text_keeps_what_is_attached() {
    let stage = Community::new().await;
    let picture = ["imeta", "url https://example.com/a.png"];
    let said =
        stage.ann.event(9, &[&["h", "open"], &picture, &["emoji", "x", "https://example.com/x"]], "look");
    stage.node.connect().await.store(&said).await;
    let (composed, _) = send(&stage.node, &stage.ann, &edit(&said.id.to_hex(), "look!")).await;
    let names: Vec<&str> = composed["event"]["tags"]
        .as_array()
        .expect("tags")
        .iter()
        .filter_map(|tag| tag[0].as_str())
        .collect();
    assert_eq!(names, ["h", "e", "imeta", "emoji", "buzz:mention-snapshot"]);
}

#[tokio::test]
async fn a_forward_notifies_whom_the_message_names_now() {
    let stage = Community::new().await;
    let (ada, bo) = (Person::new(), Person::new());
    stage.admit("open", &ada, "Ada").await;
    stage.admit("open", &bo, "Bo").await;
    let (_, said) = send(&stage.node, &stage.ann, &message("@Ada come")).await;
    let id = said.id.to_hex();
    send(&stage.node, &stage.ann, &edit(&id, "@Bo come")).await;
    let forward = json!({ "action": "forward", "channel": "secret", "message": id });
    let (_, code, details) = uncomposed(&stage.node, &stage.owner, &forward).await;
    assert_eq!((&*code, keys(&details["recipients"])), ("not_members", BTreeSet::from([bo.hex()])));
    stage.admit("secret", &bo, "Bo").await;
    let (composed, event) = send(&stage.node, &stage.owner, &forward).await;
    assert_eq!(composed["event"]["content"], "@Bo come");
    assert_eq!(composed["event"]["tags"], json!([["h", "secret"], ["p", bo.hex()], ["mention", bo.hex()]]));
    // Whoever forwards under another's name in mind cannot change the words.
    let other =
        stage.owner.event(9, &[&["h", "secret"], &["p", &bo.hex()], &["mention", &bo.hex()]], "@Bo go");
    let (status, answer) =
        post(&stage.node, &stage.owner, "/v1/messages", &json!({ "event": other, "forwards": id })).await;
    assert_eq!((status, &answer["code"]), (422, &json!("not_as_composed")));
    let mine = json!({ "action": "forward", "channel": "open", "message": event.id.to_hex() });
    let (composed, _) = send(&stage.node, &bo, &mine).await;
    assert!(values(&composed["event"], "p").is_empty(), "nobody notifies themselves");
}
