//! `vocative show`: fetching and paging.

mod support;

use std::fs;
use std::path::Path;

use serde_json::Value;
use support::session::*;
use support::{RECORDED, json_lines, run};

const TREE: &str = "01a22d99-4350-72cb-8a87-fc8352a30c93";

fn show(arguments: &str) -> (i32, Value) {
    let ran = run(Path::new("/nonexistent"), &format!("show --json {arguments}"));
    let text = if ran.code == 0 { ran.out } else { ran.err };
    (ran.code, json_lines(&text).remove(0))
}

fn ids(page: &Value) -> Vec<&str> {
    page["entries"].as_array().unwrap().iter().map(|entry| entry["id"].as_str().unwrap()).collect()
}

#[test]
fn an_entry_comes_with_its_line_branch_and_marker() {
    let (code, shown) = show(&format!("{TREE}/95116008 {RECORDED}"));
    assert_eq!(code, 0);
    assert_eq!(shown["copy"], false);
    assert_eq!(shown["entry"]["branch"], "current");
    assert_eq!(shown["entry"]["role"], "user");
    assert_eq!(shown["entry"]["untrusted_text"], "after the branch @SteffenPL and @gszep");
    assert_eq!(shown["markers"][0]["recipients"], serde_json::json!(["github:gszep", "github:steffenpl"]));
    let text = fs::read_to_string(Path::new(RECORDED).join("tree-steer-followup.jsonl")).unwrap();
    assert!(text.lines().any(|line| shown["entry"]["raw"] == line));
}

#[test]
fn pages_follow_the_tree_and_their_cursors() {
    let all = show(&format!("{TREE}/23dcb6d9 {RECORDED} --parents 100")).1["parents"].clone();
    assert_eq!(all["next"], Value::Null);
    let all = ids(&all);
    assert_eq!((all[0], *all.last().unwrap()), ("8118d6bd", "d5d6ca0e"));
    let mut paged = Vec::new();
    let mut from = String::new();
    loop {
        let page = show(&format!("{TREE}/23dcb6d9 {RECORDED} --parents 4 {from}")).1["parents"].clone();
        paged.extend(ids(&page).into_iter().map(str::to_owned));
        match page["next"].as_str() {
            Some(next) => from = format!("--parents-from {next}"),
            None => break,
        }
    }
    assert_eq!(paged, all);
    // 71f137a5 has two children: the first branch and the summary of it.
    let page =
        |more: &str| show(&format!("{TREE}/71f137a5 {RECORDED} --children {more}")).1["children"].clone();
    assert_eq!(ids(&page("5")), ["2357a8b2", "6b3b113b"]);
    let first = page("1");
    assert_eq!((ids(&first), &first["next"]), (vec!["2357a8b2"], &Value::from("6b3b113b")));
    assert_eq!(ids(&page("1 --children-from 6b3b113b")), ["6b3b113b"]);
    // Without what is no message, the answer to the summary's branch is a child too.
    assert_eq!(ids(&page("5 --conversation")), ["2357a8b2", "cd02074f"]);
    assert_eq!(ids(&page("5 --conversation --children-from cd02074f")), ["cd02074f"]);
    let talk = show(&format!("{TREE}/13800103 {RECORDED} --parents 2 --conversation")).1["parents"].clone();
    assert_eq!((ids(&talk), &talk["next"]), (vec!["75273103", "612bc36d"], &Value::from("e0acf2e2")));
    let (code, error) = show(&format!("{TREE}/13800103 {RECORDED} --parents 2 --parents-from a52f083b"));
    assert_eq!((code, error["code"].as_str()), (2, Some("usage")));
}

#[test]
fn what_is_not_there_is_exit_4_with_the_places() {
    for target in [format!("{TREE}/00000000"), "other/95116008".to_owned()] {
        let (code, error) = show(&format!("{target} {RECORDED}"));
        assert_eq!((code, error["code"].as_str()), (4, Some("not_found")));
        assert_eq!(error["details"]["places"][0], RECORDED);
    }
    assert_eq!(run(Path::new("/nonexistent"), "show nonsense").code, 2);
}

#[test]
fn a_copy_stands_in_for_an_original_that_is_gone_and_says_so() {
    let home = tempfile::tempdir().unwrap();
    let clone = "clone-of-compaction.jsonl";
    fs::copy(Path::new(RECORDED).join(clone), home.path().join(clone)).unwrap();
    let gone = "01a22d99-6cc3-70a3-81e7-6a0ddbfa2281";
    let place = home.path().display();
    let (code, shown) = show(&format!("{gone}/7ac0adee {place}"));
    assert_eq!((code, &shown["copy"]), (0, &Value::Bool(true)));
    assert_eq!(shown["markers"].as_array().unwrap().len(), 1);
    // What was said in the clone itself is not of the session that is gone.
    assert_eq!(show(&format!("{gone}/5b36de92 {place}")).0, 4);
    assert_eq!(show(&format!("01a22d99-6ea8-70a3-81e7-6a13ec05b3cf/5b36de92 {place}")).0, 0);
    fs::copy(Path::new(RECORDED).join("compaction.jsonl"), home.path().join("o.jsonl")).unwrap();
    assert_eq!(show(&format!("{gone}/7ac0adee {place}")).1["copy"], false);
}

#[test]
fn an_invalid_file_is_searched_and_said_to_be_invalid() {
    let home = tempfile::tempdir().unwrap();
    let lines = [header("s1"), user("u1", "", "x"), label("l1", "l1")];
    fs::write(home.path().join("s.jsonl"), file(&lines)).unwrap();
    let (code, error) = show(&format!("s1/u1 {}", home.path().display()));
    assert_eq!(code, 4);
    assert_eq!(error["details"]["invalid"][0]["code"], "parent_self");
}
