//! `GET /v1/inbox` and its events: one list over messages and sessions (section 5).

use std::collections::VecDeque;

use serde_json::{Value, json};

use crate::place::{Place, artifact_at};
use crate::site::{Answer, Site};
use crate::support::{Person, id, now, soon};

const MARKER: &[&str] = &["buzz:mention-snapshot"];

/// A site with a channel `open`, of which Ann is a member.
async fn chat() -> (Place, Person, Person) {
    let place = Place::new().await;
    let (ann, bob) = (Person::new(), Person::new());
    let mut client = place.site.node.connect().await;
    let owner = &place.site.owner;
    client.store(&owner.event(9007, &[&["h", "open"], &["name", "Open"]], "")).await;
    for person in [&ann, &bob] {
        client.store(&owner.event(9000, &[&["h", "open"], &["p", &person.hex()]], "")).await;
    }
    (place, ann, bob)
}

/// Asks by a key.
async fn ask(site: &Site, by: &Person, path: &str) -> Answer {
    let proof = site.proof(by, "GET", path, "");
    site.with_proof(&proof, "GET", path, "").await
}

/// The rows of a page that must be one.
async fn rows(site: &Site, by: &Person, query: &str) -> Vec<Value> {
    let answer = ask(site, by, &format!("/v1/inbox{query}")).await;
    assert_eq!(answer.status, 200, "{query}: {}", answer.text);
    answer.json()["rows"].as_array().expect("rows").clone()
}

/// Links a key to the account of a token.
async fn link(site: &Site, token: &str, key: &Person) {
    let challenge = site.ask("POST", "/v1/keys/challenge", |request| request.bearer_auth(token)).await.json();
    let body = json!({ "account": challenge["account"], "nonce": challenge["nonce"] });
    assert_eq!(site.signed(key, "POST", "/v1/keys", &body).await.code(), "204");
}

/// What each row is of.
fn items(rows: &[Value]) -> Vec<String> {
    rows.iter().map(|row| row["item"].as_str().expect("an item").to_owned()).collect()
}

fn item(event: &nostr::event::Event) -> String {
    format!("/v1/messages/{}", id(event))
}

