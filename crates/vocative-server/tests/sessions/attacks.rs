//! What a hostile person tries with sessions, one test for each attack (section 4).

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::lines::{header, marker_by, user, user_at};
use crate::place::{Place, artifact, artifact_at};
use crate::support::soon;

/// A session of Ann's in which she asks Bob something on one branch, and nobody on another.
fn session(id: &str) -> Vec<String> {
    vec![
        header(id),
        user("root", "", "the beginning"),
        user("asked", "root", "@bob"),
        marker_by("Ann", "masked", "asked", id, "asked", &["bob"]),
        user("answer", "masked", "an answer"),
        user("other", "root", "a secret"),
    ]
}

#[tokio::test]
async fn a_pushed_reference_reads_nobodys_session() {
    let place = Place::new().await;
    assert_eq!(place.share(&place.ann, "s1", &session("s1")).await.code(), "200");
    // Eve says that Ann has named her, that she has named herself, and that she has named Bob.
    let claims = ["s1/root eve Ann", "s1/other eve eve", "s1/asked eve eve", "s1/other bob eve"];
    let pushed = place.push(&place.eve, artifact(&claims)).await;
    assert_eq!(pushed.json(), json!({ "added": 3, "unchanged": 0, "ignored": 1 }));
    for entry in ["root", "asked", "masked", "answer", "other", "none"] {
        let read = place.read(&place.eve, &format!("github:ann/s1/{entry}")).await;
        assert_eq!(read.code(), "404 not_found", "{entry}");
    }
    // Nor does it let Bob see more than Ann has named him in.
    for (entry, code) in [("asked", "200"), ("other", "404 not_found")] {
        assert_eq!(place.read(&place.bob, &format!("github:ann/s1/{entry}")).await.code(), code, "{entry}");
    }
}

#[tokio::test]
async fn who_is_named_on_one_branch_reads_no_other() {
    let place = Place::new().await;
    place.share(&place.ann, "s1", &session("s1")).await;
    for (entry, code) in [("root", "200"), ("asked", "200"), ("masked", "200"), ("answer", "200")] {
        assert_eq!(place.read(&place.bob, &format!("github:ann/s1/{entry}")).await.code(), code, "{entry}");
    }
    let ids = |page: &Value| -> Vec<String> {
        let entries = page["entries"].as_array().expect("a page").iter();
        entries.map(|entry| entry["id"].as_str().expect("an id").to_owned()).collect()
    };
    let root = place.read(&place.bob, "github:ann/s1/root?after=50").await;
    assert_eq!(ids(&root.json()["after"]), ["asked"]);
    assert!(!root.text.contains("secret"), "{}", root.text);
    let answer = place.read(&place.bob, "github:ann/s1/answer?before=50").await;
    assert_eq!(ids(&answer.json()["before"]), ["masked", "asked", "root"]);
    // A page that begins at what is not for him is not there.
    for query in ["after=50&after_from=other", "before=50&before_from=other"] {
        assert_eq!(
            place.read(&place.bob, &format!("github:ann/s1/root?{query}")).await.code(),
            "404 not_found"
        );
    }
    assert_eq!(place.read(&place.bob, "github:ann/s1/root?after=51").await.code(), "400 bad_request");
    let all = place.read(&place.ann, "github:ann/s1/root?after=50").await;
    assert_eq!(ids(&all.json()["after"]), ["asked", "other"]);
}

#[tokio::test]
async fn a_marker_that_a_stranger_shares_under_the_same_session_reads_nothing_of_the_first() {
    let place = Place::new().await;
    place.share(&place.ann, "s1", &session("s1")).await;
    let mut forged = session("s1");
    forged.push(marker_by("Ann", "mother", "other", "s1", "other", &["eve"]));
    assert_eq!(place.share(&place.eve, "s1", &forged).await.code(), "200", "it is hers");
    assert_eq!(place.read(&place.eve, "github:eve/s1/other").await.code(), "200");
    assert_eq!(place.read(&place.eve, "github:ann/s1/other").await.code(), "404 not_found");
}

