//! Reading many inputs, with the help of the offset cache.
//!
//! A [`Reader`] may be used by several threads at once; what it read goes to a [`Keeper`], which
//! writes the cache for the next run.

use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::cache::{Cache, Known, NewCache, Noted, Stamp, State};
use crate::findings::Options;
use crate::input::{Input, Inputs};
use crate::prefilter::Prefilter;
use crate::problem::{Code, Fault, Problem};
use crate::reduction::Reduction;

/// How many problems of one file are told; a file of nothing else must not fill the memory.
const MOST_PROBLEMS: usize = 1000;

/// What reading one file came to.
#[derive(Debug, Default)]
pub struct ReadFile {
    /// What the file contributes, unless it is invalid or cannot be read.
    pub part: Option<Part>,
    /// What is wrong with it, or worth a notice; of very many only the first.
    pub problems: Vec<Problem>,
    noted: Option<Noted>,
}

/// What one valid file contributes to a reduction.
#[derive(Debug, Default)]
pub struct Part {
    /// The set.
    pub reduction: Reduction,
    /// Whether the file is a reduced artifact, continued or not.
    pub is_artifact: bool,
}

/// What inputs are read for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To reduce them: all of them are checked.
    Reduction,
    /// To ask who is named in them: a file that holds no evidence contributes nothing, and what
    /// else it holds is not checked.
    Query,
}

/// Reads inputs.
#[derive(Debug)]
pub struct Reader {
    inputs: Inputs,
    purpose: Purpose,
    prefilter: Prefilter,
    cache: Cache,
    /// Whether everything is read, whatever the cache says.
    verify: bool,
    keeps: bool,
}

/// Writes the cache of the next run, once there is anything new to keep.
#[derive(Debug)]
pub struct Keeper {
    path: Option<PathBuf>,
    new: Option<NewCache>,
}

impl Reader {
    /// A reader without a cache.
    pub fn new(options: Options, purpose: Purpose) -> Self {
        let (inputs, prefilter, cache) = (Inputs::new(options), Prefilter::default(), Cache::default());
        Self { inputs, purpose, prefilter, cache, verify: true, keeps: false }
    }

    /// A reader with the cache in this file, and what writes the next one. A cache that cannot be
    /// read or written is done without, as is any by a lenient reader: what it accepts is no
    /// ground of a reduction.
    pub fn with_cache(options: Options, purpose: Purpose, path: &Path, verify: bool) -> (Self, Keeper) {
        let mut reader = Self::new(options, purpose);
        if options.lenient {
            return (reader, Keeper { path: None, new: None });
        }
        (reader.cache, reader.verify, reader.keeps) = (Cache::load(path), verify, true);
        (reader, Keeper { path: Some(path.to_owned()), new: None })
    }

    /// Reads the file with place `place` among the inputs.
    pub fn read(&self, place: u32, path: &Path) -> ReadFile {
        let mut read = ReadFile::default();
        if let Err(error) = self.read_into(&mut read, place, path) {
            read.problems.push(Problem::of_file(Code::Io, error.to_string()));
        }
        // Of a file that contributes nothing no warning is told either, whether it was searched,
        // checked, or known.
        if self.purpose == Purpose::Query
            && read.part.as_ref().is_some_and(|part| part.reduction.is_empty() && !part.is_artifact)
        {
            read.problems.clear();
        }
        read
    }

