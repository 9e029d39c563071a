//! What is private, asked for in every way, and at the moment when it becomes so.

use serde_json::{Value, json};

use super::support::{Community, id, of_channel};

const H: &[&str] = &["h", "open"];

#[tokio::test]
async fn an_open_subscription_sees_nothing_of_what_became_private_or_was_deleted() {
    let Community { node, owner, ann, bob } = Community::new().await;
    let mut admin = node.connect_as(&owner).await;
    let (mut inside, mut outside) = (node.connect_as(&ann).await, node.connect_as(&bob).await);
    for client in [&mut inside, &mut outside] {
        let filters = [json!({ "kinds": [9, 9002, 9008, 39_000] }), of_channel("open")];
        client.subscribe("s", &filters).await.expect("it is open");
    }
    let open = owner.event(9, &[H], "for all");
    admin.store(&open).await;
    for client in [&mut inside, &mut outside] {
        while client.event("s").await != id(&open) {}
    }
    admin.store(&owner.event(9002, &[H, &["private"], &["name", "Hidden"]], "")).await;
    let hidden = owner.event(9, &[H], "for members");
    admin.store(&hidden).await;
    while inside.event("s").await != id(&hidden) {}
    assert_eq!(outside.came("s").await, [""; 0]);
    assert!(outside.subscribe("again", &[of_channel("open")]).await.is_err());
    assert_eq!(outside.count(&[json!({ "ids": [id(&open), id(&hidden)] })]).await, Ok(0));
    admin.store(&owner.event(9008, &[H], "")).await;
    inside.came("s").await;
    admin.refused(&owner.event(9, &[H], "too late"), "restricted:").await;
    assert!(inside.subscribe("again", &[of_channel("open")]).await.is_err());
    assert_eq!(inside.count(&[json!({ "ids": [id(&open), id(&hidden)] })]).await, Ok(0));
}

/// An answer that its reader takes slowly ends with the right to it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_is_being_written_ends_when_the_channel_becomes_private() {
    const COUNT: usize = 400;
    let Community { node, owner, ann, .. } = Community::new().await;
    let (mut admin, mut outside) = (node.connect_as(&owner).await, node.connect().await);
    for n in 0..COUNT {
        admin.store(&ann.event(9, &[H], &format!("{n} {}", "a".repeat(60_000)))).await;
    }
    outside.send(&json!(["REQ", "s", { "#h": ["open"], "kinds": [9] }])).await;
    outside.event("s").await;
    // It reads no more until the channel is private; no socket holds 24 MB.
    admin.store(&owner.event(9002, &[H, &["private"]], "")).await;
    let mut came = 1;
    loop {
        let message = outside.wait(|message| message[1] == "s").await;
        match message[0].as_str() {
            Some("EVENT") => came += 1,
            _ => break,
        }
    }
    assert!(came < COUNT, "all of {came}");
}

#[tokio::test]
async fn with_a_membership_goes_what_it_gave_whatever_other_keys_are_there() {
    let Community { node, owner, ann, bob } = Community::new().await;
    let mut admin = node.connect_as(&owner).await;
    let mut both = node.connect_as(&bob).await;
    both.authenticate(&ann).await;
    assert!(both.subscribe("s", &[of_channel("secret")]).await.is_ok());
    let secret: &[&str] = &["h", "secret"];
    let before = owner.event(9, &[secret], "before");
    admin.store(&before).await;
    assert_eq!(both.event("s").await, id(&before));
    admin.store(&owner.event(9001, &[secret, &["p", &ann.hex()]], "")).await;
    admin.store(&owner.event(9, &[secret], "after")).await;
    assert_eq!(both.came("s").await, [""; 0]);
    // The other key is a member; that is enough, and it was the first that was not.
    admin.store(&owner.event(9000, &[secret, &["p", &bob.hex()]], "")).await;
    let again = owner.event(9, &[secret], "again");
    admin.store(&again).await;
    assert_eq!(both.event("s").await, id(&again));
}

/// A key that comes later opens what comes after it, and shows nothing by itself.
#[tokio::test]
async fn a_proof_after_a_request_opens_what_comes_later() {
    let Community { node, owner, ann, .. } = Community::new().await;
    let (mut admin, mut client) = (node.connect_as(&owner).await, node.connect().await);
    let secret: &[&str] = &["h", "secret"];
    admin.store(&owner.event(9, &[secret], "before")).await;
    assert_eq!(client.subscribe("s", &[json!({ "kinds": [9] })]).await, Ok(vec![]));
    let unseen = owner.event(9, &[secret], "still before");
    admin.store(&unseen).await;
    assert_eq!(client.came("s").await, [""; 0]);
    client.authenticate(&ann).await;
    let seen = owner.event(9, &[secret], "after");
    admin.store(&seen).await;
    // What was stored just before may still be on its way when the key comes.
    while client.event("s").await != id(&seen) {}
}

