//! `vocative reduce` and `vocative merge`.

mod support;

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::Value;
use support::session::*;
use support::{RECORDED, Ran, json_lines, run};

struct Lab(tempfile::TempDir);

impl Lab {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, lines: &[String]) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, file(lines)).unwrap();
        path
    }

    fn run(&self, arguments: &str) -> Ran {
        run(self.0.path(), &arguments.replace('@', self.0.path().to_str().unwrap()))
    }

    /// The single result of a run that must succeed.
    fn result(&self, arguments: &str) -> Value {
        let ran = self.run(arguments);
        assert_eq!(ran.code, 0, "{}", ran.err);
        json_lines(&ran.out).remove(0)
    }

    fn reduced(&self) -> PathBuf {
        self.path(".pi/agent/chi/reduced")
    }

    fn artifacts(&self, folder: &Path) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(folder)
            .into_iter()
            .flatten()
            .map(|item| item.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.ends_with(".jsonl"))
            .collect();
        names.sort();
        names
    }
}

fn session(id: &str, actor: &str, at: u32) -> Vec<String> {
    vec![header(id), user_at("u1", "", at, "for @B"), marker_by(actor, "m1", "u1", id, "u1", &["B"])]
}

#[test]
fn the_recorded_sessions_come_to_the_known_artifact_in_the_default_place() {
    let lab = Lab::new();
    let result = lab.result(&format!("reduce --json {RECORDED}"));
    assert_eq!(result["id"], "zm1_7636ab42b67d8ebc08f98296");
    let path = lab.reduced().join("zm1_7636ab42b67d8ebc08f98296.jsonl");
    assert_eq!(Path::new(result["file"].as_str().unwrap()), path);
    assert_eq!(fs::read(&path).unwrap().len(), 4467);
    assert_eq!(lab.run(&format!("check {}", path.display())).code, 0);
    let out = lab.run(&format!("reduce {RECORDED} -o -")).out;
    assert_eq!(out.as_bytes(), fs::read(&path).unwrap());
}

#[test]
fn sessions_and_their_artifacts_come_to_the_same_bytes() {
    let lab = Lab::new();
    assert_eq!(lab.run(&format!("reduce --each {RECORDED} -o @/each")).code, 0);
    assert_eq!(lab.artifacts(&lab.path("each")).len(), 5);
    let whole = lab.run(&format!("reduce {RECORDED} -o -")).out;
    assert_eq!(lab.run("merge @/each -o -").out, whole);
    assert_eq!(lab.run(&format!("reduce @/each {RECORDED} -o -")).out, whole);
    let refused = lab.run(&format!("merge @/each {RECORDED}/compaction.jsonl -o - --json"));
    assert_eq!((refused.code, refused.out.as_str()), (1, ""));
    assert_eq!(json_lines(&refused.err)[0]["code"], "not_an_artifact");
}

#[test]
fn a_conflict_names_both_origins_and_writes_nothing() {
    let lab = Lab::new();
    lab.write("in/a.jsonl", &session("s1", "Ada", 1));
    lab.write("in/b.jsonl", &session("s1", "Eve", 1));
    lab.write("in/c.jsonl", &[header("s3"), label("l", "l")]);
    for arguments in ["reduce --json @/in", "reduce --json --skip-invalid @/in"] {
        let ran = lab.run(arguments);
        assert_eq!((ran.code, ran.out.as_str()), (3, ""));
        let told = json_lines(&ran.err);
        let conflict = told.iter().find(|error| error["code"] == "conflict").unwrap();
        let origins = conflict["details"]["origins"].as_array().unwrap();
        for (origin, (name, actor)) in
            origins.iter().zip([("a.jsonl", "github:ada"), ("b.jsonl", "github:eve")])
        {
            assert!(origin["file"].as_str().unwrap().ends_with(name), "{origin}");
            assert_eq!((origin["line"].as_u64(), origin["actor"].as_str()), (Some(3), Some(actor)));
        }
        assert_eq!(lab.artifacts(&lab.reduced()), [""; 0]);
    }
    let ran = lab.run("inbox --me github:b --json @/in");
    assert_eq!((ran.code, ran.out.as_str()), (3, ""));
}

