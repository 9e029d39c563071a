//! An entry of a session that somebody shares at a community's server.

use std::io::Write;

use serde::Deserialize;
use serde_json::json;
use url::form_urlencoded::Serializer;
use vocative_pi::{Branch, FetchedEntry, Page, Timestamp};

use super::{Args, Marker, Shown, Target};
use crate::context::Context;
use crate::credentials;
use crate::outcome::{Failure, Outcome};
use crate::remote::bad_answer;
use crate::terminal;

/// An entry, as the server says it.
#[derive(Deserialize)]
struct Entry {
    id: String,
    parent: Option<String>,
    #[serde(rename = "type")]
    kind: String,
    role: Option<String>,
    at: String,
    branch: String,
    untrusted_text: Option<String>,
    raw: String,
}

#[derive(Deserialize)]
struct Entries {
    entries: Vec<Entry>,
    next: Option<String>,
}

#[derive(Deserialize)]
struct Answer {
    entry: Entry,
    markers: Vec<Marker>,
    before: Entries,
    after: Entries,
}

impl TryFrom<Entry> for FetchedEntry {
    type Error = Failure;

    fn try_from(entry: Entry) -> Result<Self, Failure> {
        let Entry { id, parent, kind, role, at, branch, untrusted_text: text, raw } = entry;
        let at = Timestamp::parse(at.as_bytes()).ok_or_else(|| bad_answer(200, "a time is none"))?;
        let branch = match branch.as_str() {
            "current" => Branch::Current,
            "abandoned" => Branch::Abandoned,
            _ => return Err(bad_answer(200, "a branch is neither current nor abandoned")),
        };
        Ok(Self { id, parent, kind, role, at, branch, text, raw })
    }
}

impl TryFrom<Entries> for Page {
    type Error = Failure;

    fn try_from(page: Entries) -> Result<Self, Failure> {
        let entries = page.entries.into_iter().map(FetchedEntry::try_from).collect::<Result<_, _>>()?;
        Ok(Self { entries, next: page.next })
    }
}

/// Shows the entry, as far as the server lets the user read it.
pub(super) fn run(args: &Args, context: &mut Context) -> Result<Outcome, Failure> {
    if !args.paths.is_empty() || args.lenient || args.conversation {
        let message = "PATH, --lenient and --conversation are for sessions on this machine";
        return Err(Failure::usage(message));
    }
    let (remote, _) = credentials::remote(&args.server)?;
    let Target { account, session, entry } = &args.target;
    let account = account.as_deref().unwrap_or_default();
    let answer: Answer = remote.get(&path(args, account))?.json()?;
    let shown = Shown {
        entry: answer.entry.try_into()?,
        markers: answer.markers,
        parents: args.parents.map(|_| answer.before.try_into()).transpose()?,
        children: args.children.map(|_| answer.after.try_into()).transpose()?,
    };
    let server = remote.address().of("");
    if args.json {
        return shown
            .write_json(json!({ "server": server, "account": account, "session": session }), context);
    }
    writeln!(context.out, "{account}/{session}/{entry} at {}", terminal::line(&server))?;
    shown.print(context)
}

fn path(args: &Args, account: &str) -> String {
    let Target { session, entry, .. } = &args.target;
    let mut query = Serializer::new(String::new());
    for (name, number) in [("before", args.parents), ("after", args.children)] {
        if let Some(number) = number {
            query.append_pair(name, &number.to_string());
        }
    }
    for (name, from) in [("before_from", &args.parents_from), ("after_from", &args.children_from)] {
        if let Some(from) = from {
            query.append_pair(name, from);
        }
    }
    format!("/v1/sessions/{account}/{session}/entries/{entry}?{}", query.finish())
}
