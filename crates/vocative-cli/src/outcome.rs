//! How a command ends.

use std::io;
use std::process::ExitCode;

use serde_json::{Value, json};

use crate::terminal;

/// The exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All was done.
    Done,
    /// What was read has problems, which were told.
    Problems,
    /// The command was not understood.
    Usage,
    /// Two pieces of evidence contradict each other.
    Conflict,
    /// What was asked for was not found.
    NotFound,
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        Self::from(match outcome {
            Outcome::Done => 0,
            Outcome::Problems => 1,
            Outcome::Usage => 2,
            Outcome::Conflict => 3,
            Outcome::NotFound => 4,
        })
    }
}

/// Why a command could not do what it was asked to.
#[derive(Debug)]
pub struct Failure {
    /// The exit code.
    pub outcome: Outcome,
    /// A stable name.
    pub code: Box<str>,
    /// A lower-case fragment for a person.
    pub message: String,
    /// Whatever a program may want to know, as an object.
    pub details: Value,
    /// The reader of standard output went away, which is no error of ours.
    pub(crate) quiet: bool,
}

impl Failure {
    /// A failure without details.
    pub fn new(outcome: Outcome, code: impl Into<Box<str>>, message: impl Into<String>) -> Self {
        let code = code.into();
        Self { outcome, code, message: message.into(), details: json!({}), quiet: false }
    }

    /// The command was not understood.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(Outcome::Usage, "usage", message)
    }

    /// The same failure with details.
    pub fn with(self, details: Value) -> Self {
        Self { details, ..self }
    }

    /// The failure as one line of JSON.
    pub fn to_json(&self) -> String {
        let Self { code, message, details, .. } = self;
        terminal::json(&json!({ "code": code, "message": message, "details": details }))
    }
}

/// Output could not be written.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        let quiet = error.kind() == io::ErrorKind::BrokenPipe;
        let outcome = if quiet { Outcome::Done } else { Outcome::Problems };
        Self { quiet, ..Self::new(outcome, "io", error.to_string()) }
    }
}
