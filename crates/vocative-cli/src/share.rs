//! `vocative share`: a whole session, to those who may read it at a community's server.
//!
//! It is the one command that sends the text of a session. It takes one file, which is named.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::json;
use ureq::http::Method;
use vocative_pi::{Content, Opened, Options, fetch};

use crate::context::{Context, problem_json, problem_text};
use crate::credentials;
use crate::outcome::{Failure, Outcome};
use crate::remote::{MOST_BODY, ServerArgs};
use crate::repository::{self, RepositoryArgs};
use crate::terminal;

/// Arguments of `vocative share`.
#[derive(Debug, clap::Args)]
#[command(after_help = READERS)]
pub(crate) struct Args {
    /// The session
    #[arg(value_name = "SESSION.jsonl")]
    file: PathBuf,
    #[command(flatten)]
    server: ServerArgs,
    #[command(flatten)]
    repository: RepositoryArgs,
    /// Write what was done as one JSON object
    #[arg(long)]
    json: bool,
}

const READERS: &str = "\
The whole text of the session leaves this machine. Each person whom a marker in it names may read the
messages that name them, what led to these and what followed, and no other branch. With --repo or --remote
everyone who can read that repository may read all of it; sharing again without takes that back.";

/// What the server did.
#[derive(Deserialize)]
struct Shared {
    session: String,
    bytes: u64,
    unchanged: bool,
}

/// Shares.
pub(crate) fn run(args: Args, context: &mut Context) -> Result<Outcome, Failure> {
    let (remote, login) = credentials::remote(&args.server)?;
    // Never that of the current folder unasked: it lets everyone in.
    let repository = match args.repository.is_given() {
        true => Some(repository::choose(&args.repository, login.github.as_deref())?.name),
        false => None,
    };
    let bytes = read(&args.file)?;
    let session = check(&args.file, &bytes)?;
    let named = named(&session);
    let (server, id) = (remote.address().of(""), session.header.id.as_str());
    for sentence in describe(&named, repository.as_deref(), bytes.len(), &server) {
        context.note(&sentence);
    }
    let mut headers = vec![("content-type", "application/x-ndjson")];
    headers.extend(repository.as_deref().map(|name| ("x-chi-repo", name)));
    let answer = remote.send(Method::PUT, &format!("/v1/sessions/{id}"), &headers, Some(&bytes))?;
    let shared: Shared = answer.json()?;
    let account = format!("github:{}", login.handle.to_ascii_lowercase());
    if context.json {
        let done = json!({
            "server": server,
            "account": account,
            "session": shared.session,
            "bytes": shared.bytes,
            "unchanged": shared.unchanged,
            "named": named,
            "repository": repository,
        });
        writeln!(context.out, "{}", terminal::json(&done))?;
        return Ok(Outcome::Done);
    }
    let state = if shared.unchanged { "shared already" } else { "shared" };
    let line = format!("{account}/{}: {state}, {} bytes at {server}", shared.session, shared.bytes);
    writeln!(context.out, "{}", terminal::line(&line))?;
    Ok(Outcome::Done)
}

/// The bytes of the file, unless the server would not take so many.
fn read(file: &Path) -> Result<Vec<u8>, Failure> {
    let of_file = |failure: Failure| failure.with(json!({ "path": file.to_string_lossy() }));
    let unreadable = |error: std::io::Error| {
        let message = format!("cannot read {}: {error}", file.display());
        of_file(match error.kind() {
            std::io::ErrorKind::NotFound => Failure::new(Outcome::NotFound, "path_not_found", message),
            _ => Failure::new(Outcome::Problems, "io", message),
        })
    };
    let length = std::fs::metadata(file).map_err(unreadable)?.len();
    if length > MOST_BODY {
        let message = format!("{} is longer than {MOST_BODY} bytes", file.display());
        return Err(of_file(Failure::new(Outcome::Problems, "too_large", message)));
    }
    std::fs::read(file).map_err(unreadable)
}

/// The session, if it passes the strict check, as the server will check it again.
fn check(file: &Path, bytes: &[u8]) -> Result<Opened, Failure> {
    let opened = fetch::open(Content::Memory(bytes.into()), Options::default()).map_err(|problem| {
        Failure::new(Outcome::Problems, "invalid_session", problem_text(file, &problem))
            .with(problem_json(file, &problem)["details"].take())
    })?;
    if opened.checked().is_artifact {
        let message = format!("{} is a reduced artifact, which holds no text: push it", file.display());
        return Err(Failure::new(Outcome::Problems, "not_a_session", message));
    }
    Ok(opened)
}

/// Whom the markers in a session name.
fn named(session: &Opened) -> BTreeSet<String> {
    let recipients = session.all_evidence().iter().flat_map(|item| &item.marker.recipients);
    recipients.map(|person| format!("github:{}", person.login)).collect()
}

/// What leaves this machine, and who may read it.
fn describe(named: &BTreeSet<String>, repository: Option<&str>, bytes: usize, server: &str) -> [String; 2] {
    let named: Vec<_> = named.iter().map(String::as_str).collect();
    let readers = match (repository, named.as_slice()) {
        (Some(name), _) => format!("whoever can read {name} may read all of it"),
        (None, []) => "nobody is named in it: nobody but you may read it".to_owned(),
        (None, named) => {
            let named = named.join(", ");
            format!("{named} may read what names them, what led to it and what followed; nobody else may")
        }
    };
    [format!("the whole text of the session, {bytes} bytes, leaves this machine for {server}"), readers]
}
