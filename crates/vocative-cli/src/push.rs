//! `vocative push`: who is named where in sessions, told to a community's server.
//!
//! What is sent is one reduced artifact. It is said before the first push to a server, and agreed to once.
//! Nothing is kept here of a push but the consent, so that the same push again is the same.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Value, json};
use ureq::http::Method;
use url::form_urlencoded::byte_serialize;
use vocative_pi::artifact::Artifact;
use vocative_pi::lines::MAX_LINE;
use vocative_pi::{Options, Reduction};

use crate::consent::{self, Leaving};
use crate::context::Context;
use crate::credentials::{self, Session};
use crate::outcome::{Failure, Outcome};
use crate::remote::{MOST_BODY, Remote, ServerArgs};
use crate::repository::{self, Folders, RepositoryArgs};
use crate::{conflict, files, gather, terminal};

/// The longest header that is read for the folder in it, in bytes.
const LONGEST_HEADER: u64 = 1 << 20;

/// Arguments of `vocative push`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Session files, reduced artifacts, or folders of them; Pi's sessions of this repository if none is given
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    server: ServerArgs,
    #[command(flatten)]
    repository: RepositoryArgs,
    /// Agree to what leaves this machine, now and from now on
    #[arg(long)]
    yes: bool,
    /// The longest line to read, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = MAX_LINE)]
    max_line: usize,
    /// Write the result as one JSON object
    #[arg(long)]
    json: bool,
}

/// What the server did with an artifact.
#[derive(Deserialize)]
struct Pushed {
    added: usize,
    unchanged: usize,
    ignored: usize,
}

/// Pushes.
pub(crate) fn run(args: Args, context: &mut Context) -> Result<Outcome, Failure> {
    let (remote, session) = credentials::remote(&args.server)?;
    let chosen = repository::choose(&args.repository, session.github.as_deref())?;
    if let Some(note) = &chosen.note {
        context.note(note);
    }
    let files = inputs(&args.paths, context)?;
    let options = Options { max_line: args.max_line, ..Options::default() };
    let (read, _, outcome) = gather::gather(&files, options, false, context);
    if !read.conflicts().is_empty() {
        read.conflicts().iter().for_each(|conflict| conflict::tell(conflict, &files, context));
        context.note("nothing was pushed");
        return Ok(Outcome::Conflict);
    }
    let reduction = of_mentions(&read);
    if reduction.is_empty() {
        context.note(&format!("nobody is named in {} files: there is nothing to push", files.len()));
    } else {
        let what = describe(&reduction, &remote, &session, &chosen.name);
        consent::ask(&Leaving { to: remote.address(), what: &what }, args.yes, context)?;
    }
    let pushed = match reduction.is_empty() {
        true => Pushed { added: 0, unchanged: 0, ignored: 0 },
        false => send(&remote, &session, &chosen.name, &reduction)?,
    };
    tell(&pushed, &reduction, &remote, &chosen.name, context)?;
    Ok(outcome)
}

/// The files given, or Pi's sessions that were held in the current folder's repository.
fn inputs(paths: &[PathBuf], context: &Context) -> Result<Vec<PathBuf>, Failure> {
    if !paths.is_empty() {
        return files::under(paths);
    }
    let mut folders = Folders::of_current()?;
    let mut files = files::under(&files::or_sessions(Vec::new(), context)?)?;
    files.retain(|file| folder_of(file).is_some_and(|folder| folders.hold(&folder)));
    Ok(files)
}

/// The folder in which a session was held, as its first line says.
fn folder_of(file: &Path) -> Option<PathBuf> {
    #[derive(Deserialize)]
    struct Header {
        cwd: PathBuf,
    }
    let mut line = Vec::new();
    BufReader::new(File::open(file).ok()?).take(LONGEST_HEADER).read_until(b'\n', &mut line).ok()?;
    serde_json::from_slice::<Header>(&line).ok().map(|header| header.cwd)
}

