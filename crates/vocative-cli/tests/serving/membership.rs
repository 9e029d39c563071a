//! Whoever is removed gets nothing more, on whichever node: from the answer to the removal on.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

use crate::cluster::Cluster;
use crate::community::text;
use crate::load::{Load, Subscriber};
use crate::support::{Client, Person, of_channel, soon};

/// The states of the bus in which the promise is tested.
const BUS: [&str; 3] = ["there", "hanging", "dead"];

fn bring(cluster: &mut Cluster, bus: &str) {
    match bus {
        "hanging" => cluster.bus.pause(),
        "dead" => {
            cluster.bus.resume();
            cluster.bus.kill();
        }
        _ => {}
    }
}

async fn put(admin: &mut Client, owner: &Person, kind: u16, member: &Person, why: &str) {
    let event = owner.event(kind, &[&["h", "secret"], &["p", &member.hex()]], &text(why));
    admin.store(&event).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nothing_reaches_who_was_removed_on_another_node() {
    let mut cluster = Cluster::start().await;
    let ann = Person::new();
    let owner = Person { keys: cluster.community.owner.keys.clone() };
    let mut admin = cluster.nodes[0].connect_as(&owner).await;
    let mut second = cluster.nodes[1].connect_as(&owner).await;
    for bus in BUS {
        bring(&mut cluster, bus);
        for round in 0..4 {
            let what = format!("bus {bus}, round {round}");
            put(&mut admin, &owner, 9000, &ann, &what).await;
            let mut connections = Vec::new();
            for node in &cluster.nodes {
                let mut client = node.connect_as(&ann).await;
                assert!(client.subscribe("s", &[of_channel("secret")]).await.is_ok(), "{what}");
                connections.push(client);
            }
            let is_removed = Arc::new(AtomicBool::new(false));
            let mut load = Load::default();
            for (n, node) in cluster.nodes.iter().enumerate() {
                let (speaker, is_removed) =
                    (Arc::clone(&cluster.community.members[n]), Arc::clone(&is_removed));
                load.add(node.connect().await, 4, move |number| {
                    let when = if is_removed.load(Ordering::SeqCst) { "after" } else { "before" };
                    speaker.event(9, &[&["h", "secret"]], &format!("{when} {round} {number}"))
                });
            }
            for client in &mut connections {
                // It works until then.
                client.wait(|message| message[0] == "EVENT" && message[1] == "s").await;
            }
            // Sent to two nodes, as who got no answer does: neither answers before it is so everywhere.
            let removal = owner.event(9001, &[&["h", "secret"], &["p", &ann.hex()]], &text(&what));
            let remove = async |admin: &mut Client| {
                let (is_stored, says) = admin.publish(&removal).await;
                assert!(is_stored, "{what}: {says}");
                is_removed.store(true, Ordering::SeqCst);
            };
            tokio::join!(remove(&mut admin), remove(&mut second));
            let stored = load.counts().0;
            load.reaches(stored + 60, 0).await;
            load.end().await;
            for client in &mut connections {
                client.send(&json!(["CLOSE", ""])).await;
                loop {
                    let message = client.next().await.expect("it stays open");
                    if message[0] == "NOTICE" {
                        break;
                    }
                    let text = message[2]["content"].as_str().unwrap_or_default();
                    assert!(!text.starts_with("after"), "{what}: {message}");
                }
                let says = client.subscribe("again", &[of_channel("secret")]).await;
                assert!(says.expect_err("it may not").starts_with("restricted:"), "{what}");
            }
        }
    }
}

/// What waits for a slow reader stays where it is once its right is gone: live events on one node, the answer to
/// a request on another.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nothing_that_waits_reaches_who_was_removed() {
    const TEXTS: usize = 200;
    let mut cluster = Cluster::start().await;
    let ann = Person::new();
    let owner = Person { keys: cluster.community.owner.keys.clone() };
    let mut admin = cluster.nodes[0].connect_as(&owner).await;
    let talker = Arc::clone(&cluster.community.members[0]);
    for bus in BUS {
        bring(&mut cluster, bus);
        put(&mut admin, &owner, 9000, &ann, bus).await;
        let last = text("the last");
        let mut live = narrow(cluster.nodes[1].address, &ann).await;
        assert!(live.subscribe("s", &[json!({ "#h": ["secret"], "limit": 1 })]).await.is_ok());
        let beside = cluster.nodes[1].connect_as(&talker).await;
        let beside = Subscriber::start(beside, of_channel("secret"), &last).await;
        let live = live.into_stream();
        let mut writer = cluster.nodes[1].connect().await;
        for n in 0..TEXTS {
            let long = text(&format!("{n} {}", "long text ".repeat(4_000)));
            writer.store(&talker.event(9, &[&["h", "secret"]], &long)).await;
        }
        writer.store(&talker.event(9, &[&["h", "secret"]], &last)).await;
        // By now everything waits for whoever has subscribed on that node.
        beside.end().await;
        let mut asking = narrow(cluster.nodes[2].address, &ann).await;
        asking.send(&json!(["REQ", "s", of_channel("secret")])).await;
        let asking = asking.into_stream();
        // Something has come, so the answer is on its way.
        asking.readable().await.expect("it is open");

        put(&mut admin, &owner, 9001, &ann, bus).await;
        for (what, stream) in [("live", live), ("stored", asking)] {
            let sent = in_flight(&stream);
            let (messages, ends) = rest(stream).await;
            let events = messages.iter().zip(&ends).filter(|(message, _)| message[0] == "EVENT");
            let late = events.clone().filter(|(_, end)| **end > sent).count();
            println!(
                "bus {bus}, {what}: {sent} bytes were on their way, {} events among them",
                events.count()
            );
            assert_eq!(late, 0, "bus {bus}, {what}: events left the node after the removal");
            // More than the reader's system takes; an answer is read in pieces, so no more need be there yet.
            assert!(sent > 16 * 1024 && messages.len() < TEXTS, "something waited, and not all of it came");
        }
    }
}

