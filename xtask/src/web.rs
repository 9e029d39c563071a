//! The packages for the web: their tools, their checks and their tests.

use std::process::Command;

use crate::npm;
use crate::run::{Result, command, output, root, step};

/// The oldest Node that runs the tools.
const NODE: (u32, u32) = (20, 19);

/// Where Debian, Fedora and Arch put Chromium; `VOCATIVE_CHROMIUM` says another place.
const CHROMIUM: [&str; 3] = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/// Installs what the packages are built with, where it is not there as the lock says.
fn install() -> Result {
    let version = output("node", &["--version"]).map_err(|_| "Node is not installed")?;
    if !npm::is_node(&version, NODE) {
        return Err(format!("Node {}.{} or newer is needed, this is {version}", NODE.0, NODE.1));
    }
    let (lock, installed) =
        (root().join("package-lock.json"), root().join("node_modules/.package-lock.json"));
    let time = |path: &std::path::Path| path.metadata().and_then(|metadata| metadata.modified()).ok();
    if time(&installed).is_some_and(|installed| Some(installed) >= time(&lock)) {
        return Ok(());
    }
    npm::run(&root(), &["ci"])
}

/// A tool of the packages.
pub(crate) fn tool(name: &str) -> Result<Command> {
    install()?;
    Ok(command(&root().join("node_modules/.bin").join(name).to_string_lossy(), &[]))
}

fn chromium() -> Option<String> {
    let told = std::env::var("VOCATIVE_CHROMIUM").ok();
    let usual = CHROMIUM.map(str::to_owned).into_iter();
    told.into_iter().chain(usual).find(|path| std::path::Path::new(path).is_file())
}

/// Runs an npm script of the packages.
fn script(name: &str, arguments: &[&str]) -> Result {
    let mut npm = command("npm", &["run", "--silent"]);
    if let Some(chromium) = chromium() {
        npm.env("VOCATIVE_CHROMIUM", chromium);
    }
    step(&format!("packages: {name}"), npm.arg(name).args(arguments))
}

/// Builds the packages and runs their tests, the engine being built already.
pub(crate) fn test() -> Result {
    if let Err(reason) = install() {
        println!("── SKIPPED: the packages for the web: {reason}");
        return Ok(());
    }
    script("check", &[])?;
    script("build", &[])?;
    script("types", &[])?;
    if chromium().is_some() {
        return script("test", &[]);
    }
    println!("── SKIPPED: tests in Chromium; install it, or name it in VOCATIVE_CHROMIUM");
    script("test:node", &[])
}

/// Times the plug-ins and writes their record.
pub(crate) fn bench() -> Result {
    install()?;
    if chromium().is_none() {
        return Err("there is no Chromium; install it, or name it in VOCATIVE_CHROMIUM".into());
    }
    script("build", &[])?;
    script("bench", &[])
}
