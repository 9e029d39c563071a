//! What the relay promises (section 1), asked as a client asks.

use serde_json::{Value, json};

mod support;

use support::{Client, Community, Node, Person, id, now, of_channel, settings, soon};

#[tokio::test]
async fn an_event_is_stored_once_and_found() {
    let Community { node, ann, .. } = Community::new().await;
    let mut client = node.connect().await;
    let message = ann.event(9, &[&["h", "open"]], "hello");
    client.store(&message).await;
    let (is_stored, says) = client.publish(&message).await;
    assert!(is_stored && says.starts_with("duplicate:"), "{says}");
    assert_eq!(client.stored(json!({ "ids": [id(&message)] })).await, [id(&message)]);
    assert_eq!(client.count(&[of_channel("open")]).await, Ok(1));
}

#[tokio::test]
async fn what_is_not_whole_is_refused_and_says_why() {
    let Community { node, owner, ann, bob } = Community::new().await;
    let mut client = node.connect().await;
    let key = bob.hex();
    let h: &[&str] = &["h", "open"];
    let many = |tag: &[&str], count| {
        let tags = [json!(h)].into_iter().chain(std::iter::repeat_n(json!(tag), count));
        Value::Array(tags.collect())
    };
    let table = [
        (9, many(&["p", &key], 50), ""),
        (9, many(&["p", &key], 51), "invalid: 51 `p` tags"),
        (9, many(&["mention", &key], 201), "invalid: 201 `mention` tags"),
        (9, json!([h, ["mention", key, "x"]]), "invalid: tag 1"),
        (9, json!([h, ["buzz:mention-snapshot"]]), "invalid: tag 1"),
        (9, json!([]), "invalid: this kind needs an `h` tag"),
        (9, json!([h, ["h", "secret"]]), "invalid: an event belongs to one channel"),
        (22_242, json!([h]), "invalid: events of kind 22242"),
        (9003, json!([h]), "restricted: only admins"),
        (39_000, json!([["d", "open"]]), "restricted: the relay alone"),
        (20_000, json!([h]), "blocked: "),
        (10_100, json!([]), "invalid: an agent names its one owner"),
    ];
    for (kind, tags, expected) in table {
        let tags: Vec<Vec<&str>> = serde::Deserialize::deserialize(&tags).expect("lists of texts");
        let tags: Vec<&[&str]> = tags.iter().map(Vec::as_slice).collect();
        let (is_stored, says) = client.publish(&ann.event(kind, &tags, "text")).await;
        assert!(says.starts_with(expected) && is_stored == expected.is_empty(), "{kind} {tags:?}: {says}");
    }
    let long = ann.event(9, &[h], &"a".repeat(64 * 1024 + 1));
    client.refused(&long, "invalid: the text is longer").await;
    client.refused(&ann.event_at(now() + 16 * 60, 9, &[h], ""), "invalid: created_at").await;
    let old = ann.event_at(now() - 61 * 60, 9, &[h], "");
    client.refused(&old, "invalid: created_at").await;
    client.authenticate(&owner).await;
    client.store(&old).await;
}

#[tokio::test]
async fn a_forged_event_is_refused_and_many_end_the_connection() {
    let Community { node, ann, bob, .. } = Community::new().await;
    let mut client = node.connect().await;
    let mut forged = json!(ann.event(9, &[&["h", "open"]], "true"));
    forged["content"] = json!("false");
    let mut of_another = ann.event(9, &[&["h", "open"]], "mine");
    of_another.pubkey = bob.keys.public_key();
    for event in [forged, json!(of_another)] {
        client.send(&json!(["EVENT", event])).await;
        let answer = client.wait(|message| message[0] == "OK").await;
        assert_eq!((&answer[1], &answer[2]), (&event["id"], &json!(false)));
        assert!(answer[3].as_str().is_some_and(|says| says.starts_with("invalid:")), "{answer}");
    }
    for _ in 0..8 {
        client.send(&json!(["EVENT", of_another])).await;
    }
    while client.next().await.is_some() {}
}

