//! A node of our own, and clients that speak to it as any client does: by WebSocket.

#![allow(dead_code, unreachable_pub, reason = "shared by test programs that use parts of it")]

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use nostr::event::{Event, EventBuilder, FinalizeEvent, Kind, Tag};
use nostr::key::Keys;
use nostr::types::Timestamp;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, client_async, connect_async};
use vocative_server::Server;
use vocative_server::bus::{Bus, Local};
use vocative_server::settings::Settings;
use vocative_store::Store;
use vocative_store::sqlite::Sqlite;

/// How long a test waits for something that comes at once when all is well.
const PATIENCE: Duration = Duration::from_secs(60);

/// Waits for something, not forever.
pub async fn soon<T>(what: &str, wait: impl Future<Output = T>) -> T {
    match tokio::time::timeout(PATIENCE, wait).await {
        Ok(value) => value,
        Err(_) => panic!("{what} did not come"),
    }
}

/// A running node.
pub struct Node {
    pub address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    running: Option<JoinHandle<()>>,
    pub store: Arc<dyn Store>,
    _folder: Option<TempDir>,
}

/// Settings of tests: a free port, an owner, and limits that only tests of limits meet.
pub fn settings(owner: &Person) -> Settings {
    let mut settings = Settings::in_folder("unused".into());
    settings.listen = SocketAddr::from(([127, 0, 0, 1], 0));
    settings.owner = Some(owner.key());
    settings.limits.events_per_second = 100_000;
    settings.limits.requests_per_second = 100_000;
    settings.limits.connections_per_address = 10_000;
    settings
}

impl Node {
    /// A node on an empty SQLite store.
    pub async fn start(settings: Settings) -> Self {
        let folder = TempDir::new().expect("a folder");
        let store = open(folder.path());
        let mut node = Self::on(settings, store, Local::new()).await;
        node._folder = Some(folder);
        node
    }

    /// A node on this store.
    pub async fn on(settings: Settings, store: Arc<dyn Store>, bus: Arc<dyn Bus>) -> Self {
        let server = Server::start(settings, Arc::clone(&store), bus).await.expect("it starts");
        let address = server.address();
        let (stop, stopped) = oneshot::channel::<()>();
        let running = tokio::spawn(async move {
            let stopped = async move {
                let _ = stopped.await;
            };
            server.run(stopped).await.expect("it serves");
        });
        Self { address, stop: Some(stop), running: Some(running), store, _folder: None }
    }

    pub fn url(&self) -> String {
        format!("ws://{}", self.address)
    }

    /// A client that has read its challenge.
    pub async fn connect(&self) -> Client {
        Client::connect(&self.url()).await
    }

    /// A client that has authenticated.
    pub async fn connect_as(&self, person: &Person) -> Client {
        let mut client = self.connect().await;
        client.authenticate(person).await;
        client
    }

    /// Stops the node as a signal does; ends when it has stopped.
    pub async fn stop(&mut self) {
        drop(self.stop.take());
        if let Some(running) = self.running.take() {
            soon("the end of the node", running).await.expect("it stops");
        }
    }
}

pub fn open(folder: &Path) -> Arc<dyn Store> {
    Arc::new(Sqlite::open(folder.join("store.db")).expect("a store"))
}

/// Someone with a key.
pub struct Person {
    pub keys: Keys,
}

impl Person {
    pub fn new() -> Self {
        Self { keys: Keys::generate() }
    }

    pub fn key(&self) -> vocative::Key {
        vocative::Key::from_bytes(self.keys.public_key().to_bytes())
    }

    pub fn hex(&self) -> String {
        self.keys.public_key().to_hex()
    }

    /// An event of now.
    pub fn event(&self, kind: u16, tags: &[&[&str]], content: &str) -> Event {
        self.event_at(now(), kind, tags, content)
    }

    pub fn event_at(&self, at: u64, kind: u16, tags: &[&[&str]], content: &str) -> Event {
        let tags = tags.iter().map(|tag| Tag::parse(tag.iter().copied()).expect("a tag"));
        let event = EventBuilder::new(Kind::from(kind), content).tags(tags);
        event.custom_created_at(Timestamp::from(at)).finalize(&self.keys).expect("it signs")
    }
}