#[tokio::test]
async fn one_list_over_messages_and_sessions_is_walked_page_by_page() {
    let (place, ann, bob) = chat().await;
    link(&place.site, &place.bob, &bob).await;
    let mut client = place.site.node.connect().await;
    let start = now() - 600;
    let mut expected = Vec::new();
    for n in 0..4 {
        let text = n.to_string();
        let event = ann.event_at(start + 10 * n, 9, &[&["h", "open"], &["p", &bob.hex()]], &text);
        client.store(&event).await;
        expected.push((start + 10 * n, item(&event)));
        let at = vocative_pi::Timestamp::from_millis((start + 10 * n + 5) as i64 * 1000).expect("a time");
        let pushed =
            place.push(&place.ann, artifact_at(&at.to_string(), &[&format!("s1/e{n} bob Ann")])).await;
        assert_eq!(pushed.json()["added"], 1);
        expected.push((start + 10 * n + 5, format!("/v1/sessions/github:ann/s1/entries/e{n}")));
    }
    expected.reverse();
    let all: Vec<String> = expected.iter().map(|(_, item)| item.clone()).collect();
    // By the key and by the token of the account it is one inbox.
    assert_eq!(items(&rows(&place.site, &bob, "").await), all);
    assert_eq!(items(&place.rows(&place.bob).await), all);
    for limit in [1, 3, 8] {
        let (mut walked, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = place.site.get(&format!("/v1/inbox?limit={limit}{cursor}"), &place.bob).await.json();
            let rows = page["rows"].as_array().expect("rows");
            assert!(rows.len() <= limit);
            walked.extend(items(rows));
            // What comes in front of a walk does not disturb it.
            client.store(&ann.event(9, &[&["h", "open"]], &format!("{limit} {}", walked.len()))).await;
            let Some(next) = page["next"].as_str() else { break };
            cursor = format!("&cursor={next}");
        }
        assert_eq!(walked, all, "{limit}");
    }
    let [messages, sessions]: [Vec<String>; 2] =
        ["messages", "sessions"].map(|kind| all.iter().filter(|item| item.contains(kind)).cloned().collect());
    let (ann, third) = (ann.hex(), start + 10);
    let at = |second| vocative_pi::Timestamp::from_millis(second as i64 * 1000).expect("a time").to_string();
    let newer: Vec<_> =
        expected.iter().filter(|(at, _)| *at >= third).map(|(_, item)| item.clone()).collect();
    let older: Vec<_> = expected.iter().filter(|(at, _)| *at < third).map(|(_, item)| item.clone()).collect();
    for (query, expected) in [
        (format!("?since={third}"), newer.clone()),
        (format!("?until={third}"), older.clone()),
        (format!("?since={}", at(third)), newer),
        (format!("?until={}", at(third)), older),
        (format!("?since={third}&until={third}"), Vec::new()),
        ("?source=message".to_owned(), messages.clone()),
        ("?source=session".to_owned(), sessions.clone()),
        ("?source=all&limit=1000".to_owned(), all),
        (format!("?from={ann}"), messages),
        ("?from=github:ANN".to_owned(), sessions),
        (format!("?from={ann}&source=session"), Vec::new()),
        ("?from=github:eve".to_owned(), Vec::new()),
    ] {
        assert_eq!(items(&rows(&place.site, &bob, &query).await), expected, "{query}");
    }
    for bad in
        ["limit=0", "limit=1001", "limit=x", "cursor=x", "from=zed", "since=noon", "source=chat", "other=1"]
    {
        let answer = ask(&place.site, &bob, &format!("/v1/inbox?{bad}")).await;
        assert_eq!(answer.code(), "400 bad_request", "{bad}");
    }
    assert_eq!(place.site.ask("GET", "/v1/inbox", |request| request).await.code(), "401 not_logged_in");
}

#[tokio::test]
async fn what_names_nobody_makes_no_row() {
    let (place, ann, bob) = chat().await;
    let mut client = place.site.node.connect().await;
    let first = ann.event(9, &[&["h", "open"]], "first");
    client.store(&first).await;
    let (b, f) = (bob.hex(), id(&first));
    for (tags, text) in [
        (&[&["h", "open"] as &[&str], &["mention", &b]] as &[&[&str]], "a reference or a quote"),
        (&[&["h", "open"], &["e", &f, "", "reply"], &["p", &b, "", "reply"]], "addressed as a reply"),
        (&[&["h", "open"]], "@bob by name alone"),
    ] {
        client.store(&ann.event(9, tags, text)).await;
    }
    client.store(&bob.event(9, &[&["h", "open"], &["p", &b]], "his own name")).await;
    assert_eq!(rows(&place.site, &bob, "").await, [] as [Value; 0]);
    // The test can see a row where there is one.
    client.store(&ann.event(9, &[&["h", "open"], &["p", &b]], "named")).await;
    let found = rows(&place.site, &bob, "").await;
    assert_eq!((found.len(), &found[0]["why"]), (1, &json!("mention")));
    assert!(!found[0].to_string().contains("named"), "a row carries no text");
}

/// The rows that a stream of events brings.
struct Live {
    answer: reqwest::Response,
    text: String,
    rows: VecDeque<Value>,
}

impl Live {
    async fn of(site: &Site, by: &Person) -> Self {
        let path = "/v1/inbox/live";
        let proof = format!("Nostr {}", site.proof(by, "GET", path, ""));
        let client = reqwest::Client::builder().no_proxy().build().expect("a client");
        let asked = client.get(site.url(path)).header("authorization", proof).send();
        let answer = soon("a stream", asked).await.expect("it answers");
        assert_eq!(answer.status(), 200);
        assert_eq!(answer.headers()["content-type"], "text/event-stream");
        Self { answer, text: String::new(), rows: VecDeque::new() }
    }

