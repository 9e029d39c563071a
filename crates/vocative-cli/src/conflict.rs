//! Telling two pieces of evidence that contradict each other.

use std::io::Write;
use std::path::PathBuf;

use serde_json::{Value, json};
use vocative_pi::{Conflict, Reference};

use crate::context::Context;
use crate::terminal;

/// One of the two, with where it was found.
fn place(reference: &Reference, files: &[PathBuf]) -> Value {
    json!({
        "file": files[reference.origin.file as usize].to_string_lossy(),
        "line": reference.origin.line,
        "actor": format!("github:{}", reference.actor),
        "at": reference.at,
    })
}

/// The conflict for a program.
pub(crate) fn details(conflict: &Conflict, files: &[PathBuf]) -> Value {
    json!({
        "session": conflict.key.session,
        "entry": conflict.key.entry,
        "recipient": format!("github:{}", conflict.key.recipient),
        "origins": conflict.references.each_ref().map(|reference| place(reference, files)),
    })
}

/// The conflict for a person.
pub(crate) fn message(conflict: &Conflict, files: &[PathBuf]) -> String {
    let side = |reference: &Reference| {
        let file = files[reference.origin.file as usize].display();
        let Reference { actor, at, origin } = reference;
        format!("github:{actor} at {at} in {file}:{}", origin.line)
    };
    let key = &conflict.key;
    let [first, second] = conflict.references.each_ref().map(side);
    format!(
        "{}/{} names github:{} as written by {first}, and by {second}",
        key.session, key.entry, key.recipient
    )
}

/// Tells the conflict on standard error.
pub(crate) fn tell(conflict: &Conflict, files: &[PathBuf], context: &mut Context) {
    let _ = context.out.flush();
    let message = message(conflict, files);
    if context.json {
        let details = details(conflict, files);
        let object = json!({ "code": "conflict", "message": message, "details": details });
        eprintln!("{}", terminal::json(&object));
    } else {
        eprintln!("error[conflict]: {}", terminal::line(&message));
    }
}
