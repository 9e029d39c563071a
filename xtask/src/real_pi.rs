//! Real Pi for the tests that drive it: a pinned version from the npm registry, with a Node new enough
//! to run it, in a folder of its own under the target folder. Outside of it only npm's cache changes.

use std::env::consts::{ARCH, OS};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::run::{self, cargo, command, output, root, step, succeeds, target};

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
    if !is_new_enough(&output("node", &["--version"]).unwrap_or_default()) {
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

fn is_new_enough(version: &str) -> bool {
    let mut numbers = version.trim_start_matches('v').split('.').map_while(|number| number.parse().ok());
    numbers.next().zip(numbers.next()).is_some_and(|version| version >= OLDEST_NODE)
}

fn install(folder: &Path, packages: &[String]) -> Result<(), String> {
    if !succeeds("npm", &["--version"]) {
        return Err("npm is not installed".into());
    }
    let begin = Instant::now();
    println!("── real Pi from the npm registry: {}", packages.join(" and "));
    let fail = |error: std::io::Error| format!("{}: {error}", folder.display());
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(fail)?;
    }
    fs::create_dir_all(folder).map_err(fail)?;
    // Without a package of its own, npm would install into the next folder above that has one.
    fs::write(folder.join("package.json"), "{\"private\":true}\n").map_err(fail)?;
    // No script of a package runs, and a registry that does not answer costs about a minute.
    let flags = [
        "install",
        "--ignore-scripts",
        "--no-package-lock",
        "--no-audit",
        "--no-fund",
        "--no-update-notifier",
        "--prefer-offline",
        "--fetch-retries=1",
        "--fetch-timeout=30000",
        "--loglevel=error",
    ];
    let mut npm = command("npm", &flags);
    let ran = npm.args(packages).current_dir(folder).output().map_err(|error| format!("npm: {error}"))?;
    if !ran.status.success() {
        return Err(reason(&String::from_utf8_lossy(&ran.stderr)));
    }
    let version = version_of_pi(folder)?;
    if version != PI.1 {
        return Err(format!("npm installed Pi {version} instead of {}", PI.1));
    }
    println!("   {:.1} s", begin.elapsed().as_secs_f64());
    Ok(())
}

/// The one line of what npm says that a person can use: the first that is no code for programs.
fn reason(told: &str) -> String {
    let mut lines = told.lines().map(|line| line.trim_start_matches("npm error").trim());
    let is_code = |line: &str| ["code ", "syscall ", "errno "].iter().any(|code| line.starts_with(code));
    let line = lines.find(|line| !line.is_empty() && !is_code(line));
    format!("npm could not install it: {}", line.unwrap_or("it did not say why"))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn node_is_new_enough_from_22_19_on() {
        for (version, is_enough) in
            [("v20.20.2", false), ("v22.18.9", false), ("v22.19.0", true), ("v24.0.0", true), ("", false)]
        {
            assert_eq!(is_new_enough(version), is_enough, "{version}");
        }
    }

    #[test]
    fn the_reason_is_what_npm_says_to_a_person() {
        let told = "npm error code ENOTFOUND\nnpm error errno ENOTFOUND\nnpm error network request failed\n";
        assert_eq!(reason(told), "npm could not install it: network request failed");
        assert_eq!(reason(""), "npm could not install it: it did not say why");
    }
}
