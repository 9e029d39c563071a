//! Reading many inputs, with the help of the offset cache.
//!
//! A [`Reader`] may be used by several threads at once; what it read goes to a [`Keeper`], which
//! writes the cache for the next run.

use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::path::Path;

use crate::cache::{Cache, Known, NewCache, Noted, Stamp, State};
use crate::findings::Options;
use crate::input::{Input, Inputs};
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
#[derive(Debug)]
pub struct Part {
    /// The set.
    pub reduction: Reduction,
    /// Whether the file is a reduced artifact, continued or not.
    pub is_artifact: bool,
}

/// Reads inputs.
#[derive(Debug)]
pub struct Reader {
    inputs: Inputs,
    cache: Cache,
    /// Whether everything is read, whatever the cache says.
    verify: bool,
    keeps: bool,
}

/// Writes the cache of the next run.
#[derive(Debug)]
pub struct Keeper {
    new: Option<NewCache>,
    /// Whether anything was read that the old cache did not know.
    is_new: bool,
}

impl Reader {
    /// A reader without a cache.
    pub fn new(options: Options) -> Self {
        let (inputs, cache) = (Inputs::new(options), Cache::default());
        Self { inputs, cache, verify: true, keeps: false }
    }

    /// A reader with the cache in this file, and what writes the next one. A cache that cannot be
    /// written is done without.
    pub fn with_cache(options: Options, path: &Path, verify: bool) -> (Self, Keeper) {
        let keeper = Keeper { new: NewCache::create(path).ok(), is_new: false };
        let (inputs, cache) = (Inputs::new(options), Cache::load(path));
        (Self { inputs, cache, verify, keeps: keeper.new.is_some() }, keeper)
    }

    /// Reads the file with place `place` among the inputs.
    pub fn read(&self, place: u32, path: &Path) -> ReadFile {
        let mut read = ReadFile::default();
        if let Err(error) = self.read_into(&mut read, place, path) {
            read.problems.push(Problem::of_file(Code::Io, error.to_string()));
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
        let (record, checked) = match known {
            Known::Nothing => (None, None),
            Known::Unchanged(record) => (Some(record), None),
            Known::Grown(record, checked) => (Some(record), Some(checked)),
        };
        // What cannot be read from the cache is read from the file.
        let known = record.and_then(|record| Some((record.reduction(place)?, record)));
        if let Some((_, record)) = known.as_ref().filter(|(_, record)| record.is_continued()) {
            let detail = "the artifact was continued as a session";
            note(Fault::new(Code::ArtifactContinued, detail).at(4, record.leaf()));
        }
        let input = match (known, checked) {
            (Some((reduction, record)), None) => {
                if let Some(line) = record.tail() {
                    let detail = "the last line does not end with a line feed and is ignored";
                    note(Fault::new(Code::UnterminatedTail, detail).at(line, None));
                }
                read.part = Some(Part { reduction, is_artifact: record.is_artifact() });
                return Ok(());
            }
            (Some((reduction, _)), Some(checked)) => {
                file.seek(SeekFrom::Start(checked.covered))?;
                self.inputs.go_on(place, &file, *checked, reduction, &mut note)?
            }
            (None, _) => {
                file.seek(SeekFrom::Start(0))?;
                self.inputs.read(place, &file, &mut note)?
            }
        };
        let Some(Input { reduction, checked }) = input else {
            return Ok(());
        };
        if let (true, Some(key), Some(stamp)) = (self.keeps, key, stamp) {
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
        if let (Some(new), Some(noted)) = (&mut self.new, read.noted.take()) {
            self.is_new = true;
            if new.add(noted).is_err() {
                // A full disk must not stop what can be done without a cache.
                self.new.take().into_iter().for_each(NewCache::discard);
            }
        }
    }

    /// Puts the new cache in the place of the old one, where anything is new.
    pub fn finish(self, reader: &Reader) {
        match self.new {
            // Without a cache the next run is slower, and nothing else.
            Some(new) if self.is_new => {
                let _ = new.finish(&reader.cache, |path| Path::new(path).exists());
            }
            Some(new) => new.discard(),
            None => {}
        }
    }
}
