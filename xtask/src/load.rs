//! Whole relays under load, and the peers that they are measured beside.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::run::{Result, cargo, command, root, step, succeeds, target};

const PYTHON_RELAY: &str = "nostr-sdk==0.45.1";
const NOSTR_RS: &str = "0.8.12";

/// What is written when nothing in particular is asked for.
const RECORD: &str = "crates/vocative-load/RECORD.md";

/// Builds the relay and the generator, and runs it; the arguments are the generator's.
pub(crate) fn run(arguments: &[String]) -> Result {
    // One by one: together they would share the features of their dependencies.
    for package in ["vocative-cli", "vocative-load"] {
        step(&format!("build {package}"), &mut cargo(&["build", "--release", "--package", package]))?;
    }
    let programs = target().join("release");
    let mut load = command(&programs.join("vocative-load").to_string_lossy(), &[]);
    load.args(arguments).arg("--vocative").arg(programs.join("vocative")).arg("--peers").arg(peers_folder());
    if arguments.is_empty() {
        load.args(["--record", RECORD]);
    }
    step("load", &mut load)
}

/// Installs the peers under the target folder; ten minutes on two cores the first time.
pub(crate) fn peers() -> Result {
    let folder = peers_folder();
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let environment = folder.join("venv");
    let python = environment.join("bin/python");
    step("an environment of Python", command("python3", &["-m", "venv"]).arg(&environment))?;
    let install = ["-m", "pip", "install", "--quiet", PYTHON_RELAY];
    step("rust-nostr's relay, its Python package", &mut command(&python.to_string_lossy(), &install))?;
    install_from("rust-nostr's relay on LMDB", &root().join("crates/vocative-load/peers/rust-nostr"))?;
    if !succeeds("protoc", &["--version"]) {
        return Err("nostr-rs-relay is built with protoc: apt-get install protobuf-compiler".into());
    }
    install_from("nostr-rs-relay", &nostr_rs(&folder)?)
}

fn peers_folder() -> PathBuf {
    target().join("peers")
}

fn install_from(name: &str, source: &Path) -> Result {
    let mut install = cargo(&["install", "--quiet", "--locked", "--path"]);
    install.arg(source).arg("--root").arg(peers_folder());
    step(name, install.arg("--target-dir").arg(peers_folder().join("build")))
}

/// The source of nostr-rs-relay with the dependencies that it was published with, but for `time`, whose
/// version in that list is refused by compilers since Rust 1.80.
fn nostr_rs(peers: &Path) -> Result<PathBuf> {
    let source = peers.join(format!("nostr-rs-relay-{NOSTR_RS}"));
    if source.is_dir() {
        return Ok(source);
    }
    // Cargo has no command that unpacks a package, but it unpacks one in order to describe it.
    let package = format!("nostr-rs-relay@{NOSTR_RS}");
    step("the source of nostr-rs-relay", cargo(&["info", "--quiet", &package]).stdout(Stdio::null()))?;
    let unpacked = unpacked(&format!("nostr-rs-relay-{NOSTR_RS}"))?;
    let copy = peers.join("copy");
    drop(fs::remove_dir_all(&copy));
    step("a copy of it", command("cp", &["-R"]).arg(&unpacked).arg(&copy))?;
    let manifest = copy.join("Cargo.toml");
    let text = fs::read_to_string(&manifest).map_err(|error| format!("{}: {error}", manifest.display()))?;
    fs::write(&manifest, text + "\n[workspace]\n").map_err(|error| error.to_string())?;
    let mut update = cargo(&["update", "--quiet", "--package", "time@0.3.25", "--precise", "0.3.36"]);
    step("a `time` that compiles", update.arg("--manifest-path").arg(&manifest))?;
    // Last, so that a copy that was cut short is made again.
    fs::rename(&copy, &source).map_err(|error| error.to_string())?;
    Ok(source)
}

/// Where Cargo has unpacked a package of a registry.
fn unpacked(package: &str) -> Result<PathBuf> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| std::env::home_dir().map(|home| home.join(".cargo")));
    let sources = home.ok_or("no home folder")?.join("registry/src");
    let registries = fs::read_dir(&sources).map_err(|error| format!("{}: {error}", sources.display()))?;
    let found = registries.flatten().map(|registry| registry.path().join(package)).find(|path| path.is_dir());
    found.ok_or_else(|| format!("{package} is not in {}", sources.display()))
}
