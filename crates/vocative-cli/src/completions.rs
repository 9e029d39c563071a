//! `vocative completions`: completions for a shell.

use std::io::Write;

use clap_complete::Shell;

use crate::context::Context;
use crate::outcome::{Failure, Outcome};

/// Arguments of `vocative completions`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The shell.
    shell: Shell,
}

/// Writes the completions.
pub(crate) fn run(args: Args, context: &mut Context) -> Result<Outcome, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut crate::command(), "vocative", &mut script);
    context.out.write_all(&script)?;
    Ok(Outcome::Done)
}
