//! Puts whole relays under load over WebSocket, side by side, and records what they did.
//!
//! Everything is signed before a clock starts. The generator runs on one thread and says what share of
//! a core it took, so that a reader can tell whether it or the relay was the bound.

mod cast;
mod connection;
mod deliveries;
mod durability;
mod fanout;
mod ingest;
mod ledger;
mod process;
mod relays;
mod report;
mod runs;
mod schedule;
mod times;
mod wire;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

use crate::cast::Shape;
use crate::relays::{Kind, Programs};

/// Puts relays under load and records what they did.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask load", max_term_width = 100)]
struct Cli {
    /// What to measure; everything by default.
    #[command(subcommand)]
    mode: Option<Mode>,
    /// A relay to measure, once for each; all that are installed by default.
    #[arg(long = "relay", value_enum, global = true)]
    relays: Vec<Kind>,
    /// Write the record to this file too.
    #[arg(long, global = true)]
    record: Option<PathBuf>,
    #[command(flatten)]
    shape: Shape,
    #[command(flatten)]
    programs: Programs,
}

#[derive(Clone, Debug, clap::Subcommand)]
enum Mode {
    /// Events in: open loop at rates, or closed loop with events in flight.
    Ingest(runs::Ingest),
    /// One channel out to many subscribers.
    Fanout(runs::Fanout),
    /// Many connections and subscriptions, events beside, memory of the relay.
    Connections(runs::Connections),
    /// Whether OK means synced, by strace.
    Durability(runs::Durability),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    // One thread, so that the generator's share of the machine is bounded and known.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let result = runtime
        .map_err(|error| error.to_string())
        .and_then(|runtime| tokio::task::LocalSet::new().block_on(&runtime, runs::all(cli)));
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => {
            eprintln!("a relay of this project lost, refused or repeated something: see the record");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}