/// Seconds since 1970.
pub fn now() -> u64 {
    Timestamp::now().as_secs()
}

/// A connection.
pub struct Client {
    pub socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
    pub challenge: String,
    url: String,
    /// What came while something else was waited for.
    aside: VecDeque<Value>,
}

impl Client {
    pub async fn connect(url: &str) -> Self {
        let (socket, _) = soon("a connection", connect_async(url)).await.expect("it connects");
        Self::greeted(socket, url).await
    }

    /// A client on a connection that the test has made.
    pub async fn over(stream: TcpStream, url: &str) -> Self {
        let stream = MaybeTlsStream::Plain(stream);
        let (socket, _) = soon("a connection", client_async(url, stream)).await.expect("it connects");
        Self::greeted(socket, url).await
    }

    async fn greeted(socket: WebSocketStream<MaybeTlsStream<TcpStream>>, url: &str) -> Self {
        let mut client =
            Self { socket, challenge: String::new(), url: url.to_owned(), aside: VecDeque::new() };
        let challenge = client.wait(|message| message[0] == "AUTH").await;
        client.challenge = challenge[1].as_str().expect("a challenge").to_owned();
        client
    }

    pub async fn send(&mut self, message: &Value) {
        self.send_text(&message.to_string()).await;
    }

    pub async fn send_text(&mut self, text: &str) {
        self.socket.send(Message::text(text)).await.expect("it takes messages");
    }

    /// Sends, unless the relay has closed the connection.
    pub async fn try_send(&mut self, message: &Value) -> bool {
        self.socket.send(Message::text(message.to_string())).await.is_ok()
    }

    /// The connection itself, for whoever reads bytes. What was received and not read yet is lost.
    pub fn into_stream(self) -> TcpStream {
        match self.socket.into_inner() {
            MaybeTlsStream::Plain(stream) => stream,
            _ => panic!("the connection is not encrypted"),
        }
    }

    /// The next message; nothing when the relay has closed the connection.
    pub async fn next(&mut self) -> Option<Value> {
        if let Some(message) = self.aside.pop_front() {
            return Some(message);
        }
        self.receive().await
    }

    async fn receive(&mut self) -> Option<Value> {
        loop {
            match soon("a message", self.socket.next()).await {
                Some(Ok(Message::Text(text))) => return Some(serde_json::from_str(&text).expect("JSON")),
                Some(Ok(Message::Close(_)) | Err(_)) | None => return None,
                Some(Ok(_)) => {}
            }
        }
    }

    /// The first message that is meant; others are kept for later.
    pub async fn wait(&mut self, is_meant: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.aside.iter().position(&is_meant) {
            return self.aside.remove(at).expect("it is there");
        }
        loop {
            let message = self.receive().await.expect("the connection stays open");
            if is_meant(&message) {
                return message;
            }
            self.aside.push_back(message);
        }
    }

    /// Publishes, and answers what the relay said.
    pub async fn publish(&mut self, event: &Event) -> (bool, String) {
        self.send(&json!(["EVENT", event])).await;
        self.answer(&event.id.to_hex()).await
    }

    pub async fn answer(&mut self, id: &str) -> (bool, String) {
        let answer = self.wait(|message| message[0] == "OK" && message[1] == id).await;
        (answer[2].as_bool().expect("a verdict"), answer[3].as_str().expect("a reason").to_owned())
    }

    /// Publishes what must be stored.
    pub async fn store(&mut self, event: &Event) {
        assert_eq!(self.publish(event).await, (true, String::new()), "{}", json!(event));
    }

    /// Publishes what must be refused for this reason; answers the rest of what was said.
    pub async fn refused(&mut self, event: &Event, reason: &str) -> String {
        let (is_stored, says) = self.publish(event).await;
        assert!(!is_stored, "{}", json!(event));
        says.strip_prefix(reason).unwrap_or_else(|| panic!("`{says}` is not `{reason}`")).to_owned()
    }

    pub fn proof(&self, person: &Person) -> Event {
        person.event(22_242, &[&["relay", &self.url], &["challenge", &self.challenge]], "")
    }

    pub async fn authenticate(&mut self, person: &Person) {
        let proof = self.proof(person);
        self.send(&json!(["AUTH", proof])).await;
        assert_eq!(self.answer(&proof.id.to_hex()).await, (true, String::new()));
    }

