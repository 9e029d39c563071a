//! Real Pi for the tests that drive it: a pinned version from the npm registry, with a Node new enough
//! to run it, in a folder of its own under the target folder. Outside of it only npm's cache changes.

use std::env::consts::{ARCH, OS};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::npm;
use crate::run::{self, cargo, command, output, root, step, target};

/// The variable that tells the tests where Pi is.
pub(crate) const VARIABLE: &str = "VOCATIVE_REAL_PI";

const PI: (&str, &str) = ("@earendil-works/pi-coding-agent", "1.6.0");
const NODE_VERSION: &str = "24.22.3";
/// With an older Node the registry quietly gives an old Pi, so Pi's own demand is checked here.
const OLDEST_NODE: (u32, u32) = (22, 19);

/// Runs the tests with real Pi alone; an error where it cannot be had.
pub(crate) fn run() -> run::Result {
    let folder = prepare()?;
    let tests = ["test", "--package", "vocative-cli", "--test", "real_pi"];
    step("tests with real Pi", cargo(&tests).env(VARIABLE, folder))
}

/// The folder that holds real Pi, installed if it is not there yet; otherwise why it cannot be had.
pub(crate) fn prepare() -> Result<PathBuf, String> {
    if let Some(folder) = std::env::var_os(VARIABLE).filter(|folder| !folder.is_empty()) {
        return Ok(root().join(folder));
    }
    let folder = target().join("real-pi");
    let packages = packages()?;
    // Written last, so an installation that was cut short is done again.
    let stamp = folder.join("installed");
    if fs::read_to_string(&stamp).is_ok_and(|stamp| stamp == packages.join("\n")) {
        return Ok(folder);
    }
    install(&folder, &packages)?;
    fs::write(&stamp, packages.join("\n")).map_err(|error| format!("{}: {error}", stamp.display()))?;
    Ok(folder)
}

/// What has to come from the registry: Pi, and Node where this machine's is missing or too old.
fn packages() -> Result<Vec<String>, String> {
    let (name, version) = PI;
    let mut packages = vec![format!("{name}@{version}")];
    if !npm::is_node(&output("node", &["--version"]).unwrap_or_default(), OLDEST_NODE) {
        let system = match (OS, ARCH) {
            ("linux", "x86_64") => "linux-x64",
            ("linux", "aarch64") => "linux-arm64",
            _ => {
                let (major, minor) = OLDEST_NODE;
                return Err(format!("there is no Node {major}.{minor} or newer, and none to fetch for {OS}"));
            }
        };
        packages.push(format!("node-{system}@{NODE_VERSION}"));
    }
    Ok(packages)
}

fn install(folder: &Path, packages: &[String]) -> Result<(), String> {
    let begin = Instant::now();
    println!("── real Pi from the npm registry: {}", packages.join(" and "));
    let fail = |error: std::io::Error| format!("{}: {error}", folder.display());
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(fail)?;
    }
    fs::create_dir_all(folder).map_err(fail)?;
    // Without a package of its own, npm would install into the next folder above that has one.
    fs::write(folder.join("package.json"), "{\"private\":true}\n").map_err(fail)?;
    let install = ["install", "--no-package-lock"].into_iter().chain(packages.iter().map(String::as_str));
    npm::run(folder, &install.collect::<Vec<_>>())?;
    let version = version_of_pi(folder)?;
    if version != PI.1 {
        return Err(format!("npm installed Pi {version} instead of {}", PI.1));
    }
    println!("   {:.1} s", begin.elapsed().as_secs_f64());
    Ok(())
}

/// The version that the installed Pi tells, which shows that its Node runs here too.
fn version_of_pi(folder: &Path) -> Result<String, String> {
    let programs = folder.join("node_modules/.bin");
    let mut pi = command(&programs.join("pi").to_string_lossy(), &["--version"]);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(programs).chain(std::env::split_paths(&path)));
    // Whatever Pi writes when it starts stays in this folder too.
    pi.env("PATH", path.map_err(|error| error.to_string())?)
        .env("PI_OFFLINE", "1")
        .env("NODE_COMPILE_CACHE", folder.join("compiled"))
        .env("PI_CODING_AGENT_DIR", folder.join("agent"));
    let ran = pi.output().map_err(|error| format!("pi: {error}"))?;
    if ran.status.success() {
        Ok(String::from_utf8_lossy(&ran.stdout).trim().to_owned())
    } else {
        Err(format!("Pi does not start: {}", String::from_utf8_lossy(&ran.stderr).trim()))
    }
}
