//! What a command may use of the process: its streams and its environment.

use std::env;
use std::io::{self, BufWriter, IsTerminal, Stdout, Write};
use std::path::Path;

use serde_json::json;
use vocative_pi::Problem;
use vocative_pi::discover::Environment;

use crate::outcome::{Failure, Outcome};
use crate::terminal;

/// The streams and the environment of a command.
#[derive(Debug)]
pub struct Context {
    /// Standard output.
    pub out: BufWriter<Stdout>,
    /// Where Pi keeps its files.
    pub environment: Environment,
    /// Whether output is for a program.
    pub json: bool,
    /// Whether standard output may be coloured.
    pub color: bool,
    /// Whether progress may be shown on standard error.
    pub progress: bool,
}

/// How text stands out, where colour is allowed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Style {
    Dim,
    Bold,
    Warning,
}

impl Context {
    /// The context of this process.
    pub(crate) fn of_process(json: bool) -> Self {
        let no_color = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = env::var_os("TERM").is_some_and(|value| value == "dumb");
        Self {
            out: BufWriter::new(io::stdout()),
            environment: Environment {
                home: env::home_dir().filter(|home| !home.as_os_str().is_empty()),
                agent_dir: env::var_os("PI_CODING_AGENT_DIR"),
                session_dir: env::var_os("PI_CODING_AGENT_SESSION_DIR"),
            },
            json,
            color: !no_color && !dumb && io::stdout().is_terminal(),
            progress: !dumb && io::stderr().is_terminal(),
        }
    }

    /// The text with its style, if colour is allowed.
    pub(crate) fn styled(&self, style: Style, text: &str) -> String {
        let number = match style {
            _ if !self.color => return text.to_owned(),
            Style::Dim => 2,
            Style::Bold => 1,
            Style::Warning => 33,
        };
        format!("\x1b[{number}m{text}\x1b[0m")
    }

    /// Tells on standard error what is wrong with a file. A script that reads JSON gets JSON.
    pub(crate) fn problem(&mut self, path: &Path, problem: &Problem) {
        // What was found so far belongs before what is wrong.
        let _ = self.out.flush();
        if self.json {
            eprintln!("{}", terminal::json(&problem_json(path, problem)));
        } else {
            eprintln!("{}", problem_text(path, problem));
        }
    }

    /// Tells a failure on standard error.
    pub(crate) fn tell(&mut self, failure: &Failure) {
        let _ = self.out.flush();
        if self.json {
            eprintln!("{}", failure.to_json());
        } else {
            eprintln!("error[{}]: {}", failure.code, terminal::line(&failure.message));
        }
    }

    /// Says something on standard error that is neither result nor error.
    pub(crate) fn note(&mut self, text: &str) {
        let _ = self.out.flush();
        if !self.json {
            eprintln!("note: {}", terminal::line(text));
        }
    }

    /// Ends the command: writes what is left and tells a failure.
    pub(crate) fn finish(mut self, result: Result<Outcome, Failure>) -> Outcome {
        let result = match (result, self.out.flush()) {
            (Ok(_), Err(error)) => Err(error.into()),
            (result, _) => result,
        };
        match result {
            Ok(outcome) => outcome,
            Err(failure) => {
                if failure.quiet {
                    // The buffer must not try again when it is dropped.
                    let (_, _) = self.out.into_parts();
                } else {
                    self.tell(&failure);
                }
                failure.outcome
            }
        }
    }
}

/// A problem for a person: where, what, and what to do.
pub(crate) fn problem_text(path: &Path, problem: &Problem) -> String {
    let kind = if problem.is_warning() { "warning" } else { "error" };
    let place = if problem.line > 0 { format!(":{}", problem.line) } else { String::new() };
    let entry = problem.entry.as_ref().map_or(String::new(), |entry| format!(" entry {entry}:"));
    let code = problem.code;
    terminal::line(&format!(
        "{}{place}: {kind}[{code}]:{entry} {}; {}",
        path.display(),
        problem.detail,
        code.advice()
    ))
}

/// A problem for a program.
pub(crate) fn problem_json(path: &Path, problem: &Problem) -> serde_json::Value {
    json!({
        "code": problem.code.as_str(),
        "message": problem.detail,
        "details": {
            "severity": if problem.is_warning() { "warning" } else { "error" },
            "file": path.to_string_lossy(),
            "line": (problem.line > 0).then_some(problem.line),
            "entry": problem.entry,
            "advice": problem.code.advice(),
        },
    })
}
