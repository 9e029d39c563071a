//! Reading many inputs, with the help of the offset cache.

use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::path::Path;

use crate::cache::{Cache, Known, NewCache, Stamp, State};
use crate::check::Options;
use crate::input::{Input, Inputs};
use crate::problem::{Code, Fault, Problem};
use crate::reduction::Reduction;

/// What one valid file contributes to a reduction.
#[derive(Debug)]
pub struct Part {
    /// The set.
    pub reduction: Reduction,
    /// Whether the file is a reduced artifact, continued or not.
    pub is_artifact: bool,
}

/// Reads inputs one after another.
#[derive(Debug)]
pub struct Reader {
    inputs: Inputs,
    cache: Cache,
    new: Option<NewCache>,
    /// Whether anything was read that the cache did not know.
    is_new: bool,
    /// Whether everything is read, whatever the cache says.
    verify: bool,
}

impl Reader {
    /// A reader without a cache.
    pub fn new(options: Options) -> Self {
        let (inputs, cache) = (Inputs::new(options), Cache::default());
        Self { inputs, cache, new: None, is_new: false, verify: true }
    }

    /// A reader with the cache in this file. A cache that cannot be written is done without.
    pub fn with_cache(options: Options, path: &Path, verify: bool) -> Self {
        let cache = Cache::load(path);
        let new = NewCache::create(path).ok();
        Self { inputs: Inputs::new(options), cache, new, is_new: false, verify }
    }

    /// Reads the file with place `place` among the inputs. `None` if it is invalid or cannot be
    /// read; what is wrong goes to `problems`.
    pub fn read(&mut self, place: u32, path: &Path, problems: &mut dyn FnMut(Problem)) -> Option<Part> {
        self.try_read(place, path, problems).unwrap_or_else(|error| {
            problems(Problem::of_file(Code::Io, error.to_string()));
            None
        })
    }

    fn try_read(
        &mut self,
        place: u32,
        path: &Path,
        problems: &mut dyn FnMut(Problem),
    ) -> io::Result<Option<Part>> {
        let mut file = File::open(path)?;
        let stamp = Stamp::of(&file.metadata()?);
        let key = std::path::absolute(path)?.into_os_string().into_string().ok();
        let max_line = self.inputs.options.max_line;
        let mut has_tail = false;
        let mut note = |problem: Problem| {
            has_tail |= problem.code == Code::UnterminatedTail;
            problems(problem);
        };
        let known = match (&key, stamp) {
            (Some(key), Some(stamp)) if !self.verify => self.cache.look_up(key, &file, stamp, max_line),
            _ => Known::Nothing,
        };
        let input = match known {
            Known::Unchanged(record) => {
                if let Some(reduction) = record.reduction(place) {
                    if record.is_continued() {
                        let detail = "the artifact was continued as a session";
                        note(Fault::new(Code::ArtifactContinued, detail).at(4, None));
                    }
                    if let Some(line) = record.tail() {
                        let detail = "the last line does not end with a line feed and is ignored";
                        note(Fault::new(Code::UnterminatedTail, detail).at(line, None));
                    }
                    return Ok(Some(Part { reduction, is_artifact: record.is_artifact() }));
                }
                file.seek(SeekFrom::Start(0))?;
                self.inputs.read(place, &file, &mut note)?
            }
            Known::Grown(record, checked) if record.reduction(place).is_some() => {
                if record.is_continued() {
                    let detail = "the artifact was continued as a session";
                    note(Fault::new(Code::ArtifactContinued, detail).at(4, None));
                }
                file.seek(SeekFrom::Start(checked.covered))?;
                let before = record.reduction(place).unwrap_or_default();
                self.inputs.go_on(place, &file, *checked, before, &mut note)?
            }
            _ => {
                file.seek(SeekFrom::Start(0))?;
                self.inputs.read(place, &file, &mut note)?
            }
        };
        self.is_new = true;
        let Some(Input { reduction, checked }) = input else {
            return Ok(None);
        };
        if let (Some(new), Some(key), Some(stamp)) = (&mut self.new, key, stamp) {
            let state = State { stamp, max_line, has_tail, checked: &checked, reduction: &reduction };
            if new.add(&key, &file, &state).is_err() {
                // A full disk must not stop what can be done without a cache.
                self.new.take().into_iter().for_each(NewCache::discard);
            }
        }
        Ok(Some(Part { reduction, is_artifact: checked.is_artifact }))
    }

    /// Ends reading, and leaves a cache for the next run where anything was new.
    pub fn finish(self) {
        let Some(new) = self.new else {
            return;
        };
        if self.is_new {
            // Without a cache the next run is slower, and nothing else.
            let _ = new.finish(&self.cache, |path| Path::new(path).exists());
        } else {
            new.discard();
        }
    }
}