/// A connection that takes little at a time.
async fn narrow(node: SocketAddr, person: &Person) -> Client {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.set_recv_buffer_size(16 * 1024).expect("a size");
    let stream = soon("a connection", socket.connect(node)).await.expect("it connects");
    let mut client = Client::over(stream, &format!("ws://{node}")).await;
    client.authenticate(person).await;
    client
}

/// The bytes that the node has given to its system and that this program has not read yet.
fn in_flight(stream: &TcpStream) -> usize {
    let (here, there) = (stream.local_addr().expect("bound"), stream.peer_addr().expect("connected"));
    let table = std::fs::read_to_string("/proc/net/tcp").expect("a table of connections");
    let queues = |local: SocketAddr, remote: SocketAddr| {
        let (local, remote) = (format!(":{:04X}", local.port()), format!(":{:04X}", remote.port()));
        let row = table
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>())
            .find(|fields| fields.len() > 4 && fields[1].ends_with(&local) && fields[2].ends_with(&remote));
        let row = row.expect("the connection is in the table");
        let (sending, received) = row[4].split_once(':').expect("two queues");
        [sending, received].map(|bytes| usize::from_str_radix(bytes, 16).expect("a number"))
    };
    let [_, received] = queues(here, there);
    let [sending, _] = queues(there, here);
    received + sending
}

/// Reads to the answer to a question, or to the end of the connection: the messages, and where each ends.
async fn rest(mut stream: TcpStream) -> (Vec<Value>, Vec<usize>) {
    // A frame as a client sends it, masked with zeroes.
    let question = br#"["CLOSE",""]"#;
    let mut frame = vec![0x81, 0x80 | question.len() as u8, 0, 0, 0, 0];
    frame.extend_from_slice(question);
    // A node that has ended the connection is not asked.
    drop(stream.write_all(&frame).await);
    let (mut messages, mut ends) = (Vec::new(), Vec::new());
    let (mut bytes, mut start) = (Vec::new(), 0);
    loop {
        while let Some((text, end)) = text_frame(&bytes, start) {
            start = end;
            let Some(text) = text else { continue };
            let message: Value = serde_json::from_slice(text).expect("JSON");
            if message[0] == "NOTICE" {
                return (messages, ends);
            }
            messages.push(message);
            ends.push(end);
        }
        match soon("more", stream.read_buf(&mut bytes)).await {
            Ok(0) | Err(_) => return (messages, ends),
            Ok(_) => {}
        }
    }
}

/// The frame that starts there: its text, if it is one, and its end.
fn text_frame(bytes: &[u8], start: usize) -> Option<(Option<&[u8]>, usize)> {
    let header = bytes.get(start..start + 2)?;
    let (length, body) = match header[1] {
        126 => (u16::from_be_bytes(bytes.get(start + 2..start + 4)?.try_into().ok()?).into(), start + 4),
        127 => (u64::from_be_bytes(bytes.get(start + 2..start + 10)?.try_into().ok()?), start + 10),
        length => (length.into(), start + 2),
    };
    let end = body + usize::try_from(length).ok()?;
    let payload = bytes.get(body..end)?;
    Some(((header[0] == 0x81).then_some(payload), end))
}
