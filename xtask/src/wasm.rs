//! The engine as WebAssembly.
//!
//! The ordinary way is rustup's target. Where it cannot be had, Debian's `rustc-web` brings a
//! compiler with the source of its standard library, and both are built here.

use std::process::Command;

use crate::run::{Result, cargo, command, output, root, step, succeeds};

const TARGET: &str = "wasm32-unknown-unknown";
const PACKAGES: [&str; 4] = ["rustc-web", "cargo-web", "rust-web-src", "lld-22"];

/// A way to build for [`TARGET`].
enum Way {
    Rustup,
    Debian,
}

/// Builds the engine; an error where this machine has no way to.
pub(crate) fn run() -> Result {
    match way() {
        Some(way) => build(&way),
        None => Err(format!("there is no WebAssembly target; install it with: rustup target add {TARGET}")),
    }
}

/// Builds the engine where this machine can, and says loudly where it cannot.
pub(crate) fn check() -> Result {
    match way() {
        Some(way) => build(&way),
        None => {
            println!(
                "── SKIPPED: the engine as WebAssembly; install the target with: rustup target add {TARGET}"
            );
            Ok(())
        }
    }
}

fn way() -> Option<Way> {
    let installed = output("rustup", &["target", "list", "--installed"]).unwrap_or_default();
    let is_in_sysroot = || {
        let sysroot = output("rustc", &["--print", "sysroot"]).unwrap_or_default();
        std::path::Path::new(&sysroot).join("lib/rustlib").join(TARGET).is_dir()
    };
    if installed.lines().any(|line| line == TARGET) || is_in_sysroot() {
        Some(Way::Rustup)
    } else if std::env::var("VOCATIVE_WASM").is_ok_and(|way| way == "debian")
        || succeeds("dpkg", &["-s", PACKAGES[0]])
    {
        Some(Way::Debian)
    } else {
        None
    }
}

fn build(way: &Way) -> Result {
    let arguments = ["build", "--release", "--package", "vocative", "--target", TARGET];
    match way {
        Way::Rustup => step("the engine as WebAssembly", &mut cargo(&arguments)),
        Way::Debian => {
            install()?;
            let mut build = command("/usr/bin/cargo", &arguments);
            build.arg("-Zbuild-std=std,panic_abort");
            debian(&mut build)?;
            step("the engine as WebAssembly, with Debian's compiler", &mut build)
        }
    }
}

/// The environment in which Debian's compiler works beside rustup's. Its standard library is cached
/// in a target folder of its own.
fn debian(build: &mut Command) -> Result {
    let linker = std::fs::read_dir("/usr/bin")
        .map_err(|error| error.to_string())?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.starts_with("wasm-ld"))
        .max()
        .ok_or("no wasm-ld; install lld")?;
    let path = std::env::var("PATH").unwrap_or_default();
    for name in ["RUSTUP_TOOLCHAIN", "CARGO", "RUSTC_WRAPPER"] {
        build.env_remove(name);
    }
    build
        .env("PATH", format!("/usr/bin:{path}"))
        .env("RUSTC", "/usr/bin/rustc")
        .env("RUSTC_BOOTSTRAP", "1")
        .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", format!("/usr/bin/{linker}"))
        .env("CARGO_TARGET_DIR", root().join("target-wasm"));
    Ok(())
}

fn install() -> Result {
    if PACKAGES.iter().all(|package| succeeds("dpkg", &["-s", package])) {
        return Ok(());
    }
    step("apt-get update", &mut command("apt-get", &["update", "--quiet"]))?;
    let mut install = command("apt-get", &["install", "--yes", "--quiet", "--no-install-recommends"]);
    step("apt-get install", install.args(PACKAGES).env("DEBIAN_FRONTEND", "noninteractive"))
}
