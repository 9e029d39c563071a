//! `vocative index rebuild`: makes the mention index again, while the community is in use.

use std::io::Write;
use std::time::Duration;

use serde::Deserialize;
use serde_json::json;
use ureq::http::Method;
use vocative_store::{RebuildProgress, StoreError, rebuild_index};

use crate::context::Context;
use crate::key::KeyArgs;
use crate::outcome::{Failure, Outcome};
use crate::progress::Progress;
use crate::remote::{Credentials, Remote, ServerArgs};
use crate::store::{PlaceArgs, failure};

/// How often a server is asked how far it is.
const ASK: Duration = Duration::from_millis(300);
/// Into how many parts a store is split that no server serves.
const PARTS: usize = 256;

/// Arguments of `vocative index`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Make the index again from events and references. A run after an interrupted one goes on.
    #[command(after_help = WAYS)]
    Rebuild {
        #[command(flatten)]
        server: ServerArgs,
        #[command(flatten)]
        key: KeyArgs,
        #[command(flatten)]
        place: PlaceArgs,
        /// Say what was done as JSON.
        #[arg(long)]
        json: bool,
    },
}

const WAYS: &str = "\
With --data or --database this process does the work itself. A SQLite store that is being served is
opened by its server alone: name that with --server (or VOCATIVE_SERVER), and sign as the community's
owner; all its nodes share the work. A PostgreSQL store may be rebuilt either way, or both at once.";

/// Makes the index again.
pub(crate) fn run(args: Args, context: &mut Context) -> Result<Outcome, Failure> {
    let Command::Rebuild { server, key, place, .. } = args.command;
    match place.is_named() {
        true => here(place, context),
        false => there(&server, &key, context),
    }
}

fn here(place: PlaceArgs, context: &mut Context) -> Result<Outcome, Failure> {
    let place = place.place()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let mut parts = Progress::of_parts(context);
    let done = runtime.block_on(async {
        let store = place.open().await?;
        rebuild_index(&*store, PARTS, &mut |progress: RebuildProgress| parts.left(progress.left)).await
    });
    drop(parts);
    let done = done.map_err(|error| match error {
        StoreError::InUse => {
            let message = format!("{error}; name its server with --server, and sign as the owner");
            Failure { message, ..failure(&error) }
        }
        error => failure(&error),
    })?;
    if context.json {
        writeln!(context.out, "{}", json!({ "rows": done.rows, "repaired": done.repaired }))?;
    } else {
        writeln!(
            context.out,
            "{} rows are right; {} records had to be made again",
            done.rows, done.repaired
        )?;
    }
    Ok(Outcome::Done)
}

/// How far a server is.
#[derive(Deserialize)]
struct Left {
    left: usize,
}

fn there(server: &ServerArgs, key: &KeyArgs, context: &mut Context) -> Result<Outcome, Failure> {
    const PATH: &str = "/v1/index/rebuild";
    let remote = Remote::new(server.address()?, Credentials::Key(key.keys()?))?;
    let mut progress: Left = remote.send(Method::POST, PATH, &[], None)?.json()?;
    let mut parts = Progress::of_parts(context);
    while progress.left > 0 {
        parts.left(progress.left);
        std::thread::sleep(ASK);
        progress = remote.get(PATH)?.json()?;
    }
    drop(parts);
    if context.json {
        writeln!(context.out, "{}", json!({ "left": 0 }))?;
    } else {
        writeln!(context.out, "the index is made again")?;
    }
    Ok(Outcome::Done)
}
