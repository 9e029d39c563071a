//! `vocative resolve`: shows what the engine sees in a text.

use std::collections::HashMap;
use std::io::{self, BufRead, Write};

use serde::Deserialize;
use serde_json::{Value, json};
use vocative::{
    Ambiguous, Claim, Diagnostic, Draft, Explained, Id, Member, Place, Reading, Roster, Scope, Span,
    Standing, Utf16Map,
};

use crate::context::{Context, Style};
use crate::outcome::{Failure, Outcome};
use crate::terminal;

/// Arguments of `vocative resolve`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = FORMAT)]
pub(crate) struct Args {
    /// Print the text with what was found under each line, for people.
    #[arg(long)]
    human: bool,
}

const FORMAT: &str = "\
Reads JSON lines from standard input:
  {\"text\": \"hi @Ada\", \"labels\": [{\"label\": \"Ada\", \"id\": \"github:ada\", \"kind\": \"human\", \"member\": true}],
   \"bindings\": [{\"label\": \"Ada\", \"id\": \"github:ada\"}]}
A binding is an exact choice, and may also be written as a pair [\"Ada\", \"github:ada\"]. An id is `github:LOGIN`, `nostr:` and 64 hex digits, or the 64 hex digits alone. `kind` is `human`, `agent`
(both optional) or `persona`, which needs no id; `member` is true where it is absent.

Writes one JSON line for each: `occurrences`, `recipients`, `references`, `diagnostics` and `signs` (each `@` and
its fate), with ranges in UTF-8 bytes and UTF-16 units, and `keys`, the identities each stands for. Where a name is
ambiguous, `error` is {\"error\": \"ambiguous_label\", \"label\", \"candidates\"} and nobody is a recipient. A line that cannot be read gives {\"line\", \"error\": {code, message, details}}, and the exit code is 1.";

/// A line longer than this is refused, so that a stream without line ends cannot fill the memory.
const LONGEST_LINE: u64 = 256 * 1024 * 1024;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    text: String,
    labels: Vec<GivenLabel>,
    #[serde(default)]
    bindings: Vec<GivenBinding>,
}

/// What else a script knows of a candidate is no concern of ours, so other fields are let pass.
#[derive(Deserialize)]
struct GivenLabel {
    label: String,
    id: Option<String>,
    #[serde(default)]
    kind: Kind,
    #[serde(default = "yes")]
    member: bool,
}

#[derive(Clone, Copy, Default, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
enum Kind {
    #[default]
    Human,
    Agent,
    Persona,
}

/// A binding, as an object or as a pair of label and id.
#[derive(Deserialize)]
#[serde(untagged)]
enum GivenBinding {
    Fields { label: String, id: String },
    Pair(String, String),
}

fn yes() -> bool {
    true
}

/// Answers each line of standard input.
pub(crate) fn run(args: Args, context: &mut Context) -> Result<Outcome, Failure> {
    let mut input = io::stdin().lock();
    let mut outcome = Outcome::Done;
    let mut line = Vec::new();
    for number in 1_u64.. {
        line.clear();
        if io::Read::take(&mut input, LONGEST_LINE + 1).read_until(b'\n', &mut line)? == 0 {
            break;
        }
        let is_too_long = line.len() as u64 > LONGEST_LINE;
        if is_too_long {
            skip_line(&mut input)?;
        } else if line.trim_ascii().is_empty() {
            continue;
        }
        let answer = if is_too_long { Err(too_long()) } else { read(&line).and_then(Resolver::new) };
        match answer {
            Ok(resolver) if args.human => resolver.draw(context)?,
            Ok(resolver) => writeln!(context.out, "{}", terminal::json(&resolver.answer()))?,
            Err(failure) => {
                outcome = Outcome::Problems;
                if args.human {
                    context
                        .tell(&Failure { message: format!("line {number}: {}", failure.message), ..failure });
                } else {
                    let Failure { code, message, details, .. } = failure;
                    let error = json!({ "code": code, "message": message, "details": details });
                    writeln!(context.out, "{}", terminal::json(&json!({ "line": number, "error": error })))?;
                }
            }
        }
        // An answer is seen before the next line is awaited.
        context.out.flush()?;
    }
    Ok(outcome)
}

fn skip_line(input: &mut impl BufRead) -> io::Result<()> {
    loop {
        let buffer = input.fill_buf()?;
        let Some(end) = buffer.iter().position(|&byte| byte == b'\n') else {
            let length = buffer.len();
            if length == 0 {
                return Ok(());
            }
            input.consume(length);
            continue;
        };
        input.consume(end + 1);
        return Ok(());
    }
}

fn too_long() -> Failure {
    Failure::new(Outcome::Problems, "line_too_long", format!("the line is longer than {LONGEST_LINE} bytes"))
}

fn read(line: &[u8]) -> Result<Request, Failure> {
    let text = std::str::from_utf8(line).map_err(|error| {
        let at = error.valid_up_to();
        let message = format!("byte {at} of the line is not UTF-8");
        Failure::new(Outcome::Problems, "invalid_utf8", message).with(json!({ "offset": at }))
    })?;
    serde_json::from_str(text).map_err(|error| {
        Failure::new(Outcome::Problems, "bad_request", error.to_string())
            .with(json!({ "column": error.column() }))
    })
}

/// One request, read.
struct Resolver {
    text: String,
    roster: Roster,
    draft: Draft,
    /// Identities as the request spells them.
    spelled: HashMap<Id, String>,
    agents: Vec<Id>,
}

impl Resolver {
    fn new(request: Request) -> Result<Self, Failure> {
        let mut resolver = Self {
            text: request.text,
            roster: Roster::new(),
            draft: Draft::new(),
            spelled: HashMap::new(),
            agents: Vec::new(),
        };
        for binding in request.bindings {
            let (GivenBinding::Fields { label, id } | GivenBinding::Pair(label, id)) = binding;
            let id = resolver.id(&label, Some(id))?;
            resolver.draft.bind(&label, id);
        }
        for given in request.labels {
            if given.kind == Kind::Persona && given.id.is_none() {
                resolver.draft.push(&given.label, Claim::Persona);
                continue;
            }
            let id = resolver.id(&given.label, given.id)?;
            if given.kind == Kind::Agent {
                resolver.agents.push(id.clone());
            }
            let standing = if given.member { Standing::Member } else { Standing::Outsider };
            let member = Member { name: given.label, id, standing };
            let label = member.name.chars().take(48).collect::<String>();
            resolver.roster.add(member).map_err(|error| {
                let message = format!("the label that begins with {label:?} cannot be used: {error}");
                Failure::new(Outcome::Problems, error.code(), message).with(json!({ "label": label }))
            })?;
        }
        Ok(resolver)
    }

    fn id(&mut self, label: &str, id: Option<String>) -> Result<Id, Failure> {
        let failed = |message: String| {
            Failure::new(Outcome::Problems, "bad_id", message).with(json!({ "label": label }))
        };
        let spelled = id.ok_or_else(|| failed(format!("the label {label:?} has no id")))?;
        let id: Id = spelled.parse().map_err(|error| failed(format!("the label {label:?}: {error}")))?;
        self.spelled.entry(id.clone()).or_insert_with(|| spelled.to_lowercase());
        Ok(id)
    }

    fn reading(&self) -> Reading<'_> {
        Scope::new(&self.roster, &self.draft).read(&self.text)
    }

    fn ids<'i>(&self, ids: impl IntoIterator<Item = &'i Id>) -> Vec<String> {
        ids.into_iter().map(|id| self.spelled.get(id).cloned().unwrap_or_else(|| id.to_string())).collect()
    }

    fn answer(&self) -> Value {
        let reading = self.reading();
        let map = Utf16Map::new(&self.text);
        let range = |span: Span| {
            json!({
                "utf8": [span.start.get(), span.end.get()],
                "utf16": [map.to_utf16(span.start), map.to_utf16(span.end)],
            })
        };
        let placed = |span: Span, mut row: Value| {
            let ranges = range(span);
            row["utf8"] = ranges["utf8"].clone();
            row["utf16"] = ranges["utf16"].clone();
            row
        };
        let occurrences: Vec<Value> = reading
            .occurrences()
            .iter()
            .map(|occurrence| {
                let owners = &occurrence.owners;
                let row = json!({
                    "literal": occurrence.span.of(&self.text),
                    "context": occurrence.place,
                    "id": if owners.keys.len() == 1 { self.ids(&owners.keys).pop() } else { None },
                    "keys": self.ids(&owners.keys),
                    "outsiders": self.ids(&owners.outsiders),
                    "persona": owners.has_persona,
                });
                placed(occurrence.span, row)
            })
            .collect();
        let diagnostics: Vec<Value> = reading
            .diagnostics()
            .into_iter()
            .map(|diagnostic| {
                let Diagnostic { code, span, name, keys } = diagnostic;
                let mut row = json!({ "code": code, "name": name });
                if let Some(keys) = keys {
                    row["keys"] = self.ids(&keys).into();
                }
                placed(span, row)
            })
            .collect();
        let signs: Vec<Value> = reading
            .explain()
            .map(|sign| placed(sign.span, json!({ "fate": sign.fate, "keys": self.ids(&sign.keys) })))
            .collect();
        let mut answer = json!({
            "occurrences": occurrences,
            "recipients": [],
            "references": [],
            "diagnostics": diagnostics,
            "signs": signs,
        });
        match reading.recipients() {
            Ok(recipients) => {
                answer["recipients"] = self.ids(&recipients.keys).into();
                answer["references"] = self.ids(&recipients.references).into();
            }
            Err(error) => {
                let candidates = self.ids(&error.candidates);
                let row = json!({ "error": Ambiguous::CODE, "label": error.label, "candidates": candidates });
                answer["error"] = placed(error.span, row);
            }
        }
        answer
    }

    /// The text line by line, with what was found written under each.
    fn draw(&self, context: &mut Context) -> Result<(), Failure> {
        let reading = self.reading();
        let signs: Vec<Explained> = reading.explain().collect();
        let mut start = 0;
        for line in self.text.split_inclusive('\n') {
            let end = start + line.len();
            let shown = line.trim_end_matches('\n');
            writeln!(context.out, "  {}", terminal::line(shown))?;
            for sign in signs.iter().filter(|sign| (start..end).contains(&sign.span.start.get())) {
                let before = terminal::line(&self.text[start..sign.span.start.get()]);
                let stop = sign.span.end.get().min(start + shown.len());
                let own = terminal::line(&self.text[sign.span.start.get()..stop]);
                let marks = "^".repeat(terminal::width(&own).max(1));
                let indent = " ".repeat(terminal::width(&before));
                let style = if sign.code.is_some() { Style::Warning } else { Style::Dim };
                writeln!(
                    context.out,
                    "  {indent}{}",
                    context.styled(style, &format!("{marks} {}", self.said(sign, &reading)))
                )?;
            }
            start = end;
        }
        match reading.recipients() {
            Ok(recipients) => {
                let named =
                    |ids: &[Id]| if ids.is_empty() { "nobody".into() } else { self.ids(ids).join(", ") };
                writeln!(context.out, "→ notifies {}", named(&recipients.keys))?;
                if !recipients.references.is_empty() {
                    writeln!(context.out, "→ refers to {}", named(&recipients.references))?;
                }
            }
            Err(error) => writeln!(context.out, "→ cannot be sent: {}", terminal::line(&error.to_string()))?,
        }
        writeln!(context.out)?;
        Ok(())
    }

    /// A sign's fate in words.
    fn said(&self, sign: &Explained, reading: &Reading<'_>) -> String {
        let fate = json!(sign.fate).as_str().unwrap_or_default().replace('_', " ");
        let is_quote = |place| place == Place::Quote;
        let occurrence =
            reading.occurrences().iter().find(|occurrence| occurrence.span.start == sign.span.start);
        let quoted =
            if occurrence.is_some_and(|occurrence| is_quote(occurrence.place)) { ", silent" } else { "" };
        if sign.keys.is_empty() {
            return format!("{fate}{quoted}");
        }
        let kind = |id: &Id| if self.agents.contains(id) { " (agent)" } else { "" };
        let ids = sign.keys.iter().map(|id| format!("{}{}", self.ids([id]).remove(0), kind(id)));
        format!("{fate}{quoted}: {}", ids.collect::<Vec<_>>().join(", "))
    }
}
