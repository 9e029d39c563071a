//! `vocative history`: what a message has said, and whom each version names.

use std::io::Write;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::context::{Context, Style};
use crate::key::KeyArgs;
use crate::outcome::{Failure, Outcome};
use crate::remote::{Credentials, Remote, ServerArgs};
use crate::send::{Person, message_id};
use crate::terminal;

/// Arguments of `vocative history`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct Args {
    /// The message.
    #[arg(value_parser = message_id)]
    message: String,
    /// Show the text of each version, which is untrusted.
    #[arg(long)]
    show: bool,
    #[command(flatten)]
    server: ServerArgs,
    #[command(flatten)]
    key: KeyArgs,
    /// Write one JSON object for each version.
    #[arg(long)]
    json: bool,
}

const EXIT_CODES: &str = "\
Exit codes:
  0  shown
  1  the server was not reached or refuses to answer
  2  the command was not understood, or no server is named
  4  there is no such message, or it is not for you; or there is no key yet";

#[derive(Debug, Deserialize)]
struct Versions {
    versions: Vec<Value>,
    count: usize,
}

/// What is shown of a version.
#[derive(Debug, Deserialize)]
struct Version {
    event: Event,
    occurrences: Vec<Occurrence>,
    recipients: Vec<Person>,
    references: Vec<Person>,
}

#[derive(Debug, Deserialize)]
struct Event {
    id: String,
    pubkey: String,
    created_at: u64,
    content: String,
}

#[derive(Debug, Deserialize)]
struct Occurrence {
    label: String,
    key: Option<String>,
}

/// Shows every version, the first one first; of the edits the last counts.
pub(crate) fn run(args: Args, context: &mut Context) -> Result<Outcome, Failure> {
    let remote = Remote::new(args.server.address()?, Credentials::Key(args.key.keys()?))?;
    let mut shown = 0;
    loop {
        let path = format!("/v1/messages/{}/history?skip={shown}", args.message);
        let page: Versions = remote.get(&path)?.json()?;
        for version in &page.versions {
            shown += 1;
            if context.json {
                writeln!(context.out, "{}", terminal::json(&json!({ "version": shown, "of": version })))?;
            } else {
                let version = Version::deserialize(version).map_err(|error| {
                    Failure::new(
                        Outcome::Problems,
                        "bad_answer",
                        format!("a version is not as expected: {error}"),
                    )
                })?;
                version.show(shown, args.show, context)?;
            }
        }
        if page.versions.is_empty() || shown >= page.count {
            return Ok(Outcome::Done);
        }
    }
}

impl Version {
    fn show(&self, number: usize, with_text: bool, context: &mut Context) -> Result<(), Failure> {
        let Event { id, pubkey, created_at, content } = &self.event;
        let what = if number == 1 { "published" } else { "edited" };
        let at = i64::try_from(*created_at).ok().and_then(|secs| secs.checked_mul(1000));
        let at = at.and_then(vocative_pi::Timestamp::from_millis);
        let at = at.map_or_else(|| created_at.to_string(), |at| at.to_string());
        let head = format!("{number}. {what} {at} by {pubkey}, {id}");
        writeln!(context.out, "{}", context.styled(Style::Bold, &terminal::line(&head)))?;
        for (says, people) in [("notifies", &self.recipients), ("refers to", &self.references)] {
            for person in people {
                writeln!(context.out, "  {says} {}", person.shown())?;
            }
        }
        for Occurrence { label, key } in &self.occurrences {
            let whom = key.as_deref().unwrap_or("nobody for certain");
            writeln!(context.out, "  @{} is {}", terminal::line(label), terminal::line(whom))?;
        }
        if with_text {
            writeln!(context.out, "  untrusted text:")?;
            for line in terminal::lines(content) {
                writeln!(context.out, "  | {line}")?;
            }
        }
        Ok(())
    }
}
