//! Real Pi on files with evidence, and our command on files that real Pi wrote.
//!
//! `cargo xtask real-pi` brings Pi and runs these tests; without it they say that they are skipped. Pi talks
//! to a model of the test's own, and each test has its own folders, so that nothing of the user's is used.

#![cfg(unix)]

#[path = "real_pi/model.rs"]
mod model;
#[path = "real_pi/pi.rs"]
mod pi;
#[path = "real_pi/rpc.rs"]
mod rpc;
mod support;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use pi::{Lab, Prompt, lines, make_newest};
use rpc::Rpc;
use serde_json::{Value, json};
use support::{RECORDED, json_lines};

const GSZEP: &str = "github:gszep";
const STEFFEN: &str = "github:steffenpl";

const READ: Prompt = ("read the notes for @gszep [[read]]", &["gszep"]);
const BOTH: Prompt = ("now ask @gszep and @SteffenPL", &["gszep", "SteffenPL"]);
const LATER: Prompt = ("and later only @gszep", &["gszep"]);
const NOBODY: Prompt = ("nobody is named here", &[]);
const ALL: &[Prompt] = &[READ, BOTH, LATER, NOBODY];

/// Everything in the custom entries of a file by which they would be recognised in a request.
///
/// Handles are left out, since they stand in the texts too, and so is the id of the session itself, which
/// Pi may send as the key of a cache.
fn evidence(path: &Path) -> BTreeSet<String> {
    fn collect(value: &Value, own: &Value, words: &mut BTreeSet<String>) {
        match value {
            Value::Object(fields) => {
                for (name, value) in fields.iter().filter(|(name, _)| *name != "handle") {
                    words.extend((name.len() > 8).then(|| name.clone()));
                    collect(value, own, words);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| collect(item, own, words)),
            Value::String(word) if word.len() > 5 && value != own => {
                words.insert(word.clone());
            }
            _ => {}
        }
    }
    let entries = json_lines(&fs::read_to_string(path).unwrap());
    let own = &entries[0]["id"];
    let mut words = BTreeSet::new();
    for entry in entries.iter().filter(|entry| entry["type"] == "custom") {
        words.insert(entry["customType"].as_str().unwrap().to_owned());
        words.insert(entry["id"].as_str().unwrap().to_owned());
        collect(&entry["data"], own, &mut words);
    }
    assert!(!words.is_empty(), "{} holds no custom entry", path.display());
    words
}

/// The words that stand in a request of the model.
fn told<'a>(words: &'a BTreeSet<String>, requests: &[String]) -> Vec<&'a str> {
    assert!(!requests.is_empty(), "the model was asked nothing");
    words.iter().map(String::as_str).filter(|word| requests.iter().any(|body| body.contains(word))).collect()
}

/// The entries that follow the lines which the file held before; these are still its first lines.
fn appended(path: &Path, before: &[u8]) -> Vec<Value> {
    let after = fs::read(path).unwrap();
    assert!(after.starts_with(before), "Pi changed lines of {}", path.display());
    json_lines(std::str::from_utf8(&after[before.len()..]).unwrap())
}

fn markers(entries: &[Value]) -> usize {
    entries.iter().filter(|entry| entry["customType"] == "chi.messaging.mentions").count()
}

