//! Rights that a key does not have, does not have yet, or has no more.

use serde_json::{Value, json};

use super::support::{Client, Community, Person, id, now, of_channel};

const H: &[&str] = &["h", "open"];

/// Sends both at once, on connections of their own, and answers what became of each.
async fn at_once(
    one: (&mut Client, &nostr::event::Event),
    other: (&mut Client, &nostr::event::Event),
) -> [(bool, String); 2] {
    one.0.send(&json!(["EVENT", one.1])).await;
    other.0.send(&json!(["EVENT", other.1])).await;
    [one.0.answer(&id(one.1)).await, other.0.answer(&id(other.1)).await]
}

async fn tags_of(client: &mut Client, kind: u32, channel: &str) -> Vec<Value> {
    client.send(&json!(["REQ", "tags", { "kinds": [kind], "#d": [channel] }])).await;
    let event = client.wait(|message| message[0] == "EVENT" && message[1] == "tags").await;
    client.send(&json!(["CLOSE", "tags"])).await;
    client.wait(|message| message[0] == "EOSE" && message[1] == "tags").await;
    event[2]["tags"].as_array().expect("tags").clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_who_make_one_channel_at_once_one_does() {
    let Community { node, ann, owner, .. } = Community::new().await;
    let (mut one, mut other) = (node.connect_as(&ann).await, node.connect_as(&owner).await);
    for n in 0..30 {
        let name = format!("new-{n}");
        let h: &[&str] = &["h", &name];
        let (by_ann, by_owner) = (ann.event(9007, &[h], ""), owner.event(9007, &[h], ""));
        let said = at_once((&mut one, &by_ann), (&mut other, &by_owner)).await;
        let made = said.iter().filter(|(is_made, _)| *is_made).count();
        assert_eq!(made, 1, "{said:?}");
        let admins = tags_of(&mut one, 39_001, &name).await;
        let winner = if said[0].0 { &ann } else { &owner };
        assert_eq!(admins, [json!(["d", name]), json!(["p", winner.hex(), "admin"])]);
    }
}

/// Whoever changes one thing of a channel brings back nothing that was changed at the same time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_undoes_none_that_was_made_at_once() {
    let Community { node, ann, owner, bob } = Community::new().await;
    let (mut one, mut other) = (node.connect_as(&ann).await, node.connect_as(&owner).await);
    let mut outside = node.connect_as(&bob).await;
    for n in 0..30 {
        let name = format!("new-{n}");
        let h: &[&str] = &["h", &name];
        other.store(&owner.event(9007, &[h, &["p", &ann.hex(), "admin"]], "")).await;
        let closes =
            if n % 2 == 0 { owner.event(9002, &[h, &["private"]], "") } else { owner.event(9008, &[h], "") };
        let renames = ann.event(9002, &[h, &["name", "another"]], "");
        let said = at_once((&mut one, &renames), (&mut other, &closes)).await;
        assert!(said[1].0, "{said:?}");
        assert!(outside.subscribe("s", &[of_channel(&name)]).await.is_err(), "{n}: {said:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_admin_who_is_removed_at_once_with_his_act_does_it_before_or_not_at_all() {
    let Community { node, ann, owner, bob } = Community::new().await;
    let (mut one, mut other) = (node.connect_as(&ann).await, node.connect_as(&owner).await);
    for n in 0..30 {
        let name = format!("new-{n}");
        let h: &[&str] = &["h", &name];
        other.store(&owner.event(9007, &[h, &["p", &ann.hex(), "admin"]], "")).await;
        let adds = ann.event(9000, &[h, &["p", &bob.hex()]], "");
        let removes = owner.event(9001, &[h, &["p", &ann.hex()]], "");
        let said = at_once((&mut one, &adds), (&mut other, &removes)).await;
        assert!(said[1].0, "{said:?}");
        // What stands first in the order of commits was allowed when it was stored.
        let stored =
            node.store.events_after(vocative_store::Position::START, 1000).await.expect("it answers");
        let place = |event: &nostr::event::Event| {
            stored
                .iter()
                .find(|placed| placed.event.id.to_string() == id(event))
                .map(|placed| placed.position)
        };
        assert_eq!(place(&adds).is_some(), said[0].0, "{said:?}");
        assert!(place(&adds).is_none_or(|adds| Some(adds) < place(&removes)), "{said:?}");
    }
}

/// A request that cannot be stored is not granted either.
#[tokio::test]
async fn a_request_to_join_that_is_refused_grants_nothing() {
    let Community { node, bob, .. } = Community::new().await;
    let mut client = node.connect_as(&bob).await;
    let buried = bob.event(9021, &[H], "");
    client.store(&bob.event(5, &[&["e", &id(&buried)]], "")).await;
    client.refused(&buried, "blocked:").await;
    client.refused(&bob.event(9021, &[H], "\0"), "invalid:").await;
    client.refused(&bob.event(9, &[H], "am I in?"), "restricted:").await;
    let members = tags_of(&mut client, 39_002, "open").await;
    assert!(!members.contains(&json!(["p", bob.hex()])), "{members:?}");
    assert_eq!(client.count(&[json!({ "kinds": [9000], "#p": [bob.hex()] })]).await, Ok(0));
}

#[tokio::test]
async fn a_replayed_request_or_grant_brings_nobody_back() {
    let Community { node, owner, bob, .. } = Community::new().await;
    let mut client = node.connect_as(&owner).await;
    let join = bob.event(9021, &[H], "");
    client.store(&join).await;
    client.send(&json!(["REQ", "grant", { "kinds": [9000], "#e": [id(&join)] }])).await;
    let grant = client.wait(|m| m[0] == "EVENT" && m[1] == "grant").await[2].clone();
    client.store(&owner.event(9001, &[H, &["p", &bob.hex()]], "")).await;
    let mut stranger = node.connect_as(&bob).await;
    assert!(stranger.publish(&join).await.1.starts_with("duplicate:"));
    stranger.send(&json!(["EVENT", grant])).await;
    let (_, says) = stranger.answer(grant["id"].as_str().expect("an id")).await;
    assert!(says.starts_with("duplicate:"), "{says}");
    stranger.refused(&bob.event(9, &[H], "am I in?"), "restricted:").await;
    assert!(!tags_of(&mut client, 39_002, "open").await.contains(&json!(["p", bob.hex()])));
}

/// The relay's key signs for the relay alone: what says so without its signature is forged, and what it
/// describes is not taken from a client even with it.
#[tokio::test]
async fn what_the_relay_signs_cannot_be_injected() {
    let Community { node, owner, bob, .. } = Community::new().await;
    let mut client = node.connect_as(&bob).await;
    client.send(&json!(["REQ", "d", { "kinds": [39_000], "#d": ["open"] }])).await;
    let described = client.wait(|m| m[0] == "EVENT" && m[1] == "d").await[2].clone();
    for kind in [9000, 9001, 9002, 9005, 9007, 9008, 39_000, 39_002] {
        let tags: [&[&str]; 3] = [H, &["p", &bob.hex(), "admin"], &["d", "open"]];
        let mut forged = json!(bob.event(kind, &tags, ""));
        forged["pubkey"] = described["pubkey"].clone();
        let mut client = node.connect().await;
        client.send(&json!(["EVENT", forged])).await;
        let (is_stored, says) = client.answer(forged["id"].as_str().expect("an id")).await;
        assert!(!is_stored && says.starts_with("invalid: the id or the signature"), "{kind}: {says}");
    }
    // An older description, with its signature, that was replaced meanwhile.
    let mut admin = node.connect_as(&owner).await;
    admin.store(&owner.event(9002, &[H, &["name", "Newer"]], "")).await;
    client.send(&json!(["EVENT", described])).await;
    let (is_stored, says) = client.answer(described["id"].as_str().expect("an id")).await;
    assert!(!is_stored && says.starts_with("restricted:"), "{says}");
    assert!(tags_of(&mut client, 39_000, "open").await.contains(&json!(["name", "Newer"])));
}

#[tokio::test]
async fn an_invitation_is_for_its_channel_and_while_it_stands() {
    let Community { node, owner, ann, bob } = Community::new().await;
    let mut client = node.connect_as(&owner).await;
    let other: &[&str] = &["h", "other"];
    client.store(&owner.event(9007, &[other, &["closed"]], "")).await;
    client.store(&owner.event(9002, &[H, &["closed"]], "")).await;
    let codes = ["the code of the other channel", "a code that nobody made", "a code by a mere member"];
    client.store(&owner.event(9009, &[other, &["code", codes[0]]], "")).await;
    client.refused(&ann.event(9009, &[H, &["code", codes[2]]], ""), "restricted: only admins").await;
    for code in codes {
        client.refused(&bob.event(9021, &[H, &["code", code]], ""), "restricted: joining takes").await;
    }
    let code = "a code that is taken back";
    let invitation = owner.event(9009, &[H, &["code", code]], "");
    client.store(&invitation).await;
    client.store(&owner.event(9005, &[H, &["e", &id(&invitation)]], "")).await;
    client.refused(&bob.event(9021, &[H, &["code", code]], ""), "restricted: joining takes").await;
    // The record of what changed a channel stays.
    let added = owner.event(9000, &[H, &["p", &bob.hex()]], "");
    client.store(&added).await;
    client.refused(&owner.event(9005, &[H, &["e", &id(&added)]], ""), "invalid:").await;
}

/// Whoever can read a code can use it, so it is read by those who invite, and by whoever wrote it.
#[tokio::test]
async fn codes_are_not_shown() {
    let Community { node, owner, ann, bob } = Community::new().await;
    let (mut admin, mut member) = (node.connect_as(&owner).await, node.connect_as(&ann).await);
    let (mut nobody, mut asker) = (node.connect().await, node.connect_as(&bob).await);
    admin.store(&owner.event(9002, &[H, &["closed"]], "")).await;
    let all = [json!({ "kinds": [9009, 9021] }), json!({ "#h": ["open"] })];
    for client in [&mut admin, &mut member, &mut nobody, &mut asker] {
        client.subscribe("live", &all).await.expect("it is answered");
    }
    let code = "a code that nobody guesses";
    let invitation = owner.event(9009, &[H, &["code", code]], "");
    let request = bob.event(9021, &[H, &["code", code]], "");
    admin.store(&invitation).await;
    admin.store(&request).await;
    let last = owner.event(9, &[H], "last");
    admin.store(&last).await;
    let both = json!({ "ids": [id(&invitation), id(&request)] });
    let table =
        [(&mut admin, vec![0, 1]), (&mut member, vec![]), (&mut nobody, vec![]), (&mut asker, vec![1])];
    for (who, (client, expected)) in table.into_iter().enumerate() {
        let expected: Vec<String> = expected.into_iter().map(|n| id([&invitation, &request][n])).collect();
        let mut found = client.stored(both.clone()).await;
        found.sort_by_key(|found| *found == id(&request));
        assert_eq!(found, expected, "stored for {who}");
        let count = client.count(&[both.clone(), json!({ "kinds": [9009, 9021], "#h": ["open"] })]).await;
        assert_eq!(count, Ok(expected.len() as u64), "counted for {who}");
        let mut live = Vec::new();
        loop {
            match client.event("live").await {
                event if event == id(&last) => break,
                event => live.push(event),
            }
        }
        live.retain(|event| [id(&invitation), id(&request)].contains(event));
        assert_eq!(live, expected, "live for {who}");
    }
}

#[tokio::test]
async fn roles_are_what_they_are() {
    let Community { node, owner, ann, bob } = Community::new().await;
    let mut client = node.connect_as(&owner).await;
    let (a, b) = (ann.hex(), bob.hex());
    client.refused(&owner.event(9000, &[H, &["p", &a, "king"]], ""), "invalid: the one role").await;
    client.refused(&owner.event(9000, &[H], ""), "invalid:").await;
    client.refused(&owner.event(9000, &[H, &["p", "ann"]], ""), "invalid:").await;
    client.refused(&ann.event(9000, &[H, &["p", &a, "admin"]], ""), "restricted: only admins").await;
    client.refused(&ann.event(9001, &[H, &["p", &owner.hex()]], ""), "restricted: only admins").await;
    client.refused(&bob.event(9022, &[H], ""), "restricted:").await;
    client.store(&owner.event(9000, &[H, &["p", &a, "admin"]], "")).await;
    client.store(&ann.event(9000, &[H, &["p", &b]], "")).await;
    // Of one channel only.
    client.refused(&ann.event(9008, &[&["h", "secret"]], ""), "restricted: only admins").await;
    client.store(&owner.event(9000, &[H, &["p", &a]], "a member again")).await;
    client.refused(&ann.event(9001, &[H, &["p", &b]], ""), "restricted: only admins").await;
    // Direct messages take those whom they name, are private, and stay so.
    let dm: &[&str] = &["h", "dm"];
    client.store(&ann.event(9007, &[dm, &["type", "dm"], &["p", &b]], "")).await;
    client.store(&bob.event(9, &[dm], "hello")).await;
    client.refused(&owner.event(9, &[dm], "hello"), "restricted:").await;
    client.refused(&ann.event(9002, &[dm, &["public"]], ""), "invalid: direct messages").await;
    assert!(client.subscribe("s", &[of_channel("dm")]).await.is_err());
    // An older event is imported by the owner, and by nobody else.
    let old = ann.event_at(now() - 7200, 9, &[H], "old");
    node.connect_as(&ann).await.refused(&old, "invalid: created_at").await;
    client.store(&old).await;
}

#[tokio::test]
async fn only_a_message_of_the_same_channel_is_edited() {
    let Community { node, owner, ann, bob } = Community::new().await;
    let mut client = node.connect_as(&owner).await;
    let mut targets = Vec::new();
    for kind in [9, 40_002, 45_001, 45_003] {
        let target = ann.event(kind, &[H], "before");
        client.store(&target).await;
        client.store(&ann.event(40_003, &[H, &["e", &id(&target)]], "after")).await;
        targets.push(target);
    }
    let target = id(&targets[0]);
    let edit = ann.event(40_003, &[H, &["e", &target]], "an edit");
    client.store(&edit).await;
    let reaction = ann.event(7, &[H], "+");
    client.store(&reaction).await;
    client.store(&ann.event(5, &[&["e", &id(&targets[1])]], "")).await;
    let no_channel = ann.event(1, &[], "");
    client.store(&no_channel).await;
    let [edit, reaction, deleted, no_channel] = [&edit, &reaction, &targets[1], &no_channel].map(id);
    let other = id(&targets[2]);
    let table = [
        ("an edit", vec!["h open", &edit]),
        ("a reaction", vec!["h open", &reaction]),
        ("what was deleted", vec!["h open", &deleted]),
        ("what has no channel", vec!["h open", &no_channel]),
        ("what is elsewhere", vec!["h secret", &target]),
        ("nothing", vec!["h open"]),
        ("two", vec!["h open", &target, &other]),
        ("one, and a name that is none", vec!["h open", "nonsense", &target]),
        ("in no channel", vec![&target]),
    ];
    for (which, tags) in table {
        let tags: Vec<Vec<&str>> = tags
            .into_iter()
            .map(|tag| tag.strip_prefix("h ").map_or_else(|| vec!["e", tag], |channel| vec!["h", channel]))
            .collect();
        let tags: Vec<&[&str]> = tags.iter().map(Vec::as_slice).collect();
        let (is_stored, says) = client.publish(&ann.event(40_003, &tags, "edited")).await;
        assert!(!is_stored && says.starts_with("invalid:"), "{which}: {says}");
    }
    client.refused(&bob.event(40_003, &[H, &["e", &target]], "mine"), "restricted:").await;
}

#[tokio::test]
async fn an_owner_whom_an_agent_names_no_more_edits_no_more() {
    let Community { node, owner, ann, bob } = Community::new().await;
    let agent = Person::new();
    let mut client = node.connect_as(&owner).await;
    client.store(&owner.event(9000, &[H, &["p", &agent.hex()]], "")).await;
    let message = agent.event(9, &[H], "by the agent");
    client.store(&message).await;
    let edit = |who: &Person, text: &str| who.event(40_003, &[H, &["e", &id(&message)]], text);
    // What someone else says of the agent makes nobody its owner.
    client.store(&bob.event(10_100, &[&["p", &bob.hex()]], "")).await;
    client.refused(&edit(&bob, "claimed"), "restricted:").await;
    client.store(&agent.event_at(now() - 20, 10_100, &[&["p", &bob.hex()]], "")).await;
    client.store(&edit(&bob, "owned")).await;
    client.store(&agent.event_at(now() - 10, 10_100, &[&["p", &ann.hex()]], "")).await;
    client.refused(&edit(&bob, "no more"), "restricted:").await;
    client.store(&edit(&ann, "now mine")).await;
    let late = agent.event_at(now() - 15, 10_100, &[&["p", &bob.hex()]], "");
    client.refused(&late, "blocked: a newer version").await;
    let address = format!("10100:{}:", agent.hex());
    client.store(&agent.event(5, &[&["a", &address]], "")).await;
    client.refused(&edit(&ann, "nobody's"), "restricted:").await;
}

/// Of two edits of a channel the one that was stored last counts, whatever times they say.
#[tokio::test]
async fn the_last_edit_of_a_channel_counts() {
    let Community { node, owner, .. } = Community::new().await;
    let mut client = node.connect().await;
    for n in 0..20 {
        let name = n.to_string();
        client.store(&owner.event_at(now() + 60 - n, 9002, &[H, &["name", &name]], "")).await;
        assert!(tags_of(&mut client, 39_000, "open").await.contains(&json!(["name", name])), "{n}");
    }
}
