//! Too long, too many, too deep.

use serde_json::{Value, json};

use super::support::{Community, id};

/// What is refused is said, and the connection goes on.
#[tokio::test]
async fn what_is_too_large_is_refused_and_said() {
    let Community { node, ann, .. } = Community::new().await;
    let mut client = node.connect().await;
    let h: &[&str] = &["h", "open"];
    let tags = |count: usize| [h].into_iter().chain(std::iter::repeat_n::<&[&str]>(&["t", "x"], count));
    let long = "x".repeat(66_000);
    let long_tag: &[&str] = &["t", &long];
    let two = [h, long_tag, long_tag];
    let events = [
        (ann.event(9, &tags(1999).collect::<Vec<_>>(), ""), None),
        (ann.event(9, &tags(2000).collect::<Vec<_>>(), ""), Some("invalid: it is too large")),
        (ann.event(9, &[h], &"a".repeat(64 * 1024)), None),
        (ann.event(9, &[h], &"a".repeat(64 * 1024 + 1)), Some("invalid: the text is longer")),
        (ann.event(9, &two, ""), Some("invalid: the event is longer than 131072 bytes")),
        (ann.event(9, &[h], "a\0b"), Some("invalid: it contains the character U+0000")),
    ];
    for (event, refused) in events {
        match refused {
            None => client.store(&event).await,
            Some(reason) => drop(client.refused(&event, reason).await),
        }
    }
    let many = |n: usize| (0..n).map(|n| json!(n.to_string())).collect::<Vec<_>>();
    let nested = format!(r##"{{"#t":{}}}"##, "[".repeat(100_000) + &"]".repeat(100_000));
    let filters = [
        (vec![json!({}); 20], None),
        (vec![json!({}); 300_000], Some("invalid: at most 20 filters")),
        (vec![json!({ "#t": many(5000) })], None),
        (vec![json!({ "#t": many(2000) }), json!({ "#e": many(3001) })], Some("invalid: the filters of one")),
        (vec![json!({ "kinds": (0..=5000).collect::<Vec<_>>() })], Some("invalid: the filters of one")),
        (vec![json!({ "search": "a".repeat(257) })], Some("invalid: a search has at most")),
        (vec![json!({ "limit": 1_000_000 })], None),
    ];
    for (filters, refused) in filters {
        for what in ["REQ", "COUNT"] {
            let request: Vec<Value> = [json!(what), json!("s")].into_iter().chain(filters.clone()).collect();
            client.send(&Value::Array(request)).await;
            let is_end =
                |m: &Value| m[1] == "s" && ["EOSE", "COUNT", "CLOSED"].iter().any(|word| m[0] == *word);
            let answer = client.wait(is_end).await;
            let says = answer[2].as_str().unwrap_or_default();
            assert!(says.starts_with(refused.unwrap_or_default()), "{what}: {answer}");
            assert_eq!(answer[0] == "CLOSED", refused.is_some(), "{what}: {answer}");
        }
    }
    client.send_text(&format!(r#"["REQ","s",{nested}]"#)).await;
    assert_eq!(client.wait(|m| m[0] == "CLOSED").await[1], "s");
    client.send_text(&format!(r#"["EVENT",{nested}]"#)).await;
    assert_eq!(client.wait(|m| m[0] == "NOTICE").await[0], "NOTICE");
}

#[tokio::test]
async fn a_message_that_is_too_long_ends_its_connection_alone() {
    let Community { node, ann, .. } = Community::new().await;
    let (mut client, mut other) = (node.connect().await, node.connect().await);
    client.send_text(&format!(r#"["CLOSE","{}"]"#, "a".repeat(1024 * 1024))).await;
    while client.next().await.is_some() {}
    other.store(&ann.event(9, &[&["h", "open"]], "here")).await;
}

/// What open subscriptions may take is bounded for each connection, and given back.
#[tokio::test]
async fn subscriptions_that_name_too_much_are_refused() {
    let Community { node, .. } = Community::new().await;
    let mut client = node.connect().await;
    let filter = |n: usize| json!({ "#t": (0..4000).map(|i| format!("{n}-{i}")).collect::<Vec<_>>() });
    let mut open = 0;
    let says = loop {
        match client.subscribe(&open.to_string(), &[filter(open)]).await {
            Ok(stored) => assert_eq!(stored, [""; 0]),
            Err(says) => break says,
        }
        open += 1;
    };
    assert!((4..20).contains(&open) && says.starts_with("rate-limited: the open"), "{open}: {says}");
    client.send(&json!(["CLOSE", "0"])).await;
    assert!(client.subscribe("again", &[filter(0)]).await.is_ok());
}

/// An answer far larger than what is held of it at once is whole, in order, and each event comes once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_in_pieces_is_whole() {
    let Community { node, ann, .. } = Community::new().await;
    let mut client = node.connect().await;
    let now = super::support::now();
    let mut expected = Vec::new();
    for n in 0..60_u64 {
        let size = if n % 3 == 0 { 60_000 } else { 10 };
        let text = char::from(b'a' + (n % 26) as u8).to_string().repeat(size);
        let message = ann.event_at(now - n / 2, 9, &[&["h", "open"], &["t", &n.to_string()]], &text);
        client.store(&message).await;
        expected.push((std::cmp::Reverse(now - n / 2), id(&message)));
    }
    expected.sort();
    let expected: Vec<String> = expected.into_iter().map(|(_, id)| id).collect();
    // Twenty filters that each ask for all of it.
    let filters: Vec<Value> = (0..20).map(|n| json!({ "kinds": [9, 100 + n] })).collect();
    for _ in 0..3 {
        let stored = client.subscribe("all", &filters).await;
        assert_eq!(stored.as_ref(), Ok(&expected));
    }
    assert_eq!(client.count(&filters).await, Ok(60));
}

/// A client that asks for far more than it reads makes the node hold little of it.
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_filter_bomb_does_not_fill_the_memory() {
    fn resident() -> usize {
        let pages = std::fs::read_to_string("/proc/self/statm").expect("Linux has it");
        pages.split(' ').nth(1).and_then(|pages| pages.parse().ok()).map_or(0, |pages: usize| pages * 4096)
    }
    let Community { node, ann, .. } = Community::new().await;
    let mut client = node.connect().await;
    for n in 0..100 {
        client.store(&ann.event(9, &[&["h", "open"]], &format!("{n}{}", "a".repeat(60_000)))).await;
    }
    let before = resident();
    let mut bombs = Vec::new();
    for _ in 0..4 {
        let mut bomb = node.connect().await;
        for n in 0..60 {
            let filters = (0..20).map(|i| json!({ "kinds": [9, 100 + i] }));
            let request = [json!("REQ"), json!(n.to_string())].into_iter().chain(filters);
            bomb.send(&Value::Array(request.collect())).await;
        }
        bombs.push(bomb);
    }
    // Whoever asks after them is answered all the same.
    for _ in 0..20 {
        assert_eq!(client.stored(json!({ "kinds": [9], "limit": 100 })).await.len(), 100);
    }
    let grown = resident().saturating_sub(before);
    // Held at once the answers would take 240 times 6 MB, and more for each filter.
    assert!(grown < 200 * 1024 * 1024, "{grown} bytes more");
}
