//! `vocative post`, `edit` and `forward`: a server composes, the user's key signs here, the server publishes.

use std::io::{self, Read, Write};

use nostr::event::{EventId, FinalizeEvent, UnsignedEvent};
use nostr::key::{Keys, PublicKey};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use vocative::limits;

use crate::context::{Context, Style};
use crate::key::KeyArgs;
use crate::outcome::{Failure, Outcome};
use crate::remote::{Credentials, Remote, ServerArgs};
use crate::terminal;

mod check;
mod person;

use check::Asked;
pub(crate) use person::Person;

pub(crate) const EXIT_CODES: &str = "\
Your key signs on this machine; the server never sees it, and nothing is signed but what was asked for.

Exit codes:
  0  it is stored, durably
  1  it was not sent: a name is ambiguous (every candidate is shown), a recipient is no member, the text is too
     long, the server was not reached or refuses it
  2  the command was not understood, or no server is named
  3  it would name others now than when it was composed, or a later edit counts already: send again
  4  there is no such channel or message, or it is not for you; or there is no key yet
Unless it is 0 nothing is stored.";

/// Whom a message names.
#[derive(Debug, clap::Args)]
struct Names {
    /// Notify exactly this recipient, whether or not the text names it; LABEL is what stands for it in the
    /// text, its current name unless given. May be repeated.
    #[arg(long, value_name = "[LABEL=]NPUB", value_parser = to)]
    to: Vec<To>,
    /// Let names in the text address nobody.
    #[arg(long, conflicts_with = "typed")]
    no_typed: bool,
    /// Let names in the text address members, for an agent too.
    #[arg(long)]
    typed: bool,
    /// Send as an agent, whose names in the text address nobody; one that has an agent's profile is one anyway.
    #[arg(long)]
    agent: bool,
}

/// An exact recipient.
#[derive(Clone, Debug)]
struct To {
    label: Option<String>,
    key: PublicKey,
}

fn to(text: &str) -> Result<To, String> {
    // A key holds no `=`; a label may.
    let (label, key) = text.rsplit_once('=').map_or((None, text), |(label, key)| (Some(label), key));
    let bad = |_| "a recipient is npub1… or 64 hex digits, or LABEL= and one of these".to_owned();
    Ok(To { label: label.map(str::to_owned), key: PublicKey::parse(key).map_err(bad)? })
}

/// The id of a message: 64 hex digits, or `note1…`.
pub(crate) fn message_id(text: &str) -> Result<String, String> {
    let bad = |_| "the id of a message is 64 hex digits, or note1…".to_owned();
    EventId::parse(text).map(|id| id.to_hex()).map_err(bad)
}

/// How a command reaches the community, and how it answers.
#[derive(Debug, clap::Args)]
struct Common {
    #[command(flatten)]
    server: ServerArgs,
    #[command(flatten)]
    key: KeyArgs,
    /// Refer to recipients who are no members of the channel, instead of refusing them.
    #[arg(long)]
    without_inviting: bool,
    /// Say what was sent as one JSON object.
    #[arg(long)]
    json: bool,
}

/// Arguments of `vocative post`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct PostArgs {
    /// The text, Markdown; `-` reads it from standard input.
    text: String,
    /// The channel.
    #[arg(long, value_name = "ID")]
    channel: String,
    /// Reply to this message.
    #[arg(long, value_name = "MESSAGE", value_parser = message_id)]
    reply_to: Option<String>,
    /// Publish a forum post.
    #[arg(long, conflicts_with_all = ["comment", "reply_to"])]
    post: bool,
    /// Comment on this forum post or comment.
    #[arg(long, value_name = "MESSAGE", value_parser = message_id, conflicts_with = "reply_to")]
    comment: Option<String>,
    #[command(flatten)]
    names: Names,
    #[command(flatten)]
    common: Common,
}

/// Arguments of `vocative edit`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct EditArgs {
    /// The message.
    #[arg(value_parser = message_id)]
    message: String,
    /// The new text, Markdown; `-` reads it from standard input.
    text: String,
    #[command(flatten)]
    names: Names,
    #[command(flatten)]
    common: Common,
}

/// Arguments of `vocative forward`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct ForwardArgs {
    /// The message.
    #[arg(value_parser = message_id)]
    message: String,
    /// The channel that it goes to.
    #[arg(long, value_name = "ID")]
    channel: String,
    #[command(flatten)]
    common: Common,
}

const MESSAGE: u16 = 9;
const EDIT: u16 = 40_003;
const POST: u16 = 45_001;
const COMMENT: u16 = 45_003;

/// Sends a message, post or comment.
pub(crate) fn post(args: PostArgs, context: &mut Context) -> Result<Outcome, Failure> {
    let text = read(args.text)?;
    let (action, kind) = match (&args.comment, args.post) {
        (Some(_), _) => ("comment", COMMENT),
        (None, true) => ("post", POST),
        (None, false) => ("message", MESSAGE),
    };
    let request = json!({
        "action": action,
        "channel": args.channel,
        "text": text,
        "reply_to": args.comment.or(args.reply_to),
    });
    let sender = Sender::new(&args.common)?;
    sender.send(request, args.names.choices(), &[kind], ("h", &args.channel), Some(&text), context)
}

