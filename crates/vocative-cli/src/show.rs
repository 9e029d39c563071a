//! `vocative show`: one entry, what stands around it, and whether its evidence holds.

use std::io::Write;
use std::path::PathBuf;

use serde_json::{Value, json};
use vocative_pi::lines::MAX_LINE;
use vocative_pi::{
    Branch, EntryId, Evidence, FetchedEntry, Library, NotFound, Options, Page, SessionId, Source,
};

use crate::context::{Context, Style, problem_json};
use crate::outcome::{Failure, Outcome};
use crate::{files, terminal};

/// Arguments of `vocative show`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The entry, as the inbox names it
    #[arg(value_name = "SESSION/ENTRY", value_parser = target)]
    target: (SessionId, EntryId),
    /// Where to look; Pi's own folders if nothing is given
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Show so many entries above this one, the nearest first
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "10")]
    parents: Option<usize>,
    /// Show so many entries that answer this one
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "10")]
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

fn target(text: &str) -> Result<(SessionId, EntryId), String> {
    let parts = text.split_once('/').and_then(|(session, entry)| {
        Some((SessionId::from_evidence(session)?, EntryId::from_evidence(entry)?))
    });
    parts.ok_or_else(|| "write SESSION/ENTRY, as the inbox does".into())
}

/// Shows.
pub(crate) fn run(args: Args, context: &mut Context) -> Result<Outcome, Failure> {
    let mut places = args.paths.clone();
    if places.is_empty() {
        places = files::or_sessions(places, context)?;
        places.extend(files::reduced(context));
    }
    let options = Options { lenient: args.lenient, max_line: args.max_line, offsets: true };
    let mut library = Library::new(files::under(&places)?, options);
    let (session, entry) = &args.target;
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
    let evidence: Vec<&Evidence> = opened.evidence(session, index).collect();
    let path = opened.content.to_string();
    if args.json {
        let mut object = json!({
            "session": session,
            "file": path,
            "copy": source == Source::Copy,
            "entry": entry_json(&fetched),
            "markers": evidence.iter().map(|item| marker_json(item)).collect::<Vec<_>>(),
        });
        for (name, page) in [("parents", &parents), ("children", &children)] {
            if let Some(page) = page {
                let entries: Vec<_> = page.entries.iter().map(entry_json).collect();
                object[name] = json!({ "entries": entries, "next": page.next });
            }
        }
        writeln!(context.out, "{}", terminal::json(&object))?;
        return Ok(Outcome::Done);
    }
    writeln!(context.out, "{session}/{entry} in {}", terminal::line(&path))?;
    if source == Source::Copy {
        let note = "a copy in a fork; the original session was not found";
        writeln!(context.out, "{}", context.styled(Style::Warning, note))?;
    }
    print_entry(&fetched, context)?;
    for item in &evidence {
        let to: Vec<_> = item.marker.recipients.iter().map(|to| format!("github:{}", to.login)).collect();
        writeln!(context.out, "names {}, by github:{}", to.join(" and "), item.marker.actor.login)?;
    }
    if evidence.is_empty() {
        writeln!(context.out, "names nobody")?;
    }
    print_page("parents, the nearest first", parents.as_ref(), context)?;
    print_page("children", children.as_ref(), context)?;
    Ok(Outcome::Done)
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

fn marker_json(item: &Evidence) -> Value {
    let to: Vec<_> = item.marker.recipients.iter().map(|to| format!("github:{}", to.login)).collect();
    let actor = format!("github:{}", item.marker.actor.login);
    json!({ "id": item.id, "line": item.line, "actor": actor, "recipients": to })
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
