//! Case files, the run over them, and the lines it prints.

use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::Deserialize;
use serde_json::Value;

/// One case file.
#[derive(Debug, Deserialize)]
pub struct CaseFile {
    /// The cases, in file order.
    pub cases: Vec<Case>,
}

/// One case. It is skipped where `given` has no `op`.
#[derive(Debug, Deserialize)]
pub struct Case {
    /// Unique over all files.
    pub id: String,
    /// The operation and its input.
    pub given: Value,
    /// The answer, compared exactly.
    #[serde(default)]
    pub expect: Value,
}

/// Reads a case file.
///
/// # Errors
/// What is wrong with the JSON, with its line and column.
pub fn parse(text: &str) -> Result<CaseFile, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

/// What an operation answered.
#[derive(Debug)]
pub struct Outcome {
    /// The answer; an unknown operation, an unreadable `given` or a panic is `{"failure": reason}`.
    pub actual: Value,
    /// Whether it is the expected one.
    pub passed: bool,
}

/// Runs one case; none where it has no operation.
pub fn run_case(case: &Case) -> Option<Outcome> {
    case.given.get("op")?;
    let answer = catch_unwind(AssertUnwindSafe(|| crate::run(&case.given)));
    let answer = answer.unwrap_or_else(|_| Err("panic".to_owned()));
    let passed = answer.as_ref().is_ok_and(|actual| *actual == case.expect);
    let actual = answer.unwrap_or_else(|reason| serde_json::json!({ "failure": reason }));
    Some(Outcome { actual, passed })
}

/// The lines of a run over several files.
#[derive(Debug, Default)]
pub struct Report {
    /// What `vocative conformance` prints.
    pub lines: String,
    /// Cases that gave the expected answer.
    pub passed: usize,
    /// Cases that did not.
    pub failed: usize,
}

impl Report {
    /// Adds a file's cases: a line for each that fails.
    pub fn add(&mut self, file: &CaseFile) {
        for case in &file.cases {
            let Some(outcome) = run_case(case) else {
                continue;
            };
            if outcome.passed {
                self.passed += 1;
            } else {
                self.failed += 1;
                let (expected, actual) = (sorted(&case.expect), sorted(&outcome.actual));
                let _ = writeln!(self.lines, "{}\texpected {expected}\tactual {actual}", case.id);
            }
        }
    }

    /// Adds a file's answers: one line for each case with an operation.
    pub fn emit(&mut self, file: &CaseFile) {
        for case in &file.cases {
            let Some(outcome) = run_case(case) else {
                continue;
            };
            let line = sorted(&serde_json::json!({ "id": case.id, "actual": outcome.actual }));
            let _ = writeln!(self.lines, "{line}");
        }
    }

    /// The last line of a run.
    pub fn summary(&self) -> String {
        format!("{} passed, {} failed", self.passed, self.failed)
    }
}

/// The value with its object keys sorted, so that it prints the same everywhere.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut names: Vec<_> = fields.keys().collect();
            names.sort();
            names.into_iter().map(|name| (name.clone(), sorted(&fields[name]))).collect()
        }
        Value::Array(items) => items.iter().map(sorted).collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_case_is_a_line() {
        let file = parse(
            r#"{"cases": [
                {"id": "a", "given": {"op": "nothing"}, "expect": {"b": 1, "a": "é"}},
                {"id": "b", "given": {"op": "label_offsets", "text": "@Ada", "label": "Ada"}, "expect": {"offsets": [0]}},
                {"id": "c", "given": {"op": "label_offsets", "text": 1}, "expect": null},
                {"id": "d", "given": {"flow": "chat"}}]}"#,
        );
        let mut report = Report::default();
        report.add(&file.unwrap());
        assert_eq!(report.summary(), "1 passed, 2 failed");
        let first = report.lines.lines().next().unwrap();
        assert_eq!(
            first,
            "a\texpected {\"a\":\"é\",\"b\":1}\tactual {\"failure\":\"unknown operation `nothing`\"}"
        );
        assert!(report.lines.lines().nth(1).unwrap().starts_with("c\texpected null\tactual {\"failure\""));
    }
}