#[test]
fn one_bad_input_stops_the_union_but_not_its_neighbours() {
    let lab = Lab::new();
    lab.write("in/a.jsonl", &session("s1", "Ada", 1));
    lab.write("in/b.jsonl", &[header("s2"), label("l", "l")]);
    let ran = lab.run("reduce --json @/in");
    assert_eq!((ran.code, ran.out.as_str()), (1, ""));
    assert_eq!(json_lines(&ran.err)[0]["code"], "parent_self");
    assert_eq!(lab.artifacts(&lab.reduced()), [""; 0]);

    let ran = lab.run("reduce --json --each @/in -o @/each");
    assert_eq!((ran.code, lab.artifacts(&lab.path("each")).len()), (1, 1));

    let ran = lab.run("reduce --json --skip-invalid @/in");
    assert_eq!(ran.code, 1);
    let result = &json_lines(&ran.out)[0];
    assert_eq!(result["references"], 1);
    assert!(result["skipped"][0].as_str().unwrap().ends_with("b.jsonl"));
    assert!(lab.run("reduce --skip-invalid @/in").err.contains("is partial"));
}

#[test]
fn the_default_folder_keeps_only_what_is_not_contained() {
    let lab = Lab::new();
    let a = lab.write("in/a.jsonl", &session("s1", "Ada", 1));
    lab.write("in/b.jsonl", &session("s2", "Ada", 2));
    let first = lab.result(&format!("reduce --json {}", a.display()));
    let name = |result: &Value| format!("{}.jsonl", result["id"].as_str().unwrap());
    let second = lab.result("reduce --json @/in");
    assert_eq!(second["removed"], serde_json::json!([name(&first)]));
    assert_eq!(lab.artifacts(&lab.reduced()), [name(&second)]);
    // A smaller set does not remove a larger one, and another folder is left alone.
    lab.result(&format!("reduce --json {}", a.display()));
    assert_eq!(lab.artifacts(&lab.reduced()).len(), 2);
    lab.result(&format!("reduce --json {} -o @/other/", a.display()));
    lab.result("reduce --json @/in -o @/other/");
    assert_eq!(lab.artifacts(&lab.path("other")).len(), 2);
}

#[test]
fn an_artifact_that_pi_continued_is_neither_removed_nor_overwritten() {
    let lab = Lab::new();
    let a = lab.write("in/a.jsonl", &session("s1", "Ada", 1));
    let result = lab.result(&format!("reduce --json {}", a.display()));
    let path = PathBuf::from(result["file"].as_str().unwrap());
    let text = fs::read_to_string(&path).unwrap();
    let leaf: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    let more = file(&[user("u5", leaf["id"].as_str().unwrap(), "went on")]);
    fs::write(&path, text.clone() + &more).unwrap();
    assert_eq!(lab.result(&format!("reduce --json {}", a.display()))["state"], "continued");
    lab.write("in/b.jsonl", &session("s2", "Ada", 2));
    assert_eq!(lab.result("reduce --json @/in")["removed"], serde_json::json!([]));
    assert_eq!(fs::read_to_string(&path).unwrap(), text + &more);
    let ran = lab.run(&format!("check {}", path.display()));
    assert!(ran.code == 0 && ran.out.contains("artifact_continued"), "{}", ran.out);
}

#[test]
fn what_is_no_artifact_is_not_overwritten() {
    let lab = Lab::new();
    let a = lab.write("a.jsonl", &session("s1", "Ada", 1));
    let b = lab.write("b.jsonl", &session("s2", "Ada", 1));
    let before = fs::read(&b).unwrap();
    let ran = lab.run(&format!("reduce --json {} -o {}", a.display(), b.display()));
    assert_eq!((ran.code, fs::read(&b).unwrap()), (1, before));
    assert_eq!(json_lines(&ran.err)[0]["code"], "output_occupied");
    // An artifact gives way to another.
    let out = lab.path("out.jsonl");
    lab.result(&format!("reduce --json {} -o {}", a.display(), out.display()));
    lab.result(&format!("reduce --json {} -o {}", b.display(), out.display()));
    assert!(fs::read_to_string(&out).unwrap().contains("\"s2\""));
}

#[test]
fn a_folder_that_pi_scans_takes_no_artifacts() {
    let lab = Lab::new();
    let a = lab.write("a.jsonl", &session("s1", "Ada", 1));
    let folder = lab.path(".pi/agent/sessions/--tmp--");
    fs::create_dir_all(&folder).unwrap();
    for output in [folder.clone(), folder.join("new.jsonl"), lab.path(".pi/agent/sessions/new/deep/x.jsonl")]
    {
        let ran = lab.run(&format!("reduce --json {} -o {}", a.display(), output.display()));
        assert_eq!(ran.code, 2, "{}", output.display());
        assert_eq!(json_lines(&ran.err)[0]["code"], "output_in_sessions");
    }
    assert_eq!(lab.artifacts(&folder), [""; 0]);
}

