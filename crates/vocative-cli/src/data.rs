//! Where a community is kept on this machine.

use std::env;
use std::path::{Path, PathBuf};

/// The user's data folder for this program (XDG); the current folder's where the user has no home.
pub(crate) fn folder() -> PathBuf {
    let named = env::var_os("XDG_DATA_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || env::home_dir().unwrap_or_default().join(".local/share");
    named.unwrap_or_else(home).join("vocative")
}

/// The file of the store in a folder.
pub(crate) fn file(folder: &Path) -> PathBuf {
    folder.join("vocative.db")
}
