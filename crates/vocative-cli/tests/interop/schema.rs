//! schemathesis tries our HTTP against its own description: what it says is taken is taken, and what it
//! says is answered is answered, and nothing else.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::packages;
use crate::relay::KEEPER;

/// What it is not about: a stream without an end, and ways through a browser.
const LEFT_OUT: [&str; 3] = ["/v1/inbox/live", "/v1/login/web", "/v1/login/web/callback"];

/// It asks as somebody who has logged in to the community of the demonstration.
#[test]
fn the_server_does_what_its_description_says() {
    let Some(packages) = packages() else { return };
    let mut demo = Command::new("sh");
    demo.args(["-c", KEEPER, "sh", env!("CARGO_BIN_EXE_vocative"), "serve", "--demo", "--json"]);
    let mut demo = demo.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut told = String::new();
    BufReader::new(demo.stdout.take().unwrap()).read_line(&mut told).unwrap();
    let told: Value = serde_json::from_str(&told).unwrap_or_else(|_| panic!("it says {told:?}"));
    let address = told["address"].as_str().unwrap().replace("ws://", "http://");
    let token = std::fs::read_to_string(told["members"][1]["token"].as_str().unwrap()).unwrap();

    let folder = tempfile::tempdir().unwrap();
    let mut tried = Command::new("python3");
    tried.env("PYTHONPATH", packages.join("python")).current_dir(folder.path());
    tried.args(["-c", "from schemathesis.cli import schemathesis; schemathesis()", "run"]);
    tried.arg(format!("{address}/v1/openapi.json"));
    tried.args(["--header", &format!("Authorization: Bearer {}", token.trim())]);
    tried.args(["--checks", "all", "--max-examples", "25", "--seed", "1", "--request-timeout", "20"]);
    tried.args(["--no-color", "--phases", "examples,coverage,fuzzing"]);
    LEFT_OUT.iter().for_each(|path| drop(tried.args(["--exclude-path", path])));
    let tried = tried.output().unwrap();
    let said = String::from_utf8_lossy(&tried.stdout).replace(token.trim(), "(the token)");
    drop(demo.stdin.take());
    demo.wait().unwrap();
    assert!(tried.status.success(), "{said}\n{}", String::from_utf8_lossy(&tried.stderr));
}
