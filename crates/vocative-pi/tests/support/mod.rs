//! Session lines for tests, spelled as Pi spells them.

#![allow(dead_code, unreachable_pub, reason = "each test file includes this and uses a part")]

/// A time within the minute of the recorded sessions.
pub fn time(millis: u32) -> String {
    format!("2026-11-30T17:28:{:02}.{:03}Z", millis / 1000 % 60, millis % 1000)
}

pub fn header(id: &str) -> String {
    format!(r#"{{"type":"session","version":3,"id":"{id}","timestamp":"{}","cwd":"/tmp/p"}}"#, time(0))
}

/// The header of a fork of another session.
pub fn fork_header(id: &str) -> String {
    let header = header(id);
    format!(r#"{},"parentSession":"/s/gone.jsonl"}}"#, &header[..header.len() - 1])
}

fn parent_json(parent: &str) -> String {
    if parent.is_empty() { "null".into() } else { format!("\"{parent}\"") }
}

/// A message of the user; an empty parent is a root.
pub fn user_at(id: &str, parent: &str, at: u32, text: &str) -> String {
    let text = serde_json::to_string(text).unwrap();
    format!(
        r#"{{"type":"message","id":"{id}","parentId":{},"timestamp":"{}","message":{{"role":"user","content":[{{"type":"text","text":{text}}}],"timestamp":1}}}}"#,
        parent_json(parent),
        time(at)
    )
}

pub fn user(id: &str, parent: &str, text: &str) -> String {
    user_at(id, parent, 1, text)
}

pub const USAGE: &str = r#""usage":{"input":1,"output":1,"cacheRead":0,"cacheWrite":0,"totalTokens":2,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}}"#;

pub fn assistant_with(id: &str, parent: &str, usage: &str) -> String {
    let comma = if usage.is_empty() { "" } else { "," };
    format!(
        r#"{{"type":"message","id":"{id}","parentId":{},"timestamp":"{}","message":{{"role":"assistant","content":[],"api":"a","provider":"p","model":"m","stopReason":"stop"{comma}{usage}}}}}"#,
        parent_json(parent),
        time(2)
    )
}

pub fn assistant(id: &str, parent: &str) -> String {
    assistant_with(id, parent, USAGE)
}

pub fn label(id: &str, parent: &str) -> String {
    format!(
        r#"{{"type":"label","id":"{id}","parentId":{},"timestamp":"{}","targetId":"x"}}"#,
        parent_json(parent),
        time(3)
    )
}

fn person(handle: &str) -> String {
    format!(r#"{{"id":"github:{}","handle":"{handle}"}}"#, handle.to_ascii_lowercase())
}

/// A marker by `actor` for the recipients.
pub fn marker_by(actor: &str, id: &str, parent: &str, session: &str, entry: &str, to: &[&str]) -> String {
    let recipients: Vec<String> = to.iter().map(|handle| person(handle)).collect();
    format!(
        r#"{{"type":"custom","customType":"chi.messaging.mentions","data":{{"schemaVersion":1,"actor":{},"recipients":[{}],"target":{{"sessionId":"{session}","entryId":"{entry}"}}}},"id":"{id}","parentId":{},"timestamp":"{}"}}"#,
        person(actor),
        recipients.join(","),
        parent_json(parent),
        time(4)
    )
}

/// A marker by `gszep`.
pub fn marker(id: &str, parent: &str, session: &str, entry: &str, to: &[&str]) -> String {
    marker_by("gszep", id, parent, session, entry, to)
}

/// The lines, each with its line feed.
pub fn file(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}