    fn read_into(&self, read: &mut ReadFile, place: u32, path: &Path) -> io::Result<()> {
        let mut file = File::open(path)?;
        let stamp = Stamp::of(&file.metadata()?);
        let key = std::path::absolute(path)?.into_os_string().into_string().ok();
        let max_line = self.inputs.options.max_line;
        let mut has_tail = false;
        let mut note = |problem: Problem| {
            has_tail |= problem.code == Code::UnterminatedTail;
            if read.problems.len() < MOST_PROBLEMS {
                read.problems.push(problem);
            }
        };
        let known = match (&key, stamp) {
            (Some(key), Some(stamp)) if !self.verify => self.cache.look_up(key, &file, stamp, max_line),
            _ => Known::Nothing,
        };
        let (contents, checked) = match known {
            Known::NoEvidence if self.purpose == Purpose::Query => {
                read.part = Some(Part::default());
                return Ok(());
            }
            // New lines of a file without evidence are searched before they are checked.
            Known::Grown(contents, _) if self.purpose == Purpose::Query && !contents.has_evidence() => {
                (None, None)
            }
            Known::Nothing | Known::NoEvidence => (None, None),
            Known::Unchanged(contents) => (Some(contents), None),
            Known::Grown(contents, checked) => (Some(contents), Some(checked)),
        };
        // What cannot be read from the cache is read from the file.
        let known = contents.and_then(|contents| Some((contents.reduction(place)?, contents)));
        if let Some((_, contents)) = known.as_ref().filter(|(_, contents)| contents.is_continued()) {
            let detail = "the artifact was continued as a session";
            note(Fault::new(Code::ArtifactContinued, detail).at(4, contents.leaf()));
        }
        let keep = key.zip(stamp).filter(|_| self.keeps);
        let input = match (known, checked) {
            (Some((reduction, contents)), None) => {
                if let Some(line) = contents.tail() {
                    let detail = "the last line does not end with a line feed and is ignored";
                    note(Fault::new(Code::UnterminatedTail, detail).at(line, None));
                }
                read.part = Some(Part { reduction, is_artifact: contents.is_artifact() });
                return Ok(());
            }
            (Some((reduction, _)), Some(checked)) => {
                file.seek(SeekFrom::Start(checked.covered))?;
                self.inputs.go_on(place, &file, *checked, reduction, &mut note)?
            }
            (None, _) => {
                file.seek(SeekFrom::Start(0))?;
                if self.purpose == Purpose::Query && !self.prefilter.may_hold_evidence(&file, max_line)? {
                    if let Some((key, stamp)) = keep {
                        read.noted = Some(Noted::no_evidence(key, &file, stamp, max_line)?);
                    }
                    read.part = Some(Part::default());
                    return Ok(());
                }
                file.seek(SeekFrom::Start(0))?;
                self.inputs.read(place, &file, &mut note)?
            }
        };
        let Some(Input { reduction, checked }) = input else {
            return Ok(());
        };
        if let Some((key, stamp)) = keep {
            let state = State { stamp, max_line, has_tail, checked: &checked, reduction: &reduction };
            read.noted = Some(Noted::new(key, &file, &state)?);
        }
        read.part = Some(Part { reduction, is_artifact: checked.is_artifact });
        Ok(())
    }
}

impl Keeper {
    /// Takes what was read of one file and is new.
    pub fn keep(&mut self, read: &mut ReadFile) {
        let (Some(path), Some(noted)) = (&self.path, read.noted.take()) else {
            return;
        };
        let new = self.new.take().or_else(|| NewCache::create(path).ok());
        self.new = new.and_then(|new| new.add(noted));
        if self.new.is_none() {
            // A full disk must not stop what can be done without a cache.
            self.path = None;
        }
    }

    /// Puts the new cache in the place of the old one, where anything is new.
    pub fn finish(self, reader: &Reader) {
        if let Some(new) = self.new {
            // Without a cache the next run is slower, and nothing else.
            new.finish(&reader.cache, |path| Path::new(path).exists());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const HEADER: &str =
        r#"{"type":"session","version":3,"id":"s1","timestamp":"2026-11-30T17:28:00.000Z","cwd":"/"}"#;

    /// Reads a file with the cache beside it. Gives whether it was read anew, and whether it is
    /// valid.
    fn read(path: &Path, purpose: Purpose, verify: bool) -> (bool, bool) {
        let cache = path.with_file_name("cache");
        let (reader, mut keeper) = Reader::with_cache(Options::default(), purpose, &cache, verify);
        let mut read = reader.read(0, path);
        let is_new = read.noted.is_some();
        keeper.keep(&mut read);
        keeper.finish(&reader);
        (is_new, read.part.is_some())
    }

    #[cfg(unix)]
    #[test]
    fn a_file_without_evidence_is_searched_once_and_that_is_no_check() {
        use Purpose::{Query, Reduction};
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.jsonl");
        fs::write(&path, format!("{HEADER}\nno JSON\n")).unwrap();
        assert_eq!(read(&path, Query, false), (true, true));
        assert_eq!(read(&path, Query, false), (false, true));
        assert_eq!(read(&path, Query, true), (true, true));
        assert_eq!(read(&path, Reduction, false), (false, false));
        // A change is seen, and so is a change back.
        fs::write(&path, format!("{HEADER}\n")).unwrap();
        assert_eq!(read(&path, Query, false), (true, true));
        // What was checked need not be searched.
        assert_eq!(read(&path, Reduction, false), (true, true));
        assert_eq!(read(&path, Reduction, false), (false, true));
        assert_eq!(read(&path, Query, false), (false, true));
    }
}
