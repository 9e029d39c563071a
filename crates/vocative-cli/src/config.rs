//! What a person has decided once, in the user's configuration folder, and files there that nobody else reads.

use std::env;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::json;

use crate::outcome::{Failure, Outcome};

/// The file `config.toml`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Config {
    /// The community's server: `https://…` or `wss://…`.
    pub(crate) server: Option<String>,
}

/// The user's configuration folder for this program (XDG); the current folder's where the user has no home.
pub(crate) fn folder() -> PathBuf {
    let named = env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || env::home_dir().unwrap_or_default().join(".config");
    named.unwrap_or_else(home).join("vocative")
}

impl Config {
    /// What the file says; nothing where there is none.
    pub(crate) fn read() -> Result<Self, Failure> {
        let path = folder().join("config.toml");
        let bad = |error: String| {
            Failure::new(Outcome::Usage, "bad_config", format!("{}: {error}", path.display()))
        };
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(bad(error.to_string())),
        };
        toml::from_str(&text).map_err(|error| bad(error.message().to_owned()))
    }
}

/// Reads a file that holds a secret, of at most `most` bytes. The words of a failure hold nothing of it.
///
/// # Errors
/// `no_secret_file`, or `secret_file_is_open` when others could read it.
pub(crate) fn read_secret(path: &Path, most: u64) -> Result<String, Failure> {
    let failed = |outcome, code, why: String| {
        Failure::new(outcome, code, format!("{}: {why}", path.display()))
            .with(json!({ "path": path.to_string_lossy() }))
    };
    let unreadable = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => {
            failed(Outcome::NotFound, "no_secret_file", "there is no such file".into())
        }
        _ => failed(Outcome::Problems, "io", error.to_string()),
    };
    let file = File::open(path).map_err(unreadable)?;
    let metadata = file.metadata().map_err(unreadable)?;
    if is_open_to_others(&metadata) {
        let why = "other users of this machine may read it; `chmod 600` it first".into();
        return Err(failed(Outcome::Problems, "secret_file_is_open", why));
    }
    let mut text = String::new();
    let read = file.take(most + 1).read_to_string(&mut text);
    read.map_err(|_| failed(Outcome::Problems, "bad_secret_file", "it is no text".into()))?;
    if text.len() as u64 > most {
        return Err(failed(Outcome::Problems, "bad_secret_file", "it is too long".into()));
    }
    Ok(text)
}

#[cfg(unix)]
fn is_open_to_others(metadata: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    metadata.permissions().mode() & 0o077 != 0
}

#[cfg(not(unix))]
fn is_open_to_others(_: &std::fs::Metadata) -> bool {
    false
}

/// Makes a file that only its user reads, and its folder where there is none. One that is there stays.
///
/// # Errors
/// What the system says; [`io::ErrorKind::AlreadyExists`] for one that is there.
pub(crate) fn create_secret(path: &Path, secret: &str) -> io::Result<()> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(folder)?;
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(secret.as_bytes())?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn a_secret_is_read_only_where_nobody_else_can() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/key");
        create_secret(&path, "secret\n").unwrap();
        assert_eq!(create_secret(&path, "other").unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        for (mode, most, expected) in [
            (0o600, 7, Ok("secret\n")),
            (0o400, 7, Ok("secret\n")),
            (0o600, 6, Err("bad_secret_file")),
            (0o640, 7, Err("secret_file_is_open")),
            (0o604, 7, Err("secret_file_is_open")),
        ] {
            std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
            let read = read_secret(&path, most).map_err(|failure| failure.code);
            assert_eq!(read.as_deref().map_err(|code| &**code), expected, "{mode:o} {most}");
        }
        let missing = read_secret(&folder.path().join("none"), 7).unwrap_err();
        assert_eq!((missing.outcome, &*missing.code), (Outcome::NotFound, "no_secret_file"));
    }
}
