//! `vocative inbox`: where a person was named, the newest first.

use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use vocative::{Id, Login};
use vocative_pi::index::{self, Fingerprint, INDEX_NAME, OpenIndex};
use vocative_pi::lines::MAX_LINE;
use vocative_pi::query::{Index, Query};
use vocative_pi::{Library, Options, Reference, ReferenceKey, Source, Timestamp};

use crate::classify::{self, Classifier, Message, Settings, Verdict};
use crate::context::{Context, Style};
use crate::outcome::{Failure, Outcome};
use crate::remote::ServerArgs;
use crate::{conflict, files, gather, parallel, terminal, values};

mod server;

/// Arguments of `vocative inbox`.
#[derive(Debug, clap::Args)]
#[command(after_help = MODEL)]
pub(crate) struct Args {
    /// Session files, reduced artifacts, or folders of them; Pi's own folders if none is given
    #[arg(value_name = "PATH", requires = "me")]
    paths: Vec<PathBuf>,
    /// Whose mentions to show, of the sessions on this machine; without it, yours at a community's server
    #[arg(long, value_name = "github:HANDLE", value_parser = values::person, conflicts_with = "server")]
    me: Option<Login>,
    #[command(flatten)]
    server: ServerArgs,
    /// Only messages at or after this time
    #[arg(long, value_name = "TIME", value_parser = values::instant)]
    since: Option<Timestamp>,
    /// Only messages before this time
    #[arg(long, value_name = "TIME", value_parser = values::instant)]
    until: Option<Timestamp>,
    /// Only messages that this person wrote; at a server also a public key
    #[arg(long, value_name = "github:HANDLE", value_parser = values::anyone)]
    from: Option<Id>,
    /// At most so many, the newest [default: all; at a server 50]
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// At a server: all there are
    #[arg(long, conflicts_with_all = ["limit", "me"])]
    all: bool,
    /// At a server: only what is in messages, or in sessions
    #[arg(long, value_name = "SOURCE", conflicts_with = "me")]
    source: Option<server::Source>,
    /// Fetch and show each message's text, which is untrusted
    #[arg(long)]
    show: bool,
    /// Ask a model what each message holds: see VOCATIVE_MODEL_URL and VOCATIVE_MODEL below
    #[arg(long, requires = "me")]
    classify: bool,
    /// Read everything, whatever an earlier run has read
    #[arg(long)]
    verify: bool,
    /// Read files of other agents too, which begin with a title line
    #[arg(long)]
    lenient: bool,
    /// The longest line to read, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = MAX_LINE)]
    max_line: usize,
    /// Write one JSON object per mention
    #[arg(long)]
    json: bool,
}

const MODEL: &str = "\
With --classify the text of each message shown goes to the model that these name:
  VOCATIVE_MODEL_URL       the address of an OpenAI-compatible server, as http://127.0.0.1:11434/v1
  VOCATIVE_MODEL           the model
  VOCATIVE_MODEL_KEY       a key, if one is needed; or VOCATIVE_MODEL_KEY_FILE, a file that holds it
Answers are kept, and asked for once. Without --classify nothing is sent anywhere.";

