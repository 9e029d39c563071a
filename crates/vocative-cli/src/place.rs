//! Where artifacts go.

use std::path::{Component, Path, PathBuf};

use crate::context::Context;
use crate::outcome::Failure;

/// Where artifacts go.
#[derive(Debug)]
pub(crate) enum Place {
    /// Standard output.
    Standard,
    /// A folder, under their own names; whether it is Pi's folder for them.
    Folder(PathBuf, bool),
    /// A file of this name in a folder.
    File(PathBuf, String),
}

impl Place {
    /// The place that was asked for. A folder that Pi scans for sessions is refused, since
    /// `pi -c` would resume the newest file in it (decision 5).
    pub(crate) fn of(output: Option<&Path>, each: bool, context: &Context) -> Result<Self, Failure> {
        let place = match output {
            None => {
                let unknown = || Failure::usage("no --output was given, and there is no home folder");
                Self::Folder(context.environment.reduced_dir().ok_or_else(unknown)?, true)
            }
            Some(path) if path.as_os_str() == "-" => Self::Standard,
            Some(path) if each || path.is_dir() || names_a_folder(path) => {
                let is_default = context.environment.reduced_dir().is_some_and(|dir| same(&dir, path));
                Self::Folder(path.to_owned(), is_default)
            }
            Some(path) => {
                let name = path.file_name().and_then(|name| name.to_str());
                let name = name.ok_or_else(|| Failure::usage("--output names no file"))?;
                let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty());
                Self::File(folder.unwrap_or(Path::new(".")).to_owned(), name.to_owned())
            }
        };
        if let (Some(folder), Some(sessions)) = (place.folder(), context.environment.session_dir())
            && resolved(folder).starts_with(resolved(&sessions))
        {
            let message = "artifacts do not belong in the folder where Pi looks for sessions";
            return Err(Failure { code: "output_in_sessions".into(), ..Failure::usage(message) });
        }
        Ok(place)
    }

    pub(crate) fn folder(&self) -> Option<&Path> {
        match self {
            Self::Standard => None,
            Self::Folder(folder, _) | Self::File(folder, _) => Some(folder),
        }
    }

    /// The name of the file, where it is not the artifact's own.
    pub(crate) fn file_name(&self) -> Option<&str> {
        match self {
            Self::File(_, name) => Some(name),
            _ => None,
        }
    }

    pub(crate) fn is_default(&self) -> bool {
        matches!(self, Self::Folder(_, true))
    }
}

/// Whether the path ends with a separator.
fn names_a_folder(path: &Path) -> bool {
    path.as_os_str().to_string_lossy().ends_with(std::path::is_separator)
        || matches!(path.components().next_back(), Some(Component::CurDir | Component::ParentDir))
}

fn same(one: &Path, other: &Path) -> bool {
    resolved(one) == resolved(other)
}

/// The path without links, as far as it exists.
fn resolved(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    for known in path.ancestors() {
        if let Ok(real) = known.canonicalize() {
            let rest = path.strip_prefix(known).expect("an ancestor is a prefix");
            return if rest.as_os_str().is_empty() { real } else { real.join(rest) };
        }
    }
    path
}
