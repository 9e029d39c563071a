//! `vocative reduce` and `vocative merge`: many inputs to one artifact, or one artifact each.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::json;
use vocative_pi::artifact::Artifact;
use vocative_pi::fetch::header_of;
use vocative_pi::lines::MAX_LINE;
use vocative_pi::store::{CACHE_NAME, Folder, StoreError, Written};
use vocative_pi::{Keeper, Options, Part, Purpose, ReadFile, Reader, Reduction};

use crate::context::Context;
use crate::outcome::{Failure, Outcome};
use crate::place::Place;
use crate::progress::Progress;
use crate::{conflict, files, parallel, terminal};

/// Arguments of `vocative reduce`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Session files, reduced artifacts, or folders of them; Pi's sessions if none is given
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Write one artifact per session
    #[arg(long)]
    each: bool,
    /// Leave out invalid inputs instead of failing, and say so; the exit code is still 1
    #[arg(long)]
    skip_invalid: bool,
    /// Read everything, whatever an earlier run has read
    #[arg(long)]
    verify: bool,
    #[command(flatten)]
    common: Common,
}

/// Arguments of `vocative merge`.
#[derive(Debug, clap::Args)]
pub(crate) struct MergeArgs {
    /// Reduced artifacts, or folders of them
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, clap::Args)]
struct Common {
    /// A file, a folder, or - for standard output; Pi's folder for artifacts if not given
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,
    /// The longest line to read, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = MAX_LINE)]
    max_line: usize,
    /// Write the result as one JSON object
    #[arg(long)]
    json: bool,
}

/// What is to be done, of either command.
struct Job {
    paths: Vec<PathBuf>,
    common: Common,
    each: bool,
    skip_invalid: bool,
    verify: bool,
    artifacts_only: bool,
}

/// Reduces.
pub(crate) fn run(args: Args, context: &mut Context) -> Result<Outcome, Failure> {
    let Args { paths, each, skip_invalid, verify, common } = args;
    let paths = files::or_sessions(paths, context)?;
    Job { paths, common, each, skip_invalid, verify, artifacts_only: false }.run(context)
}

/// Merges.
pub(crate) fn merge(args: MergeArgs, context: &mut Context) -> Result<Outcome, Failure> {
    let MergeArgs { paths, common } = args;
    let (each, skip_invalid, verify) = (false, false, false);
    Job { paths, common, each, skip_invalid, verify, artifacts_only: true }.run(context)
}

/// What a group of inputs came to.
#[derive(Default)]
struct Group {
    reduction: Reduction,
    skipped: Vec<PathBuf>,
}

impl Job {
    fn run(self, context: &mut Context) -> Result<Outcome, Failure> {
        let place = Place::of(self.common.output.as_deref(), self.each, context)?;
        let files = files::under(&self.paths)?;
        if files.is_empty() {
            return Err(Failure::new(Outcome::NotFound, "no_sessions", "no session files were found"));
        }
        let (done, conflicts, invalid) = self.read(&files, &place, context);
        let outcome = match (conflicts, invalid) {
            (true, _) => Outcome::Conflict,
            (false, true) => Outcome::Problems,
            (false, false) => Outcome::Done,
        };
        if done.is_empty() {
            context.note("nothing was written");
            return Ok(outcome);
        }
        self.write(&done, &place, context)?;
        Ok(outcome)
    }

    fn reader(&self, place: &Place) -> (Reader, Option<Keeper>) {
        let options = Options { max_line: self.common.max_line, ..Options::default() };
        match place.folder() {
            Some(folder) if folder.is_dir() || std::fs::create_dir_all(folder).is_ok() => {
                let cache = folder.join(CACHE_NAME);
                let (reader, keeper) = Reader::with_cache(options, Purpose::Reduction, &cache, self.verify);
                (reader, Some(keeper))
            }
            _ => (Reader::new(options, Purpose::Reduction), None),
        }
    }

    /// Reads everything. Gives the groups that may be written, and whether there were conflicts
    /// and invalid inputs.
    fn read(&self, files: &[PathBuf], place: &Place, context: &mut Context) -> (Vec<Group>, bool, bool) {
        let (reader, mut keeper) = self.reader(place);
        let mut progress = Progress::new(context, files.len());
        let groups = self.groups(files);
        let order: Vec<usize> = groups.iter().flatten().copied().collect();
        let ordered: Vec<&PathBuf> = order.iter().map(|place| &files[*place]).collect();
        let mut sizes = groups.iter().map(Vec::len);
        let (mut left, mut size) = (0, 0);
        let mut group = Group::default();
        let (mut done, mut conflicts, mut invalid) = (Vec::new(), false, false);
        let work = |place: usize, path: &Path| reader.read(order[place] as u32, path);
        let read = parallel::in_order(&ordered, work, |place, mut read| -> Result<(), Infallible> {
            if left == 0 {
                size = sizes.next().expect("each file is in a group");
                left = size;
            }
            keeper.iter_mut().for_each(|keeper| keeper.keep(&mut read));
            self.take(read, ordered[place], &mut group, context);
            progress.step();
            left -= 1;
            if left == 0 {
                let group = std::mem::take(&mut group);
                for conflict in group.reduction.conflicts() {
                    conflict::tell(conflict, files, context);
                    conflicts = true;
                }
                let skipped = group.skipped.len();
                invalid |= skipped > 0;
                let is_whole = skipped == 0 || self.skip_invalid && skipped < size;
                if is_whole && group.reduction.conflicts().is_empty() {
                    done.push(group);
                }
            }
            Ok(())
        });
        match read {
            Ok(()) => {}
            Err(never) => match never {},
        }
        if let Some(keeper) = keeper {
            keeper.finish(&reader);
        }
        (done, conflicts, invalid)
    }

