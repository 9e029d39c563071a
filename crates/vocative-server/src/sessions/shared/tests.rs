use std::sync::Arc;

use axum::body::Bytes;
use tempfile::TempDir;
use vocative_pi::{EntryId, Opened, SessionId};
use vocative_store::sqlite::Sqlite;
use vocative_store::{Expected, Timestamp, Write};

use super::{Around, Grant, NotShared, Objects, Sessions, document, object, view};
use crate::people::Holding;
use crate::settings::Settings;

const NOW: Timestamp = Timestamp::from_secs(1_764_520_000);

fn sessions() -> (TempDir, Sessions) {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Sqlite::open(folder.path().join("store.db")).expect("a store");
    let objects = Objects::open(&Settings::in_folder(folder.path().to_owned())).expect("a folder of objects");
    (folder, Sessions::new(Arc::new(store), objects))
}

fn id(text: &str) -> SessionId {
    SessionId::from_evidence(text).expect("an id")
}

const TIME: &str = "2025-11-30T16:00:00.000Z";

/// A session of user messages, each `id<parent` or `id` at the root; one that ends in `!` is followed by a
/// marker that names ben.
fn session(entries: &[&str]) -> Vec<u8> {
    let mut lines =
        vec![format!(r#"{{"type":"session","version":3,"id":"s1","timestamp":"{TIME}","cwd":"/p"}}"#)];
    for entry in entries {
        let (entry, is_marked) = entry.strip_suffix('!').map_or((*entry, false), |entry| (entry, true));
        let (id, parent) = entry
            .split_once('<')
            .map_or((entry, "null".to_owned()), |(id, parent)| (id, format!("\"{parent}\"")));
        lines.push(format!(
            r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"{TIME}","message":{{"role":"user","content":[{{"type":"text","text":"said in {id}"}}],"timestamp":1}}}}"#
        ));
        if is_marked {
            lines.push(format!(
                r#"{{"type":"custom","customType":"chi.messaging.mentions","data":{{"schemaVersion":1,"actor":{{"id":"github:ann","handle":"ann"}},"recipients":[{{"id":"github:ben","handle":"ben"}}],"target":{{"sessionId":"s1","entryId":"{id}"}}}},"id":"m{id}","parentId":"{id}","timestamp":"{TIME}"}}"#
            ));
        }
    }
    lines.iter().flat_map(|line| [line.as_bytes(), b"\n"].concat()).collect()
}

async fn share(sessions: &Sessions, bytes: &[u8], now: Timestamp) -> Result<bool, NotShared> {
    let shared = sessions.share("1", &id("s1"), Bytes::copy_from_slice(bytes), None, now).await;
    shared.map(|(_, is_new)| is_new)
}

#[tokio::test]
async fn a_session_is_replaced_only_by_what_it_has_grown_to() {
    let (_folder, sessions) = sessions();
    let (first, second) = (session(&["a"]), session(&["a", "b<a"]));
    let other = session(&["x", "b<x"]);
    assert!(sessions.find("1", &id("s1")).await.expect("it reads").is_none());
    assert!(share(&sessions, &first, NOW).await.expect("shared"));
    assert!(!share(&sessions, &first, NOW).await.expect("shared already"));
    assert!(share(&sessions, &second, NOW).await.expect("grown"));
    assert!(matches!(share(&sessions, &first, NOW).await, Err(NotShared::NoContinuation)), "cut off");
    assert!(matches!(share(&sessions, &other, NOW).await, Err(NotShared::NoContinuation)), "another");
    assert!(matches!(share(&sessions, b"no session", NOW).await, Err(NotShared::Invalid(_))));
    let elsewhere = sessions.share("1", &id("s2"), second.clone().into(), None, NOW).await;
    assert!(matches!(elsewhere, Err(NotShared::OtherSession(_))));
    // What one account shares is not what another shares.
    assert!(sessions.find("2", &id("s1")).await.expect("it reads").is_none());
    let (shared, found) = sessions.find("1", &id("s1")).await.expect("it reads").expect("it is there");
    let found: &Opened = (*found).as_ref();
    assert_eq!((shared.bytes, found.tree().len()), (second.len() as u64, 2));
}

