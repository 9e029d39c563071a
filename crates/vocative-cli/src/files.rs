//! The files that a command reads.

use std::path::{Path, PathBuf};

use vocative_pi::discover::session_files;

use crate::context::Context;
use crate::outcome::{Failure, Outcome};

/// The files under the paths given, each once, in the order given.
pub(crate) fn under(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for path in paths {
        let found = session_files(path).map_err(|(path, error)| unreadable(&path, &error))?;
        files.extend(found.into_iter().filter(|file| seen.insert(file.clone())));
    }
    Ok(files)
}

/// The paths given, or the folder where Pi keeps its sessions.
pub(crate) fn or_sessions(paths: Vec<PathBuf>, context: &Context) -> Result<Vec<PathBuf>, Failure> {
    if !paths.is_empty() {
        return Ok(paths);
    }
    let unknown = || Failure::usage("no PATH was given, and there is no home folder to look in");
    context.environment.session_dir().map(|folder| vec![folder]).ok_or_else(unknown)
}

/// The folder of reduced artifacts, if there is one.
pub(crate) fn reduced(context: &Context) -> Option<PathBuf> {
    context.environment.reduced_dir().filter(|folder| folder.is_dir())
}

/// The file of this name in the folder of reduced artifacts, where what was read is kept; none
/// where Pi is not used, since no folder is made there.
pub(crate) fn kept(name: &str, context: &Context) -> Option<PathBuf> {
    context.environment.agent_dir().filter(|folder| folder.is_dir())?;
    Some(context.environment.reduced_dir()?.join(name))
}

fn unreadable(path: &Path, error: &std::io::Error) -> Failure {
    let outcome = match error.kind() {
        std::io::ErrorKind::NotFound => Outcome::NotFound,
        _ => Outcome::Problems,
    };
    let code = if outcome == Outcome::NotFound { "path_not_found" } else { "io" };
    Failure::new(outcome, code, format!("cannot read {}: {error}", path.display()))
        .with(serde_json::json!({ "path": path.to_string_lossy() }))
}
