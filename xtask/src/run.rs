//! Running other programs.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// What went wrong, for a person.
pub(crate) type Result<T = ()> = std::result::Result<T, String>;

/// The root of the project.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the project").to_owned()
}

/// The folder for what is built.
pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |target| root().join(target))
}

/// `cargo` with these arguments, to be run in the root.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    command(&std::env::var("CARGO").unwrap_or_else(|_| "cargo".into()), arguments)
}

/// A program with these arguments, to be run in the root.
pub(crate) fn command(program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(root());
    command
}

/// Says what is done, does it, and says how long it took.
pub(crate) fn step(name: &str, command: &mut Command) -> Result {
    println!("── {name}");
    let begin = Instant::now();
    let status = command.status().map_err(|error| format!("{name}: {error}"))?;
    if !status.success() {
        return Err(format!("{name} failed; run it alone with: {}", written(command)));
    }
    println!("   {:.1} s", begin.elapsed().as_secs_f64());
    Ok(())
}

/// Whether a program can be started with these arguments and succeeds.
pub(crate) fn succeeds(program: &str, arguments: &[&str]) -> bool {
    let mut command = command(program, arguments);
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// What a program prints.
pub(crate) fn output(program: &str, arguments: &[&str]) -> Result<String> {
    let output = command(program, arguments).output().map_err(|error| format!("{program}: {error}"))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn written(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
