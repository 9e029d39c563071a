//! Reading the evidence of many files, for whoever asks who is named in them.

use std::convert::Infallible;
use std::path::{Path, PathBuf};

use vocative_pi::store::CACHE_NAME;
use vocative_pi::{Options, Purpose, Reader, Reduction};

use crate::context::Context;
use crate::outcome::Outcome;
use crate::progress::Progress;
use crate::{files, parallel};

/// Reads the evidence of all files, and says whether there was nothing to tell; an invalid file is told and contributes nothing.
pub(crate) fn gather(
    files: &[PathBuf],
    options: Options,
    verify: bool,
    context: &mut Context,
) -> (Reduction, bool, Outcome) {
    let (reader, mut keeper) = match files::kept(CACHE_NAME, context) {
        Some(cache) => {
            let (reader, keeper) = Reader::with_cache(options, Purpose::Query, &cache, verify);
            (reader, Some(keeper))
        }
        None => (Reader::new(options, Purpose::Query), None),
    };
    let mut progress = Progress::new(context, files.len());
    let mut reduction = Reduction::default();
    let (mut is_whole, mut outcome) = (true, Outcome::Done);
    let work = |place: usize, path: &Path| reader.read(place as u32, path);
    let read = parallel::in_order(files, work, |place, mut read| -> Result<(), Infallible> {
        keeper.iter_mut().for_each(|keeper| keeper.keep(&mut read));
        is_whole &= read.problems.is_empty();
        for problem in &read.problems {
            context.problem(&files[place], problem);
        }
        match read.part {
            Some(part) => reduction.absorb(part.reduction),
            None => outcome = Outcome::Problems,
        }
        progress.step();
        Ok(())
    });
    match read {
        Ok(()) => {}
        Err(never) => match never {},
    }
    if let Some(keeper) = keeper {
        keeper.finish(&reader);
    }
    (reduction, is_whole, outcome)
}
