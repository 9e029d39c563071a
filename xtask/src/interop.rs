//! Clients and a relay that are not ours, for the tests of how our relay answers: pinned packages from the
//! npm and PyPI registries, in a folder of their own under the target folder. Outside of it only the caches
//! of npm and pip change.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::npm;
use crate::run::{self, cargo, command, output, root, step, succeeds, target};

/// The variable that tells the tests where the packages are.
pub(crate) const VARIABLE: &str = "VOCATIVE_INTEROP";

/// Where the tests say which packages they need.
const WANTED: &str = "crates/vocative-cli/tests/interop";
const FILES: [&str; 3] = ["package.json", "package-lock.json", "requirements.txt"];
/// What the packages of nostr-tools demand.
const OLDEST_NODE: (u32, u32) = (20, 19);

/// Runs the tests with foreign clients alone; an error where these cannot be had.
pub(crate) fn run() -> run::Result {
    let folder = prepare()?;
    let tests = ["test", "--package", "vocative-cli", "--test", "interop"];
    step("tests with foreign clients", cargo(&tests).env(VARIABLE, folder))
}

/// The folder that holds the packages, installed if they are not there yet; otherwise why they cannot be had.
pub(crate) fn prepare() -> Result<PathBuf, String> {
    if let Some(folder) = std::env::var_os(VARIABLE).filter(|folder| !folder.is_empty()) {
        return Ok(root().join(folder));
    }
    let folder = target().join("interop");
    let mut wanted = String::new();
    for file in FILES {
        let path = root().join(WANTED).join(file);
        wanted += &fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    let (oldest, minor) = OLDEST_NODE;
    if !npm::is_node(&output("node", &["--version"]).unwrap_or_default(), OLDEST_NODE) {
        return Err(format!("there is no Node {oldest}.{minor} or newer"));
    }
    // Written last, so an installation that was cut short is done again.
    let stamp = folder.join("installed");
    if !fs::read_to_string(&stamp).is_ok_and(|stamp| stamp == wanted) {
        install(&folder)?;
        fs::write(&stamp, wanted).map_err(|error| format!("{}: {error}", stamp.display()))?;
    }
    Ok(folder)
}

fn install(folder: &Path) -> Result<(), String> {
    let begin = Instant::now();
    println!("── clients that are not ours: nostr-tools from npm, nostr-sdk from PyPI");
    let fail = |error: std::io::Error| format!("{}: {error}", folder.display());
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(fail)?;
    }
    fs::create_dir_all(folder).map_err(fail)?;
    for file in FILES {
        fs::copy(root().join(WANTED).join(file), folder.join(file)).map_err(fail)?;
    }
    npm::run(folder, &["ci"])?;
    if !succeeds("python3", &["-m", "pip", "--version"]) {
        return Err("Python 3 with pip is not installed".into());
    }
    let arguments = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--target=python",
        "--requirement=requirements.txt",
        "--require-hashes",
        "--only-binary=:all:",
        "--no-deps",
        "--retries=1",
        "--timeout=30",
    ];
    let mut pip = command("python3", &arguments);
    let ran = pip.current_dir(folder).output().map_err(|error| format!("pip: {error}"))?;
    if !ran.status.success() {
        let told = String::from_utf8_lossy(&ran.stderr);
        let line = told.lines().rev().find(|line| line.starts_with("ERROR"));
        return Err(format!("pip could not install it: {}", line.unwrap_or("it did not say why")));
    }
    // The package is a library for one kind of machine; this shows that it is the right one.
    let mut import = command("python3", &["-c", "import nostr_sdk"]);
    let ran = import
        .env("PYTHONPATH", folder.join("python"))
        .output()
        .map_err(|error| format!("python3: {error}"))?;
    if !ran.status.success() {
        let told = String::from_utf8_lossy(&ran.stderr);
        return Err(format!("nostr-sdk does not load: {}", told.lines().last().unwrap_or_default()));
    }
    println!("   {:.1} s", begin.elapsed().as_secs_f64());
    Ok(())
}
