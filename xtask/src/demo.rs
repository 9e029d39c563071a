//! The main job on the recorded sessions.

use crate::run::{Result, cargo, command, root, step, target};

/// Who was named in the recorded sessions, and what a text means to the engine.
pub(crate) fn run() -> Result {
    step("build", &mut cargo(&["build", "--quiet", "--package", "vocative-cli"]))?;
    let vocative = target().join("debug/vocative").to_string_lossy().into_owned();
    let inbox = ["inbox", "testdata/pi", "--me", "github:gszep", "--limit", "5"];
    println!("\n$ vocative {}   # who named me in five recorded Pi sessions\n", inbox.join(" "));
    finish(command(&vocative, &inbox).status())?;
    let shown = ["inbox", "testdata/pi", "--me", "github:gszep", "--limit", "2", "--show"];
    println!("\n$ vocative {}   # the words themselves, only on request\n", shown.join(" "));
    finish(command(&vocative, &shown).status())?;
    println!("\n$ vocative resolve --human < testdata/resolve.jsonl   # what the engine sees in a text\n");
    let request =
        std::fs::File::open(root().join("testdata/resolve.jsonl")).map_err(|error| error.to_string())?;
    finish(command(&vocative, &["resolve", "--human"]).stdin(request).status())
}

fn finish(status: std::io::Result<std::process::ExitStatus>) -> Result {
    let status = status.map_err(|error| format!("the command cannot be started: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("the command ended with {status}")) }
}