/// The artifact of everything that Pi has written so far, in its default place.
fn reduce(lab: &Lab) -> PathBuf {
    let ran = lab.vocative(&["reduce", "--json"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let file = PathBuf::from(json_lines(&ran.out)[0]["file"].as_str().unwrap());
    assert!(file.starts_with(lab.path("agent/chi/reduced")), "{}", file.display());
    file
}

#[test]
fn custom_entries_never_reach_the_model() {
    let Some(lab) = Lab::new(ALL) else { return };
    lab.ask(&[READ.0]);
    let session = lab.session();
    lab.ask(&["-c", BOTH.0]);
    lab.ask(&["-c", NOBODY.0]);
    assert_eq!(lab.session(), session);
    // One marker for each text that names somebody, although the first one took two requests.
    let (checked, warnings) = lab.check(&session);
    assert_eq!((&checked["markers"], warnings.len()), (&json!(2), 0));
    assert_eq!(lab.inbox(GSZEP, &[]), [BOTH.0, READ.0]);
    assert_eq!(lab.inbox(STEFFEN, &[]), [BOTH.0]);
    // The model was told the texts of the session that holds the markers, and nothing of these.
    assert_eq!(lab.model.requests().len(), 4);
    assert_eq!(lab.model.last_asked(), [READ.0, BOTH.0, NOBODY.0]);
    let words = evidence(&session);
    assert!(words.contains("chi.messaging.mentions") && words.contains("github:ada"), "{words:?}");
    assert_eq!(told(&words, &lab.model.requests()), [""; 0]);

    // The same evidence as a message would be told: the log can show it.
    let leaf = json_lines(lines(&session).last().unwrap())[0]["id"].clone();
    let content = lines(&session).into_iter().filter(|line| line.contains("chi.messaging.mentions"));
    let message = json!({
        "type": "custom_message", "customType": "x", "content": content.collect::<String>(), "display": true,
        "id": "0000000c", "parentId": leaf, "timestamp": "2026-11-30T00:00:00.000Z",
    });
    fs::write(&session, fs::read_to_string(&session).unwrap() + &format!("{message}\n")).unwrap();
    lab.ask(&["-c", NOBODY.0]);
    assert_eq!(told(&words, &lab.model.requests()).len(), words.len());
}

#[test]
fn pi_subagents_1297_continue_resumes_the_session_and_not_the_newer_artifact() {
    let Some(lab) = Lab::new(ALL) else { return };
    lab.ask(&[READ.0]);
    let session = lab.session();
    let artifact = reduce(&lab);
    make_newest(&artifact);
    let (bytes, before) = (fs::read(&artifact).unwrap(), fs::read(&session).unwrap());

    lab.ask(&["-c", LATER.0]);
    assert_eq!(lab.session(), session);
    assert_eq!(markers(&appended(&session, &before)), 1);
    assert_eq!(lab.model.last_asked(), [READ.0, LATER.0]);
    assert!(fs::read(&artifact).unwrap() == bytes, "Pi changed {}", artifact.display());
    assert_eq!(lab.inbox(GSZEP, &[]), [LATER.0, READ.0]);

    // Beside the sessions it would be resumed instead, which is why `reduce` refuses to write there.
    let folder = session.parent().unwrap();
    let ran = lab.vocative(&["reduce", "-o", folder.to_str().unwrap()]);
    assert!(ran.code == 2 && ran.err.contains("output_in_sessions"), "{}", ran.err);
    let beside = folder.join(artifact.file_name().unwrap());
    fs::copy(&artifact, &beside).unwrap();
    make_newest(&beside);
    let before = fs::read(&session).unwrap();
    lab.ask(&["-c", NOBODY.0]);
    assert!(fs::read(&session).unwrap() == before, "Pi resumed {}", session.display());
    assert!(!appended(&beside, &bytes).is_empty());
}

#[test]
fn an_artifact_is_opened_and_appended_to_after_its_lines() {
    let Some(lab) = Lab::new(ALL) else { return };
    lab.ask(&[BOTH.0]);
    let artifact = reduce(&lab);
    // The recorded sessions too, and a session without any evidence.
    let recorded = lab.path("recorded.jsonl");
    let empty = lab.path("empty.jsonl");
    let header = lab.path("header.jsonl");
    fs::write(&header, support::session::header("s1") + "\n").unwrap();
    for (input, output) in [(Path::new(RECORDED), &recorded), (&header, &empty)] {
        let ran = lab.vocative(&["reduce", input.to_str().unwrap(), "-o", output.to_str().unwrap()]);
        assert_eq!(ran.code, 0, "{}", ran.err);
    }
    let mut total = 0;
    for path in [&artifact, &recorded, &empty] {
        let bytes = fs::read(path).unwrap();
        assert_eq!(bytes.iter().filter(|byte| **byte == b'\n').count(), 3);
        let references = |person: &str| {
            let ran = lab.vocative(&["inbox", "--json", "--me", person, path.to_str().unwrap()]);
            assert_eq!((ran.code, lab.check(path).0["kind"].as_str()), (0, Some("artifact")), "{}", ran.err);
            json_lines(&ran.out).len()
        };
        let before = [references(GSZEP), references(STEFFEN)];
        let words = evidence(path);
        let asked = lab.model.requests().len();

        lab.ask(&["--session", path.to_str().unwrap(), LATER.0]);
        let entries = appended(path, &bytes);
        assert_eq!(markers(&entries), 1, "{}", path.display());
        let artifact_leaf = json_lines(&lines(path)[2])[0]["id"].clone();
        assert_eq!(entries[0]["parentId"], artifact_leaf);
        let (checked, warnings) = lab.check(path);
        assert_eq!(
            (checked["kind"].as_str(), warnings),
            (Some("artifact"), vec!["artifact_continued".into()])
        );
        // The references that it held still count, and the new one is the artifact's own.
        assert_eq!([references(GSZEP), references(STEFFEN)], [before[0] + 1, before[1]]);
        total += before[0] + before[1] + 1;
        let requests = lab.model.requests().split_off(asked);
        assert_eq!((requests.len(), lab.model.last_asked()), (1, vec![LATER.0.to_owned()]));
        assert_eq!(told(&words, &requests), [""; 0]);
        assert!(!requests[0].contains("z=-1"), "the name of the artifact was told");
    }
    // Artifacts that went on are merged as any other.
    let paths = [&artifact, &recorded, &empty].map(|path| path.to_str().unwrap());
    let ran = lab.vocative(&["merge", paths[0], paths[1], paths[2], "-o", "-"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(json_lines(&ran.out)[2]["data"]["mentions"].as_array().unwrap().len(), total);
}

#[test]
fn recorded_sessions_are_continued_without_telling_their_markers() {
    let Some(lab) = Lab::new(ALL) else { return };
    let mut opened = 0;
    for recorded in vocative_pi::discover::session_files(Path::new(RECORDED)).unwrap() {
        // Pi does not open a session whose folder is gone.
        let project = lab.path("project");
        let text = fs::read_to_string(&recorded).unwrap();
        let text = text.replacen("\"cwd\":\"/tmp/labproj\"", &format!("\"cwd\":{}", json!(project)), 1);
        let path = lab.path(recorded.file_name().unwrap().to_str().unwrap());
        fs::write(&path, &text).unwrap();
        let before = [lab.inbox(GSZEP, &[&path]), lab.inbox(STEFFEN, &[&path])];
        let words = evidence(&path);
        let asked = lab.model.requests().len();

        lab.ask(&["--session", path.to_str().unwrap(), BOTH.0]);
        assert_eq!(markers(&appended(&path, text.as_bytes())), 1, "{}", path.display());
        assert_eq!(lab.check(&path).1, [""; 0]);
        for (person, before) in [GSZEP, STEFFEN].iter().zip(before) {
            let expected: Vec<_> = std::iter::once(BOTH.0.to_owned()).chain(before).collect();
            assert_eq!(lab.inbox(person, &[&path]), expected, "{}", path.display());
        }
        let requests = lab.model.requests().split_off(asked);
        assert!(lab.model.last_asked().len() > 1, "{} was not continued", path.display());
        assert_eq!(told(&words, &requests), [""; 0], "{}", path.display());
        opened += 1;
    }
    assert_eq!(opened, 5);
}

#[test]
fn forks_clones_and_compactions_that_pi_writes_count_each_mention_once() {
    const FIRST: Prompt = ("first, @gszep [[long]]", &["gszep"]);
    const SECOND: Prompt = ("second, @SteffenPL [[long]]", &["SteffenPL"]);
    const FORKED: Prompt = ("in the fork, @gszep", &["gszep"]);
    const CLONED: Prompt = ("in the clone, @gszep", &["gszep"]);
    let Some(lab) = Lab::new(&[FIRST, SECOND, BOTH, FORKED, CLONED]) else { return };
    let mut pi = Rpc::start(&lab, &[]);
    pi.prompt(FIRST.0);
    pi.prompt(SECOND.0);
    pi.send(json!({ "type": "compact" }));
    pi.send(json!({ "type": "set_session_name", "name": "a name" }));
    pi.prompt(BOTH.0);
    let messages = pi.send(json!({ "type": "get_fork_messages" }));
    let messages = messages["messages"].as_array().unwrap();
    let both = messages.iter().find(|message| message["text"] == BOTH.0).unwrap();
    pi.send(json!({ "type": "fork", "entryId": both["entryId"] }));
    pi.prompt(FORKED.0);
    pi.send(json!({ "type": "clone" }));
    pi.prompt(CLONED.0);
    pi.end();

    let sessions = lab.sessions();
    let counts: Vec<_> = sessions.iter().map(|path| lab.check(path).0["markers"].clone()).collect();
    // The fork begins before the third message, and the clone holds the fork.
    assert_eq!(counts, [json!(3), json!(3), json!(4)], "{sessions:?}");
    assert!(sessions.iter().all(|path| lab.check(path).1.is_empty()));
    assert!(lines(&sessions[0]).iter().any(|line| line.contains(r#""type":"compaction""#)));
    assert_eq!(lab.inbox(GSZEP, &[]), [CLONED.0, FORKED.0, BOTH.0, FIRST.0]);
    assert_eq!(lab.inbox(STEFFEN, &[]), [BOTH.0, SECOND.0]);
    // What the copies say alone is the same set.
    let ran = lab.vocative(&["reduce", "--json"]);
    assert_eq!(json_lines(&ran.out)[0]["references"], 6);
    let words: BTreeSet<_> = sessions.iter().flat_map(|path| evidence(path)).collect();
    let own = |word: &&str| !sessions.iter().any(|path| path.to_str().unwrap().contains(*word));
    let told: Vec<_> = told(&words, &lab.model.requests()).into_iter().filter(own).collect();
    assert_eq!(told, [""; 0]);
}

#[test]
fn paseo_2313_after_a_resume_each_marker_points_at_the_message_submitted() {
    const FIRST: Prompt = ("before the resume, @gszep", &["gszep"]);
    const AGAIN: Prompt = ("the same words twice, @SteffenPL", &["SteffenPL"]);
    const LAST: Prompt = ("at last @gszep and @SteffenPL", &["gszep", "SteffenPL"]);
    let Some(lab) = Lab::new(&[FIRST, AGAIN, LAST, NOBODY]) else { return };
    lab.ask(&[FIRST.0]);
    let session = lab.session();
    let mut pi = Rpc::start(&lab, &["-c"]);
    pi.prompt(AGAIN.0);
    pi.prompt(AGAIN.0);
    pi.end();
    let mut pi = Rpc::start(&lab, &["--session", session.to_str().unwrap()]);
    pi.prompt(NOBODY.0);
    pi.prompt(LAST.0);
    pi.end();
    assert_eq!((lab.session(), lab.check(&session).1), (session.clone(), vec![]));

    // Each marker, the text of its target as it is fetched, and whom the markers there name.
    let mut targets = Vec::new();
    let mut told = Vec::new();
    let ran = lab.vocative(&["markers", "--json", session.to_str().unwrap()]);
    for marker in json_lines(&ran.out) {
        let [id, entry] = ["session", "entry"].map(|name| marker[name].as_str().unwrap());
        let shown = json_lines(&lab.vocative(&["show", "--json", &format!("{id}/{entry}")]).out).remove(0);
        assert_eq!(
            (&shown["entry"]["role"], shown["markers"].as_array().unwrap().len()),
            (&json!("user"), 1)
        );
        assert_eq!(shown["markers"][0]["recipients"], marker["recipients"]);
        told.push((shown["entry"]["untrusted_text"].clone(), marker["recipients"].clone()));
        targets.push(entry.to_owned());
    }
    let expected = [
        (FIRST, json!([GSZEP])),
        (AGAIN, json!([STEFFEN])),
        (AGAIN, json!([STEFFEN])),
        (LAST, json!([GSZEP, STEFFEN])),
    ];
    assert_eq!(told, expected.map(|((text, _), names)| (json!(text), names)));
    // The two messages with the same words are two targets, in the order in which they were sent.
    let messages: Vec<_> = json_lines(&fs::read_to_string(&session).unwrap())
        .into_iter()
        .filter(|entry| entry["message"]["role"] == "user")
        .map(|entry| entry["id"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(targets, [0, 1, 2, 4].map(|place: usize| messages[place].clone()));
    assert_eq!(lab.inbox(STEFFEN, &[]), [LAST.0, AGAIN.0, AGAIN.0]);
    let ran = lab.vocative(&["reduce", "--json"]);
    assert_eq!(json_lines(&ran.out)[0]["references"], 5);
}

#[test]
fn pi_5267_a_prompt_that_begins_with_a_sign_is_a_file_argument() {
    const SPACED: Prompt = (" @gszep look", &["gszep"]);
    const PIPED: Prompt = ("@gszep look here", &["gszep"]);
    let Some(lab) = Lab::new(&[SPACED, PIPED]) else { return };
    let ran = lab.print(&["@gszep look"]);
    assert_eq!((ran.code, lab.sessions().len(), lab.model.requests().len()), (1, 0, 0), "{}", ran.err);
    lab.ask(&[SPACED.0]);
    let ran = lab.print_piped(PIPED.0);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(lab.sessions().len(), 2);
    assert_eq!(lab.inbox(GSZEP, &[]), [PIPED.0, SPACED.0]);
}

#[test]
fn pi_8345_pi_ends_an_unterminated_line_before_it_appends() {
    let Some(lab) = Lab::new(ALL) else { return };
    lab.ask(&[READ.0]);
    let session = lab.session();
    let text = fs::read_to_string(&session).unwrap();
    fs::write(&session, text.trim_end()).unwrap();
    assert_eq!(lab.check(&session).1, ["unterminated_tail"]);
    lab.ask(&["-c", LATER.0]);
    assert_eq!(lab.check(&session).1, [""; 0]);
    assert_eq!(markers(&appended(&session, text.as_bytes())), 1);
    assert_eq!(lab.inbox(GSZEP, &[]), [LATER.0, READ.0]);

    // A torn line becomes one that is no object: strict reading names it instead of losing what follows.
    let number = lines(&session).len() + 1;
    let text = fs::read_to_string(&session).unwrap() + "{\"type\":\"mess";
    fs::write(&session, &text).unwrap();
    lab.ask(&["-c", BOTH.0]);
    assert!(lines(&session).len() > number);
    let ran = lab.vocative(&["check", "--json", session.to_str().unwrap()]);
    let problem = &json_lines(&ran.out)[0];
    assert_eq!(
        (ran.code, &problem["code"], &problem["details"]["line"]),
        (1, &json!("not_an_object"), &json!(number))
    );
}
