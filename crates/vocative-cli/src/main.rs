//! The command `vocative`.

use std::process::ExitCode;

fn main() -> ExitCode {
    vocative_cli::main()
}
