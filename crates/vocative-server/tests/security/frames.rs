//! WebSocket frames that no client sends by itself (RFC 6455).

use futures_util::{SinkExt, StreamExt};
use serde_json::json;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Control, Data, OpCode};
use tokio_tungstenite::tungstenite::protocol::frame::{Frame, FrameHeader};

use super::support::{Client, Community, soon};

fn frame(data: &[u8], code: OpCode, is_last: bool) -> Message {
    let header = FrameHeader { is_final: is_last, opcode: code, ..FrameHeader::default() };
    Message::Frame(Frame::from_payload(header, data.to_vec().into()))
}

const TEXT: OpCode = OpCode::Data(Data::Text);
const MORE: OpCode = OpCode::Data(Data::Continue);

async fn send(client: &mut Client, frames: impl IntoIterator<Item = Message>) {
    for frame in frames {
        client.socket.send(frame).await.expect("it takes frames");
    }
}

/// One byte in each frame, a character cut in two, and pings between them.
#[tokio::test]
async fn a_message_in_fragments_is_read_as_one() {
    let Community { node, .. } = Community::new().await;
    let mut client = node.connect().await;
    let text = r#"["CLOSE","é🦀 and more than sixty-four bytes, which no subscription is called"]"#;
    let (first, rest) = text.as_bytes().split_at(1);
    send(&mut client, [frame(first, TEXT, false)]).await;
    for (n, byte) in rest.iter().enumerate() {
        let is_last = n + 1 == rest.len();
        send(
            &mut client,
            [frame(b"p", OpCode::Control(Control::Ping), true), frame(&[*byte], MORE, is_last)],
        )
        .await;
    }
    let notice = client.wait(|message| message[0] == "NOTICE").await;
    assert!(notice[1].as_str().is_some_and(|says| says.contains("1 to 64 bytes")), "{notice}");
}

#[tokio::test]
async fn frames_that_are_none_end_their_connection_alone() {
    let Community { node, ann, .. } = Community::new().await;
    let mut other = node.connect().await;
    let large = vec![b'['; 600 * 1024];
    let table = [
        ("no UTF-8", vec![frame(b"[\"CLOSE\",\"\xff\xfe\"]", TEXT, true)]),
        ("no UTF-8 in the second half", vec![frame(b"[\"\xc3", TEXT, false), frame(b"\x28\"]", MORE, true)]),
        ("a message within another", vec![frame(b"[", TEXT, false), frame(b"[]", TEXT, true)]),
        ("the rest of nothing", vec![frame(b"[]", MORE, true)]),
        ("fragments of too much", vec![frame(&large, TEXT, false), frame(&large, MORE, true)]),
        ("a ping in fragments", vec![frame(b"p", OpCode::Control(Control::Ping), false)]),
        ("a long ping", vec![frame(&[0; 126], OpCode::Control(Control::Ping), true)]),
    ];
    for (which, frames) in table {
        let mut client = node.connect().await;
        for frame in frames {
            // The node may have gone before the last of them.
            let _ = client.socket.send(frame).await;
        }
        loop {
            match soon(which, client.socket.next()).await {
                None | Some(Err(_) | Ok(Message::Close(_))) => break,
                Some(Ok(Message::Text(text))) => assert!(text.starts_with("[\"NOTICE\""), "{which}: {text}"),
                Some(Ok(_)) => {}
            }
        }
    }
    other.store(&ann.event(9, &[&["h", "open"]], "here")).await;
    // A message of bytes is said to be wrong and costs nothing else.
    send(&mut other, [Message::binary(json!(["CLOSE", "s"]).to_string().into_bytes())]).await;
    assert_eq!(other.wait(|m| m[0] == "NOTICE").await[1], "invalid: messages are text");
}
