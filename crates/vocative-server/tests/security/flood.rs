//! As much, and as fast, as a client can.

use futures_util::{SinkExt, StreamExt};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::{Bytes, Message};

use super::support::{Community, of_channel, soon};

#[tokio::test]
async fn subscriptions_opened_and_closed_as_fast_as_can_be_leave_nothing() {
    let Community { node, ann, .. } = Community::new().await;
    let mut client = node.connect().await;
    for n in 0..3000 {
        client.send(&json!(["REQ", (n % 7).to_string(), of_channel("open")])).await;
        if n % 2 == 0 {
            client.send(&json!(["CLOSE", (n % 5).to_string()])).await;
        }
    }
    for n in 0..7 {
        client.send(&json!(["CLOSE", n.to_string()])).await;
    }
    let message = ann.event(9, &[&["h", "open"]], "after");
    client.store(&message).await;
    assert_eq!(client.stored(json!({ "kinds": [9] })).await, [message.id.to_hex()]);
    let came = (0..7).map(|n| n.to_string());
    for subscription in came {
        assert_eq!(client.came(&subscription).await, [""; 0], "nothing comes for what was closed");
    }
}

#[tokio::test]
async fn a_flood_of_pings_is_survived() {
    let Community { node, ann, .. } = Community::new().await;
    let mut client = node.connect().await;
    for n in 0..20_000_u32 {
        client.socket.feed(Message::Ping(Bytes::copy_from_slice(&n.to_be_bytes()))).await.expect("it takes");
        if n % 500 == 0 {
            client.socket.flush().await.expect("it takes them");
        }
    }
    client.store(&ann.event(9, &[&["h", "open"]], "here")).await;
}

/// Connections that never become WebSockets are counted too.
#[tokio::test]
async fn a_flood_of_silent_connections_of_one_address_is_stopped() {
    let Community { node, .. } =
        Community::with(|settings| settings.limits.connections_per_address = 4).await;
    let mut silent = Vec::new();
    for _ in 0..4 + 16 {
        silent.push(TcpStream::connect(node.address).await.expect("it connects"));
    }
    // One of them may be the last of the community's own, which is just ending; so one or two more.
    let mut refused = false;
    for _ in 0..4 {
        let mut one_more = TcpStream::connect(node.address).await.expect("the system connects it");
        let asked =
            one_more.write_all(b"GET /healthz HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").await;
        let mut answer = Vec::new();
        let read = soon("an end", one_more.read_to_end(&mut answer)).await;
        refused |= asked.is_err() || read.is_err() || answer.is_empty();
    }
    assert!(refused);
    // There is room again when they go; the node sees that in its own time.
    drop(silent);
    let again = async {
        loop {
            let Ok(mut stream) = TcpStream::connect(node.address).await else { continue };
            let asked = stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n");
            let mut answer = String::new();
            if asked.await.is_ok() && stream.read_to_string(&mut answer).await.is_ok() && !answer.is_empty() {
                return answer;
            }
        }
    };
    assert!(soon("an answer", again).await.starts_with("HTTP/1.1 200"));
}

#[tokio::test]
async fn a_flood_of_what_is_not_understood_does_not_end_in_memory() {
    let Community { node, .. } = Community::with(|settings| settings.limits.pending_bytes = 100_000).await;
    let mut client = node.connect().await;
    // It never reads, so what waits for it grows until it is dropped.
    let flood = async { while client.socket.send(Message::text("[]")).await.is_ok() {} };
    soon("the end of the connection", flood).await;
    while let Some(Ok(_)) = soon("the end", client.socket.next()).await {}
}

/// Whoever sends someone's events again and again uses up nothing of what that key may.
#[tokio::test]
async fn a_flood_of_replayed_events_does_not_silence_their_author() {
    let Community { node, ann, .. } = Community::with(|settings| settings.limits.events_per_second = 4).await;
    let (mut stranger, mut author) = (node.connect().await, node.connect_as(&ann).await);
    let message = ann.event(9, &[&["h", "open"]], "once");
    author.store(&message).await;
    let mut last = String::new();
    for _ in 0..40 {
        last = stranger.publish(&message).await.1;
    }
    assert!(last.starts_with("rate-limited:"), "{last}");
    author.store(&ann.event(9, &[&["h", "open"]], "twice")).await;
}
