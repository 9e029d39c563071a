//! `vocative resolve` and `vocative conformance`.

mod support;

use std::io::Write;
use std::process::Stdio;

use serde_json::Value;
use support::{json_lines, vocative};

/// Runs `resolve` over these bytes: exit code, output, errors.
fn resolve(input: &[u8], arguments: &[&str]) -> (i32, String, String) {
    let home = tempfile::tempdir().unwrap();
    let mut command = vocative(home.path());
    command
        .arg("resolve")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

fn answers(input: &str) -> Vec<Value> {
    json_lines(&resolve(input.as_bytes(), &[]).1)
}

const ADA: &str = r#"{"label":"Ada","id":"github:Ada"}"#;

#[test]
fn names_codes_fates_and_both_kinds_of_positions() {
    let text = r#"{"text":"😀 @Ada, @Zed","labels":[LABEL]}"#.replace("LABEL", ADA);
    let answer = &answers(&text)[0];
    assert_eq!(answer["recipients"], serde_json::json!(["github:ada"]));
    let occurrence = &answer["occurrences"][0];
    assert_eq!(
        (&occurrence["utf8"], &occurrence["utf16"]),
        (&serde_json::json!([5, 9]), &serde_json::json!([3, 7]))
    );
    assert_eq!(answer["diagnostics"][0]["code"], "unknown_name");
    assert_eq!(answer["signs"][1]["fate"], "unknown");
}

#[test]
fn an_ambiguous_name_lists_every_candidate() {
    let key = "AB".repeat(32);
    let text = format!(r#"{{"text":"@ada","labels":[{ADA},{{"label":"ADA","id":"{key}","kind":"agent"}}]}}"#);
    let answer = &answers(&text)[0];
    assert_eq!(answer["error"]["error"], "ambiguous_label");
    assert_eq!(answer["error"]["candidates"], serde_json::json!(["github:ada", key.to_lowercase()]));
    assert_eq!(answer["recipients"], serde_json::json!([]));
}

#[test]
fn bindings_personas_and_outsiders_take_part() {
    let text = r#"{"text":"@Ada @Helper @Guest","labels":[{"label":"Helper","kind":"persona"},
        {"label":"Guest","id":"github:guest","member":false},{"label":"Ada","id":"github:other"}],
        "bindings":[["Ada","github:ada"]]}"#;
    let answer = &answers(&text.replace('\n', " "))[0];
    assert_eq!(answer["recipients"], serde_json::json!(["github:ada"]));
    assert_eq!(answer["occurrences"][1]["persona"], true);
    assert_eq!(answer["diagnostics"][0]["code"], "not_eligible");
}

#[test]
fn a_bad_line_is_told_and_the_others_are_answered() {
    let long = "x".repeat(1 << 20);
    let input = format!(
        "{{\"text\":\"a\",\"labels\":[]}}\nnot json\n\n{{\"text\":1}}\n{{\"text\":\"\",\"labels\":[{{\"label\":\"{long}\",\
         \"id\":\"github:a\"}}]}}\n{{\"text\":\"\",\"labels\":[{{\"label\":\"a\",\"id\":\"nobody\"}}]}}\n{{\"text\":\"b\",\
         \"labels\":[]}}"
    );
    let mut input = input.into_bytes();
    input.extend_from_slice(b"\n\xff\xfe\n");
    let (code, out, _) = resolve(&input, &[]);
    let answers = json_lines(&out);
    let codes: Vec<&str> =
        answers.iter().map(|answer| answer["error"]["code"].as_str().unwrap_or("")).collect();
    assert_eq!(codes, ["", "bad_request", "bad_request", "label_too_long", "bad_id", "", "invalid_utf8"]);
    assert_eq!((code, &answers[3]["line"]), (1, &serde_json::json!(5)));
    assert_eq!(answers[6]["error"]["details"]["offset"], 0);
}

#[test]
fn people_see_carets_under_the_text_and_no_control_characters() {
    let text = r#"{"text":"hi\u001b[31m @Ada\nand 太郎@Zed","labels":[LABEL]}"#.replace("LABEL", ADA);
    let (code, out, _) = resolve(text.as_bytes(), &["--human"]);
    assert_eq!(code, 0);
    assert!(!out.contains('\x1b'), "{out:?}");
    let expected = "  hi\\u{1b}[31m @Ada\n               ^^^^ bound: github:ada\n  and 太郎@Zed\n          ^^^^ unknown\n\
                    → notifies github:ada\n\n";
    assert_eq!(out, expected);
}

#[test]
fn conformance_reports_failures_and_refuses_bad_files() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("cases.json");
    let cases = r#"{"cases":[{"id":"x-1","given":{"op":"label_offsets","text":"@Ada","label":"Ada"},"expect":{"offsets":[1]}},
        {"id":"x-2","given":{"op":"label_offsets","text":"@Ada","label":"Ada"},"expect":{"offsets":[0]}}]}"#;
    std::fs::write(&file, cases).unwrap();
    let run = |arguments: &[&str]| {
        let output = vocative(home.path()).arg("conformance").args(arguments).output().unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
    };
    let path = file.to_str().unwrap();
    let line = "x-1\texpected {\"offsets\":[1]}\tactual {\"offsets\":[0]}\n1 passed, 1 failed\n";
    assert_eq!(run(&[path]), (1, line.to_owned()));
    let emitted =
        "{\"actual\":{\"offsets\":[0]},\"id\":\"x-1\"}\n{\"actual\":{\"offsets\":[0]},\"id\":\"x-2\"}\n";
    assert_eq!(run(&["--emit", path]), (0, emitted.to_owned()));
    assert_eq!(run(&[path, "missing.json"]), (2, String::new()), "nothing is run when a file cannot be read");
    std::fs::write(&file, "{").unwrap();
    assert_eq!(run(&[path]).0, 2);
}
