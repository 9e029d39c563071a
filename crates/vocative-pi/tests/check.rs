//! Whole sessions: what the strict check of sections 1.6 and 4.1 finds, and where.

mod support;

use support::*;
use vocative_pi::lines::MAX_LINE;
use vocative_pi::{Findings, Options, check};

/// Runs the check and gives each problem as `line code entry`.
fn found_with(text: impl AsRef<[u8]>, options: Options) -> (bool, Vec<String>, usize) {
    let mut findings = Findings::default();
    let checked = check(text.as_ref(), options, &mut findings).unwrap();
    let shown = |problem: &vocative_pi::Problem| {
        format!("{} {} {}", problem.line, problem.code, problem.entry.as_deref().unwrap_or("-"))
    };
    let problems = findings.problems.iter().map(shown).collect();
    (checked.is_valid(), problems, findings.evidence.len())
}

fn found(text: impl AsRef<[u8]>) -> Vec<String> {
    let (valid, problems, _) = found_with(text, Options::default());
    let warnings = ["unterminated_tail", "artifact_continued"];
    let only_warnings = problems.iter().all(|problem| warnings.iter().any(|code| problem.contains(code)));
    assert_eq!(valid, only_warnings, "{problems:?}");
    problems
}

fn lenient(text: &str) -> Vec<String> {
    found_with(text, Options { lenient: true, ..Options::default() }).1
}

const NONE: [&str; 0] = [];
const TITLE: &str = r#"{"type":"title","title":"x"}"#;

#[test]
fn recorded_sessions_are_valid_and_their_markers_count() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/pi");
    let mut markers = 0;
    for file in vocative_pi::discover::session_files(folder.as_ref()).unwrap() {
        let (valid, problems, evidence) = found_with(std::fs::read(file).unwrap(), Options::default());
        assert!(valid);
        assert_eq!(problems, NONE);
        markers += evidence;
    }
    assert_eq!(markers, 17);
}