    /// Subscribes; the ids of what is stored, or why there is no subscription.
    pub async fn subscribe(&mut self, id: &str, filters: &[Value]) -> Result<Vec<String>, String> {
        let mut request = vec![json!("REQ"), json!(id)];
        request.extend_from_slice(filters);
        self.send(&Value::Array(request)).await;
        let mut stored = Vec::new();
        loop {
            let message = self.wait(|message| message[1] == id).await;
            match message[0].as_str() {
                Some("EVENT") => stored.push(message[2]["id"].as_str().expect("an id").to_owned()),
                Some("EOSE") => return Ok(stored),
                Some("CLOSED") => return Err(message[2].as_str().expect("a reason").to_owned()),
                _ => panic!("{message}"),
            }
        }
    }

    /// The ids of what is stored.
    pub async fn stored(&mut self, filter: Value) -> Vec<String> {
        let stored = self.subscribe("stored", &[filter]).await.expect("it is answered");
        self.send(&json!(["CLOSE", "stored"])).await;
        stored
    }

    pub async fn count(&mut self, filters: &[Value]) -> Result<u64, String> {
        let mut request = vec![json!("COUNT"), json!("count")];
        request.extend_from_slice(filters);
        self.send(&Value::Array(request)).await;
        let answer = self.wait(|message| message[1] == "count").await;
        match answer[0].as_str() {
            Some("COUNT") => Ok(answer[2]["count"].as_u64().expect("a number")),
            _ => Err(answer[2].as_str().expect("a reason").to_owned()),
        }
    }

    /// The next event of a subscription.
    pub async fn event(&mut self, subscription: &str) -> String {
        let event = self.wait(|message| message[0] == "EVENT" && message[1] == subscription).await;
        event[2]["id"].as_str().expect("an id").to_owned()
    }

    /// What of a subscription has come by the time that the relay answers something else.
    pub async fn came(&mut self, subscription: &str) -> Vec<String> {
        // Answers are written in the order in which they were made.
        self.send(&json!(["CLOSE", ""])).await;
        self.wait(|message| message[0] == "NOTICE").await;
        let is_of = |message: &&Value| message[0] == "EVENT" && message[1] == subscription;
        self.aside
            .iter()
            .filter(is_of)
            .map(|message| message[2]["id"].as_str().expect("an id").to_owned())
            .collect()
    }
}

/// An event as the store takes it.
pub fn stored(event: &Event) -> vocative_store::Event {
    vocative_store::Event {
        id: vocative_store::EventId::from_bytes(event.id.to_bytes()),
        key: vocative::Key::from_bytes(event.pubkey.to_bytes()),
        created_at: vocative_store::Timestamp::from_secs(event.created_at.as_secs()),
        kind: event.kind.as_u16().into(),
        tags: event.tags.iter().map(|tag| tag.clone().to_vec()).collect(),
        content: event.content.clone(),
        sig: event.sig.to_bytes(),
    }
}

/// A filter of a channel.
pub fn of_channel(id: &str) -> Value {
    json!({ "#h": [id], "kinds": [9, 40002, 40003, 45001, 45003, 5] })
}

/// A node with an open channel `open` and a private one `secret`: the owner manages both, Ann is in both.
pub struct Community {
    pub node: Node,
    pub owner: Person,
    pub ann: Person,
    pub bob: Person,
}

impl Community {
    pub async fn new() -> Self {
        Self::with(|_| {}).await
    }

    /// With other settings.
    pub async fn with(set: impl FnOnce(&mut Settings)) -> Self {
        let (owner, ann, bob) = (Person::new(), Person::new(), Person::new());
        let mut settings = settings(&owner);
        set(&mut settings);
        let node = Node::start(settings).await;
        let mut client = node.connect().await;
        client.store(&owner.event(9007, &[&["h", "open"], &["name", "Open"]], "")).await;
        client.store(&owner.event(9007, &[&["h", "secret"], &["private"]], "")).await;
        for channel in ["open", "secret"] {
            client.store(&owner.event(9000, &[&["h", channel], &["p", &ann.hex()]], "")).await;
        }
        Self { node, owner, ann, bob }
    }
}

/// The id of an event, as it is written.
pub fn id(event: &Event) -> String {
    event.id.to_hex()
}