    /// The next row.
    async fn row(&mut self) -> Value {
        loop {
            if let Some(row) = self.rows.pop_front() {
                return row;
            }
            let chunk = soon("an event", self.answer.chunk()).await.expect("it reads").expect("it goes on");
            self.text.push_str(std::str::from_utf8(&chunk).expect("text"));
            while let Some((event, rest)) = self.text.split_once("\n\n") {
                let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name));
                if let Some(data) = field("data: ") {
                    assert_eq!(field("event: "), Some("row"));
                    self.rows.push_back(serde_json::from_str(data).expect("JSON"));
                }
                self.text = rest.to_owned();
            }
        }
    }
}

#[tokio::test]
async fn a_new_mention_and_its_retraction_arrive_as_they_happen() {
    let (place, ann, bob) = chat().await;
    let eve = Person::new();
    let mut client = place.site.node.connect().await;
    let at = now() - 100;
    let before = ann.event_at(at, 9, &[&["h", "open"], &["p", &bob.hex()]], "before");
    client.store(&before).await;
    let mut live = Live::of(&place.site, &bob).await;
    assert_eq!(live.row().await["item"], item(&before), "it begins with what there is");
    let said = ann.event_at(at + 1, 9, &[&["h", "open"], &["p", &bob.hex()]], "@bob");
    client.store(&said).await;
    let row = live.row().await;
    assert_eq!((&row["item"], &row["why"]), (&json!(item(&said)), &json!("mention")));
    assert_eq!((&row["retracted"], &row["actor"]), (&json!(false), &json!(ann.hex())));

    // The edit names Eve instead.
    let tags: &[&[&str]] =
        &[&["h", "open"], &["e", &id(&said)], &["p", &eve.hex()], &["mention", &eve.hex()], MARKER];
    let edit = ann.event_at(at + 2, 40_003, tags, "@eve");
    client.store(&edit).await;
    let row = live.row().await;
    assert_eq!((&row["item"], &row["retracted"]), (&json!(item(&said)), &json!(true)));
    let found = rows(&place.site, &eve, "").await;
    assert_eq!((found.len(), &found[0]["why"]), (1, &json!("added-by-edit")));
    assert_eq!((&found[0]["item"], &found[0]["by_event"]), (&json!(item(&said)), &json!(id(&edit))));

    // Back again, and gone with the message.
    let tags: &[&[&str]] = &[&["h", "open"], &["e", &id(&said)], &["mention", &bob.hex()], MARKER];
    client.store(&ann.event_at(at + 3, 40_003, tags, "@bob again")).await;
    assert_eq!(live.row().await["retracted"], false);
    assert_eq!(rows(&place.site, &eve, "").await[0]["retracted"], true);
    client.store(&ann.event_at(at + 4, 5, &[&["e", &id(&said)]], "")).await;
    let row = live.row().await;
    assert_eq!((&row["item"], &row["deleted"]), (&json!(item(&said)), &json!(true)));
    let read = ask(&place.site, &bob, &item(&said)).await;
    assert_eq!(read.status, 404, "{}", read.text);
}

#[tokio::test]
async fn the_inbox_says_nothing_of_a_channel_that_its_owner_may_not_read() {
    let (place, ann, bob) = chat().await;
    let mut client = place.site.node.connect().await;
    let owner = &place.site.owner;
    client.store(&owner.event(9007, &[&["h", "secret"], &["private"]], "")).await;
    client.store(&owner.event(9000, &[&["h", "secret"], &["p", &ann.hex()]], "")).await;
    client.store(&ann.event(9, &[&["h", "secret"], &["p", &bob.hex()]], "in secret")).await;
    assert_eq!(rows(&place.site, &bob, "").await, [] as [Value; 0]);
    client.store(&owner.event(9000, &[&["h", "secret"], &["p", &bob.hex()]], "")).await;
    assert_eq!(rows(&place.site, &bob, "").await.len(), 1, "once he may read it, he finds it");
}
