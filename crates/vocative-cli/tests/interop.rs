//! Clients that are not ours talk to our relay, and the same way to a relay that is not ours.
//!
//! A scenario (`interop/*.json`) says what is asked and what has to be answered. nostr-tools and rust-nostr's
//! client each run it against `vocative serve` and against rust-nostr's relay, and all four have to answer
//! alike. Where the other relay does not, the step says what it answers and why; an exception that no
//! longer holds fails too. `cargo xtask interop` brings the packages and runs these tests; without them
//! they say that they are skipped.

#![cfg(unix)]

#[path = "interop/client.rs"]
mod client;
#[path = "interop/relay.rs"]
mod relay;
#[path = "interop/scenario.rs"]
mod scenario;
#[path = "interop/schema.rs"]
mod schema;

use std::path::PathBuf;

use client::Client;
use relay::{Implementation, Relay};
use scenario::{Run, Scenario};

/// The folder with the packages; nothing, loudly, where the tests are run without them.
fn packages() -> Option<PathBuf> {
    let folder = std::env::var_os("VOCATIVE_INTEROP").filter(|folder| !folder.is_empty());
    if folder.is_none() {
        eprintln!("── SKIPPED: foreign clients: VOCATIVE_INTEROP names no folder; run: cargo xtask interop");
    }
    folder.map(PathBuf::from)
}

/// Runs a scenario with both clients on both relays, each time on a new one.
fn all_agree(name: &str) {
    let Some(packages) = packages() else { return };
    let scenario = Scenario::read(name);
    let mut runs = Vec::new();
    for implementation in [Implementation::Vocative, Implementation::RustNostr] {
        for client in [Client::NostrTools, Client::RustNostr] {
            let relay = Relay::start(implementation, &packages, &scenario.local_relay);
            let answers = client.run(&packages, &relay.url, &scenario.asked_of(implementation));
            runs.push(Run { implementation, client, answers });
        }
    }
    let differences = scenario.differences(&runs);
    assert!(differences.is_empty(), "{name}: {}\n{}", scenario.about, differences.join("\n"));
}

#[test]
fn stored_events_are_found_alike() {
    all_agree("stored");
}

#[test]
fn open_subscriptions_are_told_alike() {
    all_agree("live");
}

#[test]
fn private_channels_open_to_their_members_alone() {
    all_agree("private");
}
