//! `vocative markers`: every mention marker in many files, as fast as the bytes can be searched.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::json;
use vocative_pi::lines::MAX_LINE;
use vocative_pi::prefilter::{Found, Memory, Prefilter};
use vocative_pi::{Code, Problem};

use crate::context::Context;
use crate::outcome::{Failure, Outcome};
use crate::progress::Progress;
use crate::{files, parallel, terminal};

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
    let files = files::under(&files::or_sessions(args.paths.clone(), context)?)?;
    let filter = Prefilter::default();
    let mut progress = Progress::new(context, files.len());
    let (mut outcome, mut count) = (Outcome::Done, 0);
    let scan = |memory: &mut Memory, _: usize, path: &Path| scan(path, &filter, memory, &args);
    parallel::in_order_with(&files, scan, |place, scanned| -> Result<(), Failure> {
        count += scanned.count;
        context.out.write_all(scanned.text.as_bytes())?;
        for problem in &scanned.problems {
            context.problem(&files[place], problem);
            outcome = Outcome::Problems;
        }
        progress.step();
        Ok(())
    })?;
    if args.count {
        writeln!(context.out, "{count}")?;
    }
    Ok(outcome)
}

/// What one file holds.
#[derive(Default)]
struct Scanned {
    count: u64,
    text: String,
    problems: Vec<Problem>,
}

fn scan(path: &Path, filter: &Prefilter, memory: &mut Memory, args: &Args) -> Scanned {
    let mut scanned = Scanned::default();
    let read = File::open(path).and_then(|file| {
        filter.markers(file, args.max_line, memory, |found| match found {
            Err(problem) => scanned.problems.push(problem),
            Ok(found) => {
                scanned.count += 1;
                if !args.count {
                    scanned.text += &told(path, &found, args.json);
                }
            }
        })
    });
    if let Err(error) = read {
        let (code, detail) = (Code::Io, error.to_string());
        scanned.problems.push(Problem { code, line: 0, entry: None, detail });
    }
    scanned
}

/// The line of output for a marker.
fn told(path: &Path, found: &Found, json: bool) -> String {
    let Found { line, id, marker, .. } = found;
    let to: Vec<_> = marker.recipients.iter().map(|to| format!("github:{}", to.login)).collect();
    let actor = format!("github:{}", marker.actor.login);
    if json {
        let object = json!({
            "file": path.to_string_lossy(), "line": line, "id": id, "actor": actor,
            "recipients": to, "session": marker.session, "entry": marker.entry,
        });
        return terminal::json(&object) + "\n";
    }
    let path = terminal::line(&path.display().to_string());
    let (to, target) = (to.join(" and "), format!("{}/{}", marker.session, marker.entry));
    format!("{path}:{line}: {actor} names {to} in {target}\n")
}
