//! Running real Pi, in folders of its own and with a model of its own.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::model::Model;
use crate::support::{self, Ran, json_lines};

/// The longest that one run of Pi may take; it takes about a second.
pub(crate) const LIMIT: Duration = Duration::from_secs(120);

/// Texts that are submitted, and whom each of them names.
pub(crate) type Prompt = (&'static str, &'static [&'static str]);

/// A machine with real Pi, on which nothing but this test runs.
pub(crate) struct Lab {
    root: tempfile::TempDir,
    installed: PathBuf,
    marks: Value,
    pub(crate) model: Model,
}

impl Lab {
    /// Nothing, loudly, where the tests are run without real Pi.
    pub(crate) fn new(prompts: &[Prompt]) -> Option<Self> {
        let Some(installed) = std::env::var_os("VOCATIVE_REAL_PI").filter(|folder| !folder.is_empty()) else {
            eprintln!("── SKIPPED: real Pi: VOCATIVE_REAL_PI names no folder; run: cargo xtask real-pi");
            return None;
        };
        let marks = prompts.iter().map(|(text, handles)| ((*text).to_owned(), json!(handles))).collect();
        let root = tempfile::tempdir().unwrap();
        let model = Model::start();
        let lab = Self { root, installed: installed.into(), marks: Value::Object(marks), model };
        for folder in ["agent", "home", "project"] {
            fs::create_dir(lab.path(folder)).unwrap();
        }
        let stub = json!({
            "name": "Stub",
            "baseUrl": format!("http://127.0.0.1:{}/v1", lab.model.port),
            "apiKey": "none",
            "api": "openai-completions",
            "models": [{
                "id": "stub-1", "name": "Stub", "reasoning": false, "input": ["text"],
                "contextWindow": 100_000, "maxTokens": 2000,
                "cost": { "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0 },
            }],
        });
        let settings = json!({ "compaction": { "enabled": false, "keepRecentTokens": 100 } });
        fs::write(lab.path("agent/models.json"), json!({ "providers": { "stub": stub } }).to_string())
            .unwrap();
        fs::write(lab.path("agent/settings.json"), settings.to_string()).unwrap();
        fs::write(lab.path("project/notes.txt"), "what the tool reads\n").unwrap();
        Some(lab)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        // The real path, since Pi records the one that it works in.
        self.root.path().canonicalize().unwrap().join(name)
    }

    /// Pi with these arguments, in the project's folder, appending evidence to what is submitted.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let programs = self.installed.join("node_modules/.bin");
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::iter::once(programs.clone()).chain(std::env::split_paths(&path));
        let mut command = Command::new(programs.join("pi"));
        let extension = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/real_pi/mark.ts");
        command
            .args(["--model", "stub/stub-1", "--extension", extension])
            .args(arguments)
            .current_dir(self.path("project"))
            .env_clear()
            .env("PATH", std::env::join_paths(path).unwrap())
            .env("HOME", self.path("home"))
            .env("PI_CODING_AGENT_DIR", self.path("agent"))
            .env("PI_OFFLINE", "1")
            .env("PI_TELEMETRY", "0")
            .env("NODE_COMPILE_CACHE", self.installed.join("compiled"))
            .env("MARKS", self.marks.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs `pi -p`.
    pub(crate) fn print(&self, arguments: &[&str]) -> Ran {
        ended(self.command(&["-p"]).args(arguments).spawn().unwrap())
    }

    /// Runs `pi -p` with a text on standard input.
    pub(crate) fn print_piped(&self, text: &str) -> Ran {
        let mut child = self.command(&["-p"]).stdin(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        ended(child)
    }

    /// Runs `pi -p`, which has to succeed.
    pub(crate) fn ask(&self, arguments: &[&str]) {
        let ran = self.print(arguments);
        assert_eq!(ran.code, 0, "pi {arguments:?}: {}", ran.err);
    }

    /// The files in the folder where Pi keeps the sessions of this project.
    pub(crate) fn sessions(&self) -> Vec<PathBuf> {
        let folder = self.path("agent/sessions");
        if folder.is_dir() { vocative_pi::discover::session_files(&folder).unwrap() } else { Vec::new() }
    }

    /// The only session.
    pub(crate) fn session(&self) -> PathBuf {
        let mut sessions = self.sessions();
        assert_eq!(sessions.len(), 1, "{sessions:?}");
        sessions.remove(0)
    }

    /// Our command, with Pi's folders.
    pub(crate) fn vocative(&self, arguments: &[&str]) -> Ran {
        let mut command = support::vocative(&self.path("home"));
        command.env("PI_CODING_AGENT_DIR", self.path("agent")).args(arguments);
        command.output().unwrap().into()
    }

    /// What `check` says of a file that has to be valid, and the codes of its warnings.
    pub(crate) fn check(&self, path: &Path) -> (Value, Vec<String>) {
        let ran = self.vocative(&["check", "--json", path.to_str().unwrap()]);
        assert_eq!(ran.code, 0, "{}", ran.out);
        let mut lines = json_lines(&ran.out);
        let summary = lines.pop().unwrap();
        (summary, lines.iter().map(|line| line["code"].as_str().unwrap().to_owned()).collect())
    }

    /// The texts in which somebody is named, newest first, in Pi's sessions or in the files given.
    pub(crate) fn inbox(&self, person: &str, paths: &[&Path]) -> Vec<String> {
        let paths = paths.iter().map(|path| path.to_str().unwrap());
        let arguments: Vec<_> =
            ["inbox", "--json", "--show", "--me", person].into_iter().chain(paths).collect();
        let ran = self.vocative(&arguments);
        assert_eq!((ran.code, ran.err.as_str()), (0, ""));
        let text =
            |line: &Value| line["untrusted_text"].as_str().unwrap_or_else(|| panic!("{line}")).to_owned();
        json_lines(&ran.out).iter().map(text).collect()
    }
}

/// What a process came to; one that takes too long is stopped.
pub(crate) fn ended(child: Child) -> Ran {
    let id = child.id();
    let (send, output) = mpsc::channel();
    std::thread::spawn(move || send.send(child.wait_with_output()));
    let output: Output = output.recv_timeout(LIMIT).unwrap_or_else(|_| stop(id)).unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ran { code: output.status.code().unwrap_or(-1), out: text(&output.stdout), err: text(&output.stderr) }
}

/// Stops a process that hangs, and fails.
pub(crate) fn stop(id: u32) -> ! {
    let _ = Command::new("kill").args(["-KILL", &id.to_string()]).status();
    panic!("Pi was still running after {} s", LIMIT.as_secs());
}

/// Makes a file the newest of its folder, as `pi -c` sees it.
pub(crate) fn make_newest(path: &Path) {
    let later = SystemTime::now() + Duration::from_secs(3600);
    fs::File::options().append(true).open(path).unwrap().set_modified(later).unwrap();
}

/// The lines of a file.
pub(crate) fn lines(path: &Path) -> Vec<String> {
    fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect()
}
