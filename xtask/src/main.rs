//! Builds, runs and tests the whole: `cargo xtask TASK`.

mod bench;
mod demo;
mod interop;
mod load;
mod man;
mod npm;
mod real_pi;
mod run;
mod test;
mod wasm;
mod web;

use std::process::ExitCode;

const HELP: &str = "\
cargo xtask TASK

  demo      build the command and show an inbox over the recorded sessions
  test      every test of every surface, with formatting, lints, documentation and licences
  real-pi   install Pi under the target folder, and run only the tests that drive it
  interop   install clients that are not ours under the target folder, and run only the tests with them
  wasm      compile the engine for WebAssembly, with its JavaScript and types, into packages/engine
  web       build the packages for the web on it, and run only their tests
  web-bench time the editor's plug-ins and write packages/tiptap/benches/RECORD.md
  bench     time the engine beside its peers and write benches/RECORD.md
  load      put relays under load beside their peers: cargo xtask load [MODE] [ARGUMENT ...], --help
  peers     install those peers under the target folder
  fuzz      fuzz every target: cargo xtask fuzz [SECONDS], ten minutes each by default
  corpus    write a synthetic store of Pi sessions: cargo xtask corpus DIR [ARGUMENT ...]
  man       write the man pages to target/man";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let rest = arguments.get(1..).unwrap_or_default();
    let result = match arguments.first().map(String::as_str) {
        Some("demo") => demo::run(),
        Some("test") => test::run(),
        Some("real-pi") => real_pi::run(),
        Some("interop") => interop::run(),
        Some("wasm") => wasm::run(),
        Some("web") => wasm::run().and_then(|()| web::test()),
        Some("web-bench") => wasm::run().and_then(|()| web::bench()),
        Some("bench") => bench::run(),
        Some("load") => load::run(rest),
        Some("peers") => load::peers(),
        Some("fuzz") => bench::fuzz(rest),
        Some("corpus") => bench::corpus(rest),
        Some("man") => man::run(),
        Some("help" | "--help" | "-h") => {
            println!("{HELP}");
            Ok(())
        }
        _ => {
            eprintln!("{HELP}");
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("\ncargo xtask: {error}");
            ExitCode::FAILURE
        }
    }
}
