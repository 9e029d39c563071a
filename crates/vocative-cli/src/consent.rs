//! What a user has agreed to send to which server: asked once, and kept in the configuration folder.

use std::collections::BTreeSet;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::context::Context;
use crate::outcome::{Failure, Outcome};
use crate::remote::Address;
use crate::{config, terminal};

/// What a command is about to send, for a person.
pub(crate) struct Leaving<'a> {
    /// Where to.
    pub(crate) to: &'a Address,
    /// What it is, in sentences.
    pub(crate) what: &'a [String],
}

/// The servers to which the user has agreed to push.
#[derive(Default, Serialize, Deserialize)]
struct Agreed {
    servers: BTreeSet<String>,
}

fn path() -> PathBuf {
    config::folder().join("agreed.json")
}

impl Agreed {
    /// What is kept. What cannot be read is no consent: the user is asked again.
    fn read() -> Self {
        let text = std::fs::read_to_string(path()).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }

    fn keep(mut self, server: String, context: &mut Context) {
        self.servers.insert(server);
        let text = serde_json::to_string_pretty(&self).expect("it has string keys");
        if let Err(error) = config::replace_secret(&path(), &text) {
            context.note(&format!("that you agreed is not kept, and is asked again: {error}"));
        }
    }
}

/// Says what leaves this machine and asks whether it may, unless the user has agreed for this server before.
/// `is_agreed` says so beforehand.
///
/// # Errors
/// `not_agreed`, with what would have been sent: the user says no, or cannot be asked.
pub(crate) fn ask(leaving: &Leaving<'_>, is_agreed: bool, context: &mut Context) -> Result<(), Failure> {
    let (agreed, server) = (Agreed::read(), leaving.to.of(""));
    if agreed.servers.contains(&server) {
        return Ok(());
    }
    context.out.flush()?;
    if !context.json {
        for sentence in leaving.what {
            eprintln!("{}", terminal::line(sentence));
        }
    }
    let is_agreed = is_agreed || can_ask(context) && says_yes(&server)?;
    if is_agreed {
        agreed.keep(server, context);
        return Ok(());
    }
    let message = "nothing was sent: nobody has agreed to it; --yes agrees, now and from now on";
    let details = json!({ "server": server, "leaves": leaving.what });
    Err(Failure::new(Outcome::Problems, "not_agreed", message).with(details))
}

/// Whether there is somebody to ask.
fn can_ask(context: &Context) -> bool {
    !context.json && io::stdin().is_terminal() && io::stderr().is_terminal()
}

fn says_yes(server: &str) -> Result<bool, Failure> {
    eprint!("Send it, now and from now on, to {}? [y/N] ", terminal::line(server));
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}
