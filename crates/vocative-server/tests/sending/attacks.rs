//! What somebody may try against a send.

use std::collections::BTreeSet;

use nostr::event::Event;
use serde_json::{Value, json};

use crate::stage::{compose, get, keys, message, post, publication, send, sign, uncomposed, values};
use crate::support::{Community, Person};

async fn refused(stage: &Community, caller: &Person, body: &Value) -> (u16, String, Value) {
    let before = stage.stored().await;
    let (status, answer) = post(&stage.node, caller, "/v1/messages", body).await;
    assert_eq!(stage.stored().await, before, "nothing is stored");
    (
        status,
        answer["code"].as_str().unwrap_or_else(|| panic!("it is stored: {answer}")).to_owned(),
        answer["details"].clone(),
    )
}

#[tokio::test]
async fn nobody_sends_by_another_key() {
    let stage = Community::new().await;
    let mut request = message("hi");
    request["author"] = json!(stage.owner.hex());
    assert_eq!(uncomposed(&stage.node, &stage.ann, &request).await.1, "not_your_key");
    let composed = compose(&stage.node, &stage.ann, &message("hi")).await;
    let event = sign(&stage.ann, &composed);
    let body = json!({ "event": event });
    assert_eq!(refused(&stage, &stage.owner, &body).await.1, "not_your_key");
    let mut forged: Value = json!(event);
    forged["pubkey"] = json!(stage.owner.hex());
    assert_eq!(refused(&stage, &stage.owner, &json!({ "event": forged })).await.1, "forged_event");
    let mut forged: Value = json!(event);
    forged["content"] = json!("ho");
    assert_eq!(refused(&stage, &stage.ann, &json!({ "event": forged })).await.1, "forged_event");
    assert_eq!(refused(&stage, &stage.ann, &json!({ "event": { "id": "x" } })).await.1, "bad_event");
}

#[tokio::test]
async fn a_roster_that_changed_is_told_and_nothing_is_stored() {
    let stage = Community::new().await;
    let (ada, bo) = (Person::new(), Person::new());
    stage.admit("open", &ada, "Ada").await;
    stage.admit("open", &bo, "Bo").await;
    let request = message("@Ada hi");
    let composed = compose(&stage.node, &stage.ann, &request).await;
    let signed = json!({ "event": sign(&stage.ann, &composed) });
    // Bo takes the name while Ada gives it up.
    stage.rename(&bo, "Ada").await;
    let (status, code, details) = refused(&stage, &stage.ann, &signed).await;
    assert_eq!((status, &*code, keys(&details["candidates"]).len()), (422, "ambiguous_label", 2));
    stage.rename(&ada, "Countess").await;
    let (status, code, details) = refused(&stage, &stage.ann, &signed).await;
    assert_eq!((status, &*code), (409, "roster_changed"));
    let changed = &details["difference"];
    assert_eq!(keys(&changed["not_notified"]), BTreeSet::from([ada.hex()]));
    assert_eq!(keys(&changed["notified"]), BTreeSet::from([bo.hex()]));
    assert_eq!(changed["notified"][0]["name"], "Ada");
    // An exact choice is no matter of names, and neither is what was stored before.
    let mut exact = message("@Ada hi");
    exact["bindings"] = json!([{ "label": "Ada", "key": ada.hex() }]);
    let (composed, event) = send(&stage.node, &stage.ann, &exact).await;
    assert_eq!(values(&composed["event"], "p"), [ada.hex()]);
    stage.rename(&ada, "Ada").await;
    let again = post(&stage.node, &stage.ann, "/v1/messages", &json!({ "event": event })).await;
    assert_eq!(again, (200, json!({ "id": event.id.to_hex(), "is_duplicate": true })));
}

#[tokio::test]
async fn tags_say_no_more_than_the_text_and_the_choices() {
    let stage = Community::new().await;
    let ada = Person::new();
    stage.admit("open", &ada, "Ada").await;
    let (key, ann, id) = (ada.hex(), stage.ann.hex(), "ab".repeat(32));
    let h: &[&str] = &["h", "open"];
    let table: &[(&str, &[&[&str]], &str)] = &[
        ("hi", &[h, &["p", &key]], "roster_changed"),
        ("@Ada", &[h], "roster_changed"),
        ("@Ada", &[h, &["p", &key], &["mention", &ann]], "roster_changed"),
        ("@Ada", &[h, &["mention", &key]], "roster_changed"),
        ("@Ada", &[h, &["p", &key], &["mention", &key, "agent-address"]], "roster_changed"),
        ("@Ada", &[h, &["p", &key], &["p", &ann, "", "reply"]], "not_as_composed"),
        ("@Ada", &[h, &["p", &key], &["mention", &ann, "other"]], "not_as_composed"),
        ("@Ada", &[h, &["p", &key], &["buzz:mention-snapshot"]], "not_as_composed"),
        ("@Ada", &[h, &["p", &key], &["e", &id, "", "root"]], "no_message"),
        ("@Ada", &[&["h", "open", "x"], &["p", &key]], "not_as_composed"),
        ("@Ada", &[&["p", &key]], "not_as_composed"),
    ];
    for (text, tags, expected) in table {
        let event = stage.ann.event(9, tags, text);
        let (_, code, _) = refused(&stage, &stage.ann, &json!({ "event": event })).await;
        assert_eq!(code, *expected, "{text} {tags:?}");
    }
    for kind in [0, 1, 5, 7, 9000, 10_100, 40_002] {
        let event = stage.ann.event(kind, &[h], "hi");
        let (status, code, _) = refused(&stage, &stage.ann, &json!({ "event": event })).await;
        assert_eq!((status, &*code), (422, "not_as_composed"), "kind {kind}");
    }
    // What a client attaches is its own.
    let event = stage.ann.event(9, &[h, &["p", &key], &["imeta", "url https://example.com/a"]], "@Ada");
    let (status, answer) = post(&stage.node, &stage.ann, "/v1/messages", &json!({ "event": event })).await;
    assert_eq!(status, 200, "{answer}");
    let old = stage.ann.event_at(1_700_000_000, 9, &[h], "old");
    assert_eq!(
        refused(&stage, &stage.ann, &json!({ "event": old })).await.1,
        "invalid_event",
        "the relay's own rules"
    );
}

