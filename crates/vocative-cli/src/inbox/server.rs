//! The inbox that a community's server keeps: messages and sessions in one list.
//!
//! Its rows hold no text. With `--show` each item is asked for by itself, so that the server decides anew
//! who may read it.

use std::io::Write;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use url::form_urlencoded::Serializer;
use vocative::Id;

use super::Args;
use crate::context::{Context, Style};
use crate::credentials;
use crate::outcome::{Failure, Outcome};
use crate::remote::{Remote, bad_answer};
use crate::terminal;

/// Rows that are shown where it is not said how many.
const ROWS: usize = 50;
/// The most rows that a server puts on a page.
const PAGE: usize = 1000;

/// Where somebody was named.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(super) enum Source {
    Message,
    Session,
    All,
}

impl Source {
    fn as_str(self) -> &'static str {
        match self {
            Self::Message => "message",
            Self::Session => "session",
            Self::All => "all",
        }
    }
}

/// A row, as the server says it.
#[derive(Debug, Serialize, Deserialize)]
struct Row {
    at: String,
    actor: String,
    recipient: String,
    source: String,
    why: String,
    retracted: bool,
    deleted: bool,
    disputed: bool,
    item: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    entry: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    event: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    by_event: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    channel: Option<String>,
}

#[derive(Deserialize)]
struct Page {
    rows: Vec<Row>,
    next: Option<String>,
}

/// Shows the user's inbox at a server.
pub(super) fn run(args: &Args, context: &mut Context) -> Result<Outcome, Failure> {
    if args.lenient || args.verify {
        return Err(Failure::usage("--lenient and --verify are for sessions on this machine: add --me"));
    }
    let (remote, session) = credentials::remote(&args.server).map_err(advise)?;
    let most = if args.all { usize::MAX } else { args.limit.unwrap_or(ROWS) };
    let mut outcome = Outcome::Done;
    let (mut shown, mut cursor) = (0, None);
    while shown < most {
        let path = path(args, cursor.as_deref(), (most - shown).min(PAGE));
        let page: Page = remote.get(&path)?.json()?;
        for row in page.rows.iter().take(most - shown) {
            let text = if args.show { Some(fetch(&remote, row)?) } else { None };
            if matches!(text, Some(Text::Failed(_))) {
                outcome = Outcome::Problems;
            }
            write(row, text.as_ref(), context)?;
            shown += 1;
        }
        // A page that holds nothing, or begins where it ends, would be asked for without end.
        if page.next.is_some() && (page.rows.is_empty() || page.next == cursor) {
            return Err(bad_answer(200, "a page of the inbox leads nowhere"));
        }
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    let address = remote.address().of("");
    if shown == 0 {
        context.note(&format!("nobody named @{} at {address}", session.handle));
    } else if cursor.is_some() && args.limit.is_none() {
        context.note(&format!("these are the newest {shown}; --all shows all"));
    }
    Ok(outcome)
}

/// Whoever names no server may have meant the sessions on this machine.
fn advise(failure: Failure) -> Failure {
    match &*failure.code {
        "no_server" => {
            let message = format!("{}; or add --me github:HANDLE for sessions here", failure.message);
            Failure { message, ..failure }
        }
        _ => failure,
    }
}

fn path(args: &Args, cursor: Option<&str>, limit: usize) -> String {
    let mut query = Serializer::new(String::new());
    query.append_pair("limit", &limit.to_string());
    for (name, time) in [("since", args.since), ("until", args.until)] {
        if let Some(time) = time {
            query.append_pair(name, &time.to_string());
        }
    }
    match &args.from {
        Some(Id::Github(login)) => _ = query.append_pair("from", &format!("github:{login}")),
        Some(Id::Nostr(key)) => _ = query.append_pair("from", &key.to_string()),
        None => {}
    }
    if let Some(source) = args.source {
        query.append_pair("source", source.as_str());
    }
    if let Some(cursor) = cursor {
        query.append_pair("cursor", cursor);
    }
    format!("/v1/inbox?{}", query.finish())
}

/// What became of asking for an item.
enum Text {
    /// Its text now.
    Is(String),
    /// There is none for this user: it is not shared, or was deleted.
    None(String),
    /// It could not be told.
    Failed(String),
}

/// Asks for the text of a row.
fn fetch(remote: &Remote, row: &Row) -> Result<Text, Failure> {
    // What a row names is of this server, or is not asked for.
    if !row.item.starts_with("/v1/") || !row.item.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(bad_answer(200, "a row names no item of the server"));
    }
    let item: Value = match remote.get(&row.item) {
        Ok(answer) => answer.json()?,
        Err(failure) if failure.outcome == Outcome::NotFound => {
            let why = match row.source.as_str() {
                "session" => "the session is not shared with you",
                _ if row.deleted => "the message was deleted",
                _ => "the message is not there for you",
            };
            return Ok(Text::None(why.to_owned()));
        }
        // What hinders one would hinder all.
        Err(failure) if matches!(&*failure.code, "server_not_reached" | "not_logged_in") => {
            return Err(failure);
        }
        Err(failure) => return Ok(Text::Failed(failure.message)),
    };
    let text = match row.source.as_str() {
        "session" => &item["entry"]["untrusted_text"],
        _ => &item["current"]["event"]["content"],
    };
    Ok(match text.as_str() {
        Some(text) => Text::Is(text.to_owned()),
        None => Text::None("it holds no text".to_owned()),
    })
}

/// How `vocative show` names a row's entry, and `vocative history` its message.
fn place(row: &Row) -> String {
    match (&row.session, &row.entry, &row.event, &row.channel) {
        (Some(session), Some(entry), ..) => format!("{}/{session}/{entry}", row.actor),
        (_, _, Some(event), Some(channel)) => format!("{event} in {channel}"),
        (_, _, Some(event), None) => event.clone(),
        _ => row.item.clone(),
    }
}

fn write(row: &Row, text: Option<&Text>, context: &mut Context) -> Result<(), Failure> {
    if context.json {
        let mut object = json!(row);
        match text {
            None => {}
            Some(Text::Is(text)) => object["untrusted_text"] = json!(text),
            Some(Text::None(why) | Text::Failed(why)) => object["no_text"] = json!(why),
        }
        writeln!(context.out, "{}", terminal::json(&object))?;
        return Ok(());
    }
    let actor = context.styled(Style::Bold, &terminal::line(&row.actor));
    let states = [("retracted", row.retracted), ("deleted", row.deleted), ("disputed", row.disputed)];
    let states = states.iter().filter(|(_, is_so)| *is_so).map(|(state, _)| *state);
    let why = std::iter::once(row.why.as_str()).chain(states).collect::<Vec<_>>().join(", ");
    let why = context.styled(Style::Dim, &terminal::line(&why));
    writeln!(context.out, "{}  {actor}  {}  {why}", terminal::line(&row.at), terminal::line(&place(row)))?;
    match text {
        None => return Ok(()),
        Some(Text::None(why) | Text::Failed(why)) => {
            let why = context.styled(Style::Warning, &terminal::line(why));
            writeln!(context.out, "    {why}")?;
        }
        Some(Text::Is(text)) => {
            writeln!(context.out, "    {}", context.styled(Style::Warning, "untrusted text:"))?;
            for line in terminal::lines(text) {
                writeln!(context.out, "    | {line}")?;
            }
        }
    }
    writeln!(context.out)?;
    Ok(())
}
