//! Readers that are slow, or never read, slow no one, and what waits for them is bounded.

use serde_json::json;
use tokio::net::{TcpSocket, TcpStream};

use crate::community::{Community, text};
use crate::load::{Load, Subscriber, assert_has_all};
use crate::node::{Node, Setup};
use crate::support::{Client, soon};

const PENDING: usize = 512 * 1024;
const SILENT: usize = 20;
const TEXT: usize = 32 * 1024;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_reader_that_does_not_read_slows_no_one() {
    let community = Community::of(3);
    let folder = tempfile::tempdir().expect("a folder");
    let setup = Setup::new(&community.owner).data(folder.path()).limit("PENDING_BYTES", PENDING);
    let node = setup.start();
    community.found(&node).await;
    let filter = json!({ "#h": ["open"], "kinds": [9] });
    let mut silent = Vec::new();
    for _ in 0..SILENT {
        silent.push(narrow(&node, &filter).await);
    }
    let mut last = narrow(&node, &filter).await;
    let reading = node.connect().await;
    let subscriber = Subscriber::start(reading, filter, "the end").await;
    let before = node.memory("VmHWM");
    let mut load = Load::default();
    let speaker = std::sync::Arc::clone(&community.members[0]);
    load.add(node.connect().await, 4, move |n| {
        speaker.event(9, &[&["h", "open"]], &text(&format!("{n} {}", "x".repeat(TEXT))))
    });
    let mut rounds = 0;
    // Each waits for an answer and for a delivery: both go on.
    while node.metric("vocative_slow_readers_total").await < (SILENT + 1) as u64 {
        rounds += 1;
        let marker = community.members[1].event(9, &[&["h", "open"]], &format!("round {rounds}"));
        let (stored, _) = load.counts();
        load.reaches(stored + 8, 0).await;
        node.connect().await.store(&marker).await;
        subscriber.has(&marker.id.to_hex()).await;
        assert!(rounds < 1_000, "nobody is dropped");
    }
    // One of them begins to read before its time is over, and is told.
    let mut words = Vec::new();
    while let Some(message) = last.next().await {
        words.push(message);
    }
    let word = words.last().expect("something came");
    let told = word[0] == "NOTICE" && word[1].as_str().is_some_and(|says| says.contains("wait for this"));
    assert!(told, "{word}");
    // Kept for all of them, this would be hundreds of MiB.
    load.reaches(1_000, 0).await;
    let ledger = load.end().await;
    node.connect().await.store(&community.members[1].event(9, &[&["h", "open"]], "the end")).await;
    assert_has_all(&subscriber.end().await, &ledger);
    let (most, published) = (node.memory("VmHWM"), ledger.stored.len() * TEXT / 1024);
    println!("{published} KiB for each of {SILENT} silent readers; the node grew by {} KiB", most - before);
    let bound = (SILENT + 1) * PENDING / 1024 + 96 * 1024;
    assert!(((most - before) as usize) < bound, "it grew by {} KiB, more than {bound}", most - before);
}

/// A subscriber whose system takes little at a time.
async fn narrow(node: &Node, filter: &serde_json::Value) -> Client {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.set_recv_buffer_size(4096).expect("a size");
    let stream: TcpStream = soon("a connection", socket.connect(node.address)).await.expect("it connects");
    let mut client = Client::over(stream, &node.url()).await;
    assert!(client.subscribe("s", std::slice::from_ref(filter)).await.is_ok());
    client
}
