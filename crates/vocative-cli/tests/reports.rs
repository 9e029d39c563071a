//! One test for each public report that concerns session files, named by it.

mod support;

use std::fs;
use std::path::PathBuf;

use support::session::*;
use support::{Ran, json_lines, run};

/// A folder of session files that is Pi's too.
struct Lab(tempfile::TempDir);

impl Lab {
    fn new(files: &[(&str, String)]) -> Self {
        let lab = Self(tempfile::tempdir().unwrap());
        for (name, text) in files {
            fs::write(lab.path(name), text).unwrap();
        }
        lab
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn run(&self, arguments: &str) -> Ran {
        run(self.0.path(), &arguments.replace('@', self.0.path().to_str().unwrap()))
    }

    /// What `check` finds in a file, as `line code entry`.
    fn check(&self, arguments: &str) -> Vec<String> {
        let ran = self.run(&format!("check --json {arguments}"));
        let problems: Vec<_> =
            json_lines(&ran.out).into_iter().filter(|line| line["code"].is_string()).collect();
        let errors = problems.iter().filter(|line| line["details"]["severity"] == "error").count();
        assert_eq!(ran.code, i32::from(errors > 0), "{}", ran.out);
        let text = |value: &serde_json::Value| value.to_string().replace('"', "");
        problems
            .iter()
            .map(|line| {
                assert!(!line["details"]["advice"].as_str().unwrap().is_empty());
                format!(
                    "{} {} {}",
                    line["details"]["line"],
                    text(&line["code"]),
                    text(&line["details"]["entry"])
                )
            })
            .collect()
    }

    fn inbox(&self, arguments: &str) -> Vec<String> {
        let ran = self.run(&format!("inbox --json --me github:b {arguments}"));
        json_lines(&ran.out)
            .iter()
            .map(|line| format!("{}/{}", line["session"].as_str().unwrap(), line["entry"].as_str().unwrap()))
            .collect()
    }
}

fn three_marked(session: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut parent = String::new();
    for number in 1..=3 {
        let (entry, own) = (format!("u{number}"), format!("m{number}"));
        lines.push(user_at(&entry, &parent, number, "for @B"));
        lines.push(marker(&own, &entry, session, &entry, &["B"]));
        parent = own;
    }
    lines
}

fn with_header(header: String, entries: &[String]) -> String {
    file(&[header]) + &file(entries)
}

#[test]
fn pi_5669_fork_dropped_labels_but_not_references_to_them() {
    let entries = [user("u1", "", "x"), assistant("a1", "gone"), label("l1", "a1")];
    let lab = Lab::new(&[("s.jsonl", with_header(fork_header("s1"), &entries))]);
    assert_eq!(lab.check("@/s.jsonl"), ["3 parent_missing a1"]);
}

#[test]
fn pi_3930_duplicate_ids_hang_the_tree() {
    let entries = [label("A", ""), label("B", "A"), label("A", ""), label("B", "A"), label("C", "B")];
    let lab = Lab::new(&[("s.jsonl", with_header(header("s1"), &entries))]);
    assert_eq!(lab.check("@/s.jsonl"), ["4 duplicate_id A", "5 duplicate_id B"]);
}

#[test]
fn gajae_code_1193_and_vm0_31902_parent_cycles_exhaust_memory() {
    let cycle = [user("u1", "a1", "x"), assistant("a1", "u1")];
    let itself = [user("u1", "u1", "x")];
    let lab = Lab::new(&[
        ("cycle.jsonl", with_header(header("s1"), &cycle)),
        ("self.jsonl", with_header(header("s2"), &itself)),
    ]);
    assert_eq!(lab.check("@/cycle.jsonl"), ["2 parent_cycle u1"]);
    assert_eq!(lab.check("@/self.jsonl"), ["2 parent_self u1"]);
}

#[test]
fn tokscale_802_and_agentsview_980_a_title_line_drops_the_file() {
    let title = format!("{{\"type\":\"title\",\"title\":\"x\"}}{}\n", " ".repeat(80));
    let lab = Lab::new(&[("s.jsonl", title + &with_header(header("s1"), &three_marked("s1")))]);
    assert_eq!(lab.check("@/s.jsonl"), ["1 title_line null"]);
    assert_eq!(lab.check("--lenient @/s.jsonl"), [""; 0]);
    assert_eq!(lab.inbox("@/s.jsonl"), [""; 0]);
    assert_eq!(lab.inbox("--lenient @/s.jsonl").len(), 3);
    // Lenient reading is never the ground of an artifact.
    assert_eq!(lab.run("reduce --lenient @/s.jsonl").code, 2);
    assert_eq!(lab.run("reduce @/s.jsonl").code, 1);
}

#[test]
fn ccusage_1634_forks_are_counted_again_and_again() {
    let entries = three_marked("s1");
    let mut clone = entries.clone();
    clone.push(user("u9", "m3", "in the clone"));
    let exported = header("s1").replace("17:28:00", "18:00:00");
    let lab = Lab::new(&[
        ("original.jsonl", with_header(header("s1"), &entries)),
        ("clone.jsonl", with_header(fork_header("s2"), &clone)),
        ("export.jsonl", with_header(exported, &entries)),
    ]);
    assert_eq!(lab.inbox("@"), ["s1/u3", "s1/u2", "s1/u1"]);
    let ran = lab.run("reduce --json @ -o @/out/");
    assert_eq!(json_lines(&ran.out)[0]["references"], 3);
}

#[test]
fn pi_8192_and_8072_missing_usage_or_cost_crashes() {
    let no_cost = r#""usage":{"input":1,"output":1,"cacheRead":0,"cacheWrite":0,"totalTokens":2}"#;
    let entries = [user("u1", "", "x"), assistant_with("a1", "u1", ""), assistant_with("a2", "a1", no_cost)];
    let lab = Lab::new(&[("s.jsonl", with_header(header("s1"), &entries))]);
    assert_eq!(lab.check("@/s.jsonl"), ["3 assistant_usage a1", "4 assistant_cost a2"]);
}

#[test]
fn pi_1911_readers_that_split_on_line_separators_corrupt_records() {
    let entries = [user("u1", "", "one\u{2028}two\u{2029}three @B"), marker("m1", "u1", "s1", "u1", &["B"])];
    let text = with_header(header("s1"), &entries);
    assert!(text.contains('\u{2028}') && text.contains('\u{2029}'));
    let lab = Lab::new(&[("s.jsonl", text)]);
    assert_eq!(lab.check("@/s.jsonl"), [""; 0]);
    assert_eq!(lab.inbox("@/s.jsonl"), ["s1/u1"]);
    assert!(lab.run("inbox --me github:b --show @/s.jsonl").out.contains(r"one\u{2028}two\u{2029}three"));
}

#[test]
fn pi_8345_a_missing_final_line_feed_glues_the_next_entry() {
    let whole = with_header(header("s1"), &three_marked("s1"));
    let lab = Lab::new(&[
        ("none.jsonl", whole.trim_end().to_owned()),
        ("torn.jsonl", format!("{whole}{{\"type\":\"mess")),
        ("glued.jsonl", format!("{}{}\n", whole.trim_end(), label("l1", "m3"))),
    ]);
    assert_eq!(lab.check("@/none.jsonl"), ["7 unterminated_tail null"]);
    assert_eq!(lab.check("@/torn.jsonl"), ["8 unterminated_tail null"]);
    assert_eq!(lab.check("@/glued.jsonl"), ["7 bad_json null"]);
    // The third marker is the line without an end in one file and whole in the other.
    assert_eq!(lab.inbox("@/none.jsonl"), ["s1/u2", "s1/u1"]);
    assert_eq!(lab.inbox("@/torn.jsonl"), ["s1/u3", "s1/u2", "s1/u1"]);
}

#[test]
fn pi_11060_and_11975_import_leaves_two_files_with_one_id() {
    let entries = three_marked("s1");
    let lab = Lab::new(&[
        ("s.jsonl", with_header(header("s1"), &entries[..4])),
        ("s-1.jsonl", with_header(header("s1"), &entries)),
    ]);
    for (entry, file) in [("u1", "s-1.jsonl"), ("u3", "s-1.jsonl")] {
        let ran = lab.run(&format!("show --json s1/{entry} @"));
        assert_eq!(ran.code, 0);
        let shown = &json_lines(&ran.out)[0];
        assert!(shown["file"].as_str().unwrap().ends_with(file), "{shown}");
        assert_eq!(shown["markers"][0]["recipients"][0], "github:b");
    }
    let id = |arguments: &str| json_lines(&lab.run(arguments).out)[0]["id"].clone();
    assert_eq!(
        id("reduce --json @/s.jsonl @/s-1.jsonl -o @/a/"),
        id("reduce --json @/s-1.jsonl @/s.jsonl -o @/b/")
    );
    // The entry that only the shorter file would miss is found wherever it is.
    fs::remove_file(lab.path("s-1.jsonl")).unwrap();
    assert_eq!(lab.run("show s1/u1 @").code, 0);
    assert_eq!(lab.run("show s1/u3 @").code, 4);
}

#[test]
fn gotgenes_pi_packages_944_readers_by_file_order_show_abandoned_branches_as_history() {
    let entries = [
        user("u1", "", "x"),
        assistant("a1", "u1"),
        user("u2", "u1", "y"),
        marker("m2", "u2", "s1", "u2", &["B"]),
    ];
    let lab = Lab::new(&[("s.jsonl", with_header(header("s1"), &entries))]);
    let branch = |entry: &str| {
        json_lines(&lab.run(&format!("show --json s1/{entry} @")).out)[0]["entry"]["branch"].clone()
    };
    assert_eq!(branch("a1"), "abandoned");
    assert_eq!(branch("u2"), "current");
    let shown = &json_lines(&lab.run("show --json s1/m2 @ --parents").out)[0];
    let parents: Vec<_> = shown["parents"]["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["id"].as_str().unwrap())
        .collect();
    assert_eq!(parents, ["u2", "u1"]);
}

/// Whom a prompt names among the handles of a registry, by the one grammar (section 4.1).
fn named(prompt: &str) -> serde_json::Value {
    use std::io::Write;
    use std::process::Stdio;
    let labels: Vec<_> = ["gszep", "SteffenPL", "alice"]
        .iter()
        .map(|handle| serde_json::json!({ "label": handle, "id": format!("github:{handle}") }))
        .collect();
    let home = tempfile::tempdir().unwrap();
    let mut command = support::vocative(home.path());
    let mut child = command.arg("resolve").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let request = serde_json::json!({ "text": prompt, "labels": labels });
    writeln!(child.stdin.take().unwrap(), "{request}").unwrap();
    let answer = child.wait_with_output().unwrap().stdout;
    serde_json::from_slice::<serde_json::Value>(&answer).unwrap()["recipients"].clone()
}

#[test]
fn atomic_claude_159_an_address_in_prose_is_no_reference() {
    let none = serde_json::json!([]);
    assert_eq!(named("contact `alice@gszep.com` or bob@SteffenPL.org"), none);
    assert_eq!(named("contact alice@gszep or bob@SteffenPL"), none);
    assert_eq!(named("contact @gszep."), serde_json::json!(["github:gszep"]));
}

#[test]
fn triagebot_369_a_name_inside_a_code_block_is_no_mention() {
    let none = serde_json::json!([]);
    for code in
        ["```\n@gszep\n```", "~~~text\n@gszep\n~~~", "    @gszep", "see `@gszep`", "> ```\n> @gszep\n> ```"]
    {
        assert_eq!(named(code), none, "{code}");
    }
    assert_eq!(named("```\n@alice\n```\n@gszep go"), serde_json::json!(["github:gszep"]));
}
