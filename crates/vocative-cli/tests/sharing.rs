//! `vocative push`, `share`, `show` and `inbox` against a node: two people, and what each of them sees.

mod stage;
mod support;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use stage::Stage;
use support::session::{assistant, file, header, marker, marker_by, user, user_at};
use support::{RECORDED, Ran, json_lines};
use tempfile::TempDir;

/// A node, with gszep, who names people in sessions, and SteffenPL, who is named.
struct Pair {
    stage: Stage,
    gszep: TempDir,
    steffen: TempDir,
}

impl Pair {
    async fn new() -> Self {
        let stage = Stage::of(&["gszep", "SteffenPL"]).await;
        let (gszep, steffen) = (TempDir::new().expect("a folder"), TempDir::new().expect("a folder"));
        stage.log_in(gszep.path(), "gszep").await;
        stage.log_in(steffen.path(), "SteffenPL").await;
        Self { stage, gszep, steffen }
    }

    /// A command of gszep's.
    async fn gszep(&self, arguments: &str) -> Ran {
        self.stage.run(self.gszep.path(), &arguments.split(' ').collect::<Vec<_>>()).await
    }

    /// A command of SteffenPL's.
    async fn steffen(&self, arguments: &str) -> Ran {
        self.stage.run(self.steffen.path(), &arguments.split(' ').collect::<Vec<_>>()).await
    }

    /// Writes a session of gszep's.
    fn write(&self, name: &str, lines: &[String]) -> PathBuf {
        let path = self.gszep.path().join(name);
        fs::write(&path, file(lines)).expect("it writes");
        path
    }
}

/// What a command that must succeed says as JSON.
fn said(ran: &Ran) -> Value {
    assert_eq!(ran.code, 0, "{}", ran.err);
    json_lines(&ran.out).pop().expect("a line")
}

/// The error of a command, as JSON, and its exit code.
fn refused(ran: &Ran) -> (i32, Value) {
    (ran.code, json_lines(&ran.err).pop().unwrap_or_else(|| panic!("no error: {}", ran.out)))
}

