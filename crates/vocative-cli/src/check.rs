//! `vocative check`: whether files are valid portable Pi v3, or canonical artifacts.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

use serde_json::json;
use vocative_pi::lines::MAX_LINE;
use vocative_pi::{Code, Options, Problem, Sink, check};

use crate::context::{Context, problem_json, problem_text};
use crate::outcome::{Failure, Outcome};
use crate::progress::Progress;
use crate::{files, terminal};

/// Arguments of `vocative check`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Session files, reduced artifacts, or folders of them
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    /// Accept the title line with which files of another agent begin
    #[arg(long)]
    lenient: bool,
    /// The longest line to accept, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = MAX_LINE)]
    max_line: usize,
    /// Write one JSON object per problem and one per file
    #[arg(long)]
    json: bool,
}

/// Writes problems as they are found, so that a file of nothing else needs no memory.
struct Tell<'a> {
    path: &'a PathBuf,
    json: bool,
    out: &'a mut dyn Write,
    failed: std::io::Result<()>,
    evidence: u64,
}

impl Sink for Tell<'_> {
    fn problem(&mut self, problem: Problem) {
        if self.failed.is_err() {
            return;
        }
        self.failed = if self.json {
            writeln!(self.out, "{}", terminal::json(&problem_json(self.path, &problem)))
        } else {
            writeln!(self.out, "{}", problem_text(self.path, &problem))
        };
    }

    fn evidence(&mut self, _: vocative_pi::Evidence) {
        self.evidence += 1;
    }
}

/// Checks.
pub(crate) fn run(args: Args, context: &mut Context) -> Result<Outcome, Failure> {
    let files = files::under(&args.paths)?;
    let options = Options { lenient: args.lenient, max_line: args.max_line, offsets: false };
    let mut progress = Progress::new(context, files.len());
    let mut invalid = 0;
    for path in &files {
        let failed = Ok(());
        let mut tell = Tell { path, json: args.json, out: &mut context.out, failed, evidence: 0 };
        let checked = File::open(path).and_then(|file| check(file, options, &mut tell));
        let is_valid = match &checked {
            Ok(checked) => checked.is_valid(),
            Err(error) => {
                let (code, detail) = (Code::Io, error.to_string());
                tell.problem(Problem { code, line: 0, entry: None, detail });
                false
            }
        };
        tell.failed?;
        invalid += usize::from(!is_valid);
        if let (true, Ok(checked)) = (args.json, checked) {
            let object = json!({
                "file": path.to_string_lossy(),
                "valid": is_valid,
                "kind": if checked.is_artifact { "artifact" } else { "session" },
                "id": checked.header.map(|header| header.id),
                "lines": checked.lines,
                "entries": checked.tree.len(),
                "markers": tell.evidence,
                "errors": checked.errors,
            });
            writeln!(context.out, "{}", terminal::json(&object))?;
        }
        progress.step();
    }
    if !args.json {
        let files = files.len();
        writeln!(context.out, "{files} files, {} valid, {invalid} invalid", files - invalid)?;
    }
    Ok(if invalid == 0 { Outcome::Done } else { Outcome::Problems })
}
