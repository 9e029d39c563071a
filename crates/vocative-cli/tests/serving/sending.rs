//! `vocative post`, `edit`, `forward` and `history` against a node, as processes with a key file.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use nostr::nips::nip19::ToBech32;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::task::block_in_place;

use crate::node::{Node, Setup};
use crate::support::Person;

/// Someone at a terminal, with a home folder of their own.
pub struct User {
    pub person: Person,
    home: TempDir,
}

/// How a command ended.
#[derive(Debug)]
pub struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        let code = output.status.code().expect("it was not killed");
        let text = |bytes| String::from_utf8(bytes).expect("text");
        Self { code, out: text(output.stdout), err: text(output.stderr) }
    }
}

impl User {
    pub fn new() -> Self {
        let user = Self { person: Person::new(), home: TempDir::new().expect("a folder") };
        let folder = user.key().parent().expect("a folder").to_owned();
        std::fs::create_dir_all(folder).expect("it is made");
        let secret = user.person.keys.secret_key().to_bech32().expect("every key has its text");
        std::fs::write(user.key(), secret).expect("it is written");
        user.let_read(0o600);
        user
    }

    fn key(&self) -> PathBuf {
        self.home.path().join(".config/vocative/key")
    }

    fn let_read(&self, mode: u32) {
        std::fs::set_permissions(self.key(), PermissionsExt::from_mode(mode)).expect("it is set");
    }

    fn npub(&self) -> String {
        self.person.keys.public_key().to_bech32().expect("every key has its text")
    }

    pub fn command(&self, server: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_vocative"));
        command.env_clear().env("HOME", self.home.path()).env("VOCATIVE_SERVER", server);
        command.stdin(Stdio::null());
        command
    }

    pub fn run(&self, node: &Node, arguments: &[&str]) -> Ran {
        block_in_place(|| self.command(&node.url()).args(arguments).output().expect("it runs").into())
    }

    /// The object that a command answers with `--json`.
    fn json(&self, node: &Node, arguments: &[&str]) -> Value {
        let ran = self.run(node, &[arguments, &["--json"]].concat());
        assert_eq!(ran.code, 0, "{arguments:?}: {ran:?}");
        serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("no JSON: {}", ran.out))
    }
}

/// A node with channels `open` and `other`, and who is in both.
async fn stage(folder: &Path, users: &[(&User, &str)]) -> Node {
    let owner = Person::new();
    let node = Setup::new(&owner).data(folder).start();
    let mut client = node.connect().await;
    for channel in ["open", "other"] {
        client.store(&owner.event(9007, &[&["h", channel]], "")).await;
        for (user, name) in users {
            client.store(&owner.event(9000, &[&["h", channel], &["p", &user.person.hex()]], "")).await;
            if channel == "open" {
                let profile = json!({ "display_name": name }).to_string();
                client.store(&user.person.event(0, &[], &profile)).await;
            }
        }
    }
    node
}

fn keys(people: &Value) -> Vec<&str> {
    people.as_array().expect("people").iter().map(|person| person["key"].as_str().expect("a key")).collect()
}

