//! Every test of every surface.

use crate::run::{Result, cargo, step, succeeds};
use crate::{interop, real_pi, wasm, web};

/// Runs all checks; the first that fails ends the run.
pub(crate) fn run() -> Result {
    step("formatting", &mut cargo(&["fmt", "--all", "--check"]))?;
    let lints = ["clippy", "--quiet", "--workspace", "--all-targets", "--", "--deny", "warnings"];
    step("lints", &mut cargo(&lints))?;
    let documentation = ["doc", "--quiet", "--workspace", "--no-deps", "--document-private-items"];
    step("documentation", cargo(&documentation).env("RUSTDOCFLAGS", "--deny warnings"))?;
    licences()?;
    if wasm::check()? {
        web::test()?;
    }
    step("documentation tests", &mut cargo(&["test", "--quiet", "--package", "vocative", "--doc"]))?;
    let mut tests = if succeeds("cargo", &["nextest", "--version"]) {
        cargo(&["nextest", "run", "--workspace", "--no-fail-fast"])
    } else {
        println!("cargo-nextest is not installed; cargo's own runner runs the same tests");
        cargo(&["test", "--workspace", "--no-fail-fast", "--lib", "--bins", "--tests"])
    };
    for (what, variable, prepared) in [
        ("real Pi", real_pi::VARIABLE, real_pi::prepare()),
        ("foreign clients", interop::VARIABLE, interop::prepare()),
    ] {
        match prepared {
            Ok(folder) => {
                tests.env(variable, folder);
            }
            Err(reason) => println!("── SKIPPED: {what}: {reason}"),
        }
    }
    step("tests", &mut tests)
}

/// Licences, bans and sources of what is depended on. The tool takes minutes to build, so it is not
/// installed for the purpose.
fn licences() -> Result {
    if !succeeds("cargo", &["deny", "--version"]) {
        println!("── SKIPPED: licences; install the tool with: cargo install --locked cargo-deny");
        return Ok(());
    }
    let check = ["deny", "--all-features", "check", "--hide-inclusion-graph", "licenses", "bans", "sources"];
    step("licences", &mut cargo(&check))
}
