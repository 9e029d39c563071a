//! `vocative markers`: every mention marker in many files, as fast as the bytes can be searched.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

use serde_json::json;
use vocative_pi::lines::MAX_LINE;
use vocative_pi::prefilter::{Found, Prefilter};
use vocative_pi::{Code, Problem};

use crate::context::Context;
use crate::outcome::{Failure, Outcome};
use crate::progress::Progress;
use crate::{files, terminal};

/// Arguments of `vocative markers`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Session files or folders of them; Pi's sessions if none is given
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Write only how many there are
    #[arg(long)]
    count: bool,
    /// The longest line to read, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = MAX_LINE)]
    max_line: usize,
    /// Write one JSON object per marker
    #[arg(long)]
    json: bool,
}

/// Lists.
pub(crate) fn run(args: Args, context: &mut Context) -> Result<Outcome, Failure> {
    let files = files::under(&files::or_sessions(args.paths, context)?)?;
    let filter = Prefilter::default();
    let mut progress = Progress::new(context, files.len());
    let (mut outcome, mut count) = (Outcome::Done, 0u64);
    for path in &files {
        let mut written = Ok(());
        let mut problems = Vec::new();
        let read = File::open(path).and_then(|file| {
            filter.markers(file, args.max_line, |found| match found {
                Err(problem) => problems.push(problem),
                Ok(found) => {
                    count += 1;
                    if !args.count && written.is_ok() {
                        written = tell(path, &found, args.json, &mut context.out);
                    }
                }
            })
        });
        if let Err(error) = read {
            let (code, detail) = (Code::Io, error.to_string());
            problems.push(Problem { code, line: 0, entry: None, detail });
        }
        written?;
        for problem in problems {
            context.problem(path, &problem);
            outcome = Outcome::Problems;
        }
        progress.step();
    }
    if args.count {
        writeln!(context.out, "{count}")?;
    }
    Ok(outcome)
}

fn tell(path: &std::path::Path, found: &Found, json: bool, out: &mut dyn Write) -> std::io::Result<()> {
    let Found { line, id, marker, .. } = found;
    let to: Vec<_> = marker.recipients.iter().map(|to| format!("github:{}", to.login)).collect();
    let actor = format!("github:{}", marker.actor.login);
    if json {
        let object = json!({
            "file": path.to_string_lossy(), "line": line, "id": id, "actor": actor,
            "recipients": to, "session": marker.session, "entry": marker.entry,
        });
        return writeln!(out, "{}", terminal::json(&object));
    }
    let path = terminal::line(&path.display().to_string());
    writeln!(out, "{path}:{line}: {actor} names {} in {}/{}", to.join(" and "), marker.session, marker.entry)
}
