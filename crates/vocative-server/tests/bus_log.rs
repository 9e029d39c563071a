//! What the bus logs, here and in its client. Alone in its program, for it listens to the whole of it.

mod nats;

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use vocative_server::bus::{Bus, Nats, State};
use vocative_server::settings::Secret;

use nats::Server;

/// Everything that is logged, by us and by the client, at the finest level.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no test fails while writing").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn no_secret_is_logged_or_shown() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing_subscriber::filter::LevelFilter::TRACE)
        .with_writer(move || writer.clone())
        .finish();
    tracing::subscriber::set_global_default(subscriber).expect("this program has no other test");
    let mut shown = String::new();
    let mut servers = [
        Server::with(&["--jetstream", "--user", "me", "--pass", "hunter2"], ""),
        Server::with(&["--jetstream", "--auth", "hunter2"], ""),
    ];
    for (server, login) in servers.iter_mut().zip(["me:hunter2@", "hunter2@"]) {
        let url = format!("nats://{login}127.0.0.1:{}", server.port);
        let secret = Secret::new(url.clone());
        shown.push_str(&format!("{secret:?}"));
        let bus = Nats::connect(&secret, "test").await.expect("it may");
        assert!(bus.is_connected());
        let mut states = bus.states();
        server.kill();
        let state = states.wait_for(|state| *state != State::Connected).await;
        shown.push_str(&format!("{:?}", *state.expect("it is there")));
        server.restart();
        let wrong = format!("nats://wrong:hunter2@127.0.0.1:{}", server.port);
        let error = Nats::connect(&Secret::new(wrong), "test").await.err().expect("it is refused");
        shown.push_str(&format!("{error} {error:?}"));
    }
    let logged = String::from_utf8(log.0.lock().expect("it is whole").clone()).expect("it is text");
    assert!(logged.contains("async_nats") && logged.contains("bus_away"), "it logs: {logged}");
    for text in [&logged, &shown] {
        assert!(!text.contains("hunter2"), "{text}");
    }
}