/// Replaces a message's text.
pub(crate) fn edit(args: EditArgs, context: &mut Context) -> Result<Outcome, Failure> {
    let text = read(args.text)?;
    let request = json!({ "action": "edit", "message": args.message, "text": text });
    let sender = Sender::new(&args.common)?;
    sender.send(request, args.names.choices(), &[EDIT], ("e", &args.message), Some(&text), context)
}

/// Copies a message to another channel.
pub(crate) fn forward(args: ForwardArgs, context: &mut Context) -> Result<Outcome, Failure> {
    let request = json!({ "action": "forward", "message": args.message, "channel": args.channel });
    let sender = Sender::new(&args.common)?;
    let kinds = &[MESSAGE, POST];
    sender.send(request, Map::new(), kinds, ("h", &args.channel), None, context)
}

/// The text of an argument, or of standard input without the line end that a shell puts behind it.
fn read(argument: String) -> Result<String, Failure> {
    if argument != "-" {
        return Ok(argument);
    }
    let mut text = String::new();
    let most = limits::BODY as u64 + 2;
    let read = io::stdin().lock().take(most).read_to_string(&mut text);
    read.map_err(|error| match error.kind() {
        io::ErrorKind::InvalidData => {
            Failure::new(Outcome::Problems, "invalid_utf8", "the text is not UTF-8")
        }
        _ => error.into(),
    })?;
    if text.ends_with('\n') {
        text.pop();
    }
    if text.len() > limits::BODY {
        let message = format!("the text is longer than {} bytes", limits::BODY);
        return Err(Failure::new(Outcome::Problems, "text_too_long", message));
    }
    Ok(text)
}

impl Names {
    /// What both requests say about whom the message names.
    fn choices(&self) -> Map<String, Value> {
        let to = self.to.iter().map(|to| json!({ "key": to.key.to_hex(), "label": to.label }));
        let typed = match (self.typed, self.no_typed || self.agent) {
            (true, _) => Some(true),
            (false, true) => Some(false),
            (false, false) => None,
        };
        let choices = json!({ "to": to.collect::<Vec<_>>(), "typed": typed });
        match choices {
            Value::Object(choices) => choices,
            _ => Map::new(),
        }
    }
}

/// A message that a server has composed.
#[derive(Debug, Deserialize)]
struct Ready {
    event: UnsignedEvent,
    recipients: Vec<Person>,
    references: Vec<Person>,
    newly_added: Vec<Person>,
    diagnostics: Vec<Diagnosed>,
}

/// What a sender should know about a name in the text.
#[derive(Debug, Deserialize)]
struct Diagnosed {
    code: String,
    name: String,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

#[derive(Debug, Deserialize)]
struct Published {
    is_duplicate: bool,
}

/// Whoever sends, and to which server.
struct Sender {
    keys: Keys,
    remote: Remote,
    without_inviting: bool,
}

impl Sender {
    fn new(common: &Common) -> Result<Self, Failure> {
        let (address, keys) = (common.server.address()?, common.key.keys()?);
        let remote = Remote::new(address, Credentials::Key(keys.clone()))?;
        Ok(Self { keys, remote, without_inviting: common.without_inviting })
    }

