//! Benchmarks with their record, fuzzing, and the corpus of synthetic sessions.

use std::fmt::Write as _;

use crate::run::{Result, cargo, command, output, root, step};

const HEAD: &str = "\
# Record of the engine's benchmarks

Made by `cargo xtask bench`: all ways of one table take turns in one run. The peers search raw ASCII bytes; the engine
folds, checks boundaries and guards, and decides ownership.

Aims: no sign, within 1.3 of `memchr`; sparse at 10,000 labels, within 1.5 of `aho-corasick`; dense at 10,000 labels,
300 MB/s; a whole resolve of 10 kB, under 100 µs; one label added or removed among 100,000, under 20 µs; ranking 10,000
names, under 1 ms.
";

/// Times the engine beside its peers and writes the record.
pub(crate) fn run() -> Result {
    let output =
        cargo(&["bench", "--package", "vocative-benches"]).output().map_err(|error| error.to_string())?;
    let tables = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() || !tables.contains("| way |") {
        return Err(format!("the benchmarks failed:\n{}", String::from_utf8_lossy(&output.stderr)));
    }
    let mut record = String::from(HEAD);
    let _ = writeln!(record, "\nMachine: {}\n{tables}", machine());
    let path = root().join("benches/RECORD.md");
    std::fs::write(&path, record).map_err(|error| format!("{}: {error}", path.display()))?;
    println!("{}", path.display());
    Ok(())
}

/// The machine line of a record.
fn machine() -> String {
    let cpus = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let models: Vec<&str> =
        cpus.lines().filter_map(|line| line.strip_prefix("model name")?.split(": ").nth(1)).collect();
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().unwrap_or("unknown").to_owned();
    let compiler = output("rustc", &["--version"]).unwrap_or_default();
    format!("{} × {}, {compiler}, load {load}", models.len(), models.first().unwrap_or(&"unknown processor"))
}

/// The fuzz targets: one for each parser of bytes from outside.
const TARGETS: [&str; 7] =
    ["resolve", "session_line", "client_message", "filter", "http_accept", "settings_file", "bus_address"];

/// Fuzzes each target for some seconds, from its seeds.
pub(crate) fn fuzz(arguments: &[String]) -> Result {
    let seconds: u32 = match arguments.first() {
        Some(seconds) => seconds.parse().map_err(|_| format!("{seconds} is no number of seconds"))?,
        None => 600,
    };
    for target in TARGETS {
        let limit = format!("-max_total_time={seconds}");
        let (corpus, seeds) = (format!("fuzz/corpus/{target}"), format!("fuzz/seeds/{target}"));
        std::fs::create_dir_all(root().join(&corpus)).map_err(|error| error.to_string())?;
        let fuzz = [
            "+nightly",
            "fuzz",
            "run",
            target,
            &corpus,
            &seeds,
            "--",
            &limit,
            "-max_len=8192",
            "-print_final_stats=1",
        ];
        step(&format!("fuzzing {target} for {seconds} s"), &mut command("cargo", &fuzz))?;
    }
    Ok(())
}

/// Writes a synthetic store of Pi sessions; the arguments are the generator's.
pub(crate) fn corpus(arguments: &[String]) -> Result {
    let mut generate =
        cargo(&["run", "--release", "--quiet", "--package", "vocative-pi", "--example", "corpus", "--"]);
    step("corpus", generate.args(arguments))
}
