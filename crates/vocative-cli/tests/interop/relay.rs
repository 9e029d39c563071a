//! The relays, each started anew on a free port of this machine, and gone afterwards.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::client::python;

/// Whose relay it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Implementation {
    Vocative,
    RustNostr,
}

impl Implementation {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Vocative => "vocative",
            Self::RustNostr => "rust-nostr",
        }
    }
}

/// A running relay, empty at its start.
pub(crate) struct Relay {
    process: Child,
    pub(crate) url: String,
    _folder: TempDir,
}

/// The public key of the scenarios' `alice`, whose secret key is 1.
const OWNER: &str = "79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798";

/// Runs the relay, and ends it with its input, which ends with this program however that ends.
pub(crate) const KEEPER: &str = "\"$@\" & server=$!; read -r _; kill -s TERM $server; wait $server";

impl Relay {
    /// Starts one. The arguments are for rust-nostr's.
    pub(crate) fn start(implementation: Implementation, packages: &Path, arguments: &[String]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut command = match implementation {
            Implementation::Vocative => vocative(folder.path()),
            Implementation::RustNostr => {
                let mut python = python(packages, "local_relay.py");
                python.args(arguments);
                python
            }
        };
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let url = match implementation {
            Implementation::RustNostr => line.trim().to_owned(),
            Implementation::Vocative => {
                let said: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("it says {line:?}"));
                said["address"].as_str().unwrap().to_owned()
            }
        };
        Self { process, url, _folder: folder }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        drop(self.process.wait());
    }
}

/// Our relay, with limits that no scenario reaches: they have tests of their own.
fn vocative(folder: &Path) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", KEEPER, "sh", env!("CARGO_BIN_EXE_vocative"), "serve", "--json"]);
    command.args(["--listen", "127.0.0.1:0", "--owner", OWNER, "--data"]).arg(folder);
    command
        .env_clear()
        .env("HOME", folder)
        .env("VOCATIVE_LOG", "warn")
        .env("VOCATIVE_LIMITS_EVENTS_PER_SECOND", "1000000")
        .env("VOCATIVE_LIMITS_REQUESTS_PER_SECOND", "1000000");
    command
}
