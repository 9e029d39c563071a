//! The user's own key: a local file, which no server ever sees, and `vocative keygen`, which makes one.

use std::io::{self, Write};
use std::path::PathBuf;

use nostr::key::Keys;
use nostr::nips::nip19::ToBech32;
use serde_json::json;

use crate::config;
use crate::context::Context;
use crate::outcome::{Failure, Outcome};

/// The longest file that could hold one key, in bytes.
const LONGEST: u64 = 512;

/// With which key a command signs.
#[derive(Debug, clap::Args)]
pub(crate) struct KeyArgs {
    /// The file of your key: nsec1… or 64 hex digits, readable by you alone
    /// [default: VOCATIVE_KEY_FILE, or `key` in the user's configuration folder].
    #[arg(long = "key", value_name = "FILE")]
    file: Option<PathBuf>,
}

impl KeyArgs {
    /// The file that is meant, whether or not it is there.
    fn path(&self) -> PathBuf {
        let variable = || std::env::var_os("VOCATIVE_KEY_FILE").filter(|value| !value.is_empty());
        let named = self.file.clone().or_else(|| variable().map(PathBuf::from));
        named.unwrap_or_else(|| config::folder().join("key"))
    }

    /// The key.
    ///
    /// # Errors
    /// Why the file cannot be used; `bad_key_file` when it holds no key.
    pub(crate) fn keys(&self) -> Result<Keys, Failure> {
        let path = self.path();
        let advise = |failure: Failure| match &*failure.code {
            "no_secret_file" => {
                let message = format!("{}; `vocative keygen` makes a key", failure.message);
                Failure { code: "no_key".into(), message, ..failure }
            }
            _ => failure,
        };
        let text = config::read_secret(&path, LONGEST).map_err(advise)?;
        // What is wrong with a key is not said: the words might hold some of it.
        Keys::parse(text.trim()).map_err(|_| {
            let message = format!("{}: it holds no key, nsec1… or 64 hex digits", path.display());
            Failure::new(Outcome::Problems, "bad_key_file", message)
                .with(json!({ "path": path.to_string_lossy() }))
        })
    }
}

/// Arguments of `vocative keygen`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    key: KeyArgs,
    /// Say what was made as JSON.
    #[arg(long)]
    json: bool,
}

/// Makes a key where there is none, and prints its public half.
pub(crate) fn run(args: Args, context: &mut Context) -> Result<Outcome, Failure> {
    let path = args.key.path();
    let keys = Keys::generate();
    let secret = keys.secret_key().to_bech32().expect("every key has its text");
    config::create_secret(&path, &format!("{secret}\n")).map_err(|error| {
        let details = json!({ "path": path.to_string_lossy() });
        match error.kind() {
            io::ErrorKind::AlreadyExists => {
                let message = format!("{}: there is a key already; it stays as it is", path.display());
                Failure::new(Outcome::Conflict, "key_exists", message).with(details)
            }
            _ => {
                let message = format!("{}: {error}", path.display());
                Failure::new(Outcome::Problems, "io", message).with(details)
            }
        }
    })?;
    let public = keys.public_key();
    let npub = public.to_bech32().expect("every key has its text");
    if context.json {
        let made = json!({ "npub": npub, "pubkey": public.to_hex(), "path": path.to_string_lossy() });
        writeln!(context.out, "{made}")?;
    } else {
        writeln!(context.out, "{npub}")?;
    }
    Ok(Outcome::Done)
}
