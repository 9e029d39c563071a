//! Man pages, made from the command line as it is.

use crate::run::{Result, root};

/// Writes a page for the command and one for each subcommand.
pub(crate) fn run() -> Result {
    let folder = root().join("target/man");
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    clap_mangen::generate_to(vocative_cli::command(), &folder).map_err(|error| error.to_string())?;
    println!("{}", folder.display());
    Ok(())
}
