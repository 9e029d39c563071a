//! The public reports of `conformance/reports.json` that one text can show: typed and sent, or sent
//! by an API. The others need a composer, a relay or Pi.

mod support;

use std::io::Write;
use std::process::Stdio;

use serde_json::{Value, json};
use support::vocative;

/// The text that a report types or sends; none where it does anything else.
fn text(given: &Value) -> Option<&str> {
    let mut text = None;
    for op in given["ops"].as_array()? {
        match (op.as_str(), op.get("type"), op.get("api_send")) {
            (Some("send"), ..) => {}
            (_, Some(typed), _) if text.is_none() => text = typed.as_str(),
            (.., Some(sent)) => text = sent["text"].as_str(),
            _ => return None,
        }
    }
    text
}

fn resolve(request: &Value) -> Value {
    let home = tempfile::tempdir().unwrap();
    let mut command = vocative(home.path());
    let mut child = command.arg("resolve").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    writeln!(child.stdin.take().unwrap(), "{request}").unwrap();
    serde_json::from_slice(&child.wait_with_output().unwrap().stdout).unwrap()
}

/// The fields that `expected` has, of the object `actual`; all other fields are left open.
fn like(actual: &Value, expected: &Value) -> Value {
    match (actual, expected) {
        (Value::Object(actual), Value::Object(expected)) => {
            let fields = expected.iter().map(|(name, value)| {
                let found = actual.get(name).map_or(Value::Null, |actual| like(actual, value));
                (name.clone(), found)
            });
            fields.collect()
        }
        (Value::Array(actual), Value::Array(expected)) if actual.len() == expected.len() => {
            actual.iter().zip(expected).map(|(actual, expected)| like(actual, expected)).collect()
        }
        _ => actual.clone(),
    }
}

#[test]
fn every_report_that_one_text_can_show() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../conformance/reports.json");
    let file: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let mut shown = 0;
    for case in file["cases"].as_array().unwrap() {
        let (given, expect) = (&case["given"], &case["expect"]);
        let (Some(text), Some(labels)) = (text(given), given.get("candidates")) else { continue };
        let mut answer = resolve(&json!({ "text": text, "labels": labels }));
        // A report lists what is bound; who else owns text is for `diagnostics`.
        answer["occurrences"].as_array_mut().unwrap().retain(|occurrence| !occurrence["id"].is_null());
        for field in ["occurrences", "recipients", "references", "diagnostics", "error"] {
            if let Some(expected) = expect.get(field) {
                assert_eq!(like(&answer[field], expected), *expected, "{}: {field}", case["id"]);
            }
        }
        shown += 1;
    }
    assert!(shown >= 15, "only {shown} reports");
}