#[tokio::test]
async fn who_claims_first_silences_nobody() {
    let place = Place::new().await;
    let first = place.push(&place.eve, artifact_at("2026-11-30T10:00:00.000Z", &["s1/asked bob eve"])).await;
    assert_eq!(first.json()["added"], 1);
    let pushed = place.push(&place.ann, artifact(&["s1/asked bob Ann"])).await;
    assert_eq!(pushed.json(), json!({ "added": 1, "unchanged": 0, "ignored": 0 }));
    let rows = place.rows(&place.bob).await;
    let of = |rows: &[Value]| -> Vec<(String, bool)> {
        let row = |row: &Value| (row["actor"].as_str().expect("a name").to_owned(), row["disputed"] == true);
        rows.iter().map(row).collect()
    };
    assert_eq!(
        of(&rows),
        [("github:ann".to_owned(), true), ("github:eve".to_owned(), true)],
        "both are told"
    );
    // The session itself decides.
    place.share(&place.ann, "s1", &session("s1")).await;
    let rows = of(&place.rows(&place.bob).await);
    assert!(rows.contains(&("github:ann".to_owned(), false)), "{rows:?}");
    assert!(!rows.contains(&("github:eve".to_owned(), false)), "{rows:?}");
    // One publisher contradicts nobody but itself.
    let other = artifact_at("2026-11-30T11:00:00.000Z", &["s1/asked bob Ann"]);
    let conflict = place.push(&place.ann, other).await;
    assert_eq!(conflict.code(), "409 conflict");
    let both = conflict.json()["details"]["references"].clone();
    assert_eq!(both.as_array().map(Vec::len), Some(2), "{both}");
    assert!(!conflict.text.contains("eve"), "only of the caller's own: {both}");
}

#[tokio::test]
async fn a_session_is_replaced_by_nobody_else_and_by_nothing_else() {
    let place = Place::new().await;
    let lines = session("s1");
    place.share(&place.ann, "s1", &lines).await;
    let before = place.read(&place.ann, "github:ann/s1/other").await.text;
    let other = [header("s1"), user("other", "", "something else")];
    assert_eq!(place.share(&place.eve, "s1", &other).await.code(), "200", "beside the first");
    assert_eq!(place.share(&place.ann, "s1", &other).await.code(), "409 no_continuation");
    assert_eq!(place.share(&place.ann, "s1", &lines[..5]).await.code(), "409 no_continuation");
    assert_eq!(place.share(&place.ann, "s2", &lines).await.code(), "422 other_session");
    assert_eq!(place.read(&place.ann, "github:ann/s1/other").await.text, before);
    let theirs = place.read(&place.eve, "github:eve/s1/other").await;
    assert_eq!(theirs.json()["entry"]["untrusted_text"], "something else");
    let grown = [&lines[..], &[user("more", "other", "more")]].concat();
    assert_eq!(place.share(&place.ann, "s1", &grown).await.json()["unchanged"], false);
    assert_eq!(place.read(&place.ann, "github:ann/s1/more").await.code(), "200");
}

#[tokio::test]
async fn an_id_of_a_session_is_no_path_and_its_case_counts() {
    let place = Place::new().await;
    let long = "a".repeat(129);
    for id in ["..%2F..%2Fetc%2Fpasswd", "%2e%2e%2fs1", "a%2Fb", "a%5Cb", "s1%00", "%FF", "s%201", &long, "é"]
    {
        let shared = place.share(&place.ann, id, &session("s1")).await;
        assert!(matches!(shared.status, 400 | 404 | 422), "{id}: {} {}", shared.status, shared.text);
        let read = place.read(&place.ann, &format!("github:ann/{id}/root")).await;
        assert_eq!(read.status, 404, "{id}: {}", read.text);
    }
    // On a disk that holds these for one name they are two.
    let other = [header("S1"), user("root", "", "of the other")];
    assert_eq!(place.share(&place.ann, "s1", &session("s1")).await.code(), "200");
    assert_eq!(place.read(&place.ann, "github:ann/S1/root").await.code(), "404 not_found");
    assert_eq!(place.share(&place.ann, "S1", &other).await.code(), "200");
    for (id, text) in [("s1", "the beginning"), ("S1", "of the other")] {
        let read = place.read(&place.ann, &format!("github:ANN/{id}/root")).await;
        assert_eq!(read.json()["entry"]["untrusted_text"], text, "{id}");
    }
    let mut names = Vec::new();
    let mut folders = vec![place.folder.path().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("it reads") {
            let path = entry.expect("it reads").path();
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            match path.is_dir() {
                true => folders.push(path),
                false if name.ends_with(".jsonl") => names.push(name),
                false => {}
            }
        }
    }
    let is_digest = |name: &String| {
        name.len() == 64 + ".jsonl".len() && name[..64].bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    assert!(names.len() == 2 && names.iter().all(is_digest), "{names:?}");
    for account in ["github:zed", "0", "99999999999999999999", "ann", "github:.."] {
        assert_eq!(
            place.read(&place.ann, &format!("{account}/s1/root")).await.code(),
            "404 not_found",
            "{account}"
        );
    }
}

/// The status of a body that is announced to be so long.
async fn announced(place: &Place, method: &str, path: &str, length: usize) -> String {
    let mut stream = TcpStream::connect(place.site.node.address).await.expect("it connects");
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\nconnection: close\r\n\
         content-length: {length}\r\n\r\n",
        place.site.node.address, place.ann
    );
    stream.write_all(head.as_bytes()).await.expect("it takes the head");
    let mut answer = String::new();
    soon("an answer", stream.read_to_string(&mut answer)).await.expect("text");
    answer.split(' ').nth(1).expect("a status").to_owned()
}

