//! The bus between nodes, on a real server.

mod nats;
mod proxy;

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use vocative_server::bus::{Bus, BusError, Nats, State};
use vocative_server::settings::Secret;

use nats::Server;
use proxy::{Link, Proxy};

/// What stands for "for ever": no test is slow enough to come near it.
const EVER: Duration = Duration::from_secs(60);

async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(EVER, future).await.unwrap_or_else(|_| panic!("it never came: {what}"))
}

async fn connect(url: &str, community: &str) -> Result<Arc<Nats>, BusError> {
    within("an answer to connect", Nats::connect(&Secret::new(url.to_owned()), community)).await
}

/// A store of one number, and nodes that read it when they are woken and never otherwise.
#[derive(Default)]
struct Store(AtomicU64);

impl Store {
    fn commit(&self, through: &Node) {
        self.0.fetch_add(1, Ordering::SeqCst);
        through.bus.wake();
    }

    /// Ends when every node has read what is committed now: no wake-up was lost that mattered.
    async fn is_known_to(&self, nodes: &[&Node]) {
        let last = self.0.load(Ordering::SeqCst);
        for (index, node) in nodes.iter().enumerate() {
            let mut known = node.known.clone();
            let what = format!("commit {last} at node {index}, which is {:?}", *node.bus.states().borrow());
            within(&what, known.wait_for(|known| *known >= last)).await.expect("it reads");
        }
    }
}

struct Node {
    bus: Arc<Nats>,
    known: watch::Receiver<u64>,
    reading: JoinHandle<()>,
}

impl Node {
    async fn start(url: &str, store: &Arc<Store>) -> Self {
        let bus = connect(url, "test").await.unwrap_or_else(|error| panic!("{error}"));
        let (read, known) = watch::channel(0);
        let reading = tokio::spawn({
            let (bus, store) = (Arc::clone(&bus), Arc::clone(store));
            async move {
                loop {
                    bus.woken().await;
                    read.send_replace(store.0.load(Ordering::SeqCst));
                }
            }
        });
        Self { bus, known, reading }
    }

    async fn is(&self, what: &str, is_so: impl Fn(&State) -> bool) {
        let mut states = self.bus.states();
        drop(within(what, states.wait_for(|state| is_so(state))).await.expect("the bus is there"));
    }

    async fn is_connected(&self) {
        self.is("connected", |state| *state == State::Connected).await;
    }

    async fn is_away(&self) {
        self.is("away", |state| matches!(state, State::Away(BusError::Away(_)))).await;
        // The server is not back before the test says so.
        assert!(!self.bus.is_connected());
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.reading.abort();
    }
}

async fn three(url: &str) -> (Arc<Store>, [Node; 3]) {
    let store = Arc::new(Store::default());
    // At once, so that they make the stream at once.
    let nodes = futures_util::future::join3(
        Node::start(url, &store),
        Node::start(url, &store),
        Node::start(url, &store),
    );
    let nodes = <[Node; 3]>::from(nodes.await);
    (store, nodes)
}

