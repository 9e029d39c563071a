//! The end-to-end facts of `conformance/` that speak of sends, edits and forwards, over the interface.

use std::collections::HashMap;

use nostr::event::Event;
use serde_json::{Value, json};

use crate::stage::{compose, get, keys, post, publication, send, sign, told, values};
use crate::support::{Community, Person, now};

fn cases(file: &str) -> Vec<Value> {
    let path = format!("{}/../../conformance/{file}", env!("CARGO_MANIFEST_DIR"));
    let file: Value = serde_json::from_str(&std::fs::read_to_string(path).expect("the file")).expect("JSON");
    file["cases"].as_array().expect("cases").clone()
}

/// The keys of a case are names; whoever signs needs a key of their own for each.
#[derive(Default)]
struct Cast {
    people: HashMap<String, Person>,
}

impl Cast {
    fn of(&mut self, named: &Value) -> &Person {
        let named = named.as_str().expect("a key").to_lowercase();
        self.people.entry(named).or_insert_with(Person::new)
    }

    /// A value of the case, with the keys that stand for its names.
    fn told(&mut self, value: &Value) -> Value {
        let mut text = value.to_string();
        let mut at = 0;
        while at + 64 <= text.len() {
            let part = text.get(at..at + 64).filter(|part| part.bytes().all(|b| b.is_ascii_hexdigit()));
            let Some(named) = part.map(|part| json!(part)) else {
                at += 1;
                continue;
            };
            let key = self.of(&named).hex();
            text.replace_range(at..at + 64, &key);
            at += 64;
        }
        serde_json::from_str(&text).expect("JSON")
    }
}

/// A community in which the candidates of a case are there, each under its name.
struct Scene {
    stage: Community,
    cast: Cast,
}

impl Scene {
    async fn of(members: &[(Value, String, bool)]) -> Self {
        let (stage, mut cast) = (Community::new().await, Cast::default());
        for (key, name, is_member) in members {
            let person = cast.of(key);
            match is_member {
                true => stage.admit("open", person, name).await,
                false => stage.rename(person, name).await,
            }
        }
        Self { stage, cast }
    }
}

/// Who is in the channel, as flows and reports say it.
fn members(given: &Value) -> Vec<(Value, String, bool)> {
    let lists = [("members", true), ("candidates", true), ("historical", false)].into_iter();
    let rows = lists.flat_map(|(list, is_here)| {
        let rows = given[list].as_array().cloned().unwrap_or_default();
        rows.into_iter().map(move |row| {
            let pair = row.as_array().map(|pair| (pair[1].clone(), pair[0].clone(), true));
            let (key, name, is_member) = pair.unwrap_or_else(|| {
                let either = |one: &str, other: &str| row.get(one).unwrap_or(&row[other]).clone();
                (either("key", "id"), either("name", "label"), either("is_member", "member") != json!(false))
            });
            (key, name.as_str().expect("a name").to_owned(), is_member && is_here)
        })
    });
    rows.collect()
}

/// The texts that a flow or report sends to a channel, and what the sender names beside it.
fn sent(given: &Value) -> Option<(String, Value)> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    match given["flow"].as_str() {
        Some("chat_send" | "forum_standalone_post") => Some((text(&given["draft"])?, json!([]))),
        Some("workflow_message" | "cli_send") => {
            Some((text(&given["text"])?, given.get("explicit").cloned().unwrap_or(json!([]))))
        }
        Some(_) => None,
        None => {
            let [op] = &given["ops"].as_array()?[..] else { return None };
            let api = op.get("api_send")?;
            Some((text(&api["text"])?, api["mentions"].clone()))
        }
    }
}

