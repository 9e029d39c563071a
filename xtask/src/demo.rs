//! A community to try everything in.

use crate::run::{Result, cargo, command, step, target};

/// Builds the command and serves a temporary community, until Ctrl-C.
pub(crate) fn run() -> Result {
    step("build", &mut cargo(&["build", "--quiet", "--package", "vocative-cli"]))?;
    let vocative = target().join("debug/vocative");
    println!("The command is {}\n", vocative.display());
    let status = command(&vocative.to_string_lossy(), &["serve", "--demo"]).status();
    let status = status.map_err(|error| format!("the command cannot be started: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("the command ended with {status}")) }
}