/// How many wake-ups the bus has carried for a community.
async fn carried(server: &Server, stream: &str) -> u64 {
    let client = async_nats::connect(server.url()).await.expect("it answers");
    let mut stream = async_nats::jetstream::new(client).get_stream(stream).await.expect("it is there");
    let info = stream.info().await.expect("it answers");
    assert!(info.state.messages <= 1, "it keeps the last only");
    info.state.last_sequence
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wake_up_reaches_every_node() {
    let server = Server::start();
    let (store, nodes) = three(&server.url()).await;
    for node in &nodes {
        assert!(node.bus.is_connected() && node.bus.is_shared());
    }
    for _ in 0..20 {
        for node in &nodes {
            store.commit(node);
            store.is_known_to(&nodes.each_ref()).await;
        }
    }
}

/// The node's task cannot run between the commits of this one, so that they are one publish, exactly.
#[tokio::test]
async fn commits_without_a_pause_are_one_message() {
    let server = Server::start();
    let (store, nodes) = three(&server.url()).await;
    for _ in 0..10_000 {
        store.commit(&nodes[0]);
    }
    store.is_known_to(&nodes.each_ref()).await;
    assert_eq!(carried(&server, "vocative-test").await, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_commits_are_few_messages_and_the_last_is_never_lost() {
    let server = Server::start();
    let (store, nodes) = three(&server.url()).await;
    for round in 1..=50 {
        for commit in 0..200 {
            store.commit(&nodes[(round * commit) % 3]);
            if commit % (1 + round % 7) == 0 {
                tokio::task::yield_now().await;
            }
        }
        store.is_known_to(&nodes.each_ref()).await;
    }
    let carried = carried(&server, "vocative-test").await;
    assert!((50..5_000).contains(&carried), "10,000 commits became {carried} messages");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_come_back_after_the_server_was_killed() {
    let mut server = Server::start();
    let (store, nodes) = three(&server.url()).await;
    for is_in_order in [false, true] {
        if is_in_order {
            server.stop();
        } else {
            server.kill();
        }
        for node in &nodes {
            node.is_away().await;
        }
        // A node hears its own commits whatever the bus does.
        store.commit(&nodes[1]);
        store.is_known_to(&[&nodes[1]]).await;
        server.restart();
        store.is_known_to(&nodes.each_ref()).await;
        for node in &nodes {
            node.is_connected().await;
        }
        store.commit(&nodes[2]);
        store.is_known_to(&nodes.each_ref()).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_come_back_after_the_server_hung() {
    let mut server = Server::start();
    let (store, nodes) = three(&server.url()).await;
    server.pause();
    store.commit(&nodes[0]);
    for node in &nodes {
        node.is_away().await;
    }
    store.commit(&nodes[1]);
    server.resume();
    store.is_known_to(&nodes.each_ref()).await;
    for node in &nodes {
        node.is_connected().await;
    }
    store.commit(&nodes[2]);
    store.is_known_to(&nodes.each_ref()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_make_the_stream_again() {
    let server = Server::start();
    let (store, nodes) = three(&server.url()).await;
    let client = async_nats::connect(server.url()).await.expect("it answers");
    let context = async_nats::jetstream::new(client);
    for publisher in &nodes {
        context.delete_stream("vocative-test").await.expect("it is there");
        store.commit(publisher);
        store.is_known_to(&nodes.each_ref()).await;
    }
    // Where nobody commits, the missing heartbeats tell. That it was away is over too soon to be seen for sure;
    // that something has changed is not.
    let changes = nodes.each_ref().map(|node| node.bus.states());
    context.delete_stream("vocative-test").await.expect("it is there");
    for (mut change, node) in changes.into_iter().zip(&nodes) {
        within("a change", change.changed()).await.expect("the bus is there");
        node.is_connected().await;
    }
    assert_eq!(carried(&server, "vocative-test").await, 0);
}

/// A wake-up that was under way when the network failed is published again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wake_up_that_the_network_swallows_is_repeated() {
    let server = Server::start();
    let proxy = Proxy::before(([127, 0, 0, 1], server.port).into()).await;
    let near = connect(&server.url(), "test").await.expect("it answers");
    let far = connect(&format!("nats://{}", proxy.address()), "test").await.expect("it answers");
    // The one of its beginning; nothing was published yet.
    within("a wake-up", near.woken()).await;
    proxy.set(Link::Silent);
    far.wake();
    let mut states = far.states();
    drop(within("away", states.wait_for(|state| *state != State::Connected)).await);
    // What was held back is lost for good.
    proxy.set(Link::Cut);
    proxy.set(Link::Joined);
    within("a wake-up", near.woken()).await;
    assert_eq!(carried(&server, "vocative-test").await, 1);
}

/// One node is cut off and the others notice nothing; what it committed meanwhile reaches them later.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_was_cut_off_tells_the_others() {
    let server = Server::start();
    let proxy = Proxy::before(([127, 0, 0, 1], server.port).into()).await;
    let store = Arc::new(Store::default());
    let far = Node::start(&format!("nats://{}", proxy.address()), &store).await;
    let near = Node::start(&server.url(), &store).await;
    for link in [Link::Cut, Link::Silent] {
        proxy.set(link);
        store.commit(&far);
        far.is_away().await;
        store.commit(&far);
        store.is_known_to(&[&far]).await;
        assert!(near.bus.is_connected());
        store.commit(&near);
        store.is_known_to(&[&near]).await;
        proxy.set(Link::Joined);
        far.is_connected().await;
        store.is_known_to(&[&far, &near]).await;
        // Nobody but the cut-off node can tell of this: the other has no reason to look by itself.
        proxy.set(link);
        far.is_away().await;
        store.commit(&far);
        proxy.set(Link::Joined);
        store.is_known_to(&[&near]).await;
        far.is_connected().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bus_that_is_absent_at_the_start_is_found_later() {
    let mut server = Server::absent();
    let (store, nodes) = three(&server.url()).await;
    for node in &nodes {
        node.is_away().await;
    }
    store.commit(&nodes[0]);
    store.is_known_to(&[&nodes[0]]).await;
    server.restart();
    store.is_known_to(&nodes.each_ref()).await;
    for node in &nodes {
        node.is_connected().await;
    }
}

#[tokio::test]
async fn communities_do_not_hear_each_other() {
    let server = Server::start();
    let ours = connect(&server.url(), "ours").await.expect("it answers");
    let theirs = [connect(&server.url(), "theirs").await, connect(&server.url(), "theirs").await];
    let [teller, listener] = theirs.map(|bus| bus.expect("it answers"));
    for bus in [&ours, &listener] {
        within("the wake-up of the beginning", bus.woken()).await;
    }
    for _ in 0..10 {
        teller.wake();
        within("a wake-up", listener.woken()).await;
    }
    assert!(futures_util::FutureExt::now_or_never(ours.woken()).is_none());
    assert_eq!(carried(&server, "vocative-ours").await, 0);
    assert_eq!(carried(&server, "vocative-theirs").await, 10);
}

/// Attempts at a bus that refuses every connection are at least as far apart as the delays between them.
#[tokio::test]
async fn attempts_are_spaced() {
    let proxy = Proxy::before(([127, 0, 0, 1], 1).into()).await;
    proxy.set(Link::Cut);
    let began = Instant::now();
    let bus = connect(&format!("nats://{}", proxy.address()), "test").await.expect("it is only away");
    let mut opened = proxy.opened();
    within("six attempts", opened.wait_for(|count| *count >= 6)).await.expect("it accepts");
    assert!(began.elapsed() >= Duration::from_millis(50 + 100 + 200 + 400 + 800));
    assert!(!bus.is_connected());
}

/// Dropping a bus ends everything that it started, wherever it stands.
#[tokio::test]
async fn a_dropped_bus_leaves_no_task() {
    let mut server = Server::start();
    let proxy = Proxy::before(([127, 0, 0, 1], server.port).into()).await;
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let before = tasks();
    let ends = async || {
        let mut turns = 0u64;
        within("the end of all tasks", async {
            while tasks() > before {
                turns += 1;
                tokio::task::yield_now().await;
            }
        })
        .await;
    };
    let store = Arc::new(Store::default());
    let node = Node::start(&server.url(), &store).await;
    node.is_connected().await;
    assert!(tasks() > before);
    drop(node);
    ends().await;

    let node = Node::start(&format!("nats://{}", proxy.address()), &store).await;
    proxy.set(Link::Silent);
    node.is_away().await;
    drop(node);
    proxy.set(Link::Cut);
    ends().await;

    let node = Node::start(&server.url(), &store).await;
    server.kill();
    node.is_away().await;
    drop(node);
    ends().await;
    assert_eq!(connect("nats://a/b", "test").await.err().map(|error| error.code()), Some("bus_address"));
    ends().await;
}
