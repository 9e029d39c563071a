//! Where Pi keeps session files (section 1.1), and which files a path stands for.
//!
//! The environment is handed in as values: nothing here reads it.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The values of the environment that say where Pi keeps its files.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// The user's home folder.
    pub home: Option<PathBuf>,
    /// `PI_CODING_AGENT_DIR`: moves `~/.pi/agent`.
    pub agent_dir: Option<OsString>,
    /// `PI_CODING_AGENT_SESSION_DIR`: names a flat folder of sessions.
    pub session_dir: Option<OsString>,
}

impl Environment {
    /// Pi's own folder, `~/.pi/agent` unless it was moved.
    pub fn agent_dir(&self) -> Option<PathBuf> {
        match set(self.agent_dir.as_ref()) {
            Some(dir) => Some(self.expand(dir)),
            None => Some(self.home.as_ref()?.join(".pi").join("agent")),
        }
    }

    /// The folder of sessions, which holds files or one folder per working directory.
    pub fn session_dir(&self) -> Option<PathBuf> {
        match set(self.session_dir.as_ref()) {
            Some(dir) => Some(self.expand(dir)),
            None => Some(self.agent_dir()?.join("sessions")),
        }
    }

    /// The folder of reduced artifacts, which Pi never scans (decision 5).
    pub fn reduced_dir(&self) -> Option<PathBuf> {
        Some(self.agent_dir()?.join("chi").join("reduced"))
    }

    /// Pi reads a leading `~` as the home folder.
    fn expand(&self, dir: &OsString) -> PathBuf {
        let path = Path::new(dir);
        match (path.strip_prefix("~"), &self.home) {
            (Ok(rest), Some(home)) => home.join(rest),
            _ => path.to_owned(),
        }
    }
}

/// An empty value counts as none.
fn set(value: Option<&OsString>) -> Option<&OsString> {
    value.filter(|value| !value.is_empty())
}

/// The files that a path stands for: itself, or every `.jsonl` file in or under the folder, in
/// the order of their names. Links to folders are not followed, so that no file comes twice.
///
/// # Errors
/// The path that could not be read, and why.
pub fn session_files(path: &Path) -> Result<Vec<PathBuf>, (PathBuf, io::Error)> {
    let fail = |error| (path.to_owned(), error);
    if !fs::metadata(path).map_err(fail)?.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = Vec::new();
    let mut folders = vec![path.to_owned()];
    while let Some(folder) = folders.pop() {
        let fail = |error| (folder.clone(), error);
        for item in fs::read_dir(&folder).map_err(fail)? {
            let item = item.map_err(fail)?;
            let kind = item.file_type().map_err(fail)?;
            let path = item.path();
            if kind.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "jsonl")
                && (kind.is_file() || fs::metadata(&path).is_ok_and(|target| target.is_file()))
            {
                files.push(path);
            }
        }
    }
    files.sort_unstable();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(home: &str, agent: &str, session: &str) -> Environment {
        let value = |text: &str| (!text.is_empty()).then(|| text.into());
        Environment {
            home: value(home).map(PathBuf::from),
            agent_dir: Some(agent.into()),
            session_dir: value(session),
        }
    }

    #[test]
    fn folders_follow_the_environment() {
        let cases = [
            ("/h", "", "", Some("/h/.pi/agent/sessions"), Some("/h/.pi/agent/chi/reduced")),
            ("/h", "/a", "", Some("/a/sessions"), Some("/a/chi/reduced")),
            ("/h", "~/a", "", Some("/h/a/sessions"), Some("/h/a/chi/reduced")),
            ("/h", "/a", "/flat", Some("/flat"), Some("/a/chi/reduced")),
            ("", "", "/flat", Some("/flat"), None),
            ("", "", "", None, None),
        ];
        for (home, agent, session, sessions, reduced) in cases {
            let found = environment(home, agent, session);
            assert_eq!(found.session_dir().as_deref(), sessions.map(Path::new), "{home} {agent} {session}");
            assert_eq!(found.reduced_dir().as_deref(), reduced.map(Path::new), "{home} {agent} {session}");
        }
    }

    #[test]
    fn files_are_found_flat_and_in_folders() {
        let root = tempfile::tempdir().unwrap();
        let inner = root.path().join("--tmp-labproj--");
        fs::create_dir(&inner).unwrap();
        for name in ["b.jsonl", "a.jsonl", "notes.txt"] {
            fs::write(root.path().join(name), "").unwrap();
            fs::write(inner.join(name), "").unwrap();
        }
        let found = session_files(root.path()).unwrap();
        let names: Vec<_> =
            found.iter().map(|path| path.strip_prefix(root.path()).unwrap().to_str().unwrap()).collect();
        assert_eq!(names, ["--tmp-labproj--/a.jsonl", "--tmp-labproj--/b.jsonl", "a.jsonl", "b.jsonl"]);
        let text = root.path().join("notes.txt");
        assert_eq!(session_files(&text).unwrap(), [text]);
        assert_eq!(session_files(&root.path().join("none")).unwrap_err().0, root.path().join("none"));
    }
}
