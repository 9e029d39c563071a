//! `vocative show`: one entry, what stands around it, and whether its evidence holds.

use std::io::Write;
use std::path::PathBuf;

use serde::Serialize;
use serde_json::{Value, json};
use vocative::Id;
use vocative_pi::lines::MAX_LINE;
use vocative_pi::{
    Branch, EntryId, Evidence, FetchedEntry, Library, NotFound, Options, Page, SessionId, Source,
};

use crate::context::{Context, Style, problem_json};
use crate::outcome::{Failure, Outcome};
use crate::remote::ServerArgs;
use crate::{files, terminal};

mod server;

/// Arguments of `vocative show`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The entry, as the inbox names it; with ACCOUNT, one that somebody shares at a community's server
    #[arg(value_name = "[ACCOUNT/]SESSION/ENTRY", value_parser = target)]
    target: Target,
    /// Where to look; Pi's own folders if nothing is given
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    server: ServerArgs,
    /// Show so many entries above this one, the nearest first; of a server at most 50
    #[arg(long, visible_alias = "before", value_name = "N", num_args = 0..=1, default_missing_value = "10")]
    parents: Option<usize>,
    /// Show so many entries that answer this one; of a server at most 50
    #[arg(long, visible_alias = "after", value_name = "N", num_args = 0..=1, default_missing_value = "10")]
    children: Option<usize>,
    /// Begin the parents at this entry, which an earlier page named as next
    #[arg(long, value_name = "ENTRY", requires = "parents")]
    parents_from: Option<String>,
    /// Begin the children at this entry, which an earlier page named as next
    #[arg(long, value_name = "ENTRY", requires = "children")]
    children_from: Option<String>,
    /// Pass over parents and children that are no messages
    #[arg(long)]
    conversation: bool,
    /// Read files of other agents too, which begin with a title line
    #[arg(long)]
    lenient: bool,
    /// The longest line to read, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = MAX_LINE)]
    max_line: usize,
    /// Write one JSON object
    #[arg(long)]
    json: bool,
}

/// Which entry is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Target {
    /// Who shares it at a server: `github:login`, or the number of the account.
    account: Option<String>,
    session: SessionId,
    entry: EntryId,
}

fn target(text: &str) -> Result<Target, String> {
    let read = || {
        let (before, entry) = text.rsplit_once('/')?;
        let (account, session) = match before.split_once('/') {
            Some((account, session)) => (Some(self::account(account)?), session),
            None => (None, before),
        };
        let (session, entry) = (SessionId::from_evidence(session)?, EntryId::from_evidence(entry)?);
        Some(Target { account, session, entry })
    };
    read().ok_or_else(|| "write SESSION/ENTRY or github:HANDLE/SESSION/ENTRY, as the inbox does".into())
}

fn account(text: &str) -> Option<String> {
    match text.parse::<Id>() {
        Ok(Id::Github(login)) => Some(format!("github:{login}")),
        _ => text.parse::<u64>().ok().map(|number| number.to_string()),
    }
}

/// An entry with what stands around it, wherever it was found.
struct Shown {
    entry: FetchedEntry,
    markers: Vec<Marker>,
    parents: Option<Page>,
    children: Option<Page>,
}

/// A marker that points at an entry.
#[derive(Debug, Serialize, serde::Deserialize)]
struct Marker {
    id: String,
    line: u64,
    actor: String,
    recipients: Vec<String>,
}

impl From<&Evidence> for Marker {
    fn from(item: &Evidence) -> Self {
        let id = |person: &vocative_pi::Person| format!("github:{}", person.login);
        Self {
            id: item.id.to_string(),
            line: item.line,
            actor: id(&item.marker.actor),
            recipients: item.marker.recipients.iter().map(id).collect(),
        }
    }
}

