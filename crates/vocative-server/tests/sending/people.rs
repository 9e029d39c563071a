//! Whose names compete in a channel, and whom a send reaches.

use std::collections::BTreeSet;

use serde_json::json;

use crate::stage::{compose, keys, message, send, told, uncomposed, values};
use crate::support::{Community, Person};

#[tokio::test]
async fn a_member_is_known_by_every_alias_that_a_reader_knows() {
    let stage = Community::new().await;
    let ada = Person::new();
    stage.admit("open", &ada, "unused").await;
    let profile = json!({ "display_name": "Ada King", "name": "ada", "nip05": "countess@example.com" });
    let mut client = stage.node.connect().await;
    client.store(&ada.event(0, &[], &profile.to_string())).await;
    for (text, expected) in [("@Ada King", 1), ("@ADA!", 1), ("@countess", 1), ("@unused", 0), ("@_", 0)] {
        let composed = compose(&stage.node, &stage.ann, &message(text)).await;
        assert_eq!(values(&composed["event"], "p").len(), expected, "{text}: {composed}");
    }
}

#[tokio::test]
async fn a_longer_name_of_somebody_else_is_not_given_away() {
    let stage = Community::new().await;
    let (ada, lovelace, hidden, stranger) = (Person::new(), Person::new(), Person::new(), Person::new());
    stage.admit("open", &ada, "Ada").await;
    // In a channel that Ann is in, in one that she is not in, and in none.
    stage.admit("secret", &lovelace, "Ada Lovelace").await;
    let mut client = stage.node.connect().await;
    client.store(&stage.owner.event(9007, &[&["h", "deep"], &["private"]], "")).await;
    stage.admit("deep", &hidden, "Ada Hidden").await;
    stage.rename(&stranger, "Ada Stranger").await;
    for (text, recipients, codes) in [
        ("@Ada hi", vec![ada.hex()], vec![]),
        ("@Ada Lovelace hi", vec![], vec![("not_eligible", "Ada Lovelace")]),
        // Nothing shows who is in a channel that the sender may not see, and no stranger takes a text.
        ("@Ada Hidden hi", vec![ada.hex()], vec![]),
        ("@Ada Stranger hi", vec![ada.hex()], vec![]),
    ] {
        let composed = compose(&stage.node, &stage.ann, &message(text)).await;
        assert_eq!(values(&composed["event"], "p"), recipients, "{text}");
        let codes: Vec<_> = codes.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        assert_eq!(told(&composed), codes, "{text}");
    }
    let composed = compose(&stage.node, &stage.ann, &message("@Ada Lovelace")).await;
    assert_eq!(keys(&composed["diagnostics"][0]["people"]), BTreeSet::from([lovelace.hex()]));
}

#[tokio::test]
async fn an_agent_addresses_nobody_unless_it_says_whom() {
    let stage = Community::new().await;
    let (agent, ada) = (Person::new(), Person::new());
    stage.admit("open", &agent, "Scout").await;
    stage.admit("open", &ada, "Ada").await;
    let mut client = stage.node.connect().await;
    client.store(&agent.event(10_100, &[&["p", &stage.ann.hex()]], "")).await;
    let text = "@Ada has asked me; > quoting @Ada";
    let said = |name: &str, value: serde_json::Value| {
        let mut request = message(text);
        request[name] = value;
        request
    };
    let silent = compose(&stage.node, &agent, &message(text)).await;
    assert!(values(&silent["event"], "p").is_empty() && values(&silent["event"], "mention").is_empty());
    let not_eligible = ("not_eligible".to_owned(), "Ada".to_owned());
    assert_eq!(told(&silent), [not_eligible.clone(), not_eligible]);
    for request in [said("typed", json!(true)), said("to", json!([{ "key": ada.hex() }]))] {
        let (composed, _) = send(&stage.node, &agent, &request).await;
        assert_eq!(values(&composed["event"], "p"), [ada.hex()], "{request}");
    }
    let quiet = compose(&stage.node, &stage.ann, &said("typed", json!(false))).await;
    assert!(values(&quiet["event"], "p").is_empty(), "people may turn it off too");
    let by_ann = compose(&stage.node, &stage.ann, &message("@Scout go")).await;
    let scout = &by_ann["recipients"][0];
    assert_eq!((&scout["is_agent"], &scout["owner"]), (&json!(true), &json!(stage.ann.hex())));
}

#[tokio::test]
async fn who_is_no_member_is_refused_or_referred_to() {
    let stage = Community::new().await;
    let mut request = message("@Bob and all");
    request["to"] = json!([{ "key": stage.bob.hex(), "label": "Bob" }]);
    let (status, code, details) = uncomposed(&stage.node, &stage.ann, &request).await;
    assert_eq!((status, &*code), (422, "not_members"));
    assert_eq!(keys(&details["recipients"]), BTreeSet::from([stage.bob.hex()]));
    request["without_inviting"] = json!(true);
    let (composed, _) = send(&stage.node, &stage.ann, &request).await;
    assert!(values(&composed["event"], "p").is_empty());
    assert_eq!(values(&composed["event"], "mention"), [stage.bob.hex()]);
}

#[tokio::test]
async fn choices_are_exact() {
    let stage = Community::new().await;
    let (one, two) = (Person::new(), Person::new());
    stage.admit("open", &one, "Ada").await;
    stage.admit("open", &two, "Ada").await;
    let both = |text: &str| {
        let mut request = message(text);
        request["bindings"] = json!([
            { "label": "Ada", "key": one.hex() },
            { "label": format!("Ada ({})", two.hex()), "key": two.hex() },
        ]);
        request
    };
    let qualified = format!("@Ada ({}) hi", two.hex());
    for (text, expected) in [("@Ada hi", vec![one.hex()]), (&qualified, vec![two.hex()]), ("hi", vec![])] {
        let (composed, _) = send(&stage.node, &stage.ann, &both(text)).await;
        assert_eq!(values(&composed["event"], "p"), expected, "{text}");
    }
    let mut addressed = message("go");
    addressed["addressed"] = json!([two.hex()]);
    let (composed, _) = send(&stage.node, &stage.ann, &addressed).await;
    let tags = composed["event"]["tags"].as_array().expect("tags");
    assert!(
        tags.contains(&json!(["p", two.hex()]))
            && tags.contains(&json!(["mention", two.hex(), "agent-address"]))
    );
}
