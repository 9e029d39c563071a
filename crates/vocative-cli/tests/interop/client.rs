//! The clients, each with its script.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

/// A client that is not ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Client {
    NostrTools,
    RustNostr,
}

impl Client {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::NostrTools => "nostr-tools",
            Self::RustNostr => "rust-nostr",
        }
    }

    /// Runs a scenario, and returns what was answered, step by step, as far as the script came.
    ///
    /// The scripts bound the time of each step, and end with the first that is not answered.
    pub(crate) fn run(self, packages: &Path, url: &str, scenario: &Value) -> Vec<Value> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("scenario.json");
        std::fs::write(&file, scenario.to_string()).unwrap();
        let mut command = match self {
            Self::NostrTools => {
                // A module finds its packages from where it stands; one on standard input, from the folder
                // that it is run in.
                let mut node = Command::new("node");
                node.args(["--input-type=module", "-"]).current_dir(packages);
                node.stdin(File::open(script("nostr_tools.mjs")).unwrap());
                node
            }
            Self::RustNostr => python(packages, "rust_nostr.py"),
        };
        let output = command.arg(url).arg(&file).stderr(Stdio::piped()).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{} failed: {told}", self.name());
        let lines = std::str::from_utf8(&output.stdout).unwrap().lines();
        let mut answers = Vec::new();
        for (line, asked) in lines.zip(scenario["steps"].as_array().unwrap()) {
            let mut line: Value =
                serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"));
            assert_eq!(line["asked"], *asked, "{} answers another step", self.name());
            answers.push(line["answered"].take());
        }
        answers
    }
}

/// Python with a script of ours, and the packages that are installed for it.
pub(crate) fn python(packages: &Path, name: &str) -> Command {
    let mut python = Command::new("python3");
    python.arg(script(name)).env("PYTHONPATH", packages.join("python")).stdin(Stdio::null());
    python
}

fn script(name: &str) -> String {
    format!("{}/tests/interop/{name}", env!("CARGO_MANIFEST_DIR"))
}