#[tokio::test]
async fn a_body_that_is_too_large_is_not_read() {
    let place = Place::new().await;
    // A million references of the shortest ids, as its length alone shows.
    let few: Vec<String> = (0..1000).map(|n| format!("s/{n} bob Ann")).collect();
    let few = artifact(&few.iter().map(String::as_str).collect::<Vec<_>>()).len();
    assert!(few * 1000 > 64 << 20, "a million references are {} bytes", few * 1000);
    for length in [(64 << 20) + 1, few * 1000, 1 << 40] {
        for (method, path) in [("POST", "/v1/references"), ("PUT", "/v1/sessions/s1")] {
            assert_eq!(announced(&place, method, path, length).await, "413", "{path} {length}");
        }
    }
    assert_eq!(place.site.get("/v1/me", &place.ann).await.code(), "200");
}

#[tokio::test]
async fn a_large_artifact_is_taken_and_keeps_nobody_waiting() {
    let place = Place::new().await;
    let references: Vec<String> = (0..50_000).map(|n| format!("s{}/{n} bob Ann", n % 100)).collect();
    let bytes = artifact(&references.iter().map(String::as_str).collect::<Vec<_>>());
    let push = place.push(&place.ann, bytes.clone());
    let ask = async {
        // Others are answered meanwhile; how soon is no matter of this test.
        place.site.get("/v1/me", &place.bob).await.code()
    };
    let (pushed, asked) = tokio::join!(push, ask);
    assert_eq!((pushed.json()["added"].as_u64(), &*asked), (Some(50_000), "200"));
    assert_eq!(place.push(&place.ann, bytes).await.json()["unchanged"], 50_000);
    assert_eq!(place.rows(&place.bob).await.len(), 50);
}

#[tokio::test]
async fn an_artifact_that_is_damaged_is_refused_whole() {
    let place = Place::new().await;
    let whole = artifact(&["s1/asked bob Ann"]);
    let text = String::from_utf8(whole.clone()).expect("text");
    let key = text.split("\"reductionKey\":\"").nth(1).expect("a key")[..8].to_owned();
    let continued = format!("{text}{}\n", user("more", "", "goes on"));
    let table: [(&str, Vec<u8>); 12] = [
        ("another digest", text.replace(&key, "00000000").into_bytes()),
        ("another recipient", text.replace("github:bob", "github:eve").into_bytes()),
        ("another schema", text.replace("\"schemaVersion\":1", "\"schemaVersion\":2").into_bytes()),
        ("a space", text.replacen("\":", "\": ", 1).into_bytes()),
        ("continued", continued.into_bytes()),
        ("a blank line at the end", format!("{text}\n").into_bytes()),
        ("no end", text.trim_end().as_bytes().to_vec()),
        ("cut off", text.as_bytes()[..text.len() / 2].to_vec()),
        ("a session", crate::lines::file(&session("s1")).into_bytes()),
        ("twice", [&*whole, &*whole].concat()),
        ("no text", vec![0xff; 1000]),
        ("nothing", Vec::new()),
    ];
    for (what, bytes) in table {
        assert_eq!(place.push(&place.ann, bytes).await.code(), "422 invalid_artifact", "{what}");
    }
    let deep = format!("{}{}", "[".repeat(1 << 20), "]".repeat(1 << 20));
    assert_eq!(place.push(&place.ann, deep.into_bytes()).await.code(), "422 invalid_artifact");
    assert_eq!(place.rows(&place.bob).await, [] as [Value; 0], "nothing of them is stored");
    assert_eq!(place.push(&place.ann, whole).await.json()["added"], 1);
}

