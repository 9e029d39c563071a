//! People who call the interface of a node, each by their own key.

use std::collections::BTreeSet;

use data_encoding::{BASE64, HEXLOWER};
use nostr::event::{Event, FinalizeEvent, UnsignedEvent};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{Community, Node, Person, soon};

/// An answer: its status, and its body as JSON.
pub type Answer = (u16, Value);

/// Makes a request by a key.
pub async fn call(node: &Node, caller: &Person, method: &str, path: &str, body: Option<&Value>) -> Answer {
    let body = body.map(Value::to_string).unwrap_or_default();
    let url = format!("http://{}{path}", node.address);
    let digest = HEXLOWER.encode(&Sha256::digest(&body));
    let mut tags: Vec<&[&str]> = vec![];
    let (u, method_tag, payload) = (["u", &*url], ["method", method], ["payload", &*digest]);
    tags.extend([&u[..], &method_tag[..]]);
    if !body.is_empty() {
        tags.push(&payload);
    }
    let proof = BASE64.encode(caller.event(27_235, &tags, "").as_json().as_bytes());
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\nauthorization: Nostr {proof}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        node.address,
        body.len()
    );
    let exchange = async {
        let mut stream = TcpStream::connect(node.address).await.expect("it connects");
        // A body that is too large is refused before it is read.
        let _ = stream.write_all(request.as_bytes()).await;
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        String::from_utf8(answer).expect("text")
    };
    let answer = soon(path, exchange).await;
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    let (_, body) = answer.split_once("\r\n\r\n").expect("a body");
    (status, serde_json::from_str(body).unwrap_or_else(|_| panic!("no JSON: {answer}")))
}

pub async fn post(node: &Node, caller: &Person, path: &str, body: &Value) -> Answer {
    call(node, caller, "POST", path, Some(body)).await
}

pub async fn get(node: &Node, caller: &Person, path: &str) -> Answer {
    call(node, caller, "GET", path, None).await
}

/// What is composed; it must be.
pub async fn compose(node: &Node, author: &Person, request: &Value) -> Value {
    let (status, answer) = post(node, author, "/v1/messages/compose", request).await;
    assert_eq!(status, 200, "{request}: {answer}");
    answer
}

/// Why it is not composed: status and problem.
pub async fn uncomposed(node: &Node, author: &Person, request: &Value) -> (u16, String, Value) {
    let (status, answer) = post(node, author, "/v1/messages/compose", request).await;
    let code =
        answer["code"].as_str().unwrap_or_else(|| panic!("{request} is composed: {answer}")).to_owned();
    (status, code, answer["details"].clone())
}

/// What was composed, signed.
pub fn sign(author: &Person, composed: &Value) -> Event {
    let unsigned: UnsignedEvent = serde_json::from_value(composed["event"].clone()).expect("an event");
    let id = unsigned.id.expect("it has an id");
    let event = UnsignedEvent { id: None, ..unsigned }.finalize(&author.keys).expect("it signs");
    assert_eq!(event.id, id, "the id is that of the event");
    event
}

/// The request that publishes what another request composed.
pub fn publication(request: &Value, event: &Event) -> Value {
    let mut body = json!({ "event": event });
    for name in ["to", "bindings", "addressed", "typed", "without_inviting"] {
        if let Some(value) = request.get(name) {
            body[name] = value.clone();
        }
    }
    if request["action"] == "forward" {
        body["forwards"] = request["message"].clone();
    }
    body
}

/// Composes, signs and publishes; what was composed, and the event.
pub async fn send(node: &Node, author: &Person, request: &Value) -> (Value, Event) {
    let composed = compose(node, author, request).await;
    let event = sign(author, &composed);
    let answer = post(node, author, "/v1/messages", &publication(request, &event)).await;
    assert_eq!(answer, (200, json!({ "id": event.id.to_hex(), "is_duplicate": false })), "{request}");
    (composed, event)
}

/// The values of the tags with this name.
pub fn values(event: &Value, name: &str) -> Vec<String> {
    let tags = event["tags"].as_array().expect("tags").iter();
    let named = tags.filter(|tag| tag[0] == name);
    named.map(|tag| tag[1].as_str().unwrap_or_default().to_owned()).collect()
}

/// The keys of people in an answer.
pub fn keys(people: &Value) -> BTreeSet<String> {
    let people = people.as_array().expect("people").iter();
    people.map(|person| person["key"].as_str().expect("a key").to_owned()).collect()
}

/// The codes of diagnostics with their names.
pub fn told(composed: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    let told = composed["diagnostics"].as_array().expect("diagnostics").iter();
    told.map(|told| (text(&told["code"]), text(&told["name"]))).collect()
}

impl Community {
    /// Lets someone into a channel, under a name.
    pub async fn admit(&self, channel: &str, person: &Person, name: &str) {
        let mut client = self.node.connect().await;
        client.store(&self.owner.event(9000, &[&["h", channel], &["p", &person.hex()]], "")).await;
        self.rename(person, name).await;
    }

    /// Gives someone a name.
    pub async fn rename(&self, person: &Person, name: &str) {
        let profile = json!({ "display_name": name }).to_string();
        let mut client = self.node.connect().await;
        // The later of two profiles counts; of two in one second the one with the lower id would.
        let at = crate::support::now() - 10_000 + self.node.store.head().await.expect("a head").get();
        client.store(&person.event_at(at, 0, &[], &profile)).await;
    }

    /// How many messages and edits are stored.
    pub async fn stored(&self) -> u64 {
        let filter = vocative_store::Filter {
            kinds: Some(vec![9, 40_002, 40_003, 45_001, 45_003]),
            ..vocative_store::Filter::default()
        };
        self.node.store.count(&vocative_store::Reader::Server, &[filter]).await.expect("a count")
    }
}

/// A message in the channel `open`.
pub fn message(text: &str) -> Value {
    json!({ "channel": "open", "text": text })
}