/// Everything under a folder, with its bytes.
fn everything(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("it reads") {
            let path = entry.expect("it reads").path();
            match path.is_dir() {
                true => folders.push(path),
                false => all.push((path.clone(), fs::read(path).expect("it reads"))),
            }
        }
    }
    all.sort();
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recorded_mention_is_found_by_whom_it_names_and_read_once_it_is_shared() {
    let pair = Pair::new().await;
    let recorded = format!("{RECORDED}/tree-steer-followup.jsonl");
    let push = format!("push {recorded} --repo acme/app --json");
    let (code, error) = refused(&pair.gszep(&push).await);
    assert_eq!((code, &error["code"]), (1, &json!("not_agreed")));
    let leaves = error["details"]["leaves"].to_string();
    for words in ["7 references into 1 sessions, to 2 people", "acme/app", &pair.stage.url, "No text"] {
        assert!(leaves.contains(words), "{words}: {leaves}");
    }
    assert_eq!(pair.steffen("inbox --json").await.out, "", "nothing was sent");

    let first = said(&pair.gszep(&format!("{push} --yes")).await);
    assert_eq!(
        (&first["added"], &first["unchanged"], &first["ignored"]),
        (&json!(7), &json!(0), &json!(0)),
        "{first}"
    );
    let again = said(&pair.gszep(&push).await);
    assert_eq!((&again["added"], &again["unchanged"]), (&json!(0), &json!(7)), "consent is kept: {again}");
    assert_eq!(pair.gszep("inbox --json").await.out, "", "nobody finds what they wrote themself");

    let rows = json_lines(&pair.steffen("inbox --json").await.out);
    let entries: Vec<_> = rows.iter().map(|row| row["entry"].as_str().expect("an id")).collect();
    assert_eq!(entries, ["95116008", "9b5319bc", "2357a8b2"], "newest first");
    let row = &rows[2];
    assert_eq!(
        (&row["actor"], &row["recipient"], &row["why"], &row["at"]),
        (
            &json!("github:gszep"),
            &json!("github:steffenpl"),
            &json!("session"),
            &json!("2026-11-30T17:55:48.977Z")
        )
    );
    let target = format!("github:gszep/{}/2357a8b2", row["session"].as_str().expect("an id"));
    let (code, error) = refused(&pair.steffen(&format!("show {target} --json")).await);
    assert_eq!((code, &error["code"]), (4, &json!("not_found")), "a reference grants no read");
    let unread = said(&pair.steffen("inbox --show --json --limit 1").await);
    assert_eq!(unread["no_text"], "the session is not shared with you");
    assert!(unread.get("untrusted_text").is_none());

    let shared = pair.gszep(&format!("share {recorded}")).await;
    assert_eq!(shared.code, 0, "{}", shared.err);
    assert!(shared.err.contains("the whole text of the session"), "{}", shared.err);
    assert!(shared.err.contains("github:steffenpl may read"), "{}", shared.err);
    assert!(shared.out.starts_with("github:gszep/01a22d99-4350-72cb-8a87-fc8352a30c93: shared, "));
    let again = said(&pair.gszep(&format!("share {recorded} --json")).await);
    assert_eq!((&again["unchanged"], &again["named"][0]), (&json!(true), &json!("github:gszep")));

    let read = said(&pair.steffen(&format!("show {target} --before 5 --json")).await);
    assert!(read["entry"]["untrusted_text"].as_str().expect("text").starts_with("first message to @"));
    assert_eq!(read["markers"][0]["recipients"], json!(["github:steffenpl"]));
    assert_eq!(read["parents"]["entries"][0]["id"], "71f137a5");
    assert!(read.get("children").is_none(), "{read}");
    let shown = pair.steffen(&format!("show {target} --after")).await;
    assert!(shown.out.contains("    | first message to @SteffenPL"), "{}", shown.out);
    assert!(shown.out.contains("names github:steffenpl, by github:gszep"), "{}", shown.out);
    assert!(shown.out.contains("\nchildren\ndad08528 custom"), "{}", shown.out);
    let shown = pair.steffen("inbox --show --limit 1").await;
    assert!(shown.out.contains("untrusted text:\n    | after the branch @SteffenPL"), "{}", shown.out);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_named_reads_their_own_branch_and_hostile_text_stays_text() {
    let pair = Pair::new().await;
    let lines = [
        header("branches"),
        user("root", "", "what both branches begin with"),
        user("asked", "root", "@SteffenPL \u{1b}]0;look\u{7}\u{202e}"),
        marker("m1", "asked", "branches", "asked", &["SteffenPL"]),
        assistant("answer", "m1"),
        user("other", "root", "for nobody else"),
    ];
    let path = pair.write("branches.jsonl", &lines);
    let push = format!("push {} --repo acme/app --yes", path.display());
    assert_eq!(pair.gszep(&push).await.out, format!("{}: 1 new, 0 known\n", pair.stage.url));
    let share = format!("share {} --json", path.display());
    assert_eq!(said(&pair.gszep(&share).await)["unchanged"], false);
    for (entry, code) in [("asked", 0), ("root", 0), ("answer", 0), ("other", 4), ("none", 4)] {
        let show = format!("show github:gszep/branches/{entry} --json");
        assert_eq!(pair.steffen(&show).await.code, code, "{entry}");
    }
    let root = said(&pair.steffen("show github:GSZEP/branches/root --after 50 --json").await);
    let children: Vec<_> = root["children"]["entries"].as_array().expect("a page").iter().collect();
    assert_eq!((children.len(), &children[0]["id"]), (1, &json!("asked")));
    for arguments in ["show github:gszep/branches/asked", "inbox --show"] {
        let shown = pair.steffen(arguments).await.out;
        assert!(shown.contains(r"    | @SteffenPL \u{1b}]0;look\u{7}\u{202e}"), "{arguments}: {shown}");
    }

    // A session grows; what was shared of it stays, and nothing replaces it.
    fs::write(&path, file(&[&lines[..], &[user("more", "other", "more")]].concat())).expect("it writes");
    assert_eq!(said(&pair.gszep(&share).await)["unchanged"], false);
    fs::write(&path, file(&lines[..3])).expect("it writes");
    let (code, error) = refused(&pair.gszep(&share).await);
    assert_eq!((code, &error["code"]), (3, &json!("no_continuation")));
    // With the readers of a repository, all of it; and no more once it is shared without.
    fs::write(&path, file(&[&lines[..], &[user("more", "other", "more")]].concat())).expect("it writes");
    let other = "show github:gszep/branches/other";
    for (repository, code) in [(" --repo acme/app", 0), ("", 4)] {
        assert_eq!(pair.gszep(&format!("{share}{repository}")).await.code, 0);
        assert_eq!(pair.steffen(other).await.code, code, "{repository}");
    }
    let (code, error) = refused(&pair.gszep(&format!("{share} --repo other/app")).await);
    assert_eq!((code, &error["code"]), (1, &json!("repo_not_readable")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_is_invalid_or_reduced_is_not_shared() {
    let pair = Pair::new().await;
    let orphan = pair.write("orphan.jsonl", &[header("s"), user("a", "gone", "text")]);
    let (code, error) = refused(&pair.gszep(&format!("share {} --json", orphan.display())).await);
    assert_eq!((code, &error["code"], &error["details"]["line"]), (1, &json!("invalid_session"), &json!(2)));
    let reduced = pair.gszep.path().join("reduced.jsonl");
    let reduce = format!("reduce {RECORDED}/fork-of-tree.jsonl --output {}", reduced.display());
    assert_eq!(pair.gszep(&reduce).await.code, 0);
    let (code, error) = refused(&pair.gszep(&format!("share {} --json", reduced.display())).await);
    assert_eq!((code, &error["code"]), (1, &json!("not_a_session")));
    let (code, error) = refused(&pair.gszep("share none.jsonl --json").await);
    assert_eq!((code, &error["code"]), (4, &json!("path_not_found")));
    // An artifact is pushed as the sessions are.
    let push = |path: &str| format!("push {path} --repo acme/app --yes --json");
    let first = said(&pair.gszep(&push(&format!("{RECORDED}/fork-of-tree.jsonl"))).await);
    let again = said(&pair.gszep(&push(&reduced.display().to_string())).await);
    assert_eq!((&first["added"], &again["added"]), (&again["unchanged"], &json!(0)));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_contradicts_itself_is_not_pushed_and_both_sides_are_named() {
    let pair = Pair::new().await;
    let session = |at| {
        let lines =
            [header("s"), user_at("a", "", at, "@SteffenPL"), marker("m", "a", "s", "a", &["SteffenPL"])];
        pair.write(&format!("at-{at}.jsonl"), &lines)
    };
    let (one, two) = (session(1), session(2));
    let (one, two) = (one.display(), two.display());
    let here = pair.gszep(&format!("push {one} {two} --repo acme/app --yes")).await;
    assert_eq!(here.code, 3, "{}", here.err);
    assert!(here.err.contains("at-1.jsonl:3") && here.err.contains("at-2.jsonl:3"), "{}", here.err);
    assert_eq!(pair.gszep(&format!("push {one} --repo acme/app --yes")).await.code, 0);
    let there = pair.gszep(&format!("push {two} --repo acme/app --yes")).await;
    assert_eq!(there.code, 3, "{}", there.err);
    for words in ["error[conflict]", "s/a names github:steffenpl", "17:28:00.001Z", "17:28:00.002Z"] {
        assert!(there.err.contains(words), "{words}: {}", there.err);
    }
    // What others wrote, as a fork of their session holds it, is told and ignored.
    let lines = [
        header("theirs"),
        user("a", "", "@gszep"),
        marker_by("SteffenPL", "m", "a", "theirs", "a", &["gszep"]),
    ];
    let theirs = pair.write("theirs.jsonl", &lines);
    let ignored = pair.gszep(&format!("push {} --repo acme/app", theirs.display())).await;
    assert_eq!(ignored.out, format!("{}: 0 new, 0 known\n", pair.stage.url));
    assert!(ignored.err.contains("1 references were ignored"), "{}", ignored.err);
    // Nobody who never logged in can be named.
    let lines = [header("who"), user("a", "", "@zed"), marker("m", "a", "who", "a", &["zed"])];
    let who = pair.write("who.jsonl", &lines);
    let (code, error) = refused(&pair.gszep(&format!("push {} --repo acme/app --json", who.display())).await);
    assert_eq!((code, &error["code"]), (1, &json!("unknown_recipient")));
    assert!(error["message"].as_str().expect("text").contains("github:zed"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sessions_are_those_of_the_repository_and_none_without_a_mention_counts() {
    let pair = Pair::new().await;
    let home = pair.gszep.path();
    let git = |folder: &Path, arguments: &[&str]| {
        let done = Command::new("git").args(arguments).current_dir(folder).output().expect("git runs");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    };
    let folder = |name: &str| {
        let folder = home.join(name);
        fs::create_dir_all(folder.join("deep")).expect("a folder");
        folder
    };
    let (work, elsewhere) = (folder("work"), folder("elsewhere"));
    for folder in [&work, &elsewhere] {
        git(folder, &["init", "--quiet"]);
    }
    git(&work, &["remote", "add", "origin", &format!("{}/acme/app.git", pair.stage.double.web())]);
    let sessions = folder(".pi/agent/sessions/all");
    let hold = |id: &str, cwd: &Path, is_named: bool| {
        let mut lines =
            vec![header(id).replace("/tmp/p", &cwd.display().to_string()), user("a", "", "hello")];
        lines.extend(is_named.then(|| marker("m", "a", id, "a", &["SteffenPL"])));
        fs::write(sessions.join(format!("{id}.jsonl")), file(&lines)).expect("it writes");
    };
    hold("here", &work, true);
    hold("deep", &work.join("deep"), true);
    hold("silent", &work, false);
    hold("elsewhere", &elsewhere, true);
    hold("gone", &home.join("gone"), true);
    let push = async |folder: PathBuf, arguments: &[&str]| {
        let mut command = pair.stage.command(home, arguments);
        command.current_dir(folder);
        Ran::from(
            tokio::task::spawn_blocking(move || command.output()).await.expect("it ends").expect("it runs"),
        )
    };
    let pushed = said(&push(work.join("deep"), &["push", "--yes", "--json"]).await);
    assert_eq!((&pushed["repository"], &pushed["added"]), (&json!("acme/app"), &json!(2)));
    let rows = json_lines(&pair.steffen("inbox --json").await.out);
    let found: BTreeSet<_> = rows.iter().map(|row| row["session"].as_str().expect("an id")).collect();
    assert_eq!(found, BTreeSet::from(["here", "deep"]));
    let (code, error) = refused(&push(elsewhere, &["push", "--json"]).await);
    assert_eq!((code, &error["code"]), (4, &json!("no_remote")));
    let (code, error) = refused(&push(work, &["push", "--repo", "other/app", "--json"]).await);
    assert_eq!((code, &error["code"]), (1, &json!("repo_not_readable")));
    let nothing = push(home.to_owned(), &["push", "--repo", "acme/app", "--json"]).await;
    assert_eq!(refused(&nothing).1["code"], "no_repository");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_away_loses_nothing() {
    let mut pair = Pair::new().await;
    let recorded = format!("{RECORDED}/fork-of-tree.jsonl");
    let push = format!("push {recorded} --repo acme/app --yes --json");
    assert_eq!(pair.gszep(&push).await.code, 0);
    let before = everything(pair.gszep.path());
    pair.stage.go_away();
    for arguments in [&push, &format!("share {recorded} --json"), "inbox --json", "show github:a/b/c --json"]
    {
        let (code, error) = refused(&pair.gszep(arguments).await);
        assert_eq!((code, &error["code"]), (1, &json!("server_not_reached")), "{arguments}");
    }
    assert!(everything(pair.gszep.path()) == before, "nothing is written");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_page_of_the_inbox_is_walked() {
    let pair = Pair::new().await;
    let mut lines = vec![header("many")];
    for n in 0..1100 {
        let (entry, marker_id) = (format!("a{n}"), format!("m{n}"));
        let parent = if n == 0 { String::new() } else { format!("m{}", n - 1) };
        lines.push(user_at(&entry, &parent, n, "@SteffenPL"));
        lines.push(marker(&marker_id, &entry, "many", &entry, &["SteffenPL"]));
    }
    let path = pair.write("many.jsonl", &lines);
    assert_eq!(pair.gszep(&format!("push {} --repo acme/app --yes", path.display())).await.code, 0);
    let entries = |ran: &Ran| -> Vec<String> {
        json_lines(&ran.out).iter().map(|row| row["entry"].as_str().expect("an id").to_owned()).collect()
    };
    let newest_first: Vec<String> = (0..1100).rev().map(|n| format!("a{n}")).collect();
    assert_eq!(entries(&pair.steffen("inbox --all --json").await), newest_first);
    assert_eq!(entries(&pair.steffen("inbox --limit 1001 --json").await), newest_first[..1001]);
    let some = pair.steffen("inbox").await;
    assert_eq!(some.out.lines().count(), 50);
    assert!(some.err.contains("--all shows all"), "{}", some.err);
    let between = "--since 2026-11-30T17:28:00.500Z --until 2026-11-30T17:28:00.510Z";
    let found = entries(&pair.steffen(&format!("inbox {between} --json")).await);
    assert_eq!(found, newest_first[590..600], "half-open");
    for (arguments, count) in [
        ("--from github:GSZEP", 50),
        ("--from github:nobody", 0),
        ("--source session", 50),
        ("--source message", 0),
    ] {
        let found = entries(&pair.steffen(&format!("inbox {arguments} --json")).await);
        assert_eq!(found.len(), count, "{arguments}");
    }
}

#[test]
fn what_is_not_understood_is_exit_2() {
    let home = TempDir::new().expect("a folder");
    for arguments in [
        "inbox s.jsonl",
        "inbox --me github:a --server http://127.0.0.1:1",
        "inbox --me github:a --all",
        "inbox --all --limit 1",
        "inbox --source chat",
        "inbox --from npub1x",
        "inbox --classify",
        "inbox --me github:a --from 0000000000000000000000000000000000000000000000000000000000000001",
        "show a/b --server http://127.0.0.1:1",
        "show nobody/a/b",
        "show github:a/b/c --lenient",
        "show github:a/b/c/d",
        "share",
        "push --repo acme/app --remote origin",
    ] {
        let ran = support::run(home.path(), arguments);
        assert_eq!(ran.code, 2, "{arguments}: {}", ran.err);
    }
    let out = support::run(home.path(), "push s.jsonl --repo acme/app --server http://127.0.0.1:1 --json");
    assert_eq!((out.code, &json_lines(&out.err)[0]["code"]), (1, &json!("not_logged_in")));
}