#[tokio::test]
async fn a_reference_of_the_future_or_to_nobody_spoils_the_whole_push() {
    let place = Place::new().await;
    let later = artifact_at("2099-01-01T00:00:00.000Z", &["s1/a bob Ann"]);
    assert_eq!(place.push(&place.ann, later).await.code(), "422 later_than_now");
    let unknown = place.push(&place.ann, artifact(&["s1/a bob Ann", "s1/b zed Ann"])).await;
    assert_eq!(unknown.code(), "422 unknown_recipient");
    assert_eq!(unknown.json()["details"]["recipients"], json!(["github:zed"]));
    // Who has logged in nowhere is no secret; who reads what they pushed is.
    assert_eq!(place.push(&place.eve, artifact(&["s1/b zed Ann"])).await.json()["ignored"], 1);
    assert_eq!(place.rows(&place.bob).await, [] as [Value; 0]);
}

#[tokio::test]
async fn a_trusted_publisher_pushes_for_others_and_reads_nothing_by_it() {
    let place = Place::with(|settings| settings.trusted_publishers = vec!["github:eve".to_owned()]).await;
    place.share(&place.ann, "s1", &session("s1")).await;
    let pushed = place.push(&place.eve, artifact(&["s1/other eve Ann", "s1/asked bob Ann"])).await;
    assert_eq!(pushed.json()["added"], 2);
    assert_eq!(place.read(&place.eve, "github:ann/s1/other").await.code(), "404 not_found");
    assert_eq!(place.rows(&place.bob).await.len(), 1);
}

#[tokio::test]
async fn only_a_repository_that_is_served_and_read_lets_its_readers_in() {
    let place = Place::new().await;
    place.site.double.add_public("stranger/public");
    let (lines, path) = (crate::lines::file(&session("s1")), "/v1/sessions/s1");
    let share = async |repository: &'static str| {
        let body = lines.clone();
        let answer = place.site.ask("PUT", path, |request| {
            request.bearer_auth(&place.ann).header("x-chi-repo", repository).body(body)
        });
        answer.await.code()
    };
    for (repository, code) in [
        ("stranger/public", "403 repo_not_readable"),
        ("acme/none", "403 repo_not_readable"),
        ("acme/app", "200"),
    ] {
        assert_eq!(share(repository).await, code, "{repository}");
    }
    let other = "github:ann/s1/other";
    assert_eq!(place.read(&place.eve, other).await.code(), "200");
    assert_eq!(
        place.site.ask("GET", "/v1/sessions/github:ann/s1/entries/other", |request| request).await.status,
        401
    );
    // Shared again without, it is theirs no more.
    assert_eq!(place.share(&place.ann, "s1", &session("s1")).await.code(), "200");
    assert_eq!(place.read(&place.eve, other).await.code(), "404 not_found");
}

#[tokio::test]
async fn a_session_that_is_invalid_is_not_shared() {
    let place = Place::new().await;
    let cases: [(&str, Vec<String>); 4] = [
        ("an orphan", vec![header("s1"), user("a", "gone", "")]),
        ("an id twice", vec![header("s1"), user("a", "", ""), user("a", "", "")]),
        ("a cycle", vec![header("s1"), user("a", "a", "")]),
        ("no header", vec![user("a", "", "")]),
    ];
    for (what, lines) in cases {
        assert_eq!(place.share(&place.ann, "s1", &lines).await.code(), "422 invalid_session", "{what}");
    }
    let marked = [header("s1"), user_at("a", "", 1, ""), marker_by("Ann", "m", "a", "s1", "b", &["bob"])];
    assert_eq!(place.share(&place.ann, "s1", &marked).await.code(), "422 invalid_session", "no such target");
    let id = String::from_utf8(artifact(&["s1/a bob Ann"])).expect("text");
    let id = id.split("\"id\":\"").nth(1).expect("an id")[..28].to_owned();
    let bytes = artifact(&["s1/a bob Ann"]);
    let path = format!("/v1/sessions/{id}");
    let reduced = place.site.ask("PUT", &path, |request| request.bearer_auth(&place.ann).body(bytes));
    assert_eq!(reduced.await.code(), "422 not_a_session");
    assert_eq!(place.read(&place.ann, "github:ann/s1/a").await.code(), "404 not_found");
}
