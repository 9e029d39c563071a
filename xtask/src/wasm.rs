//! The engine as WebAssembly, with its JavaScript and its types.
//!
//! The ordinary way is rustup's target. Where it cannot be had, Debian's `rustc-web` brings a
//! compiler with the source of its standard library, and both are built here.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::run::{Result, cargo, command, output, root, step, succeeds, target};
use crate::web;

const TARGET: &str = "wasm32-unknown-unknown";
const PACKAGES: [&str; 4] = ["rustc-web", "cargo-web", "rust-web-src", "lld-22"];

/// What the shipped module may weigh, in bytes after gzip.
const BUDGET: usize = 350_000;

/// A way to build for [`TARGET`].
enum Way {
    Rustup,
    Debian,
}

/// Builds the engine; an error where this machine has no way to.
pub(crate) fn run() -> Result {
    match way() {
        Some(way) => build(&way),
        None => Err(missing()),
    }
}

/// Builds the engine where this machine can, and says loudly where it cannot. Whether it could.
pub(crate) fn check() -> Result<bool> {
    let Some(way) = way() else {
        println!("── SKIPPED: the engine as WebAssembly: {}", missing());
        return Ok(false);
    };
    build(&way).map(|()| true)
}

fn missing() -> String {
    format!("there is no WebAssembly target; install it with: rustup target add {TARGET}")
}

fn way() -> Option<Way> {
    let installed = output("rustup", &["target", "list", "--installed"]).unwrap_or_default();
    let is_in_sysroot = || {
        let sysroot = output("rustc", &["--print", "sysroot"]).unwrap_or_default();
        Path::new(&sysroot).join("lib/rustlib").join(TARGET).is_dir()
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

/// Builds the shipped module, and the one that runs the conformance cases, into `packages/engine`.
fn build(way: &Way) -> Result {
    let package = root().join("packages/engine");
    step("the writer of bindings", &mut cargo(&["build", "--quiet", "--package", "xtask-bindgen"]))?;
    for (name, folder, features) in [
        ("the engine as WebAssembly", "wasm", &[][..]),
        ("the engine as WebAssembly, with its cases", "wasm-conformance", &["--features", "conformance"][..]),
    ] {
        let module = compile(way, name, features)?;
        let folder = package.join(folder);
        let mut bind = command(&target().join("debug/xtask-bindgen").to_string_lossy(), &[]);
        step("its bindings", bind.arg(module).arg(&folder).arg("vocative"))?;
    }
    let module = package.join("wasm/vocative_bg.wasm");
    match web::tool("wasm-opt") {
        Ok(mut optimise) => {
            step("wasm-opt", optimise.args(["-Oz", "--all-features"]).arg(&module).arg("-o").arg(&module))?;
        }
        Err(reason) => println!("── SKIPPED: wasm-opt, the module stays large: {reason}"),
    }
    weigh(&module)
}

/// Compiles the bindings, and says where the module is.
fn compile(way: &Way, name: &str, features: &[&str]) -> Result<PathBuf> {
    let mut arguments = vec!["build", "--profile", "wasm", "--package", "vocative-wasm", "--target", TARGET];
    arguments.extend(features);
    let folder = match way {
        Way::Rustup => {
            step(name, &mut cargo(&arguments))?;
            target()
        }
        Way::Debian => {
            install()?;
            let mut build = command("/usr/bin/cargo", &arguments);
            // The standard library is built anyway, so it is built small; a panic ends the module, and
            // there is nowhere to print it.
            build.args(["-Zbuild-std=std,panic_abort", "-Zbuild-std-features=optimize_for_size"]);
            build.env("RUSTFLAGS", "-Zunstable-options -Cpanic=immediate-abort");
            debian(&mut build)?;
            step(&format!("{name}, with Debian's compiler"), &mut build)?;
            debian_target()
        }
    };
    Ok(folder.join(TARGET).join("wasm/vocative_wasm.wasm"))
}

/// Prints what the module weighs; an error where that is over the budget.
fn weigh(module: &Path) -> Result {
    let bytes = std::fs::read(module).map_err(|error| format!("{}: {error}", module.display()))?;
    let packed = output("sh", &["-c", &format!("gzip --best --stdout '{}' | wc --bytes", module.display())])?;
    let packed: usize = packed.parse().map_err(|_| "gzip is not installed")?;
    println!("   {} bytes, {packed} after gzip (at most {BUDGET})", bytes.len());
    if packed > BUDGET { Err(format!("the module weighs {packed} bytes after gzip")) } else { Ok(()) }
}

fn debian_target() -> PathBuf {
    root().join("target-wasm")
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
        .env("CARGO_TARGET_DIR", debian_target());
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