#[tokio::test]
async fn a_replacement_that_was_cut_off_changes_nothing_and_ends() {
    let (_folder, sessions) = sessions();
    let (first, second, third) = (session(&["a"]), session(&["a", "b<a"]), session(&["a", "c<a"]));
    assert!(share(&sessions, &first, NOW).await.expect("shared"));
    // As a process leaves it that is killed after it has written the object.
    let (mut shared, version) =
        sessions.known(&document("1", &id("s1"))).await.expect("reads").expect("known");
    shared.replacing = Some(NOW.as_secs() + 100);
    let value = serde_json::to_vec(&shared).expect("JSON");
    let begun = Write::set(document("1", &id("s1")), Expected::Version(version), value);
    sessions.store.write(vec![begun]).await.expect("written");
    sessions.objects.put(&object("1", &id("s1")), second.clone().into()).await.expect("an object");
    let (_, found) = sessions.find("1", &id("s1")).await.expect("it reads").expect("it is there");
    let found: &Opened = (*found).as_ref();
    assert_eq!(found.tree().len(), 1, "what counts is what was shared");
    assert!(matches!(share(&sessions, &third, NOW).await, Err(NotShared::Busy)));
    let later = Timestamp::from_secs(NOW.as_secs() + 101);
    assert!(share(&sessions, &third, later).await.expect("the other has given up"));
    let (_, found) = sessions.find("1", &id("s1")).await.expect("it reads").expect("it is there");
    let found: &Opened = (*found).as_ref();
    assert!(found.find(&EntryId::from_evidence("c").expect("an id")).is_some());
}

#[tokio::test]
async fn a_damaged_object_is_told_and_not_shown() {
    let (_folder, sessions) = sessions();
    assert!(share(&sessions, &session(&["a"]), NOW).await.expect("shared"));
    let other = session(&["b"]);
    sessions.objects.put(&object("1", &id("s1")), other.into()).await.expect("an object");
    assert!(sessions.find("1", &id("s1")).await.is_err());
}

#[tokio::test]
async fn whoever_is_named_sees_the_message_its_ancestors_and_its_descendants() {
    //   a - b! - c - d
    //    \    \- e
    //     \- f - g          h
    let (_folder, sessions) = sessions();
    let bytes = session(&["a", "b<a!", "c<mb", "d<c", "e<b", "f<a", "g<f", "h"]);
    assert!(share(&sessions, &bytes, NOW).await.expect("shared"));
    let (_, found) = sessions.find("1", &id("s1")).await.expect("it reads").expect("it is there");
    let session: &Opened = (*found).as_ref();
    let name = |name: &str, from, until| Holding { login: name.parse().expect("a login"), from, until };
    let at = 1_764_518_400;
    let grants = [
        (Grant::All, "a b mb c d e f g h"),
        (Grant::of(session, &[name("ben", None, None)]), "a b mb c d e"),
        (Grant::of(session, &[name("x", None, None), name("BEN", Some(at), Some(at + 1))]), "a b mb c d e"),
        // The name was somebody else's then.
        (Grant::of(session, &[name("ben", Some(at + 1), None), name("ben", None, Some(at))]), ""),
        // Whoever names someone is not named by it.
        (Grant::of(session, &[name("ann", None, None)]), ""),
        (Grant::of(session, &[]), ""),
    ];
    let all = Around { before: 50, after: 50, before_from: None, after_from: None };
    for (grant, expected) in grants {
        let mut seen = Vec::new();
        for name in "a b mb c d e f g h".split(' ') {
            let entry = EntryId::from_evidence(name).expect("an id");
            let Some(view) = view(session, &grant, &entry, &all).expect("it reads") else { continue };
            seen.push(name);
            let around = view.before.entries.iter().chain(&view.after.entries);
            for entry in around {
                assert!(expected.split(' ').any(|name| name == entry.id), "{} beside {name}", entry.id);
            }
        }
        assert_eq!(seen.join(" "), expected);
    }
}