/// What is to be sent of what was read: a session in which nobody is named is not even counted.
fn of_mentions(read: &Reduction) -> Reduction {
    let mut some = Reduction::default();
    for (key, reference) in read.references() {
        if read.inputs().contains(&key.session) {
            some.add_input(key.session.clone());
        }
        some.add(key.clone(), reference.clone());
    }
    for (session, markers) in read.markers() {
        markers.iter().for_each(|marker| some.add_marker(session.clone(), marker.clone()));
    }
    some
}

/// What leaves this machine, in sentences.
fn describe(reduction: &Reduction, remote: &Remote, session: &Session, repository: &str) -> Vec<String> {
    let (server, references, sessions) = (remote.address().of(""), reduction.len(), sessions(reduction));
    let is_own = |login: &str| login.eq_ignore_ascii_case(&session.handle);
    let foreign = reduction.references().filter(|(_, reference)| !is_own(reference.actor.as_str())).count();
    let people: BTreeSet<_> = reduction.references().map(|(key, _)| key.recipient.as_str()).collect();
    let mut what = vec![
        format!("This leaves the machine, as @{} for {repository}, to {server}:", session.handle),
        format!(
            "  {references} references into {sessions} sessions, to {} people: ids of sessions, messages and",
            people.len()
        ),
        "  markers, the GitHub names of who wrote and of who is named, and the times of the messages."
            .to_owned(),
        "  No text, no title, no file name and no folder.".to_owned(),
    ];
    if foreign > 0 {
        what.push(format!(
            "  {foreign} of them are by others, from forks of their sessions; the server ignores these."
        ));
    }
    what
}

fn sessions(reduction: &Reduction) -> usize {
    reduction.markers().count()
}

/// Sends an artifact, if the server serves the repository and its user reads it.
fn send(
    remote: &Remote,
    session: &Session,
    repository: &str,
    reduction: &Reduction,
) -> Result<Pushed, Failure> {
    let handle: String = byte_serialize(session.handle.as_bytes()).collect();
    let path = format!("/v1/participants?q={handle}");
    remote.send(Method::GET, &path, &[("x-chi-repo", repository)], None)?;
    let mut bytes = Vec::new();
    Artifact::of(reduction).write(&mut bytes)?;
    if bytes.len() as u64 > MOST_BODY {
        let message =
            format!("the references are longer than {MOST_BODY} bytes: push fewer sessions at once");
        return Err(Failure::new(Outcome::Problems, "too_large", message));
    }
    let headers = [("content-type", "application/x-ndjson")];
    let answer = remote.send(Method::POST, "/v1/references", &headers, Some(&bytes));
    answer.map_err(explain)?.json()
}

/// What the server refuses, with the items that it names.
fn explain(failure: Failure) -> Failure {
    let items = match &*failure.code {
        "conflict" => &failure.details["references"],
        "unknown_recipient" => &failure.details["recipients"],
        _ => return failure,
    };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let one = |item: &Value| match item {
        Value::Object(_) => {
            let source = &item["source"];
            let place = format!("{}/{}", text(&source["sessionId"]), text(&source["entryId"]));
            let (to, by, at) = (text(&item["recipientId"]), text(&item["actorId"]), text(&item["timestamp"]));
            format!("{place} names {to} as written by {by} at {at}")
        }
        item => text(item),
    };
    let items: Vec<_> = items.as_array().into_iter().flatten().map(one).collect();
    let message = format!("{}: {}; nothing was stored", failure.message, items.join(", and "));
    Failure { message, ..failure }
}

/// Says what was done.
fn tell(
    pushed: &Pushed,
    reduction: &Reduction,
    remote: &Remote,
    repository: &str,
    context: &mut Context,
) -> Result<(), Failure> {
    let Pushed { added, unchanged, ignored } = pushed;
    let server = remote.address().of("");
    if context.json {
        let done = json!({
            "server": server,
            "repository": repository,
            "references": reduction.len(),
            "sessions": sessions(reduction),
            "added": added,
            "unchanged": unchanged,
            "ignored": ignored,
        });
        writeln!(context.out, "{}", terminal::json(&done))?;
    } else if !reduction.is_empty() {
        writeln!(context.out, "{server}: {added} new, {unchanged} known")?;
        if *ignored > 0 {
            context.note(&format!("{ignored} references were ignored: somebody else wrote the messages"));
        }
    }
    Ok(())
}