#[test]
fn the_first_line_is_the_only_header() {
    let entries = file(&[user("u1", "", "hi"), assistant("a1", "u1")]);
    let h = file(&[header("s1")]);
    let cases: &[(String, &[&str])] = &[
        (h.clone() + &entries, &[]),
        (h.clone(), &[]),
        (String::new(), &["0 empty_file -"]),
        ("{\"type\":\"session\"".into(), &["1 unterminated_tail -", "0 empty_file -"]),
        (" \n".into(), &["1 blank_line -"]),
        (format!("\u{feff}{h}{entries}"), &["1 byte_order_mark s1"]),
        (entries.clone(), &["1 header_missing u1"]),
        (format!("{}{h}{}", file(&[user("u0", "", "x")]), entries), &["1 header_missing u0"]),
        (format!("{h}{entries}{h}"), &["4 second_header s1"]),
        (format!("garbage\n{h}{entries}"), &["1 not_an_object -"]),
        (format!("{TITLE}   \n{h}{entries}"), &["1 title_line -"]),
        (
            format!("{TITLE}\n{TITLE}\n{h}"),
            &["1 title_line -", "2 entry_id -", "2 parent_id -", "2 entry_timestamp -"],
        ),
        (format!("{TITLE}\n{h}{h}"), &["1 title_line -", "3 second_header s1"]),
        (
            r#"{"v":4,"kind":"header","id":"x"}"#.to_owned() + "\n",
            &["1 header_missing x", "1 entry_type x", "1 parent_id x", "1 entry_timestamp x"],
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(found(text), *expected, "{text}");
    }
    let (valid, problems, _) =
        found_with(format!("{TITLE}   \n{h}{entries}"), Options { lenient: true, ..Options::default() });
    assert!(valid && problems.is_empty(), "{problems:?}");
    assert_eq!(lenient(&format!("{TITLE}\n{entries}")), ["2 header_missing u1"]);
    assert_eq!(lenient(&format!("{h}{TITLE}\n")), ["2 entry_id -", "2 parent_id -", "2 entry_timestamp -"]);
}

#[test]
fn parents_come_first_and_ids_are_unique() {
    let cases: &[(Vec<String>, &[&str])] = &[
        (vec![label("a", ""), label("b", "")], &[]),
        (vec![label("a", ""), label("a", "")], &["3 duplicate_id a"]),
        (vec![label("a", "a")], &["2 parent_self a"]),
        (vec![label("a", "x"), label("b", "a")], &["2 parent_missing a"]),
        (vec![label("a", "b"), label("b", "")], &["2 parent_forward a"]),
        (vec![label("a", "b"), label("b", "a")], &["2 parent_cycle a"]),
        (
            vec![
                label("r", ""),
                label("a", "c"),
                label("b", "a"),
                label("c", "b"),
                label("d", "f"),
                label("e", "d"),
                label("f", "r"),
            ],
            &["3 parent_cycle a", "6 parent_forward d"],
        ),
        // The entry that leads into a cycle is not on it.
        (
            vec![label("in", "a"), label("a", "b"), label("b", "a")],
            &["2 parent_forward in", "3 parent_cycle a"],
        ),
        (vec![label("\\u0061", ""), label("a", "")], &["3 duplicate_id a"]),
        (vec![label("a", ""), label("b", "\\u0061")], &[]),
        (vec![label(&"x".repeat(1000), ""), label("b", &"x".repeat(1000))], &[]),
    ];
    for (entries, expected) in cases {
        let lines: Vec<String> = std::iter::once(header("s1")).chain(entries.iter().cloned()).collect();
        assert_eq!(found(file(&lines)), *expected, "{lines:#?}");
    }
}

#[test]
fn broken_lines_do_not_hide_later_ones() {
    let text = file(&[
        header("s1"),
        label("a", ""),
        "{\"torn".into(),
        String::new(),
        label("b", "zz"),
        label("c", "b"),
    ]);
    assert_eq!(found(&text), ["3 not_an_object -", "4 blank_line -", "5 parent_missing b"]);
    let crlf = text.replace('\n', "\r\n");
    assert!(found(&crlf).contains(&"1 carriage_return -".to_owned()));
    let mut bytes = file(&[header("s1")]).into_bytes();
    bytes.extend_from_slice(b"{\"a\":\"\xff\"}\n");
    assert_eq!(found(&bytes), ["2 not_utf8 -"]);
}

#[test]
fn an_unterminated_last_line_is_ignored_whatever_it_is() {
    let h = file(&[header("s1"), label("a", "")]);
    for tail in ["{\"torn", &label("b", "a"), &label("a", "a"), "\u{0}"] {
        assert_eq!(found(format!("{h}{tail}")), ["3 unterminated_tail -"], "{tail}");
    }
}

#[test]
fn long_lines_are_refused_at_the_limit_and_passed_over() {
    let long = user("u", "", &"x".repeat(5000));
    let text = file(&[header("s1"), long.clone(), label("a", ""), label("b", "u")]);
    let at = |max_line| found_with(&text, Options { max_line, ..Options::default() }).1;
    assert_eq!(at(long.len()), NONE);
    assert_eq!(at(long.len() - 1), ["2 line_too_long -", "4 parent_missing b"]);
    assert_eq!(at(MAX_LINE), NONE);
}

#[test]
fn a_marker_descends_from_a_message_of_the_user() {
    let h = || header("s1");
    let u = || user("u1", "", "hi @B");
    let m = |parent: &str, session: &str, entry: &str| marker("m1", parent, session, entry, &["B"]);
    let cases: &[(Vec<String>, &[&str])] = &[
        (vec![h(), u(), m("u1", "s1", "u1")], &[]),
        (vec![h(), u(), assistant("a1", "u1"), label("l1", "a1"), m("l1", "s1", "u1")], &[]),
        (vec![h(), u(), m("u1", "other", "u1")], &["3 marker_session m1"]),
        (vec![fork_header("s2"), u(), m("u1", "other", "u1")], &[]),
        (vec![h(), u(), m("u1", "s1", "u9")], &["3 marker_target_missing m1"]),
        (vec![h(), u(), m("u1", "s1", "u2"), user("u2", "m1", "late")], &["3 marker_target_missing m1"]),
        (vec![h(), u(), assistant("a1", "u1"), m("a1", "s1", "a1")], &["4 marker_target_not_user m1"]),
        (vec![h(), u(), m("u1", "s1", "m1")], &["3 marker_target_not_user m1"]),
        (vec![h(), u(), user("u2", "", "branch"), m("u2", "s1", "u1")], &["4 marker_target_not_ancestor m1"]),
        (vec![h(), u(), m("", "s1", "u1")], &["3 marker_target_not_ancestor m1"]),
        (vec![h(), u(), m("u1", "s1", "u1").replace("\"m1\"", "\"m 1\"")], &["3 marker_id m 1"]),
        (
            vec![h(), u(), m("u1", "s1", "u1").replace("\"schemaVersion\":1", "\"schemaVersion\":2")],
            &["3 marker_schema m1"],
        ),
        (
            vec![h(), u(), m("u1", "s1", "u1").replace("\"schemaVersion\":1", "\"schemaVersion\":1,\"x\":0")],
            &["3 marker_shape m1"],
        ),
        (vec![h(), u(), marker("m1", "u1", "s1", "u1", &[])], &["3 marker_recipients m1"]),
    ];
    for (lines, expected) in cases {
        assert_eq!(found(file(lines)), *expected, "{lines:#?}");
    }
}

#[test]
fn many_markers_for_the_first_message_are_checked_in_linear_time() {
    // Walking from each marker to its message would take 800,000,000 steps here.
    let mut lines = vec![header("s1"), user("u1", "", "hi")];
    let mut parent = "u1".to_owned();
    for number in 0..40_000 {
        let id = format!("m{number}");
        lines.push(marker(&id, &parent, "s1", "u1", &["B"]));
        parent = id;
    }
    let (valid, problems, evidence) = found_with(file(&lines), Options::default());
    assert!(valid, "{problems:?}");
    assert_eq!(evidence, 40_000);
}