/// Shows the inbox.
pub(crate) fn run(args: Args, context: &mut Context) -> Result<Outcome, Failure> {
    let Some(me) = args.me.clone() else { return server::run(&args, context) };
    let actor = match &args.from {
        Some(Id::Nostr(_)) => return Err(Failure::usage("people in sessions are known as github:HANDLE")),
        Some(Id::Github(login)) => Some(login.clone()),
        None => None,
    };
    let mut classifier = if args.classify {
        let settings = Settings::from_environment()?;
        Some(Classifier::new(settings, classify::answers_path(context)))
    } else {
        None
    };
    let options = Options { lenient: args.lenient, max_line: args.max_line, offsets: false };
    let files = inputs(&args, context)?;
    let query =
        Query { recipient: me.clone(), actor, since: args.since, until: args.until, limit: args.limit };
    let (found, mut outcome) = ask(&files, &query, &args, options, context);
    let mut library = Library::new(files.clone(), options);
    for (key, reference) in &found {
        let wanted = args.show || args.classify;
        let mut fetched = wanted.then(|| fetch(&mut library, key, reference, classifier.as_mut()));
        if let Some(fetched) = &fetched {
            let failed = fetched.text.is_err() || matches!(fetched.verdict, Some(Err(_)));
            outcome = if failed && outcome == Outcome::Done { Outcome::Problems } else { outcome };
        }
        let verdict = fetched.as_mut().and_then(|fetched| fetched.verdict.take());
        // A text that was only classified is not shown; that there is none is told all the same.
        let text = fetched.map(|fetched| fetched.text).filter(|text| args.show || text.is_err());
        let file = &files[reference.origin.file as usize];
        if args.json {
            let mut object = to_json(key, reference, file, text.as_ref());
            if let Some(verdict) = &verdict {
                object["classification"] = verdict_json(verdict);
            }
            writeln!(context.out, "{}", terminal::json(&object))?;
        } else {
            print(key, reference, file, text.as_ref(), context)?;
            if let Some(verdict) = &verdict {
                print_verdict(verdict, context)?;
            }
        }
    }
    if found.is_empty() && !args.json {
        context.note(&format!("nobody named github:{me} in {} files", files.len()));
    }
    Ok(outcome)
}

/// The files given, or Pi's sessions and the artifacts beside them.
fn inputs(args: &Args, context: &Context) -> Result<Vec<PathBuf>, Failure> {
    if !args.paths.is_empty() {
        return files::under(&args.paths);
    }
    let mut paths = files::or_sessions(Vec::new(), context)?;
    paths.extend(files::reduced(context));
    files::under(&paths)
}

/// Asks the index of Pi's own folders, if it is fresh; otherwise reads what is new in the files.
fn ask(
    files: &[PathBuf],
    query: &Query,
    args: &Args,
    options: Options,
    context: &mut Context,
) -> (Vec<(ReferenceKey, Reference)>, Outcome) {
    let is_indexed = args.paths.is_empty() && !args.lenient;
    let path = files::kept(INDEX_NAME, context).filter(|_| is_indexed);
    let index = path.and_then(|path| Some((path, fingerprint(files, args.max_line)?)));
    if let Some((path, state)) = index.as_ref().filter(|_| !args.verify)
        && let Some(found) = OpenIndex::open(path, state).and_then(|index| index.run(query))
    {
        return (found, Outcome::Done);
    }
    let (reduction, is_whole, mut outcome) = gather::gather(files, options, args.verify, context);
    for conflict in reduction.conflicts() {
        conflict::tell(conflict, files, context);
        outcome = Outcome::Conflict;
    }
    // What has to be told with each answer is not in the index.
    if let Some((path, state)) = index.filter(|_| is_whole && outcome == Outcome::Done) {
        // Without an index the next answer takes longer, and nothing else.
        let _ = index::write(&path, &state, &Index::of(&reduction));
    }
    let found = query.run(&reduction);
    (found.into_iter().map(|(key, reference)| (key.clone(), reference.clone())).collect(), outcome)
}

/// What tells the state of all files; none where that of any of them cannot be told.
fn fingerprint(files: &[PathBuf], max_line: usize) -> Option<Fingerprint> {
    let mut all = Vec::with_capacity(files.len());
    let work = |_: usize, path: &Path| Fingerprint::of_file(path);
    parallel::in_order(files, work, |_, one| one.map(|one| all.push(one)).ok_or(())).ok()?;
    Some(Fingerprint::of_all(&all, max_line))
}

/// A fetched text, or why there is none.
type Text = Result<(String, Source), String>;

/// What became of fetching, and of classifying if that was asked for.
struct Fetched {
    text: Text,
    verdict: Option<Result<Verdict, String>>,
}