async fn messages(node: &Node) -> u64 {
    let filter = json!({ "kinds": [9, 40003] });
    node.connect().await.count(&[filter]).await.expect("a count")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_goes_to_whom_it_names() {
    let folder = TempDir::new().expect("a folder");
    let (ann, ada, bo) = (User::new(), User::new(), User::new());
    let node = stage(folder.path(), &[(&ann, "Ann"), (&ada, "Ada"), (&bo, "Bo")]).await;

    let sent = ann.json(&node, &["post", "@Ada and @Zed", "--channel", "open"]);
    assert_eq!(keys(&sent["recipients"]), [ada.person.hex()]);
    assert_eq!(sent["diagnostics"][0]["code"], "unknown_name");
    let id = sent["id"].as_str().expect("an id");
    let reply =
        ann.json(&node, &["post", "and this", "--channel", "open", "--reply-to", id, "--to", &bo.npub()]);
    assert_eq!(keys(&reply["recipients"]), [bo.person.hex()]);
    let quiet = ann.json(&node, &["post", "@Ada says", "--channel", "open", "--no-typed"]);
    let agent = ann.json(&node, &["post", "@Ada asks", "--channel", "open", "--agent"]);
    assert_eq!((keys(&quiet["recipients"]).len(), keys(&agent["recipients"]).len()), (0, 0));
    assert_eq!(agent["diagnostics"][0]["code"], "not_eligible");
    let typed = ann.json(&node, &["post", "@Ada is asked", "--channel", "open", "--agent", "--typed"]);
    assert_eq!(keys(&typed["recipients"]), [ada.person.hex()]);

    let edited = ann.json(&node, &["edit", id, "@Bo and @Zed"]);
    assert_eq!(keys(&edited["newly_added"]), [bo.person.hex()]);
    let forwarded = bo.json(&node, &["forward", id, "--channel", "other"]);
    assert_eq!(keys(&forwarded["references"]), [bo.person.hex()], "nobody notifies themselves");

    let ran = ada.run(&node, &["history", id]);
    assert!(ran.code == 0 && !ran.out.contains("@Bo and"), "text is shown on request only: {ran:?}");
    assert!(ran.out.contains(&format!("notifies Ada ({})", ada.npub())), "{ran:?}");
    let ran = ada.run(&node, &["history", id, "--show"]);
    assert!(ran.out.contains("| @Ada and @Zed") && ran.out.contains("| @Bo and @Zed"), "{ran:?}");
    let ran = ada.run(&node, &["history", id, "--json"]);
    let versions: Vec<Value> =
        ran.out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(versions.iter().map(|version| &version["version"]).collect::<Vec<_>>(), [1, 2]);

    let mut reading = ann.command(&node.url());
    reading.args(["post", "-", "--channel", "open"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut reading = reading.spawn().expect("it runs");
    writeln!(reading.stdin.take().expect("piped"), "two\nlines").expect("it reads");
    let ran: Ran = block_in_place(|| reading.wait_with_output()).expect("it ends").into();
    assert_eq!(ran.code, 0, "{ran:?}");
    let read = ann.run(&node, &["history", ran.out.lines().next().expect("an id"), "--show"]);
    assert!(read.out.ends_with("| two\n  | lines\n"), "{read:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_sent_says_why_and_is_not_stored() {
    let folder = TempDir::new().expect("a folder");
    let hostile = "\u{202e}kniG\u{1b}[2J\nx";
    let (ann, one, two, bob) = (User::new(), User::new(), User::new(), User::new());
    let node = stage(folder.path(), &[(&ann, "Ann"), (&one, "Ada"), (&two, "ADA")]).await;
    node.connect().await.store(&bob.person.event(0, &[], &json!({ "name": hostile }).to_string())).await;

    let ran = ann.run(&node, &["post", "@Ada hi", "--channel", "open"]);
    assert_eq!((ran.code, &*ran.out), (1, ""), "{ran:?}");
    assert!(ran.err.starts_with("error[ambiguous_label]: `@Ada`: "), "{ran:?}");
    for user in [&one, &two] {
        assert!(ran.err.contains(&format!("--to 'Ada={}'", user.npub())), "{ran:?}");
    }
    let ran = ann.run(&node, &["post", "@Ada hi", "--channel", "open", "--json"]);
    let failure: Value = serde_json::from_str(&ran.err).expect("JSON");
    assert_eq!((ran.code, &failure["code"]), (1, &json!("ambiguous_label")));
    assert_eq!(keys(&failure["details"]["candidates"]).len(), 2);

    let to_bob = ["post", "hi", "--channel", "open", "--to", &bob.npub()];
    let ran = ann.run(&node, &to_bob);
    assert!(ran.code == 1 && ran.err.starts_with("error[not_members]"), "{ran:?}");
    assert!(ran.err.contains(r"\u{202e}kniG\u{1b}[2J\u{a}x ("), "{ran:?}");
    for (arguments, code, says) in [
        (&["post", "hi", "--channel", "none"][..], 4, "no_channel"),
        (&["edit", &"ab".repeat(32), "hi"], 4, "no_message"),
        (&["history", &"ab".repeat(32)], 4, "no_message"),
        (&["forward", "ab", "--channel", "open"], 2, "64 hex digits"),
        (&["post", "hi", "--channel", "open", "--to", "Ada"], 2, "npub1"),
        (&["post", "hi", "--channel", "open", "--server", "ftp://x"], 2, "bad_server"),
        (&["post", "hi", "--channel", "open", "--key", "/none"], 4, "no_key"),
        (&["post", &"x".repeat(65_537), "--channel", "open"], 1, "text_too_long"),
    ] {
        let ran = ann.run(&node, arguments);
        assert!(ran.code == code && ran.err.contains(says), "{says}: {ran:?}");
    }
    ann.let_read(0o640);
    let ran = ann.run(&node, &["post", "hi", "--channel", "open"]);
    assert!(ran.code == 1 && ran.err.contains("secret_file_is_open"), "{ran:?}");
    assert_eq!(messages(&node).await, 0);

    ann.let_read(0o600);
    let to = format!("Ada={}", two.npub());
    let sent = ann.json(&node, &["post", "@Ada hi", "--channel", "open", "--to", &to]);
    assert_eq!(keys(&sent["recipients"]), [two.person.hex()]);
    let sent = ann.json(&node, &[&to_bob[..], &["--without-inviting"]].concat());
    assert_eq!((keys(&sent["recipients"]).len(), keys(&sent["references"])), (0, vec![&*bob.person.hex()]));
}

#[test]
fn a_key_is_made_once_and_for_its_user_alone() {
    let home = TempDir::new().expect("a folder");
    let run = |arguments: &[&str]| -> Ran {
        let mut command = Command::new(env!("CARGO_BIN_EXE_vocative"));
        command.env_clear().env("HOME", home.path()).args(arguments).output().expect("it runs").into()
    };
    let ran = run(&["keygen"]);
    assert!(ran.code == 0 && ran.out.starts_with("npub1") && ran.out.len() == 64, "{ran:?}");
    let file = home.path().join(".config/vocative/key");
    assert_eq!(std::fs::metadata(&file).expect("a file").permissions().mode() & 0o777, 0o600);
    let secret = std::fs::read_to_string(&file).expect("it is read");
    let keys = nostr::key::Keys::parse(secret.trim()).expect("a key");
    assert_eq!(keys.public_key().to_bech32().expect("text"), ran.out.trim());
    let ran = run(&["keygen"]);
    assert!(ran.code == 3 && ran.err.contains("key_exists"), "{ran:?}");
    assert_eq!(std::fs::read_to_string(&file).expect("it is read"), secret);
    let ran = run(&["post", "hi", "--channel", "open"]);
    assert!(ran.code == 2 && ran.err.contains("no_server"), "{ran:?}");
    // What is no key is told without a word of it.
    let other = home.path().join("other");
    std::fs::write(&other, "nsec1secret").expect("it is written");
    std::fs::set_permissions(&other, PermissionsExt::from_mode(0o600)).expect("it is set");
    let ran = run(&[
        "history",
        &"ab".repeat(32),
        "--server",
        "http://127.0.0.1:1",
        "--key",
        other.to_str().expect("UTF-8"),
    ]);
    assert!(ran.code == 1 && ran.err.contains("bad_key_file") && !ran.err.contains("secret"), "{ran:?}");
}

/// Answers each request with the next of these, then no more. What was asked, by path.
fn false_server(answers: Vec<String>) -> (String, std::thread::JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("it listens");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let serving = std::thread::spawn(move || {
        let mut asked = Vec::new();
        for answer in answers {
            let (mut stream, _) = listener.accept().expect("a client");
            let mut reader = BufReader::new(stream.try_clone().expect("a stream"));
            let (mut head, mut length) = (String::new(), 0);
            while reader.read_line(&mut head).expect("a line") > 2 {
                let line = head.lines().last().unwrap_or_default().to_ascii_lowercase();
                if let Some(value) = line.strip_prefix("content-length:") {
                    length = value.trim().parse().expect("a number");
                }
            }
            reader.take(length).read_to_end(&mut Vec::new()).expect("a body");
            asked.push(head.split(' ').nth(1).unwrap_or_default().to_owned());
            stream.write_all(answer.as_bytes()).expect("it reads");
        }
        asked
    });
    (url, serving)
}

#[test]
fn nothing_is_signed_that_was_not_asked_for() {
    let ann = User::new();
    let key = ann.person.hex();
    let composed = |kind: u64, text: &str| {
        let at = crate::support::now();
        let event = json!({ "pubkey": key, "created_at": at, "kind": kind, "tags": [["h", "open"]], "content": text });
        let nobody = json!([]);
        json!({ "event": event, "recipients": nobody, "references": nobody, "newly_added": nobody, "diagnostics": nobody })
            .to_string()
    };
    let answer = |status: &str, body: &str| {
        format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}", body.len())
    };
    let (url, serving) = false_server(vec![]);
    serving.join().expect("it ends");
    for (answers, says) in [
        (vec![answer("200 OK", &composed(9, "I resign"))], "not_what_was_asked"),
        (vec![answer("200 OK", &composed(5, "hi"))], "not_what_was_asked"),
        (vec![answer("200 OK", "[]")], "bad_answer"),
        (vec![answer("500 Oops", "<html>")], "bad_answer"),
        (vec![answer(&format!("307 Elsewhere\r\nlocation: {url}/v1/messages/compose"), "")], "bad_answer"),
        (vec![answer("403 No", "{\"code\":\"\\u001b[2J\",\"message\":\"\"}")], "bad_answer"),
        (vec![answer("403 No", "{\"code\":\"no\",\"message\":\"\\u001b[2J\"}")], "error[no]: \\u{1b}[2J"),
    ] {
        let (url, serving) = false_server(answers);
        let ran: Ran =
            ann.command(&url).args(["post", "hi", "--channel", "open"]).output().expect("it runs").into();
        assert!(ran.code == 1 && ran.err.contains(says), "{says}: {ran:?}");
        assert_eq!(serving.join().expect("it ends"), ["/v1/messages/compose"], "{says}");
    }
}
