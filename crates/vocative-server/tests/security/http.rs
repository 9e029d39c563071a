//! HTTP before the WebSocket: header injection, request smuggling, upgrades that are none.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::support::{Community, Node, soon};

/// Everything that the node answers to these bytes before it closes.
async fn answer(node: &Node, request: &str) -> String {
    let mut stream = TcpStream::connect(node.address).await.expect("it connects");
    // It may refuse before everything is written.
    let _ = stream.write_all(request.as_bytes()).await;
    let mut answer = Vec::new();
    let _ = soon(request, stream.read_to_end(&mut answer)).await;
    String::from_utf8_lossy(&answer).into_owned()
}

const UPGRADE: &str = "connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n";
const KEY: &str = "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

#[tokio::test]
async fn hostile_requests_get_one_plain_answer() {
    let Community { node, .. } = Community::new().await;
    let marker = "INJECTED";
    let long = "a".repeat(600 * 1024);
    let close = "connection: close\r\n";
    let table = [
        ("no host that is one", format!("GET / HTTP/1.1\r\nhost: {marker}\r\n{close}\r\n"), "426"),
        ("a host with a path", format!("GET / HTTP/1.1\r\nhost: a/..//{marker}\r\n{close}\r\n"), "426"),
        (
            "a kind beside its own",
            format!(
                "GET / HTTP/1.1\r\nhost: a\r\naccept: text/{marker}, application/nostr+json\r\n{close}\r\n"
            ),
            "200",
        ),
        (
            "a kind within another",
            format!("GET / HTTP/1.1\r\nhost: a\r\naccept: application/nostr+json{marker}\r\n{close}\r\n"),
            "426",
        ),
        (
            "a line feed in a header",
            format!("GET / HTTP/1.1\r\nhost: a\r\naccept: x\n {marker}: y\r\n{close}\r\n"),
            "400",
        ),
        ("a path", format!("GET /%0d%0a{marker} HTTP/1.1\r\nhost: a\r\n{close}\r\n"), "404"),
        (
            "another version",
            format!(
                "GET / HTTP/1.1\r\nhost: a\r\n{KEY}connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 8\r\n\r\nGET / HTTP/1.1\r\n{close}\r\n"
            ),
            "426",
        ),
        ("no key", format!("GET / HTTP/1.1\r\nhost: a\r\n{UPGRADE}\r\nGET / HTTP/1.1\r\n{close}\r\n"), "426"),
        (
            "not GET",
            format!(
                "POST / HTTP/1.1\r\nhost: a\r\n{UPGRADE}{KEY}content-length: 0\r\n\r\nGET / HTTP/1.1\r\n{close}\r\n"
            ),
            "426",
        ),
        (
            "two lengths",
            format!("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ncontent-length: 2\r\n{close}\r\nx"),
            "400",
        ),
        (
            "a length and chunks",
            format!(
                "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n{close}\r\n0\r\n\r\nGET /metrics HTTP/1.1\r\nhost: a\r\n\r\n"
            ),
            "426",
        ),
        (
            "chunks that are none",
            format!(
                "POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked, {marker}\r\n{close}\r\n0\r\n\r\n"
            ),
            "400",
        ),
        ("a long header", format!("GET / HTTP/1.1\r\nhost: a\r\nx: {long}\r\n{close}\r\n"), "431"),
        ("nonsense", format!("\x16\x03\x01{marker}\r\n\r\n"), "400"),
        // It is closed without a word.
        ("HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned(), ""),
    ];
    for (which, request, status) in table {
        let answer = answer(&node, &request).await;
        assert!(!answer.contains(marker), "{which}: {answer}");
        let first = answer.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)).unwrap_or_default();
        assert_eq!(first, status, "{which}: {answer}");
        let is_metrics = answer.contains("# TYPE");
        assert!(!is_metrics, "{which}: nothing within a request is a request");
    }
}

/// Compression that is offered is not taken up, so nothing that is short on the way is long here.
#[tokio::test]
async fn there_is_no_compression_to_bomb() {
    let Community { node, .. } = Community::new().await;
    let mut stream = TcpStream::connect(node.address).await.expect("it connects");
    let extensions =
        "sec-websocket-extensions: permessage-deflate; client_max_window_bits, x-webkit-deflate-frame\r\n";
    let request = format!("GET / HTTP/1.1\r\nhost: a\r\n{UPGRADE}{KEY}{extensions}\r\n");
    stream.write_all(request.as_bytes()).await.expect("it takes it");
    let mut head = Vec::new();
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        head.push(soon("an answer", stream.read_u8()).await.expect("a byte"));
    }
    let head = String::from_utf8(head).expect("text").to_ascii_lowercase();
    assert!(head.starts_with("http/1.1 101"), "{head}");
    assert!(!head.contains("extensions"), "{head}");
    // A frame that says that it is compressed ends the connection: FIN, RSV1, text, masked, no bytes.
    stream.write_all(&[0xc1, 0x80, 0, 0, 0, 0]).await.expect("it takes it");
    let mut rest = Vec::new();
    let _ = soon("an end", stream.read_to_end(&mut rest)).await;
}