    /// Takes what reading a file came to into its group.
    fn take(&self, read: ReadFile, path: &Path, group: &mut Group, context: &mut Context) {
        for problem in &read.problems {
            context.problem(path, problem);
        }
        match read.part {
            Some(Part { is_artifact: false, .. }) if self.artifacts_only => {
                let message = format!("{} is no reduced artifact", path.display());
                let details = json!({ "file": path.to_string_lossy() });
                let failure = Failure::new(Outcome::Problems, "not_an_artifact", message);
                context.tell(&failure.with(details));
                group.skipped.push(path.to_owned());
            }
            Some(part) => group.reduction.absorb(part.reduction),
            None => group.skipped.push(path.to_owned()),
        }
    }

    /// The files that become one artifact together, by their places: all of them, or those of
    /// each session. A file without a header is alone, and is told when it is read.
    fn groups(&self, files: &[PathBuf]) -> Vec<Vec<usize>> {
        if !self.each {
            return vec![(0..files.len()).collect()];
        }
        let mut by_session: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (place, file) in files.iter().enumerate() {
            let header = header_of(file, false).ok().flatten();
            let name = header.map_or_else(|| format!("/{place}"), |header| header.id.to_string());
            by_session.entry(name).or_default().push(place);
        }
        by_session.into_values().collect()
    }

    fn write(&self, done: &[Group], place: &Place, context: &mut Context) -> Result<(), Failure> {
        let artifacts: Vec<Artifact<'_>> = done.iter().map(|group| Artifact::of(&group.reduction)).collect();
        let Some(folder_path) = place.folder() else {
            for artifact in &artifacts {
                artifact.write(&mut context.out)?;
            }
            return Ok(());
        };
        let folder = Folder::lock(folder_path).map_err(store_failure)?;
        let mut names = Vec::new();
        let mut results = Vec::new();
        for (artifact, group) in artifacts.iter().zip(done) {
            let name = place.file_name().map_or_else(|| artifact.file_name(), str::to_owned);
            let written = folder.write(&name, artifact).map_err(store_failure)?;
            results.push((folder_path.join(&name), written, artifact.id(), group));
            names.push(name);
        }
        let mut removed = Vec::new();
        if place.is_default() && !self.artifacts_only {
            let new: Vec<&Reduction> = done.iter().map(|group| &group.reduction).collect();
            removed = folder.remove_contained(&new, &names).map_err(store_failure)?;
        }
        for (path, written, id, group) in results {
            tell(&path, written, &id, group, &removed, context)?;
        }
        for name in removed.iter().filter(|_| !self.common.json) {
            writeln!(context.out, "removed {}, which the new one contains", terminal::line(name))?;
        }
        Ok(())
    }
}

/// Says what was written.
fn tell(
    path: &Path,
    written: Written,
    id: &str,
    group: &Group,
    removed: &[String],
    context: &mut Context,
) -> Result<(), Failure> {
    let (references, inputs) = (group.reduction.len(), group.reduction.inputs().len());
    let state = match written {
        Written::New => "written",
        Written::Same => "unchanged",
        Written::Continued => "continued",
    };
    if context.json {
        let skipped: Vec<_> = group.skipped.iter().map(|path| path.to_string_lossy()).collect();
        let object = json!({
            "file": path.to_string_lossy(),
            "id": id,
            "state": state,
            "references": references,
            "sessions": inputs,
            "skipped": skipped,
            "removed": removed,
        });
        writeln!(context.out, "{}", terminal::json(&object))?;
        return Ok(());
    }
    let shown = terminal::line(&path.display().to_string());
    writeln!(context.out, "{shown}: {state}, {references} references from {inputs} sessions")?;
    if !group.skipped.is_empty() {
        let count = group.skipped.len();
        context.note(&format!("{shown} is partial: {count} invalid inputs were left out"));
    }
    Ok(())
}

fn store_failure(error: StoreError) -> Failure {
    let code = match error {
        StoreError::Occupied(_) => "output_occupied",
        StoreError::Io(..) => "io",
    };
    Failure::new(Outcome::Problems, code, error.to_string())
}