/// Shows.
pub(crate) fn run(args: Args, context: &mut Context) -> Result<Outcome, Failure> {
    if args.target.account.is_some() {
        return server::run(&args, context);
    }
    if args.server.is_given() {
        return Err(Failure::usage("at a server an entry is github:HANDLE/SESSION/ENTRY"));
    }
    let mut places = args.paths.clone();
    if places.is_empty() {
        places = files::or_sessions(places, context)?;
        places.extend(files::reduced(context));
    }
    let options = Options { lenient: args.lenient, max_line: args.max_line, offsets: true };
    let mut library = Library::new(files::under(&places)?, options);
    let Target { session, entry, .. } = &args.target;
    let (opened, index, source) =
        library.find(session, entry).map_err(|missing| not_found(session, entry, &places, &missing))?;
    let fetched = opened.read(index)?;
    let bad_cursor = || Failure::usage("the page cannot begin at that entry");
    let parents = args
        .parents
        .map(|limit| opened.parents(index, args.parents_from.as_deref(), limit, args.conversation));
    let children = args
        .children
        .map(|limit| opened.children(index, args.children_from.as_deref(), limit, args.conversation));
    let parents = parents.transpose()?.map(|page| page.ok_or_else(bad_cursor)).transpose()?;
    let children = children.transpose()?.map(|page| page.ok_or_else(bad_cursor)).transpose()?;
    let markers = opened.evidence(session, index).map(Marker::from).collect();
    let path = opened.content.to_string();
    let shown = Shown { entry: fetched, markers, parents, children };
    if args.json {
        let place = json!({ "session": session, "file": path, "copy": source == Source::Copy });
        return shown.write_json(place, context);
    }
    writeln!(context.out, "{session}/{entry} in {}", terminal::line(&path))?;
    if source == Source::Copy {
        let note = "a copy in a fork; the original session was not found";
        writeln!(context.out, "{}", context.styled(Style::Warning, note))?;
    }
    shown.print(context)
}

impl Shown {
    /// Writes one JSON object: where it was found, and what.
    fn write_json(&self, mut place: Value, context: &mut Context) -> Result<Outcome, Failure> {
        place["entry"] = entry_json(&self.entry);
        place["markers"] = json!(self.markers);
        for (name, page) in [("parents", &self.parents), ("children", &self.children)] {
            if let Some(page) = page {
                let entries: Vec<_> = page.entries.iter().map(entry_json).collect();
                place[name] = json!({ "entries": entries, "next": page.next });
            }
        }
        writeln!(context.out, "{}", terminal::json(&place))?;
        Ok(Outcome::Done)
    }

    fn print(&self, context: &mut Context) -> Result<Outcome, Failure> {
        print_entry(&self.entry, context)?;
        for marker in &self.markers {
            let line = format!("names {}, by {}", marker.recipients.join(" and "), marker.actor);
            writeln!(context.out, "{}", terminal::line(&line))?;
        }
        if self.markers.is_empty() {
            writeln!(context.out, "names nobody")?;
        }
        print_page("parents, the nearest first", self.parents.as_ref(), context)?;
        print_page("children", self.children.as_ref(), context)?;
        Ok(Outcome::Done)
    }
}

fn branch(branch: Branch) -> &'static str {
    match branch {
        Branch::Current => "current",
        Branch::Abandoned => "abandoned",
    }
}

fn entry_json(entry: &FetchedEntry) -> Value {
    json!({
        "id": entry.id,
        "parent": entry.parent,
        "type": entry.kind,
        "role": entry.role,
        "at": entry.at,
        "branch": branch(entry.branch),
        "untrusted_text": entry.text,
        "raw": entry.raw,
    })
}

fn print_entry(entry: &FetchedEntry, context: &mut Context) -> Result<(), Failure> {
    let role = entry.role.as_ref().map_or(String::new(), |role| format!(" by {role}"));
    let head = format!("{} {}{role}, {} branch, {}", entry.id, entry.kind, branch(entry.branch), entry.at);
    writeln!(context.out, "{}", terminal::line(&head))?;
    if let Some(text) = &entry.text {
        writeln!(context.out, "    {}", context.styled(Style::Warning, "untrusted text:"))?;
        for line in terminal::lines(text) {
            writeln!(context.out, "    | {line}")?;
        }
    }
    Ok(())
}

fn print_page(title: &str, page: Option<&Page>, context: &mut Context) -> Result<(), Failure> {
    let Some(page) = page else {
        return Ok(());
    };
    writeln!(context.out, "\n{}", context.styled(Style::Bold, title))?;
    for entry in &page.entries {
        print_entry(entry, context)?;
    }
    if let Some(next) = &page.next {
        writeln!(context.out, "next: {}", terminal::line(next))?;
    }
    Ok(())
}

fn not_found(session: &SessionId, entry: &EntryId, places: &[PathBuf], missing: &NotFound) -> Failure {
    let list = |paths: &mut dyn Iterator<Item = &PathBuf>| {
        paths.map(|path| path.to_string_lossy().into_owned()).collect::<Vec<_>>()
    };
    let places = list(&mut places.iter());
    let mut message = format!(
        "{session}/{entry} was not found; searched {} files under {}",
        missing.files,
        places.join(", ")
    );
    for (path, problem) in &missing.invalid {
        message += &format!("; {} is invalid: {problem}", path.display());
    }
    let invalid: Vec<_> = missing.invalid.iter().map(|(path, problem)| problem_json(path, problem)).collect();
    Failure::new(Outcome::NotFound, "not_found", message).with(json!({
        "places": places,
        "files": missing.files,
        "searched": list(&mut missing.searched.iter()),
        "invalid": invalid,
    }))
}