    fn send(
        &self,
        mut request: Value,
        mut choices: Map<String, Value>,
        kinds: &[u16],
        place: (&str, &str),
        text: Option<&str>,
        context: &mut Context,
    ) -> Result<Outcome, Failure> {
        choices.insert("without_inviting".into(), self.without_inviting.into());
        let forwards = (request["action"] == "forward").then(|| request["message"].clone());
        if let Value::Object(request) = &mut request {
            request.extend(choices.clone());
        }
        let ready = match self.remote.post("/v1/messages/compose", &request) {
            Ok(answer) => answer.json::<Ready>()?,
            Err(failure) => return unsent(failure, context),
        };
        let asked = Asked { author: self.keys.public_key(), kinds, text, place, now: check::now() };
        asked.is(&ready.event).map_err(|what| {
            let message =
                format!("the server composed something else than was asked for ({what}); it is not signed");
            Failure::new(Outcome::Problems, "not_what_was_asked", message)
        })?;
        let unsigned = UnsignedEvent { id: None, ..ready.event.clone() };
        let event = unsigned.finalize(&self.keys).expect("a local key signs");
        choices.insert("event".into(), json!(event));
        choices.insert("forwards".into(), forwards.unwrap_or_default());
        let published = match self.remote.post("/v1/messages", &choices) {
            Ok(answer) => answer.json::<Published>()?,
            Err(failure) => return unsent(failure, context),
        };
        tell(&event.id.to_hex(), &ready, &published, context)?;
        Ok(Outcome::Done)
    }
}

fn tell(id: &str, ready: &Ready, published: &Published, context: &mut Context) -> Result<(), Failure> {
    let Ready { recipients, references, newly_added, diagnostics, .. } = ready;
    if context.json {
        let told = diagnostics.iter().map(|told| {
            let mut row = told.rest.clone();
            row.insert("code".into(), told.code.clone().into());
            row.insert("name".into(), told.name.clone().into());
            row
        });
        let sent = json!({
            "id": id,
            "is_duplicate": published.is_duplicate,
            "recipients": recipients,
            "references": references,
            "newly_added": newly_added,
            "diagnostics": told.collect::<Vec<_>>(),
        });
        writeln!(context.out, "{}", terminal::json(&sent))?;
        return Ok(());
    }
    writeln!(context.out, "{id}")?;
    for (what, people) in [("notifies", recipients), ("refers to", references), ("newly names", newly_added)]
    {
        for person in people {
            writeln!(context.out, "  {what} {}", person.shown())?;
        }
    }
    if recipients.is_empty() {
        writeln!(context.out, "  notifies nobody")?;
    }
    if published.is_duplicate {
        context.note("it was stored before: two that say the same at the same moment are one message");
    }
    if !newly_added.is_empty() {
        context.note(
            "whom an edit adds finds it in the inbox, and nothing rings; a new message or a forward notifies",
        );
    }
    for told in diagnostics {
        let name = terminal::line(&told.name);
        let said = context.styled(Style::Warning, &format!("@{name}: {}", explained(&told.code)));
        let _ = context.out.flush();
        eprintln!("warning[{}]: {said}", terminal::line(&told.code));
    }
    Ok(())
}

/// A diagnostic in words (D-7).
fn explained(code: &str) -> &'static str {
    match code {
        "not_eligible" => "whoever bears this name is not addressed by it here",
        "paste_expired" => "whether this pasted name is right could not be checked in time",
        "unresolved_reference" => "the name only keeps who was referred to before",
        "unknown_name" => "nobody bears this name",
        "run_on" => "the name runs on into what follows; a space behind it would end it",
        "glued" => "what stands right before the sign makes it no mention",
        "hidden_text" => "the name stands where nobody sees it",
        "quoted" => "a name in a quote notifies nobody",
        "in_code" => "a name in code names nobody",
        "in_link" => "a name in an address names nobody",
        "wide_sign" => "this sign only looks like `@`",
        _ => "this name reaches nobody",
    }
}

/// Why nothing was sent, with everyone whom it concerns.
fn unsent(failure: Failure, context: &mut Context) -> Result<Outcome, Failure> {
    if context.json {
        return Err(failure);
    }
    let people = |value: &Value| Vec::<Person>::deserialize(value).unwrap_or_default();
    let details = &failure.details;
    let label = details["label"].as_str().map(str::to_owned);
    let rows: Vec<String> = match &*failure.code {
        "ambiguous_label" => {
            let label = label.clone().unwrap_or_default();
            let row = |person: &Person| {
                let choice = quoted(&format!("{label}={}", person.npub));
                format!("  {} : --to {choice}", person.shown())
            };
            people(&details["candidates"]).iter().map(row).collect()
        }
        "not_members" => people(&details["recipients"]).iter().map(|p| format!("  {}", p.shown())).collect(),
        "roster_changed" => {
            let changed = &details["difference"];
            let rows = [
                ("notified", "now notifies"),
                ("not_notified", "no longer notifies"),
                ("referred", "now refers to"),
                ("not_referred", "no longer refers to"),
            ];
            let rows = rows.iter().flat_map(|(field, says)| {
                people(&changed[*field]).into_iter().map(move |person| format!("  {says} {}", person.shown()))
            });
            rows.collect()
        }
        _ => return Err(failure),
    };
    let outcome = failure.outcome;
    let message = match label {
        Some(label) => format!("`@{label}`: {}", failure.message),
        None => failure.message.clone(),
    };
    context.tell(&Failure { message, ..failure });
    for row in rows {
        eprintln!("{}", terminal::line(&row));
    }
    Ok(outcome)
}

/// An argument as a shell takes it.
fn quoted(argument: &str) -> String {
    format!("'{}'", argument.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recipients_are_exact() {
        let npub = "npub1sn0wdenkukak0d9dfczzeacvhkrgz92ak56egt7vdgzn8pv2wfqqhrjdv9";
        let hex = "84dee6e676e5bb67b4ad4e042cf70cbd8681155db535942fcc6a0533858a7240";
        for (given, label) in [
            (npub.to_owned(), None),
            (hex.to_owned(), None),
            (format!("Ada King={npub}"), Some("Ada King")),
            (format!("a=b={hex}"), Some("a=b")),
            (format!("={hex}"), Some("")),
        ] {
            let to = to(&given).unwrap();
            assert_eq!((to.label.as_deref(), to.key.to_hex()), (label, hex.to_owned()), "{given}");
        }
        for given in ["", "Ada", "Ada=", "Ada=84dee6e6", "84dee6e6", "Ada=npub1xyz"] {
            assert!(to(given).is_err(), "{given}");
        }
    }

    #[test]
    fn arguments_are_quoted_for_a_shell() {
        assert_eq!(quoted("it's $HOME"), r"'it'\''s $HOME'");
    }
}