#[tokio::test]
async fn a_private_channel_answers_as_one_that_is_not_there() {
    let stage = Community::new().await;
    let (node, bob) = (&stage.node, &stage.bob);
    let secret = json!({ "channel": "secret", "text": "a secret" });
    let (_, event) = send(node, &stage.ann, &secret).await;
    let (there, not) = (event.id.to_hex(), "ab".repeat(32));
    let channel = |id: &str| json!({ "channel": id, "text": "@Ada hi" });
    let one = post(node, bob, "/v1/messages/compose", &channel("secret")).await;
    assert_eq!((one.0, &one.1["code"]), (404, &json!("no_channel")));
    for id in ["none", "", "a\u{0}b", &"x".repeat(200)] {
        assert_eq!(post(node, bob, "/v1/messages/compose", &channel(id)).await, one, "{id:?}");
    }
    let told = (404, json!("no_message"));
    let of = |id: &str| {
        [
            json!({ "action": "edit", "message": id, "text": "x" }),
            json!({ "action": "forward", "message": id, "channel": "open" }),
        ]
    };
    // Bob may write in a channel of his own.
    node.connect().await.store(&stage.owner.event(9000, &[&["h", "open"], &["p", &bob.hex()]], "")).await;
    for (there, not) in of(&there).into_iter().zip(of(&not)) {
        let answer = post(node, bob, "/v1/messages/compose", &there).await;
        assert_eq!((answer.0, answer.1["code"].clone()), told);
        assert_eq!(post(node, bob, "/v1/messages/compose", &not).await, answer);
    }
    for path in ["", "/history"] {
        let [one, other] = [&there, &not].map(|id| format!("/v1/messages/{id}{path}"));
        let answer = get(node, bob, &one).await;
        assert_eq!((answer.0, answer.1["code"].clone()), told);
        assert_eq!(get(node, bob, &other).await, answer);
        assert_eq!(get(node, bob, &format!("/v1/messages/%ff{path}")).await, answer);
        assert_eq!(get(node, &stage.ann, &one).await.0, 200);
    }
    let reply = json!({ "channel": "open", "text": "x", "reply_to": there });
    assert_eq!(uncomposed(node, bob, &reply).await.1, "no_message");
}

#[tokio::test]
async fn hostile_names_and_texts() {
    let stage = Community::new().await;
    let names = [
        "\u{202e}kniG\u{202c}",
        "a\nb",
        "\u{1b}[2Jx",
        "",
        "\u{0}x",
        "@",
        "@Ann @Bo",
        "a\u{200b}b",
        "#x",
        "[x](y)",
    ];
    let long = "n".repeat(50_000);
    for name in names.into_iter().chain([&*long]) {
        stage.admit("open", &Person::new(), name).await;
    }
    let twin = Person::new();
    stage.admit("open", &twin, "\u{202e}kniG\u{202c}").await;
    let (status, code, details) =
        uncomposed(&stage.node, &stage.ann, &message("@\u{202e}kniG\u{202c} hi")).await;
    assert_eq!((status, &*code, keys(&details["candidates"]).len()), (422, "ambiguous_label", 2));
    for text in ["@a\nb", "@a b", &*format!("@{long}"), "@"] {
        let composed = compose(&stage.node, &stage.ann, &message(text)).await;
        assert!(values(&composed["event"], "p").is_empty(), "{text}");
    }
    let most = 64 * 1024;
    for (text, expected) in [
        ("@".repeat(most), None),
        ("> ".repeat(most / 2), None),
        ("é".repeat(most / 2), None),
        ("x".repeat(most + 1), Some("text_too_long")),
        ("a\u{0}b".to_owned(), Some("text_holds_nul")),
        ("x".repeat(512 * 1024), Some("too_large")),
    ] {
        let (_, answer) = post(&stage.node, &stage.ann, "/v1/messages/compose", &message(&text)).await;
        assert_eq!(answer["code"].as_str(), expected, "{} bytes", text.len());
    }
}

#[tokio::test]
async fn who_asks_too_often_waits() {
    let stage = Community::with(|settings| {
        settings.limits.events_per_second = 5;
        settings.limits.requests_per_second = 2;
    })
    .await;
    // Each of these takes its turn at once; the store is not asked for what is not done.
    let mut limited = 0;
    for _ in 0..20 {
        let (status, answer) = post(&stage.node, &stage.bob, "/v1/messages/compose", &message("hi")).await;
        limited += u32::from(status == 429);
        assert!(matches!(status, 404 | 429), "{answer}");
    }
    assert!(limited > 0);
    let events: Vec<Event> =
        (0..20).map(|n| stage.bob.event(9, &[&["h", "open"]], &format!("{n}"))).collect();
    let mut limited = 0;
    for event in events {
        let body = publication(&Value::Null, &event);
        let (status, _) = post(&stage.node, &stage.bob, "/v1/messages", &body).await;
        limited += u32::from(status == 429);
    }
    assert!(limited > 0);
}
