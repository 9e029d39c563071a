//! `vocative inbox` over sessions.

mod support;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

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

/// Pi's folders, asked with the cache and without it.
struct Lab(tempfile::TempDir);

impl Lab {
    fn new() -> Self {
        let lab = Self(home());
        fs::create_dir_all(lab.path("sessions")).unwrap();
        lab
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(".pi/agent").join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path("sessions").join(name), text).unwrap();
    }

    fn append(&self, name: &str, text: &str) {
        let path = self.path("sessions").join(name);
        fs::OpenOptions::new().append(true).open(path).unwrap().write_all(text.as_bytes()).unwrap();
    }

    /// What the inbox says twice, the second time of what it knows. It has to be what it says
    /// without a cache, on a machine where Pi has no folder, and what it says of everything.
    fn ask(&self, more: &str) -> (i32, Vec<String>, Vec<String>) {
        let folders = [self.path("sessions"), self.path("chi/reduced")];
        let folders = folders.iter().filter(|folder| folder.is_dir());
        let folders = folders.map(|folder| folder.to_str().unwrap()).collect::<Vec<_>>().join(" ");
        let ask = |home: &Path, more: &str| {
            let ran = run(home, &format!("inbox --json --me github:b {more}"));
            (ran.code, ran.out, ran.err)
        };
        let nowhere = home();
        let plain = ask(nowhere.path(), &format!("{more} {folders}"));
        assert_eq!(fs::read_dir(nowhere.path()).unwrap().count(), 0, "a folder was made");
        // The cache alone is asked about folders that are named, and the index before it about Pi's.
        for more in
            [format!("{more} {folders}"), more.to_owned(), more.to_owned(), format!("--verify {more}")]
        {
            assert_eq!(ask(self.0.path(), &more), plain, "{more}");
        }
        let codes =
            json_lines(&plain.2).iter().map(|line| line["code"].as_str().unwrap().to_owned()).collect();
        (plain.0, entries(&plain.1), codes)
    }
}

#[test]
fn the_cache_changes_no_answer() {
    let lab = Lab::new();
    let none: [&str; 0] = [];
    let mention = |n: u32, session: &str| {
        let (entry, own) = (format!("u{n}"), format!("m{n}"));
        file(&[user_at(&entry, "", n, "for @B"), marker(&own, &entry, session, &entry, &["B"])])
    };
    let session = |id: &str, rest: &str| header(id) + "\n" + rest;
    lab.write("named.jsonl", &session("s1", &mention(1, "s1")));
    lab.write("text.jsonl", &session("s2", &file(&[user("u1", "", "chi.messaging.mentions")])));
    lab.write("empty.jsonl", "");
    // What is wrong in a file that names nobody is not what was asked, and neither is its end.
    lab.write("invalid.jsonl", &session("s3", &file(&[label("l", "l")])));
    lab.write("torn.jsonl", &session("s4", "{\"torn"));
    assert_eq!(lab.ask(""), (0, vec!["u1".into()], vec![]));
    assert!(lab.path("chi/reduced/.vocative-cache.records").exists());
    // A changed file is seen, whatever was known of it.
    lab.append("named.jsonl", &mention(2, "s1"));
    lab.append("empty.jsonl", &session("s5", &mention(3, "s5")));
    assert_eq!(lab.ask(""), (0, ["u3", "u2", "u1"].map(String::from).to_vec(), vec![]));
    lab.append("invalid.jsonl", &mention(4, "s3"));
    assert_eq!(lab.ask("--since 2026-11-30T17:28:00.002Z").2, ["parent_self"]);
    lab.write("invalid.jsonl", &session("s3", &mention(4, "s3")));
    lab.append("named.jsonl", "{\"torn");
    assert_eq!(
        lab.ask(""),
        (0, ["u4", "u3", "u2", "u1"].map(String::from).to_vec(), vec!["unterminated_tail".into()])
    );
    // What `reduce` knows of a file is as good, and the artifact stands beside the sessions.
    lab.write("torn.jsonl", &session("s4", &file(&[label("l", "")])));
    assert_eq!(run(lab.0.path(), "reduce").code, 0);
    assert_eq!(lab.ask("").1.len(), 4);
    lab.append("torn.jsonl", &file(&[label("l", "")]));
    lab.append("text.jsonl", "no JSON\n");
    // A text that could be a marker has to be looked at closer, and so is all of its file.
    assert_eq!(lab.ask("").2, ["unterminated_tail", "not_an_object"]);
    lab.append("torn.jsonl", &mention(5, "s4"));
    assert_eq!(lab.ask("").2, ["unterminated_tail", "not_an_object", "duplicate_id"]);
    fs::remove_file(lab.path("sessions/torn.jsonl")).unwrap();
    lab.write("other.jsonl", &session("s1", &mention(1, "s1").replace("gszep", "eve")));
    assert_eq!((lab.ask("").0, lab.ask("").2.last().unwrap().as_str()), (3, "conflict"));
    fs::remove_file(lab.path("sessions/other.jsonl")).unwrap();
    assert_eq!(lab.ask("--from github:eve").1, none);
    // Without the cache, and with one that cannot be read or written, the answer is the same.
    lab.write("text.jsonl", &session("s2", ""));
    lab.write("named.jsonl", &session("s1", &(mention(1, "s1") + &mention(2, "s1"))));
    let expected = lab.ask("");
    assert_eq!((expected.0, expected.1.len(), expected.2.len()), (0, 4, 0));
    for name in [".vocative-cache.records", ".vocative-cache.trees", ".vocative-index"] {
        let cache = lab.path("chi/reduced").join(name);
        for rubbish in ["", "vocative offset cache 2\nrubbish\n", "vocative index 1 x\nrubbish\n"] {
            fs::write(&cache, rubbish).unwrap();
            assert_eq!(lab.ask(""), expected);
        }
        fs::remove_file(&cache).unwrap();
        assert_eq!(lab.ask(""), expected);
        fs::remove_file(&cache).unwrap();
        fs::create_dir(&cache).unwrap();
        assert_eq!(lab.ask(""), expected);
        let left = fs::read_dir(lab.path("chi/reduced")).unwrap().map(|item| item.unwrap().file_name());
        assert!(left.into_iter().all(|name| !name.to_string_lossy().ends_with(".new")));
        fs::remove_dir(&cache).unwrap();
    }
    fs::remove_dir_all(lab.path("chi")).unwrap();
    fs::write(lab.path("chi"), "in the way").unwrap();
    assert_eq!(lab.ask("").1, expected.1);
}

