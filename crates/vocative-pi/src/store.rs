//! Putting an artifact in its place: the old file or the new one, whenever the process ends.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use crate::artifact::{Artifact, ID_PREFIX};
use crate::findings::Options;
use crate::input::Inputs;
use crate::reduction::Reduction;

/// The name of the offset cache in a folder of artifacts.
pub const CACHE_NAME: &str = ".vocative-cache.records";
const LOCK_NAME: &str = ".vocative-lock";

/// What became of an artifact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// It was written.
    New,
    /// The same bytes were there already.
    Same,
    /// It was there already, and Pi continued it; its later lines were left alone.
    Continued,
}

/// Why an artifact was not written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file holds something else.
    #[error("{0} is no reduced artifact and is left as it is")]
    Occupied(PathBuf),
    /// Writing failed.
    #[error("cannot write {0}: {1}")]
    Io(PathBuf, io::Error),
}

/// A folder in which this process alone writes artifacts.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    /// Held until it is dropped.
    _lock: File,
}

impl Folder {
    /// Makes the folder if need be, and waits until no other process writes in it.
    ///
    /// # Errors
    /// What the file system says.
    pub fn lock(path: &Path) -> Result<Self, StoreError> {
        let fail = |error| StoreError::Io(path.to_owned(), error);
        fs::create_dir_all(path).map_err(fail)?;
        let lock = OpenOptions::new().write(true).create(true).truncate(false).open(path.join(LOCK_NAME));
        let lock = lock.and_then(|file| file.lock().map(|()| file)).map_err(fail)?;
        let folder = Self { path: path.to_owned(), _lock: lock };
        folder.remove_left_over().map_err(fail)?;
        Ok(folder)
    }

    /// Removes what a process that was killed has left behind. No other one writes now.
    fn remove_left_over(&self) -> io::Result<()> {
        for item in fs::read_dir(&self.path)? {
            let item = item?;
            let name = item.file_name();
            let name = name.to_string_lossy();
            if name.starts_with(".vocative-") && name.ends_with(".new") {
                fs::remove_file(item.path())?;
            }
        }
        Ok(())
    }

    /// Writes the artifact to the file of this name: to a temporary file, which is synced and
    /// renamed. The file that is there is replaced only if it is an artifact or empty.
    ///
    /// # Errors
    /// What is in the way.
    pub fn write(&self, name: &str, artifact: &Artifact<'_>) -> Result<Written, StoreError> {
        let path = self.path.join(name);
        let fail = |error| StoreError::Io(path.clone(), error);
        match starts_with(&path, artifact).map_err(fail)? {
            Some(0) => return Ok(Written::Same),
            Some(_) => return Ok(Written::Continued),
            None => {}
        }
        let is_free = path.metadata().map_or(true, |file| file.len() == 0);
        if !is_free && read_bare(&path).is_none() {
            return Err(StoreError::Occupied(path));
        }
        let temporary = self.path.join(format!(".vocative-{}.new", std::process::id()));
        let write = || {
            let mut out = BufWriter::new(File::create(&temporary)?);
            artifact.write(&mut out)?;
            out.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
            fs::rename(&temporary, &path)?;
            File::open(&self.path)?.sync_all()
        };
        write().map_err(fail)?;
        Ok(Written::New)
    }

    /// Removes every artifact here whose set `new` contains, but for those with the names in
    /// `keep` and those that Pi continued. Gives the names of those removed.
    ///
    /// # Errors
    /// What the file system says.
    pub fn remove_contained(&self, new: &[&Reduction], keep: &[String]) -> Result<Vec<String>, StoreError> {
        let fail = |error| StoreError::Io(self.path.clone(), error);
        let mut removed = Vec::new();
        for item in fs::read_dir(&self.path).map_err(fail)? {
            let item = item.map_err(fail)?;
            let Ok(name) = item.file_name().into_string() else {
                continue;
            };
            if !name.starts_with(ID_PREFIX) || !name.ends_with(".jsonl") || keep.contains(&name) {
                continue;
            }
            let old = read_bare(&item.path());
            if old.is_some_and(|old| new.iter().any(|new| new.contains(&old))) {
                fs::remove_file(item.path()).map_err(fail)?;
                removed.push(name);
            }
        }
        removed.sort_unstable();
        Ok(removed)
    }
}

/// Whether the file begins with the artifact, and if so how much more it holds.
fn starts_with(path: &Path, artifact: &Artifact<'_>) -> io::Result<Option<u64>> {
    struct Compare(BufReader<File>);
    impl Write for Compare {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let mut held = vec![0; bytes.len()];
            self.0.read_exact(&mut held)?;
            if held == bytes { Ok(bytes.len()) } else { Err(io::ErrorKind::InvalidData.into()) }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    let mut compare = BufWriter::with_capacity(1 << 16, Compare(BufReader::with_capacity(1 << 16, file)));
    if artifact.write(&mut compare).and_then(|()| compare.flush()).is_err() {
        // The buffer must not try once more to compare.
        let _ = compare.into_parts();
        return Ok(None);
    }
    let mut rest = compare.into_inner().map_err(io::IntoInnerError::into_error)?.0;
    io::copy(&mut rest, &mut io::sink()).map(Some)
}

/// The reduction of a file that is a canonical artifact and nothing more.
fn read_bare(path: &Path) -> Option<Reduction> {
    let inputs = Inputs::new(Options::default());
    let input = inputs.read(0, File::open(path).ok()?, &mut |_| {}).ok()??;
    (input.checked.is_artifact && input.checked.lines == 3).then_some(input.reduction)
}