/// Fetches the message. Its text is used only if evidence for the reference stands beside it.
fn fetch(
    library: &mut Library,
    key: &ReferenceKey,
    reference: &Reference,
    classifier: Option<&mut Classifier>,
) -> Fetched {
    let found = library
        .find(&key.session, &key.entry)
        .map_err(|missing| format!("the message was not found in {} files", missing.files));
    let read = found.and_then(|(opened, index, source)| {
        let has_evidence = opened
            .evidence(&key.session, index)
            .any(|item| item.marker.recipients.iter().any(|person| person.login == *key.recipient));
        if !has_evidence {
            let path = &opened.content;
            return Err(format!("{path} holds the message, but no marker for it"));
        }
        let entry = opened.read(index).map_err(|error| error.to_string())?;
        Ok((opened, index, source, entry.text.unwrap_or_default()))
    });
    match read {
        Err(why) => Fetched { text: Err(why), verdict: None },
        Ok((opened, index, source, text)) => {
            let actor = format!("github:{}", reference.actor);
            let message = Message { key, actor, text: &text, opened, index };
            let verdict = classifier.map(|classifier| classifier.classify(&message));
            Fetched { text: Ok((text, source)), verdict }
        }
    }
}

fn verdict_json(verdict: &Result<Verdict, String>) -> Value {
    match verdict {
        Ok(verdict) => json!({
            "kind": verdict.kind.as_str(),
            "model_reason": verdict.reason,
            "untrusted_quote": verdict.quote,
        }),
        Err(why) => json!({ "kind": "unclassified", "why": why }),
    }
}

fn print_verdict(verdict: &Result<Verdict, String>, context: &mut Context) -> Result<(), Failure> {
    match verdict {
        Ok(verdict) => {
            let kind = context.styled(Style::Bold, verdict.kind.as_str());
            writeln!(context.out, "    {kind}; the model says: {}", terminal::line(&verdict.reason))?;
            if let Some(quote) = &verdict.quote {
                let (start, end) = (quote.start, quote.end);
                let words = terminal::line(&quote.text);
                writeln!(context.out, "    untrusted words at bytes {start} to {end}: {words}")?;
            }
        }
        Err(why) => writeln!(context.out, "    unclassified: {}", terminal::line(why))?,
    }
    Ok(())
}

fn to_json(key: &ReferenceKey, reference: &Reference, file: &Path, text: Option<&Text>) -> Value {
    let mut object = json!({
        "at": reference.at,
        "actor": format!("github:{}", reference.actor),
        "recipient": format!("github:{}", key.recipient),
        "session": key.session,
        "entry": key.entry,
        "file": file.to_string_lossy(),
        "line": reference.origin.line,
    });
    match text {
        None => {}
        Some(Ok((text, source))) => {
            object["untrusted_text"] = json!(text);
            object["copy"] = json!(*source == Source::Copy);
        }
        Some(Err(why)) => object["no_text"] = json!(why),
    }
    object
}

fn print(
    key: &ReferenceKey,
    reference: &Reference,
    file: &Path,
    text: Option<&Text>,
    context: &mut Context,
) -> Result<(), Failure> {
    let actor = context.styled(Style::Bold, &format!("github:{}", reference.actor));
    let name = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy();
    let place = format!("{}:{}", terminal::line(&name), reference.origin.line);
    let place = context.styled(Style::Dim, &place);
    let ReferenceKey { session, entry, .. } = key;
    writeln!(context.out, "{}  {actor}  {session}/{entry}  {place}", reference.at)?;
    match text {
        None => return Ok(()),
        Some(Err(why)) => {
            let why = context.styled(Style::Warning, &terminal::line(why));
            writeln!(context.out, "    {why}")?;
        }
        Some(Ok((text, source))) => {
            let copy = if *source == Source::Copy { ", from a copy; the original is gone" } else { "" };
            let label = context.styled(Style::Warning, &format!("untrusted text{copy}:"));
            writeln!(context.out, "    {label}")?;
            for line in terminal::lines(text) {
                writeln!(context.out, "    | {line}")?;
            }
        }
    }
    writeln!(context.out)?;
    Ok(())
}