#[tokio::test]
async fn every_send_ends_as_the_cases_say() {
    let mut shown = 0;
    for case in cases("flows.json").into_iter().chain(cases("reports.json")) {
        let (given, expect, id) = (&case["given"], &case["expect"], &case["id"]);
        let Some((text, explicit)) = sent(given) else { continue };
        let mut scene = Scene::of(&members(given)).await;
        let author = match given.get("self") {
            Some(key) => scene.cast.of(key).keys.clone(),
            None => scene.stage.ann.keys.clone(),
        };
        let author = Person { keys: author };
        let to: Vec<Value> = explicit
            .as_array()
            .expect("keys")
            .iter()
            .map(|key| json!({ "key": scene.cast.of(key).hex() }))
            .collect();
        let action = if given["flow"] == "forum_standalone_post" { "post" } else { "message" };
        let request = json!({ "action": action, "channel": "open", "text": text, "to": to });
        let expect = scene.cast.told(expect);
        let error = [&expect["error"], &expect["visible_error"]].into_iter().find(|error| error.is_object());
        if let Some(error) = error {
            let (status, answer) = post(&scene.stage.node, &author, "/v1/messages/compose", &request).await;
            assert_eq!((status, &answer["code"]), (422, &error["error"]), "{id}: {answer}");
            assert_eq!(answer["details"]["label"], error["label"], "{id}");
            let expected = error["candidates"].as_array().expect("keys").iter();
            let expected = expected.map(|key| key.as_str().expect("a key").to_owned()).collect();
            assert_eq!(keys(&answer["details"]["candidates"]), expected, "{id}");
            assert_eq!(scene.stage.stored().await, 0, "{id}");
        } else {
            let (composed, _) = send(&scene.stage.node, &author, &request).await;
            for (field, name) in [("p_tags", "p"), ("recipients", "p")] {
                if let Some(expected) = expect.get(field) {
                    assert_eq!(json!(values(&composed["event"], name)), *expected, "{id}: {field}");
                }
            }
            if let Some(expected) = expect.get("mention_tags").and_then(Value::as_array) {
                let expected: Vec<_> =
                    expected.iter().map(|tag| tag[1].as_str().expect("a key").to_owned()).collect();
                assert_eq!(values(&composed["event"], "mention"), expected, "{id}");
            }
            if let Some(expected) = expect.get("diagnostics").and_then(Value::as_array) {
                let text = |value: &Value| value.as_str().expect("text").to_owned();
                let expected: Vec<_> =
                    expected.iter().map(|told| (text(&told["code"]), text(&told["name"]))).collect();
                assert_eq!(told(&composed), expected, "{id}");
            }
            assert_eq!(scene.stage.stored().await, 1, "{id}");
        }
        shown += 1;
    }
    assert!(shown >= 12, "only {shown} cases");
}

#[tokio::test]
async fn every_edit_ends_as_the_cases_say() {
    let mut shown = 0;
    for case in cases("flows.json").into_iter().chain(cases("reports.json")) {
        let (given, expect, id) = (&case["given"], &case["expect"], &case["id"]);
        let set = |op: &Value| op.get("set_text").cloned();
        let text = match given["flow"].as_str() {
            Some("edit") => given["draft"].clone(),
            Some(_) => continue,
            None => match given["ops"].as_array().and_then(|ops| ops.iter().find_map(set)) {
                Some(text) if given["original"].is_object() => text,
                _ => continue,
            },
        };
        let mut scene = Scene::of(&members(given)).await;
        let original = match &given["original"] {
            Value::String(text) => json!({ "text": text, "tags": [] }),
            original => original.clone(),
        };
        let (original, expect) = (scene.cast.told(&original), scene.cast.told(expect));
        let author = &scene.stage.ann;
        let mut tags: Vec<Vec<String>> = serde_json::from_value(original["tags"].clone()).expect("tags");
        tags.insert(0, vec!["h".into(), "open".into()]);
        let said = event(author, now(), 9, &tags, original["text"].as_str().expect("a text"));
        scene.stage.node.connect().await.store(&said).await;
        let request = json!({ "action": "edit", "message": said.id.to_hex(), "text": text });
        let (composed, _) = send(&scene.stage.node, author, &request).await;
        let written = &composed["event"];
        if let Some(expected) = expect.get("snapshot") {
            assert_eq!(written["content"], expected["text"], "{id}");
            assert_eq!(json!(values(written, "mention")), expected["references"], "{id}");
        }
        for field in ["p_tags", "p_tags_on_edit"] {
            if let Some(expected) = expect.get(field) {
                assert_eq!(json!(values(written, "p")), *expected, "{id}");
            }
        }
        if let Some(expected) = expect.get("sender_is_told") {
            let expected = expected["newly_added"].as_array().expect("keys").iter();
            let expected = expected.map(|key| key.as_str().expect("a key").to_owned()).collect();
            assert_eq!(keys(&composed["newly_added"]), expected, "{id}");
        }
        assert_eq!(values(written, "buzz:mention-snapshot").len(), 1, "{id}");
        if let Some(expected) = expect.get("forward_recipients") {
            let forward = json!({ "action": "forward", "channel": "open", "message": said.id.to_hex() });
            let composed = compose(&scene.stage.node, author, &forward).await;
            assert_eq!(json!(values(&composed["event"], "p")), *expected, "{id}");
        }
        shown += 1;
    }
    assert!(shown >= 5, "only {shown} cases");
}

