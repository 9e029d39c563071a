//! Running the real command.

#![allow(dead_code, unreachable_pub, reason = "each test file includes this and uses a part")]

use std::path::Path;
use std::process::{Command, Output, Stdio};

#[path = "../../../vocative-pi/tests/support/mod.rs"]
pub mod session;

/// The recorded sessions.
pub const RECORDED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/pi");

/// The command with Pi's folders in `home`.
pub fn vocative(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_vocative"));
    command.env_clear().env("HOME", home).stdin(Stdio::null());
    command
}

/// What a run gave: exit code, standard output, standard error.
pub struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().expect("the command was not killed"),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// Runs the command with the arguments, which white space separates.
pub fn run(home: &Path, arguments: &str) -> Ran {
    vocative(home).args(arguments.split_whitespace()).output().unwrap().into()
}

/// The lines of output as JSON.
pub fn json_lines(text: &str) -> Vec<serde_json::Value> {
    text.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
}
