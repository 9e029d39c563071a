//! rust-nostr's LocalRelay with its limits lifted, on LMDB: `rust-nostr-relay PORT FOLDER`.
//!
//! The relay of the Python package reaches LMDB through Python, which would be what is measured.

use std::error::Error;

use nostr_lmdb::NostrLmdb;
use nostr_sdk::local_relay::{LocalRelay, RateLimit};

/// It pins what is measured.
const MANIFEST: &str = include_str!("../Cargo.toml");

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1).peekable();
    if arguments.peek().is_some_and(|argument| argument == "--version") {
        let pinned: Vec<&str> = MANIFEST.lines().filter(|line| line.starts_with("nostr-")).collect();
        println!("{}", pinned.join("; "));
        return Ok(());
    }
    let (port, folder) =
        arguments.next().zip(arguments.next()).ok_or("usage: rust-nostr-relay PORT FOLDER")?;
    let relay = LocalRelay::builder()
        .port(port.parse()?)
        .rate_limit(RateLimit { max_reqs: usize::MAX, notes_per_minute: u32::MAX })
        .database(NostrLmdb::open(folder).await?)
        .build();
    relay.run().await?;
    std::future::pending().await
}