#[test]
fn a_fresh_index_answers_alone() {
    let lab = Lab::new();
    let to = |people: &[&str]| {
        let lines = [
            user_at("u1", "", 1, "x"),
            marker("m1", "u1", "s1", "u1", people),
            user_at("u2", "m1", 2, "y"),
            marker("m2", "u2", "s1", "u2", &["B"]),
        ];
        header("s1") + "\n" + &file(&lines)
    };
    lab.write("s.jsonl", &to(&["B", "C"]));
    let ask = |arguments: &str| entries(&run(lab.0.path(), &format!("inbox --json {arguments}")).out);
    assert_eq!(ask("--me github:b"), ["u2", "u1"]);
    // Nothing else is asked, or the rubbish would be gone.
    let cache = lab.path("chi/reduced/.vocative-cache.records");
    fs::write(&cache, "rubbish").unwrap();
    let is_asked_alone = || fs::read_to_string(&cache).unwrap() == "rubbish";
    assert_eq!(ask("--me github:b"), ["u2", "u1"]);
    assert_eq!(ask("--me github:c"), ["u1"]);
    assert_eq!(ask("--me github:d"), [""; 0]);
    assert_eq!(ask("--me github:b --limit 1"), ["u2"]);
    assert_eq!(ask("--me github:b --until 2026-11-30T17:28:00.002Z"), ["u1"]);
    assert_eq!(ask("--me github:b --from github:c"), [""; 0]);
    assert!(is_asked_alone());
    // What is damaged is not relied on: neither the line of places nor that of a person.
    let index = lab.path("chi/reduced/.vocative-index");
    let text = fs::read_to_string(&index).unwrap();
    for (whole, damaged) in [("\"b\":", "\"d\":"), ("\"u2\"", "\"u1\"")] {
        assert!(text.contains(whole));
        fs::write(&index, text.replacen(whole, damaged, 1)).unwrap();
        fs::write(&cache, "rubbish").unwrap();
        assert_eq!(ask("--me github:b"), ["u2", "u1"]);
        assert!(!is_asked_alone());
    }
    // Nor is it fresh for a changed file, or for another limit.
    for more in ["--max-line 100000", "--verify", "--lenient", ""] {
        fs::write(&cache, "rubbish").unwrap();
        if more.is_empty() {
            lab.append("s.jsonl", &file(&[label("l1", "m2")]));
        }
        run(lab.0.path(), &format!("inbox --me github:b {more}"));
        assert_eq!(is_asked_alone(), more == "--lenient", "{more}");
    }
}

#[test]
fn what_was_read_is_read_again_only_to_verify() {
    use std::os::unix::fs::FileExt;
    let lab = Lab::new();
    let filler: Vec<String> = (0..100).map(|n| label(&format!("l{n}"), "")).collect();
    let mention = [header("s1"), user("u1", "", "x"), marker("m1", "u1", "s1", "u1", &["B"])];
    let text = file(&mention) + &file(&filler);
    lab.write("s.jsonl", &text);
    let inbox = |more: &str| run(lab.0.path(), &format!("inbox --json --me github:b {more}"));
    assert_eq!(inbox("").code, 0);
    // Breaking the middle and growing the file leaves both ends as they were.
    let middle = text.find("\"l50\"").unwrap() as u64;
    assert!(middle > 4096 && (middle as usize) < text.len() - 4096);
    let open = fs::OpenOptions::new().write(true).open(lab.path("sessions/s.jsonl")).unwrap();
    open.write_all_at(b"\"l51\"", middle).unwrap();
    lab.append("s.jsonl", &file(&[label("more", "")]));
    assert_eq!(inbox("").code, 0);
    let ran = inbox("--verify");
    assert_eq!((ran.code, json_lines(&ran.err)[0]["code"].as_str()), (1, Some("duplicate_id")));
    // A lenient reader relies on nothing, and leaves nothing for others.
    assert_eq!(inbox("--lenient").code, 1);
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
