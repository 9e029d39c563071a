//! `vocative conformance`: runs case files through the engine.

use std::io::Write;
use std::path::PathBuf;

use serde_json::json;
use vocative_conformance::{CaseFile, Report, parse};

use crate::context::Context;
use crate::outcome::{Failure, Outcome};

/// Arguments of `vocative conformance`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Case files.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Print the answer of each case instead of comparing it.
    #[arg(long)]
    emit: bool,
}

/// Runs every case that has an operation, in file order.
pub(crate) fn run(args: Args, context: &mut Context) -> Result<Outcome, Failure> {
    // Nothing is run before every file has been read.
    let files = args.files.iter().map(read).collect::<Result<Vec<CaseFile>, Failure>>()?;
    let mut report = Report::default();
    quietly(|| {
        for file in &files {
            if args.emit { report.emit(file) } else { report.add(file) }
        }
    });
    context.out.write_all(report.lines.as_bytes())?;
    if args.emit {
        return Ok(Outcome::Done);
    }
    writeln!(context.out, "{}", report.summary())?;
    Ok(if report.failed == 0 { Outcome::Done } else { Outcome::Problems })
}

fn read(path: &PathBuf) -> Result<CaseFile, Failure> {
    let failed = |code, error: String| {
        let message = format!("cannot read {}: {error}", path.display());
        Failure::new(Outcome::Usage, code, message).with(json!({ "file": path.to_string_lossy() }))
    };
    let text = std::fs::read_to_string(path).map_err(|error| failed("unreadable_file", error.to_string()))?;
    parse(&text).map_err(|error| failed("bad_case_file", error))
}

/// A case that panics is a failing case: it is told in its line and needs no message of its own.
fn quietly(work: impl FnOnce()) {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    work();
    std::panic::set_hook(hook);
}
