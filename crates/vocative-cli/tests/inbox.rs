//! `vocative inbox` over sessions.

mod support;

use std::fs;
use std::path::Path;

use support::session::*;
use support::{RECORDED, json_lines, run, vocative};

fn home() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn entries(out: &str) -> Vec<String> {
    json_lines(out).iter().map(|item| item["entry"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn recorded_sessions_name_people_newest_first_and_once() {
    let home = home();
    let ran = run(home.path(), &format!("inbox {RECORDED} --me github:GSZEP --json"));
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let expected = [
        "01c65ac4", "8cd6bf5b", "5b36de92", "d680a34b", "7ac0adee", "551ef586", "95116008", "cd02074f",
        "23dcb6d9", "13800103",
    ];
    assert_eq!(entries(&ran.out), expected);
    let ran = run(home.path(), &format!("inbox {RECORDED} --me github:steffenpl --json"));
    assert_eq!(entries(&ran.out).len(), 7);
}

#[test]
fn the_time_range_is_half_open_and_the_limit_keeps_the_newest() {
    let home = home();
    let ask = |more: &str| {
        entries(&run(home.path(), &format!("inbox {RECORDED} --me github:gszep --json {more}")).out)
    };
    assert_eq!(ask("--since 2026-11-30T17:55:59.516Z --until 2026-11-30T17:55:59.713Z"), ["7ac0adee"]);
    assert_eq!(ask("--limit 1"), ["01c65ac4"]);
    assert_eq!(ask("--until 2026-11-30"), [""; 0]);
    assert_eq!(ask("--from github:steffenpl"), [""; 0]);
    assert_eq!(ask("--from github:gszep").len(), 10);
}

#[test]
fn pi_s_own_folder_is_read_when_no_path_is_given() {
    let home = home();
    let sessions = home.path().join(".pi/agent/sessions/--tmp-p--");
    fs::create_dir_all(&sessions).unwrap();
    fs::copy(Path::new(RECORDED).join("fork-of-tree.jsonl"), sessions.join("a.jsonl")).unwrap();
    assert_eq!(entries(&run(home.path(), "inbox --me github:gszep --json").out), ["551ef586"]);
    let elsewhere = home.path().join("flat");
    fs::create_dir(&elsewhere).unwrap();
    let mut command = vocative(home.path());
    command.env("PI_CODING_AGENT_SESSION_DIR", &elsewhere).args(["inbox", "--me", "github:gszep", "--json"]);
    assert_eq!(String::from_utf8(command.output().unwrap().stdout).unwrap(), "");
    let nowhere = run(Path::new("/nonexistent"), "inbox --me github:gszep --json");
    assert_eq!(nowhere.code, 4);
    assert_eq!(json_lines(&nowhere.err)[0]["code"], "path_not_found");
}

#[test]
fn text_is_shown_only_on_request_and_never_obeyed() {
    let home = home();
    let path = home.path().join("s.jsonl");
    let hostile = "hi @B \x1b]0;owned\x07\u{202e}\u{9b}31m\nsecond\u{2028}line";
    let lines = [header("s1"), user("u1", "", hostile), marker("m1", "u1", "s1", "u1", &["B"])];
    fs::write(&path, file(&lines)).unwrap();
    let path = path.display();
    let plain = run(home.path(), &format!("inbox {path} --me github:b"));
    assert!(!plain.out.contains("hi @B"), "{}", plain.out);
    let shown = run(home.path(), &format!("inbox {path} --me github:b --show"));
    assert!(shown.out.contains("untrusted text:\n    | hi @B \\u{1b}]0;owned\\u{7}\\u{202e}\\u{9b}31m\n    | second\\u{2028}line\n"), "{}", shown.out);
    let json = run(home.path(), &format!("inbox {path} --me github:b --show --json"));
    assert!(json.out.is_ascii() && !json.out.contains('\x1b'), "{}", json.out);
    assert_eq!(json_lines(&json.out)[0]["untrusted_text"], hostile);
}

#[test]
fn an_invalid_session_is_told_and_the_others_still_count() {
    let home = home();
    let good = [header("s1"), user("u1", "", "x"), marker("m1", "u1", "s1", "u1", &["B"])];
    let bad = [header("s2"), user("u2", "", "x"), marker("m2", "u2", "s2", "u9", &["B"])];
    fs::write(home.path().join("a.jsonl"), file(&good)).unwrap();
    fs::write(home.path().join("b.jsonl"), file(&bad)).unwrap();
    let ran = run(home.path(), &format!("inbox {} --me github:b --json", home.path().display()));
    assert_eq!(ran.code, 1);
    assert_eq!(entries(&ran.out), ["u1"]);
    let problem = &json_lines(&ran.err)[0];
    assert_eq!(problem["code"], "marker_target_missing");
    assert_eq!(problem["details"]["line"], 3);
    assert_eq!(problem["details"]["entry"], "m2");
}

#[test]
fn usage_is_exit_2_and_help_is_not() {
    let home = home();
    for (arguments, code) in [
        ("", 2),
        ("inbox", 2),
        ("inbox --me gszep", 2),
        ("inbox --me github:a --since noon", 2),
        ("nonsense", 2),
        ("--help", 0),
        ("inbox --help", 0),
        ("--version", 0),
        ("completions bash", 0),
    ] {
        assert_eq!(run(home.path(), arguments).code, code, "{arguments}");
    }
    let ran = run(home.path(), "inbox --me gszep --json");
    let error = &json_lines(&ran.err)[0];
    assert_eq!(error["code"], "usage");
    assert!(error["message"].as_str().unwrap().contains("write github:gszep"), "{error}");
    assert!(run(home.path(), "--help").out.contains("4  not found"));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let home = home();
    let mut child = vocative(home.path())
        .args(["inbox", RECORDED, "--me", "github:gszep"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let ran = support::Ran::from(child.wait_with_output().unwrap());
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
}
