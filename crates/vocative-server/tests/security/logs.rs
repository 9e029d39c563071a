//! What is logged of a hostile session holds nothing that it said (section 6).

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::json;

use super::support::{Community, Person};

#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn logs_hold_no_text_of_a_hostile_session() {
    let written = Written::default();
    let log = {
        let written = written.clone();
        tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE).with_writer(move || written.clone())
    };
    log.with_ansi(false).init();
    tracing::info!("the log is read");
    let marker = "LOGMARK\u{1b}[31m\r\nfake: line";
    let Community { node, owner, ann, .. } = Community::new().await;
    let mut client = node.connect_as(&owner).await;
    let h: &[&str] = &["h", "open"];
    client.store(&ann.event(9, &[h, &["t", marker]], marker)).await;
    client.store(&owner.event(9002, &[h, &["name", marker]], marker)).await;
    let events = [
        ann.event(9, &[&["h", marker]], marker),
        ann.event(9, &[h], &format!("{marker}\0")),
        ann.event(9003, &[h], marker),
        Person::new().event(9, &[&["h", "secret"]], marker),
        owner.event(9009, &[h, &["code", marker]], ""),
    ];
    for event in &events {
        client.publish(event).await;
    }
    let mut forged = ann.event(9, &[h], marker);
    forged.content.push('!');
    client.publish(&forged).await;
    for text in [marker, &json!([marker]).to_string(), &json!(["REQ", marker, { "ids": marker }]).to_string()]
    {
        client.send_text(text).await;
        client.wait(|message| message[0] == "NOTICE" || message[0] == "CLOSED").await;
    }
    for filter in [json!({ "search": marker }), json!({ "#t": [marker, "\0"] }), json!({ "#h": [marker] })] {
        let _ = client.subscribe("s", std::slice::from_ref(&filter)).await;
        let _ = client.count(&[filter]).await;
    }
    drop(client);
    drop(node);
    let written = written.0.lock().unwrap_or_else(PoisonError::into_inner);
    let written = String::from_utf8_lossy(&written);
    assert!(written.contains("the log is read"));
    assert!(!written.contains("LOGMARK") && !written.contains('\u{1b}'), "{written}");
    assert!(!written.contains(&ann.keys.secret_key().to_secret_hex()));
}
