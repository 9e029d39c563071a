//! `vocative markers`, and the output of `vocative check`.

mod support;

use std::fs;
use std::path::Path;

use support::session::*;
use support::{RECORDED, json_lines, run};

#[test]
fn markers_are_found_in_every_spelling_and_never_in_text() {
    let home = tempfile::tempdir().unwrap();
    let plain = marker("m1", "u1", "s1", "u1", &["B"]);
    let escaped = plain.replace("chi.messaging", r"chi\u002emessaging").replace("\"m1\"", "\"m2\"");
    let upper = plain.replace("mentions", r"mention\u0073").replace("\"m1\"", "\"m3\"");
    let lines =
        [header("s1"), user("u1", "", "chi.messaging.mentions"), escaped, plain, label("l1", "u1"), upper];
    fs::write(home.path().join("s.jsonl"), file(&lines)).unwrap();
    let place = home.path().display();
    let ran = run(home.path(), &format!("markers --json {place}"));
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let found: Vec<_> = json_lines(&ran.out)
        .iter()
        .map(|item| (item["line"].as_u64().unwrap(), item["id"].as_str().unwrap().to_owned()))
        .collect();
    assert_eq!(found, [(3, "m2".to_owned()), (4, "m1".to_owned()), (6, "m3".to_owned())]);
    assert_eq!(run(home.path(), &format!("markers --count {place}")).out, "3\n");
    assert!(
        run(home.path(), &format!("markers {place}"))
            .out
            .contains("s.jsonl:3: github:gszep names github:b in s1/u1\n")
    );
    // What is found this way is what the strict reading finds, in the order of the files.
    let ran = run(home.path(), &format!("markers --json {RECORDED}"));
    let recorded = json_lines(&ran.out);
    assert_eq!(recorded.len(), 17);
    assert!(recorded.is_sorted_by_key(|item| item["file"].as_str().unwrap().to_owned()));
}

#[test]
fn a_marker_of_a_newer_schema_is_told_and_never_passed_over() {
    let home = tempfile::tempdir().unwrap();
    let newer = marker("m1", "u1", "s1", "u1", &["B"]).replace("\"schemaVersion\":1", "\"schemaVersion\":2");
    fs::write(home.path().join("s.jsonl"), file(&[header("s1"), user("u1", "", "x"), newer])).unwrap();
    for command in ["markers", "inbox --me github:b", "reduce -o -", "check"] {
        let ran = run(home.path(), &format!("{command} --json {}", home.path().display()));
        assert_eq!(ran.code, 1, "{command}");
        let told =
            json_lines(&(ran.out + &ran.err)).into_iter().find(|line| line["code"].is_string()).unwrap();
        assert_eq!(
            (told["code"].as_str(), told["details"]["line"].as_u64()),
            (Some("marker_schema"), Some(3)),
            "{command}"
        );
    }
}

#[test]
fn check_tells_each_file_and_takes_a_limit_for_lines() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("s.jsonl");
    fs::write(&path, file(&[header("s1"), user("u1", "", &"x".repeat(2000))])).unwrap();
    let ran = run(home.path(), &format!("check --json {}", path.display()));
    let told = &json_lines(&ran.out)[0];
    let expected = serde_json::json!({
        "file": path.to_str().unwrap(), "valid": true, "kind": "session", "id": "s1",
        "lines": 2, "entries": 1, "markers": 0, "errors": 0,
    });
    assert_eq!((ran.code, told), (0, &expected));
    let ran = run(home.path(), &format!("check --max-line 1000 {}", path.display()));
    assert_eq!(ran.code, 1);
    assert!(
        ran.out.contains(":2: error[line_too_long]: the line is longer than 1000 bytes; raise the limit"),
        "{}",
        ran.out
    );
    assert!(ran.out.ends_with("1 files, 0 valid, 1 invalid\n"), "{}", ran.out);
    // A name is text of a stranger as well.
    let hostile = home.path().join("a\u{1b}[2J.jsonl");
    fs::write(&hostile, "").unwrap();
    let ran = run(home.path(), &format!("check {}", home.path().display()));
    assert!(
        ran.out.contains(r"a\u{1b}[2J.jsonl: error[empty_file]") && !ran.out.contains('\u{1b}'),
        "{}",
        ran.out
    );
    assert_eq!(run(Path::new("/nonexistent"), "check /nonexistent/x.jsonl").code, 4);
}