#[tokio::test]
async fn every_timeline_ends_as_the_cases_say() {
    let mut shown = 0;
    for case in cases("flows.json") {
        let (given, expect, id) = (&case["given"], &case["expect"], &case["id"]);
        if given["flow"] != "timeline" {
            continue;
        }
        let mut scene = Scene::of(&[]).await;
        let begin = now() - 100;
        let author = Person { keys: scene.cast.of(&given["original"]["author"]).keys.clone() };
        scene.stage.admit("open", &author, "Author").await;
        let mut client = scene.stage.node.connect().await;
        let place = vec!["h".to_owned(), "open".to_owned()];
        let original = scene.cast.told(&given["original"]);
        let mut tags: Vec<Vec<String>> = serde_json::from_value(original["tags"].clone()).expect("tags");
        tags.insert(0, place.clone());
        let said = event(&author, begin, 9, &tags, original["body"].as_str().expect("a text"));
        client.store(&said).await;
        let mut edits = Vec::new();
        for edit in given["edits"].as_array().expect("edits") {
            let mut tags = vec![place.clone(), vec!["e".into(), said.id.to_hex()]];
            for key in edit["snapshot"].as_array().unwrap_or(&Vec::new()) {
                let person = scene.cast.of(key);
                scene.stage.admit("open", person, "Somebody").await;
                tags.push(vec!["mention".into(), person.hex()]);
            }
            tags.push(vec!["buzz:mention-snapshot".into()]);
            let at = begin + edit["at"].as_u64().expect("a time");
            let by = Person { keys: scene.cast.of(&edit["by"]).keys.clone() };
            let replaced = event(&by, at, 40_003, &tags, edit["body"].as_str().expect("a text"));
            // The relay keeps a stranger's edit out.
            assert_eq!(client.publish(&replaced).await.0, by.hex() == author.hex(), "{id}");
            if by.hex() == author.hex() {
                edits.push(replaced);
            }
        }
        let (_, read) = get(&scene.stage.node, &author, &format!("/v1/messages/{}", said.id.to_hex())).await;
        // Ids are digests: which of two equally late edits has the lower one is not for a case to say.
        let latest = edits.iter().map(|edit| edit.created_at).max().expect("an edit");
        let latest: Vec<&Event> = edits.iter().filter(|edit| edit.created_at == latest).collect();
        let expected = match &latest[..] {
            [_] => expect["body"].clone(),
            several => json!(several.iter().min_by_key(|edit| edit.id).expect("an edit").content),
        };
        assert_eq!(read["current"]["event"]["content"], expected, "{id}");
        if let Some(expected) = expect.get("forward_notify") {
            let forward = json!({ "action": "forward", "channel": "open", "message": said.id.to_hex() });
            let composed = compose(&scene.stage.node, &author, &forward).await;
            assert_eq!(json!(values(&composed["event"], "p")), scene.cast.told(expected), "{id}");
        }
        shown += 1;
    }
    assert_eq!(shown, 2);
}

#[tokio::test]
async fn others_of_the_cases() {
    // wire-010: whoever is not invited is referred to.
    let case = cases("flows.json").into_iter().find(|case| case["id"] == "wire-010").expect("the case");
    let (stage, mut cast) = (Community::new().await, Cast::default());
    let outside = case["given"]["non_members"].as_array().expect("keys").clone();
    let recipients = case["given"]["recipients"].as_array().expect("keys").clone();
    for key in recipients.iter().filter(|key| !outside.contains(key)) {
        stage.admit("open", cast.of(key), "Somebody").await;
    }
    let to: Vec<Value> = recipients.iter().map(|key| json!({ "key": cast.of(key).hex() })).collect();
    let request = json!({ "channel": "open", "text": "hi", "to": to, "without_inviting": true });
    let (composed, _) = send(&stage.node, &stage.ann, &request).await;
    let expect = cast.told(&case["expect"]);
    assert_eq!(json!(values(&composed["event"], "p")), expect["p_tags"]);
    assert_eq!(json!(["mention", values(&composed["event"], "mention")[0]]), expect["mention_tags"][0]);

    // report-forward-key-in-body-no-authority: a key in a text addresses nobody.
    let stage = Community::new().await;
    let scout = Person::new();
    stage.rename(&scout, "Scout").await;
    let text = format!("@Scout ({}) go", scout.hex());
    let said = stage.ann.event(9, &[&["h", "open"]], &text);
    stage.node.connect().await.store(&said).await;
    let forward = json!({ "action": "forward", "channel": "open", "message": said.id.to_hex() });
    let composed = compose(&stage.node, &stage.owner, &forward).await;
    let event = sign(&stage.owner, &composed);
    let (status, _) = post(&stage.node, &stage.owner, "/v1/messages", &publication(&forward, &event)).await;
    assert_eq!((status, values(&composed["event"], "p")), (200, vec![]));
    let (_, read) = get(&stage.node, &stage.ann, &format!("/v1/messages/{}", said.id.to_hex())).await;
    assert_eq!(read["current"]["occurrences"], json!([]));
}

fn event(author: &Person, at: u64, kind: u16, tags: &[Vec<String>], text: &str) -> Event {
    let tags: Vec<Vec<&str>> = tags.iter().map(|tag| tag.iter().map(String::as_str).collect()).collect();
    let tags: Vec<&[&str]> = tags.iter().map(Vec::as_slice).collect();
    author.event_at(at, kind, &tags, text)
}
