//! Whole processes over a corpus, beside those of other tools: the best wall time of some runs
//! and the highest memory.
//!
//! `cargo bench -p vocative-cli --bench whole_process -- FOLDER`, where FOLDER is what the example
//! `corpus` of vocative-pi wrote. A tool that is not installed is left out, and said to be.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const RUNS: usize = 5;

const NODE: &str = r#"
const fs = require('fs'), path = require('path');
let markers = 0;
for (const name of fs.readdirSync(process.argv[1], { recursive: true })) {
  if (!name.endsWith('.jsonl')) continue;
  for (const line of fs.readFileSync(path.join(process.argv[1], name), 'utf8').split('\n')) {
    if (line && JSON.parse(line).customType === 'chi.messaging.mentions') markers++;
  }
}
console.log(markers);
"#;

const DUCKDB: &str = r#"
import duckdb, sys
print(duckdb.sql(f"""select count(*) from read_json('{sys.argv[1]}/**/*.jsonl',
  format='newline_delimited', maximum_object_size=300000000,
  columns={{'type':'VARCHAR','customType':'VARCHAR'}})
  where customType = 'chi.messaging.mentions'""").fetchall()[0][0])
"#;

/// The wall time and the highest resident memory of a run, and what it wrote.
fn run(program: &str, arguments: &[&str]) -> Option<(Duration, u64, String)> {
    let started = Instant::now();
    let mut child =
        Command::new(program).args(arguments).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
    let status = PathBuf::from(format!("/proc/{}/status", child.id()));
    let reader = child.stdout.take().expect("it is piped");
    let output = std::thread::spawn(move || std::io::read_to_string(reader).unwrap_or_default());
    let mut peak = 0;
    let ended = loop {
        if let Some(ended) = child.try_wait().ok()? {
            break ended;
        }
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
        peak = peak.max(kib.unwrap_or(0));
        std::thread::park_timeout(Duration::from_millis(2));
    };
    let time = started.elapsed();
    ended.success().then(|| (time, peak, output.join().unwrap_or_default()))
}

fn measure(name: &str, runs: usize, program: &str, arguments: &[&str]) {
    let results: Vec<_> = (0..runs).filter_map(|_| run(program, arguments)).collect();
    let Some((time, _, output)) = results.iter().min_by_key(|(time, ..)| *time) else {
        println!("| {name} | not run | | |");
        return;
    };
    let peak = results.iter().map(|(_, peak, _)| peak).max().unwrap_or(&0) / 1024;
    let said = output.lines().next_back().unwrap_or_default();
    let said = said.rsplit('/').next().unwrap_or_default();
    println!("| {name} | {:.3} s | {peak} MiB | {said} |", time.as_secs_f64());
}

fn main() {
    // `cargo bench` adds an argument of its own, and `cargo test` runs this without a folder.
    let folder = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let Some(folder) = folder.filter(|folder| Path::new(folder).is_dir()) else {
        println!("no corpus: give the folder that the example `corpus` wrote");
        return;
    };
    let folder = folder.as_str();
    let vocative = env!("CARGO_BIN_EXE_vocative");
    let out = tempfile::tempdir().expect("a temporary folder");
    // Pi's folder, in which the inbox keeps what it read.
    let agent = out.path().join("agent");
    std::fs::create_dir(&agent).expect("the folder is new");
    let artifact = out.path().join("artifact.jsonl");
    let artifact = artifact.to_str().expect("the path is UTF-8");
    let needle = "chi.messaging.mentions";
    println!("| what | best time | peak memory | last line |\n| --- | --- | --- | --- |");
    let sum = "rg -F --no-ignore -c --no-filename \"$1\" \"$0\" | awk '{n += $1} END {print n}'";
    measure("ripgrep, fixed text", RUNS, "rg", &["-F", "--no-ignore", "-c", needle, folder]);
    measure("ripgrep, fixed text, summed", RUNS, "sh", &["-c", sum, folder, needle]);
    measure("vocative markers --count", RUNS, vocative, &["markers", "--count", folder]);
    measure("vocative markers", RUNS, vocative, &["markers", folder]);
    measure("grep -F", RUNS, "sh", &["-c", "LC_ALL=C grep -rhF \"$1\" \"$0\" | wc -l", folder, needle]);
    measure("vocative check", RUNS, vocative, &["check", folder]);
    let verify = ["reduce", "--verify", folder, "-o", artifact];
    measure("vocative reduce, everything read", RUNS, vocative, &verify);
    measure("vocative reduce, nothing new", RUNS, vocative, &["reduce", folder, "-o", artifact]);
    let agent = format!("PI_CODING_AGENT_DIR={}", agent.display());
    let sessions = format!("PI_CODING_AGENT_SESSION_DIR={folder}");
    let inbox = |name: &str, more: &[&str]| {
        let own = [&agent, &sessions, vocative, "inbox", "--me", "github:user5"];
        measure(name, RUNS, "env", &[&own, more].concat());
    };
    inbox("vocative inbox, everything read", &["--verify"]);
    inbox("vocative inbox, nothing new: the index", &[]);
    inbox("vocative inbox of a folder named, nothing new: the cache", &[folder]);
    inbox("vocative inbox of the artifact, nothing new", &[artifact]);
    measure("DuckDB, explicit columns", 2, "python3", &["-c", DUCKDB, folder]);
    measure("Node, JSON.parse of each line", 2, "node", &["-e", NODE, folder]);
}