#[tokio::test]
async fn a_message_that_is_not_understood_is_answered_about_what_it_was() {
    let owner = Person::new();
    let node = Node::start(settings(&owner)).await;
    let mut client = node.connect().await;
    let table = [
        ("nonsense", json!(["NOTICE"])),
        ("[]", json!(["NOTICE"])),
        (r#"["HELLO"]"#, json!(["NOTICE"])),
        (r#"["EVENT",{"id":"abc"}]"#, json!(["OK", "abc", false])),
        (r#"["REQ","s"]"#, json!(["CLOSED", "s"])),
        (r#"["REQ","s",{"ids":["zz"]}]"#, json!(["CLOSED", "s"])),
        (r#"["COUNT","s",{"kinds":["a"]}]"#, json!(["CLOSED", "s"])),
        (r#"["REQ",7,{}]"#, json!(["NOTICE"])),
    ];
    for (text, expected) in table {
        client.send_text(text).await;
        let answer = client.next().await.expect("an answer");
        let begins = expected.as_array().expect("a list").iter().zip(answer.as_array().expect("a list"));
        assert!(begins.clone().all(|(wanted, got)| wanted == got), "{text}: {answer}");
        assert!(answer.to_string().contains("invalid: "), "{answer}");
    }
    // The longest that is read, nested and never closed.
    client.send_text(&"[".repeat(1_000_000)).await;
    assert_eq!(client.next().await.expect("an answer")[0], "NOTICE");
}

/// The reason and the words are the same for a private channel and for none at all.
#[tokio::test]
async fn a_private_channel_looks_like_none_to_those_outside() {
    let Community { node, ann, bob, .. } = Community::new().await;
    let mut inside = node.connect_as(&ann).await;
    let secret = ann.event(9, &[&["h", "secret"], &["p", &bob.hex()]], "the plan");
    inside.store(&secret).await;
    assert_eq!(inside.stored(of_channel("secret")).await, [id(&secret)]);

    let mut outside = node.connect().await;
    let mut answers = Vec::new();
    for channel in ["secret", "nothing"] {
        let metadata = json!({ "kinds": [39000], "#d": [channel] });
        for filter in [of_channel(channel), metadata] {
            answers.push(outside.subscribe("s", std::slice::from_ref(&filter)).await.expect_err("closed"));
            answers.push(outside.count(&[filter]).await.expect_err("closed"));
        }
    }
    assert!(
        answers.iter().all(|says| *says == answers[0] && says.starts_with("auth-required:")),
        "{answers:?}"
    );
    outside.authenticate(&bob).await;
    let mut answers = Vec::new();
    for channel in ["secret", "nothing"] {
        answers.push(outside.subscribe("s", &[of_channel(channel)]).await.expect_err("closed"));
    }
    assert!(answers[0] == answers[1] && answers[0].starts_with("restricted:"), "{answers:?}");

    // What names no channel is answered over what the key may read.
    let filters = [
        json!({ "ids": [id(&secret)] }),
        json!({ "#p": [bob.hex()] }),
        json!({ "authors": [ann.hex()] }),
        json!({ "search": "plan" }),
        json!({ "kinds": [9] }),
        json!({ "#d": ["secret"] }),
        json!({ "#h": ["open"], "ids": [id(&secret)] }),
    ];
    for filter in filters {
        assert_eq!(outside.stored(filter.clone()).await, [""; 0], "{filter}");
        assert_eq!(outside.count(std::slice::from_ref(&filter)).await, Ok(0), "{filter}");
    }
    assert_eq!(inside.stored(json!({ "search": "PLAN" })).await, [id(&secret)]);

    // Writing: in the same words again. The event tells its own channel, so only the rest is compared.
    let write = |channel: &str| {
        let h: &[&str] = &["h", channel];
        let e: &[&str] = &["e", &id(&secret)];
        [
            (9, vec![h]),
            (9021, vec![h]),
            (9022, vec![h]),
            (9000, vec![h, &["p", &"0".repeat(64)]]),
            (9008, vec![h]),
            (40003, vec![h, e]),
        ]
        .map(|(kind, tags)| bob.event(kind, &tags, ""))
    };
    for (there, not_there) in write("secret").iter().zip(&write("nothing")) {
        let said = (outside.publish(there).await, outside.publish(not_there).await);
        assert_eq!(said.0, said.1, "{there:?}");
        assert!(!said.0.0, "{said:?}");
    }
    // Whether a message is there cannot be told from how an edit or a deletion of it is answered.
    for kind in [40003, 5] {
        let missing = "1".repeat(64);
        let about = |target: &str| bob.event(kind, &[&["e", target], &["h", "open"]], "");
        assert_eq!(outside.publish(&about(&id(&secret))).await, outside.publish(&about(&missing)).await);
    }
    assert_eq!(inside.stored(of_channel("secret")).await, [id(&secret)]);
}

#[tokio::test]
async fn a_connection_gets_each_new_event_once_and_only_what_it_may_read() {
    let Community { node, owner, ann, bob, .. } = Community::new().await;
    let mut writer = node.connect().await;
    let (mut inside, mut outside) = (node.connect_as(&ann).await, node.connect_as(&bob).await);
    let filters = [json!({ "kinds": [9] }), json!({ "#p": [bob.hex()] })];
    for client in [&mut inside, &mut outside] {
        assert_eq!(client.subscribe("new", &filters).await, Ok(vec![]));
    }
    let mut expected = [Vec::new(), Vec::new()];
    for n in 0..40 {
        let channel = if n % 2 == 0 { "open" } else { "secret" };
        let message = ann.event(9, &[&["h", channel], &["p", &bob.hex()]], &n.to_string());
        writer.store(&message).await;
        expected[0].push(id(&message));
        if n % 2 == 0 {
            expected[1].push(id(&message));
        }
    }
    let last = owner.event(9, &[&["h", "open"]], "last");
    writer.store(&last).await;
    for (client, mut expected) in [&mut inside, &mut outside].into_iter().zip(expected) {
        expected.push(id(&last));
        for wanted in expected {
            assert_eq!(client.event("new").await, wanted);
        }
        assert_eq!(client.came("new").await, [""; 0]);
    }
}

/// What is replaced or deleted before the node looks was committed all the same, and is owed to whoever
/// listens.
#[tokio::test]
async fn what_goes_at_once_is_delivered_too() {
    let Community { node, ann, .. } = Community::new().await;
    let (mut client, mut late) = (node.connect_as(&ann).await, node.connect_as(&ann).await);
    let mine = json!({ "authors": [ann.hex()] });
    assert_eq!(client.subscribe("new", std::slice::from_ref(&mine)).await, Ok(vec![]));
    let first = ann.event_at(now() - 1, 0, &[], "{}");
    let second = ann.event_at(now(), 0, &[], "{}");
    let said = ann.event(9, &[&["h", "secret"]], "said in haste");
    let deletion = ann.event(5, &[&["e", &id(&said)]], "");
    // One transaction, so nobody ever reads what stood between.
    let batch = [&first, &second, &said, &deletion].map(|event| support::stored(event).into());
    node.store.append(batch.into()).await.expect("it stores");
    // Stored beside the relay, so nobody was woken yet.
    let last = ann.event(9, &[&["h", "open"]], "last");
    client.store(&last).await;
    for event in [&first, &second, &said, &deletion, &last] {
        assert_eq!(client.event("new").await, id(event));
    }
    // Whoever comes later is shown what stands.
    let mut standing = late.stored(mine).await;
    let mut expected = [&second, &deletion, &last].map(id);
    standing.sort_unstable();
    expected.sort_unstable();
    assert_eq!(standing, expected);
}

/// A request is made at every moment around an event being stored: it comes once, before or after EOSE.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_missed_or_repeated_across_the_end_of_the_stored() {
    let Community { node, ann, .. } = Community::new().await;
    let (mut writer, mut reader) = (node.connect().await, node.connect().await);
    for round in 0..200 {
        let messages: Vec<_> = (0..4)
            .map(|n| ann.event(9, &[&["h", "open"], &["t", &round.to_string()]], &n.to_string()))
            .collect();
        let filter = json!({ "#t": [round.to_string()] });
        for (n, message) in messages.iter().enumerate() {
            writer.send(&json!(["EVENT", message])).await;
            if n == round % 4 {
                reader.send(&json!(["REQ", "r", filter])).await;
            }
        }
        let mut came = Vec::new();
        let mut is_over = false;
        while came.len() < 4 || !is_over {
            let message = reader.next().await.expect("a message");
            match message[0].as_str() {
                Some("EVENT") => came.push(message[2]["id"].as_str().expect("an id").to_owned()),
                Some("EOSE") => is_over = true,
                _ => panic!("{message}"),
            }
        }
        came.extend(reader.came("r").await);
        came.sort_unstable();
        let mut expected: Vec<_> = messages.iter().map(id).collect();
        expected.sort_unstable();
        assert_eq!(came, expected);
        for message in &messages {
            writer.wait(|answer| answer[0] == "OK" && answer[1] == id(message)).await;
        }
        reader.send(&json!(["CLOSE", "r"])).await;
    }
}

#[tokio::test]
async fn a_member_who_is_removed_gets_nothing_after_the_answer() {
    let Community { node, owner, ann, .. } = Community::new().await;
    let (mut admin, mut member) = (node.connect_as(&owner).await, node.connect_as(&ann).await);
    assert_eq!(member.subscribe("s", &[of_channel("secret")]).await, Ok(vec![]));
    admin.store(&owner.event(9, &[&["h", "secret"]], "for both")).await;
    member.event("s").await;
    admin.store(&owner.event(9001, &[&["h", "secret"], &["p", &ann.hex()]], "")).await;
    for n in 0..20 {
        admin.store(&owner.event(9, &[&["h", "secret"]], &n.to_string())).await;
    }
    assert_eq!(member.came("s").await, [""; 0]);
    assert!(member.subscribe("s", &[of_channel("secret")]).await.is_err());
    member.refused(&ann.event(9, &[&["h", "secret"]], ""), "restricted:").await;
    // Back again, what comes then comes.
    assert!(member.subscribe("all", &[json!({ "kinds": [9] })]).await.is_ok());
    admin.store(&owner.event(9000, &[&["h", "secret"], &["p", &ann.hex()]], "again")).await;
    let again = owner.event(9, &[&["h", "secret"]], "welcome back");
    admin.store(&again).await;
    assert_eq!(member.event("all").await, id(&again));
}

#[tokio::test]
async fn a_channel_is_joined_left_and_described() {
    let Community { node, owner, ann, bob } = Community::new().await;
    let mut client = node.connect_as(&owner).await;
    let h: &[&str] = &["h", "open"];
    client.refused(&bob.event(9, &[h], ""), "restricted:").await;
    let join = bob.event(9021, &[h], "");
    client.store(&join).await;
    client.store(&bob.event(9, &[h], "here")).await;
    let again = bob.event(9021, &[h], "again");
    client.refused(&again, "duplicate:").await;
    assert!(client.publish(&join).await.0, "the same event again");
    let granted = json!({ "kinds": [9000], "#p": [bob.hex()], "#e": [id(&join)] });
    assert_eq!(client.count(&[granted]).await, Ok(1));

    let described = |kind: u32| json!({ "kinds": [kind], "#d": ["open"] });
    assert_eq!(members(&mut client).await, sorted([&owner, &ann, &bob]));
    client.store(&bob.event(9022, &[h], "")).await;
    assert_eq!(members(&mut client).await, sorted([&owner, &ann]));
    client.refused(&bob.event(9, &[h], "gone"), "restricted:").await;
    client.refused(&ann.event(9002, &[h, &["name", "Mine"]], ""), "restricted: only admins").await;
    client.store(&owner.event(9002, &[h, &["name", "New name"], &["closed"]], "")).await;
    let metadata = first(&mut client, described(39_000)).await;
    let tags = metadata["tags"].as_array().expect("tags");
    for expected in [json!(["name", "New name"]), json!(["closed"]), json!(["type", "stream"])] {
        assert!(tags.contains(&expected), "{metadata}");
    }
    client.refused(&bob.event(9021, &[h], "now"), "restricted: joining takes an invitation").await;
    let code = "a code that nobody guesses";
    client.store(&owner.event(9009, &[h, &["code", code]], "")).await;
    client.store(&bob.event(9021, &[h, &["code", code]], "with it")).await;
    client.store(&owner.event(9008, &[h], "")).await;
    client.refused(&ann.event(9, &[h], "late"), "restricted:").await;
    assert!(client.subscribe("s", &[of_channel("open")]).await.is_err());
    client.refused(&owner.event(9007, &[h], "anew"), "blocked:").await;
}

/// More members than one event of a client may name.
#[tokio::test]
async fn a_large_channel_is_described_whole() {
    let Community { node, owner, ann, .. } = Community::new().await;
    let mut client = node.connect().await;
    let keys: Vec<String> = (0..3000).map(|n| format!("{n:064x}")).collect();
    for keys in keys.chunks(1500) {
        let named: Vec<[&str; 2]> =
            [["h", "open"]].into_iter().chain(keys.iter().map(|key| ["p", &**key])).collect();
        let tags: Vec<&[&str]> = named.iter().map(|tag| &tag[..]).collect();
        client.store(&owner.event(9000, &tags, "")).await;
    }
    let mut expected = [keys, sorted([&owner, &ann])].concat();
    expected.sort_unstable();
    assert_eq!(members(&mut client).await, expected);
}

async fn first(client: &mut Client, filter: Value) -> Value {
    client.send(&json!(["REQ", "first", filter])).await;
    let event = client.wait(|message| message[0] == "EVENT" && message[1] == "first").await;
    client.send(&json!(["CLOSE", "first"])).await;
    client.wait(|message| message[0] == "EOSE" && message[1] == "first").await;
    event[2].clone()
}

async fn members(client: &mut Client) -> Vec<String> {
    let described = first(client, json!({ "kinds": [39002], "#d": ["open"] })).await;
    let tags = described["tags"].as_array().expect("tags").iter();
    let keys = tags.filter(|tag| tag[0] == "p").map(|tag| tag[1].as_str().expect("a key").to_owned());
    let mut keys: Vec<String> = keys.collect();
    keys.sort_unstable();
    keys
}

fn sorted<const N: usize>(people: [&Person; N]) -> Vec<String> {
    let mut keys: Vec<String> = people.iter().map(|person| person.hex()).collect();
    keys.sort_unstable();
    keys
}

#[tokio::test]
async fn an_edit_is_by_the_author_or_the_owner_of_the_agent() {
    let Community { node, owner, ann, bob } = Community::new().await;
    let agent = Person::new();
    let mut client = node.connect().await;
    let h: &[&str] = &["h", "open"];
    client.store(&owner.event(9000, &[h, &["p", &agent.hex()], &["p", &bob.hex()]], "")).await;
    let (by_ann, by_agent) = (ann.event(9, &[h], "by Ann"), agent.event(9, &[h], "by the agent"));
    client.store(&by_ann).await;
    client.store(&by_agent).await;
    let edit = |who: &Person, of: &nostr::event::Event, text: &str| {
        who.event(40003, &[h, &["e", &id(of)], &["buzz:mention-snapshot"]], text)
    };
    client.store(&edit(&ann, &by_ann, "better")).await;
    client.refused(&edit(&bob, &by_ann, "mine"), "restricted:").await;
    client.refused(&edit(&bob, &by_agent, "mine"), "restricted:").await;
    client.store(&agent.event(10100, &[&["p", &bob.hex()]], "{}")).await;
    client.store(&edit(&bob, &by_agent, "ours")).await;
    client.refused(&edit(&ann, &by_agent, "mine"), "restricted:").await;
    let elsewhere = ann.event(40003, &[&["h", "secret"], &["e", &id(&by_ann)]], "");
    client.refused(&elsewhere, "invalid: there is no such message here").await;
    let two = ann.event(40003, &[h, &["e", &id(&by_ann)], &["e", &id(&by_agent)]], "");
    client.refused(&two, "invalid:").await;
}

#[tokio::test]
async fn what_was_deleted_is_gone_and_stays_gone() {
    let Community { node, owner, ann, bob } = Community::new().await;
    let mut client = node.connect().await;
    let h: &[&str] = &["h", "open"];
    let (first, second) = (ann.event(9, &[h], "first"), ann.event(9, &[h], "second"));
    client.store(&first).await;
    client.store(&second).await;
    client.refused(&bob.event(5, &[&["e", &id(&first)]], ""), "restricted:").await;
    client.store(&ann.event(5, &[&["e", &id(&first)]], "")).await;
    client.refused(&first, "blocked:").await;
    client.refused(&ann.event(9005, &[h, &["e", &id(&second)]], ""), "restricted:").await;
    client.store(&owner.event(9005, &[h, &["e", &id(&second)]], "")).await;
    client.refused(&second, "blocked:").await;
    assert_eq!(client.stored(json!({ "kinds": [9] })).await, [""; 0]);
    let unknown = "2".repeat(64);
    client.refused(&owner.event(9005, &[h, &["e", &unknown]], ""), "invalid:").await;
}

#[tokio::test]
async fn a_proof_counts_for_its_connection_alone() {
    let Community { node, ann, bob, .. } = Community::new().await;
    let (mut one, mut other) = (node.connect().await, node.connect().await);
    let proof = one.proof(&ann);
    one.send(&json!(["AUTH", proof])).await;
    assert_eq!(one.wait(|m| m[0] == "OK").await[2], true);
    other.send(&json!(["AUTH", proof])).await;
    let answer = other.wait(|m| m[0] == "OK").await;
    assert!(answer[2] == false && answer[3].as_str().is_some_and(|s| s.starts_with("invalid:")), "{answer}");
    one.refused(&proof, "invalid:").await;
    assert_eq!(one.stored(json!({ "kinds": [22242] })).await, [""; 0]);
    // A second key reads what it may read, beside the first.
    one.authenticate(&bob).await;
    assert!(one.subscribe("s", &[of_channel("secret")]).await.is_ok());
    assert!(other.subscribe("s", &[of_channel("secret")]).await.is_err());
}

#[tokio::test]
async fn newest_come_first_and_bounds_are_inclusive() {
    let Community { node, ann, .. } = Community::new().await;
    let mut client = node.connect().await;
    let at = now();
    let mut messages = Vec::new();
    for n in 0..12_u64 {
        let message = ann.event_at(at - n / 3, 9, &[&["h", "open"]], &format!("word{n} word"));
        client.store(&message).await;
        messages.push((at - n / 3, id(&message)));
    }
    messages.sort_by_key(|(at, id)| (std::cmp::Reverse(*at), id.clone()));
    let ids =
        |from: usize, to: usize| messages[from..to].iter().map(|(_, id)| id.clone()).collect::<Vec<_>>();
    let h = json!(["open"]);
    let table = [
        (json!({ "#h": h, "kinds": [9] }), ids(0, 12)),
        (json!({ "#h": h, "kinds": [9], "limit": 5 }), ids(0, 5)),
        (json!({ "#h": h, "kinds": [9], "since": at - 1 }), ids(0, 6)),
        (json!({ "#h": h, "kinds": [9], "until": at - 1 }), ids(3, 12)),
        (json!({ "#h": h, "kinds": [9], "since": at - 2, "until": at - 2 }), ids(6, 9)),
        (json!({ "search": "word", "limit": 4 }), ids(0, 4)),
        (json!({ "#h": h, "kinds": [9], "limit": 0 }), vec![]),
    ];
    for (filter, expected) in table {
        assert_eq!(client.stored(filter.clone()).await, expected, "{filter}");
    }
    let both = [json!({ "kinds": [9], "limit": 3 }), json!({ "kinds": [9], "until": at - 3 })];
    assert_eq!(client.subscribe("both", &both).await, Ok([ids(0, 3), ids(9, 12)].concat()));
    assert_eq!(client.count(&both).await, Ok(12), "a limit bounds no count");
}

#[tokio::test]
async fn limits_are_said_and_hold() {
    let owner = Person::new();
    let mut limited = settings(&owner);
    limited.limits.events_per_second = 3;
    limited.limits.requests_per_second = 200;
    limited.limits.connections_per_address = 3;
    limited.limits.subscriptions = 2;
    limited.limits.filters = 2;
    let node = Node::start(limited).await;
    let mut client = node.connect().await;
    let mut refused = Vec::new();
    for n in 0..20 {
        let (_, says) = client.publish(&owner.event(0, &[], &n.to_string())).await;
        refused.extend(says.starts_with("rate-limited:").then_some(n));
    }
    assert!(!refused.is_empty() && !refused.contains(&0), "{refused:?}");
    assert!(client.subscribe("a", &[json!({ "kinds": [0] })]).await.is_ok());
    assert!(client.subscribe("b", &[json!({ "kinds": [0] })]).await.is_ok());
    let says = client.subscribe("c", &[json!({ "kinds": [0] })]).await.expect_err("too many");
    assert!(says.starts_with("rate-limited: at most 2"), "{says}");
    assert!(client.subscribe("a", &[json!({ "kinds": [1] })]).await.is_ok(), "the same again is none more");
    let says = client.count(&vec![json!({}); 3]).await.expect_err("too many");
    assert!(says.starts_with("invalid: at most 2"), "{says}");
    let (_two, _three) = (node.connect().await, node.connect().await);
    let (mut fourth, _) = tokio_tungstenite::connect_async(node.url()).await.expect("it connects");
    let first =
        soon("a word", futures_util::StreamExt::next(&mut fourth)).await.expect("a word").expect("text");
    assert!(first.to_text().expect("text").contains("rate-limited:"), "{first}");
}

#[tokio::test]
async fn a_node_that_stops_tells_its_clients_and_loses_nothing() {
    let Community { mut node, ann, .. } = Community::new().await;
    let (mut writer, mut reader) = (node.connect().await, node.connect().await);
    assert!(reader.subscribe("s", &[of_channel("open")]).await.is_ok());
    let messages: Vec<_> = (0..200).map(|n| ann.event(9, &[&["h", "open"]], &n.to_string())).collect();
    for message in &messages {
        writer.send(&json!(["EVENT", message])).await;
    }
    writer.wait(|message| message[0] == "OK").await;
    node.stop().await;
    let mut acknowledged = vec![];
    while let Some(message) = writer.next().await {
        if message[0] == "OK" && message[2] == true {
            acknowledged.push(message[1].as_str().expect("an id").to_owned());
        }
    }
    let mut last = Value::Null;
    while let Some(message) = reader.next().await {
        last = message;
    }
    assert_eq!((&last[0], &last[1]), (&json!("CLOSED"), &json!("s")));
    for id in acknowledged {
        let id = id.parse().expect("an id");
        let stored = node.store.event(&vocative_store::Reader::Server, id).await.expect("it answers");
        assert!(stored.is_some(), "{id}");
    }
}