#[tokio::test]
async fn names_of_channels_are_taken_as_they_are() {
    let Community { node, ann, bob, .. } = Community::new().await;
    let (mut inside, mut outside) = (node.connect_as(&ann).await, node.connect_as(&bob).await);
    let secret = ann.event(9, &[&["h", "secret"], &["H", "open"], &["t", "x"]], "the plan");
    inside.store(&secret).await;
    let long = "x".repeat(129);
    // Named beside one that may be read, in another filter, badly, or with a tag that is none.
    let closed: Vec<Vec<Value>> = vec![
        vec![json!({ "#h": ["open", "secret"] })],
        vec![json!({ "#h": ["open"] }), json!({ "#h": ["secret"] })],
        vec![json!({ "#h": [""] })],
        vec![json!({ "#h": [long] })],
        vec![json!({ "#h": ["a\u{0}b"] })],
        vec![json!({ "#h": ["secret\n"] })],
        vec![json!({ "#h": ["SECRET"] })],
        vec![json!({ "kinds": [39_000, 39_002], "#d": ["open", "secret"] })],
    ];
    let mut said = Vec::new();
    for filters in &closed {
        said.push(outside.subscribe("s", filters).await.expect_err("closed"));
        said.push(outside.count(filters).await.expect_err("closed"));
    }
    assert!(said.iter().all(|says| *says == said[0] && says.starts_with("restricted:")), "{said:?}");
    let empty = [
        json!({ "#H": ["open"] }),
        json!({ "#H": ["secret"] }),
        json!({ "#t": ["x"] }),
        json!({ "#h": ["open"], "#t": ["x"] }),
        json!({ "#d": ["secret"] }),
        json!({ "kinds": [39_000, 9], "#d": ["secret"] }),
        json!({ "kinds": [9, 9000, 9007, 39_001, 39_002, 39_003], "#p": [ann.hex()], "#d": ["secret"] }),
        json!({ "authors": [ann.hex()], "kinds": [9] }),
    ];
    for filter in empty {
        assert_eq!(outside.stored(filter.clone()).await, [""; 0], "{filter}");
        assert_eq!(outside.count(std::slice::from_ref(&filter)).await, Ok(0), "{filter}");
    }
    let bad: [&[&[&str]]; 6] = [
        &[&["h"]],
        &[&["h", ""]],
        &[&["h", &long]],
        &[&["h", "a\n"]],
        &[&["h", "open"], &["h", "open"]],
        &[],
    ];
    for tags in bad {
        let (is_stored, says) = inside.publish(&ann.event(9, tags, "")).await;
        assert!(!is_stored && says.starts_with("invalid:"), "{tags:?}: {says}");
    }
    // What is about a key alone belongs to no channel.
    for kind in [0, 10_100, 30_175, 30_176, 30_177] {
        let tags: [&[&str]; 3] = [&["h", "open"], &["p", &ann.hex()], &["d", "x"]];
        inside.refused(&ann.event(kind, &tags, ""), "invalid: this kind belongs to no channel").await;
    }
}

/// A reply, a reaction or a deletion of what cannot be read is answered as one of what is not there.
#[tokio::test]
async fn what_points_at_a_hidden_message_tells_nothing_of_it() {
    let Community { node, ann, bob, owner } = Community::new().await;
    let (mut inside, mut outside) = (node.connect_as(&ann).await, node.connect_as(&bob).await);
    inside.store(&owner.event(9000, &[H, &["p", &bob.hex()]], "")).await;
    let secret = ann.event(9, &[&["h", "secret"]], "the plan");
    inside.store(&secret).await;
    let missing = "1".repeat(64);
    for kind in [9, 7, 5, 40_003, 45_003, 9005] {
        let about = |target: &str| bob.event(kind, &[H, &["e", target, "", "root"]], "");
        let said = [outside.publish(&about(&id(&secret))).await, outside.publish(&about(&missing)).await];
        assert_eq!(said[0], said[1], "{kind}");
    }
    // The deletion is its author's alone to see, and took nothing away.
    let of_secret = json!({ "kinds": [5], "#e": [id(&secret)] });
    assert_eq!(node.connect().await.count(std::slice::from_ref(&of_secret)).await, Ok(0));
    assert_eq!(outside.count(&[of_secret]).await, Ok(1));
    assert_eq!(inside.stored(json!({ "ids": [id(&secret)] })).await, [id(&secret)]);
}

/// An owner who is no member manages a private channel and does not read it.
#[tokio::test]
async fn managing_a_channel_is_not_reading_it() {
    let Community { node, ann, owner, .. } = Community::new().await;
    let mut admin = node.connect_as(&owner).await;
    let own: &[&str] = &["h", "own"];
    admin.store(&ann.event(9007, &[own, &["private"]], "")).await;
    let message = ann.event(9, &[own], "ours");
    admin.store(&message).await;
    assert!(admin.subscribe("s", &[of_channel("own")]).await.is_err());
    assert_eq!(admin.count(&[json!({ "ids": [id(&message)] })]).await, Ok(0));
    admin.store(&owner.event(9005, &[own, &["e", &id(&message)]], "")).await;
}