/// Appends to a file as Pi does.
fn append(path: &Path, text: &str) {
    OpenOptions::new().append(true).open(path).unwrap().write_all(text.as_bytes()).unwrap();
}

#[test]
fn a_further_run_reads_only_what_is_new_and_comes_to_the_same() {
    let lab = Lab::new();
    let path = lab.write("in/a.jsonl", &session("s1", "Ada", 1));
    lab.write("in/b.jsonl", &session("s2", "Ada", 2));
    let without_cache = || lab.run("reduce @/in -o -").out;
    let with_cache = || {
        let ran = lab.run("reduce --json @/in");
        let result = json_lines(&ran.out).remove(0);
        (ran.code, fs::read_to_string(result["file"].as_str().unwrap()).unwrap(), ran.err)
    };
    assert_eq!(with_cache().1, without_cache());
    // Damage in what was read already is not seen without --verify: so it was not read again.
    let old = fs::read_to_string(&path).unwrap();
    let long = user_at("u2", "m1", 5, &"x".repeat(20_000));
    append(&path, &file(&[long, marker("m2", "u2", "s1", "u2", &["B"])]));
    assert_eq!(with_cache().1, without_cache());
    // A line that was cut short counts once it is whole.
    let next = file(&[user_at("u3", "m2", 6, "y"), marker("m3", "u3", "s1", "u3", &["B"])]);
    append(&path, &next[..next.len() - 10]);
    let (code, text, err) = with_cache();
    assert!(code == 0 && err.contains("unterminated_tail"), "{err}");
    let (_, again, err) = with_cache();
    assert!(again == text && err.contains("unterminated_tail"), "{err}");
    append(&path, &next[next.len() - 10..]);
    assert_eq!(with_cache().1, without_cache());
    // Entries that were read before are known to those that are new.
    append(&path, &file(&[label("u1", "m3")]));
    let ran = lab.run("reduce --json @/in");
    assert_eq!((ran.code, json_lines(&ran.err)[0]["code"].as_str()), (1, Some("duplicate_id")));
    // A file that was replaced is read anew.
    fs::write(&path, old).unwrap();
    assert_eq!(with_cache().1, without_cache());
    // The cache may be deleted, or be rubbish.
    for rubbish in [None, Some("vocative offset cache 2\nrubbish\n"), Some("")] {
        for name in [".vocative-cache.records", ".vocative-cache.trees"] {
            let cache = lab.reduced().join(name);
            assert!(cache.exists());
            match rubbish {
                None => fs::remove_file(cache).unwrap(),
                Some(text) => fs::write(cache, text).unwrap(),
            }
        }
        assert_eq!(with_cache().1, without_cache());
    }
}

#[test]
fn the_middle_of_an_unchanged_file_is_read_only_to_verify() {
    use std::os::unix::fs::FileExt;
    let lab = Lab::new();
    let filler: Vec<String> = (0..100).map(|n| label(&format!("l{n}"), "")).collect();
    let mut lines = session("s1", "Ada", 1);
    lines.extend(filler);
    let path = lab.write("in/a.jsonl", &lines);
    lab.result("reduce --json @/in");
    // Breaking the middle and growing the file leaves both ends as they were.
    let text = fs::read_to_string(&path).unwrap();
    let middle = text.find("\"l50\"").unwrap() as u64;
    assert!(middle > 4096 && (middle as usize) < text.len() - 4096);
    OpenOptions::new().write(true).open(&path).unwrap().write_all_at(b"\"l51\"", middle).unwrap();
    append(&path, &file(&[label("more", "")]));
    assert_eq!(lab.run("reduce --json @/in").code, 0);
    let ran = lab.run("reduce --json --verify @/in");
    assert_eq!((ran.code, json_lines(&ran.err)[0]["code"].as_str()), (1, Some("duplicate_id")));
}

#[test]
fn nothing_to_reduce_is_not_found() {
    let lab = Lab::new();
    fs::create_dir(lab.path("empty")).unwrap();
    assert_eq!(lab.run("reduce @/empty").code, 4);
    assert_eq!(lab.run("reduce @/none").code, 4);
    assert_eq!(lab.run("merge").code, 2);
}
