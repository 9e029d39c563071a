//! The offset cache: what was read of each input, so that a further run reads only what is new.
//!
//! It is safe to delete and is trusted only as far as it can be checked: a file counts as
//! unchanged if device, inode, size and both times are the same and so are the first and last
//! 4 KiB that were read; as grown if it is the same file with the same 4 KiB at both ends. Each
//! record has a checksum; whatever does not fit is read again. Session files are append-only, so
//! the lines between those ends stand as they were; `--verify` reads them all the same.
//!
//! There are two files: records, one line each, and the trees of the sessions, which are needed
//! only to go on with a file that grew.

use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::findings::{Checked, Header};
use crate::ids::{EntryId, SessionId};
use crate::reduction::{Origin, Reduction, Reference, ReferenceKey};
use crate::time::Timestamp;
use crate::tree::{EntryIndex, Tree};

/// The first line of the records. Another version of the rules must write another line, since
/// what was valid under one may not be under the other.
const MAGIC: &str = "vocative offset cache 2";
/// How much is compared at either end of what was read.
const SAMPLE: u64 = 4096;

/// What tells one state of a file from another: device, inode, size, mtime and ctime in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stamp {
    device: u64,
    inode: u64,
    pub(crate) size: u64,
    mtime: (i64, i64),
    ctime: (i64, i64),
}

impl Stamp {
    #[cfg(unix)]
    pub(crate) fn of(file: &Metadata) -> Option<Self> {
        use std::os::unix::fs::MetadataExt;
        Some(Self {
            device: file.dev(),
            inode: file.ino(),
            size: file.size(),
            mtime: (file.mtime(), file.mtime_nsec()),
            ctime: (file.ctime(), file.ctime_nsec()),
        })
    }

    /// Without inodes a file cannot be told from one that took its place.
    #[cfg(not(unix))]
    pub(crate) fn of(_: &Metadata) -> Option<Self> {
        None
    }
}

/// All that is known of one input.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Record {
    stamp: Stamp,
    max_line: usize,
    covered: u64,
    sample: String,
    /// None if the file was only searched: it holds no evidence, and may be invalid.
    contents: Option<Contents>,
}

/// What a valid file holds.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Contents {
    lines: u64,
    is_artifact: bool,
    /// The id of the entry that continues an artifact.
    continued_by: Option<String>,
    has_tail: bool,
    header: String,
    has_parent: bool,
    /// Session ids and logins, which the lists below name by their places.
    names: Vec<String>,
    inputs: Vec<u32>,
    /// Session and marker.
    markers: Vec<(u32, String)>,
    /// Session, entry, recipient, actor, time and line.
    references: Vec<(u32, String, u32, u32, i64, u32)>,
    /// Where the tree stands among the trees, and its digest.
    tree: (u64, u64, String),
}

/// What the cache knows of a file.
#[derive(Debug)]
pub(crate) enum Known {
    /// Everything: nothing changed.
    Unchanged(Box<Contents>),
    /// The first part, after which there is more.
    Grown(Box<Contents>, Box<Checked>),
    /// That it holds no evidence: nothing changed. Whether it is valid is not known.
    NoEvidence,
    /// Nothing that can be relied on.
    Nothing,
}

/// A cache as an earlier run left it.
#[derive(Debug, Default)]
pub(crate) struct Cache {
    records: String,
    places: HashMap<String, Range<usize>>,
    trees: Option<File>,
}

/// A checksum against accidents: folded 128-bit products of eight bytes at a time, which is many
/// times as fast as a cryptographic digest. Whoever can write the cache can write artifacts too.
pub(crate) fn digest(bytes: &[u8]) -> String {
    let fold = |a: u64, b: u64| {
        let product = u128::from(a) * u128::from(b);
        product as u64 ^ (product >> 64) as u64
    };
    let (words, rest) = bytes.as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let mut sums = [0x9e37_79b9_7f4a_7c15, 0xbf58_476d_1ce4_e5b9 ^ bytes.len() as u64];
    for word in words.iter().chain([&last]) {
        let word = u64::from_le_bytes(*word);
        sums[0] = fold(sums[0] ^ word, 0xa076_1d64_78bd_642f);
        sums[1] = sums[1].rotate_left(29) ^ fold(word ^ 0xe703_7ed1_a0b4_28db, 0x8ebc_6af0_9c88_c6e3);
    }
    format!("{:016x}{:016x}", sums[0], sums[1])
}

/// The digest of the first and the last bytes that were read of a file.
pub(crate) fn sample(mut file: &File, covered: u64) -> io::Result<String> {
    let mut bytes = Vec::with_capacity(2 * SAMPLE as usize);
    for start in [0, covered.saturating_sub(SAMPLE)] {
        file.seek(SeekFrom::Start(start))?;
        Read::take(file, SAMPLE.min(covered)).read_to_end(&mut bytes)?;
        if covered <= SAMPLE {
            break;
        }
    }
    Ok(digest(&bytes))
}

impl Cache {
    /// Reads the cache; one that is not there or not whole is an empty one.
    pub(crate) fn load(path: &Path) -> Self {
        let mut cache = Self::default();
        let Ok(records) = std::fs::read_to_string(path) else {
            return cache;
        };
        if records.lines().next() != Some(MAGIC) {
            return cache;
        }
        let mut at = MAGIC.len() + 1;
        for line in records[at.min(records.len())..].split_inclusive('\n') {
            let fields = line.trim_end().splitn(3, '\t').collect::<Vec<_>>();
            if let [sum, path_json, record] = fields[..]
                && sum == digest(&line.trim_end().as_bytes()[sum.len() + 1..])
                && let Ok(path) = serde_json::from_str::<String>(path_json)
            {
                let start = at + sum.len() + 1 + path_json.len() + 1;
                cache.places.insert(path, start..start + record.len());
            }
            at += line.len();
        }
        cache.records = records;
        cache.trees = File::open(trees_path(path)).ok();
        cache
    }

    fn record(&self, path: &str) -> Option<Record> {
        serde_json::from_str(&self.records[self.places.get(path)?.clone()]).ok()
    }

    /// What is known of an open file.
    pub(crate) fn look_up(&self, path: &str, file: &File, stamp: Stamp, max_line: usize) -> Known {
        let fits = |record: &Record| {
            let old = record.stamp;
            record.max_line == max_line
                && (old.device, old.inode) == (stamp.device, stamp.inode)
                && (old == stamp || old.size < stamp.size)
                && sample(file, record.covered).is_ok_and(|sample| sample == record.sample)
        };
        let Some(record) = self.record(path).filter(fits) else {
            return Known::Nothing;
        };
        match (record.contents, record.stamp == stamp) {
            (Some(contents), true) => Known::Unchanged(Box::new(contents)),
            (Some(contents), false) => match self.checked(&contents, record.covered) {
                Some(checked) => Known::Grown(Box::new(contents), Box::new(checked)),
                None => Known::Nothing,
            },
            (None, true) => Known::NoEvidence,
            (None, false) => Known::Nothing,
        }
    }

    fn tree_bytes(&self, contents: &Contents) -> Option<Vec<u8>> {
        let (offset, length, sum) = &contents.tree;
        let mut file = self.trees.as_ref()?;
        file.seek(SeekFrom::Start(*offset)).ok()?;
        let mut bytes = Vec::new();
        Read::take(file, *length).read_to_end(&mut bytes).ok()?;
        (digest(&bytes) == *sum).then_some(bytes)
    }

    /// The state in which the check of the file ended.
    fn checked(&self, contents: &Contents, covered: u64) -> Option<Checked> {
        let bytes = self.tree_bytes(contents)?;
        let (count, rest) = bytes.split_first_chunk::<8>()?;
        let count = usize::try_from(u64::from_le_bytes(*count)).ok()?;
        let (users, tree) = rest.split_at_checked(count.checked_mul(12)?)?;
        let user = |bytes: &[u8]| {
            let (index, millis) = bytes.split_first_chunk::<4>()?;
            let millis = i64::from_le_bytes(millis.try_into().ok()?);
            Some((EntryIndex(u32::from_le_bytes(*index)), Timestamp::from_millis(millis)?))
        };
        Some(Checked {
            header: Some(Header {
                id: SessionId::from_header(&contents.header)?,
                has_parent: contents.has_parent,
            }),
            tree: Tree::from_bytes(tree)?,
            offsets: Vec::new(),
            covered,
            lines: contents.lines,
            is_artifact: contents.is_artifact,
            errors: 0,
            users: users.chunks_exact(12).map(user).collect::<Option<_>>()?,
        })
    }
}

impl Contents {
    /// Whether the file ends with a part of a line, on this line.
    pub(crate) fn tail(&self) -> Option<u64> {
        self.has_tail.then_some(self.lines + 1)
    }

    /// Whether the file is an artifact that goes on as a session.
    pub(crate) fn is_continued(&self) -> bool {
        self.is_artifact && self.lines > 3
    }

    /// What the file contributes, found as the input with this place.
    pub(crate) fn reduction(&self, file: u32) -> Option<Reduction> {
        let mut reduction = Reduction::default();
        let name = |place: u32| self.names.get(place as usize);
        let session =
            |place| SessionId::from_header(name(place)?).or_else(|| SessionId::from_evidence(name(place)?));
        let login = |place| Some(Arc::new(name(place)?.parse().ok()?));
        for input in &self.inputs {
            reduction.add_input(session(*input)?);
        }
        for (place, marker) in &self.markers {
            reduction.add_marker(session(*place)?, EntryId::from_evidence(marker)?);
        }
        for (place, entry, recipient, actor, at, line) in &self.references {
            let key = ReferenceKey {
                session: session(*place)?,
                entry: EntryId::from_evidence(entry)?,
                recipient: login(*recipient)?,
            };
            let at = Timestamp::from_millis(*at)?;
            let origin = Origin { file, line: *line };
            reduction.add(key, Reference { actor: login(*actor)?, at, origin });
        }
        Some(reduction)
    }

    /// The id of the first entry after an artifact.
    pub(crate) fn leaf(&self) -> Option<String> {
        self.continued_by.clone()
    }

    /// Whether the file is an artifact.
    pub(crate) fn is_artifact(&self) -> bool {
        self.is_artifact
    }

    /// Whether the file names anybody, or stands for files that may.
    pub(crate) fn has_evidence(&self) -> bool {
        self.is_artifact || !self.references.is_empty()
    }
}

/// A cache that this run writes, beside the one it reads.
#[derive(Debug)]
pub(crate) struct NewCache {
    path: PathBuf,
    records: BufWriter<File>,
    trees: BufWriter<File>,
    trees_length: u64,
    seen: std::collections::HashSet<String>,
}

fn trees_path(path: &Path) -> PathBuf {
    path.with_extension("trees")
}

/// Where a file is written before it takes the place of the one at this path.
pub(crate) fn new_path(path: &Path) -> PathBuf {
    path.with_added_extension(format!("{}.new", std::process::id()))
}

/// A file that only its owner may read: it tells who named whom.
pub(crate) fn create(path: &Path) -> io::Result<BufWriter<File>> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    Ok(BufWriter::new(options.open(path)?))
}

impl NewCache {
    /// Begins a cache that is to be at this path, in a folder that is made if need be.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let mut records = create(&new_path(path))?;
        writeln!(records, "{MAGIC}")?;
        let trees = create(&new_path(&trees_path(path)))?;
        let (path, seen) = (path.to_owned(), std::collections::HashSet::new());
        Ok(Self { path, records, trees, trees_length: 0, seen })
    }

    fn write(&mut self, path: &str, record: &mut Record, tree: &[u8]) -> io::Result<()> {
        if let Some(contents) = &mut record.contents {
            contents.tree = (self.trees_length, tree.len() as u64, digest(tree));
            self.trees.write_all(tree)?;
            self.trees_length += tree.len() as u64;
        }
        let path_json = serde_json::to_string(path)?;
        let record = serde_json::to_string(record)?;
        let line = format!("{path_json}\t{record}");
        self.seen.insert(path.to_owned());
        writeln!(self.records, "{}\t{line}", digest(line.as_bytes()))
    }

    /// Notes a file that was read. A cache that cannot be written is given up.
    pub(crate) fn add(mut self, mut noted: Noted) -> Option<Self> {
        match self.write(&noted.path, &mut noted.record, &noted.tree) {
            Ok(()) => Some(self),
            Err(_) => {
                self.discard();
                None
            }
        }
    }

    /// Keeps what the old cache knows of files that this run did not read and that still exist,
    /// and puts the new cache in the place of the old one, if it can be written.
    pub(crate) fn finish(mut self, old: &Cache, keep: impl Fn(&str) -> bool) {
        if self.replace(old, keep).is_err() {
            self.discard();
        }
    }

    fn replace(&mut self, old: &Cache, keep: impl Fn(&str) -> bool) -> io::Result<()> {
        for path in old.places.keys() {
            if !self.seen.contains(path)
                && keep(path)
                && let Some(mut record) = old.record(path)
                && let Some(tree) = record.contents.as_ref().map_or(Some(Vec::new()), |of| old.tree_bytes(of))
            {
                self.write(path, &mut record, &tree)?;
            }
        }
        self.records.flush()?;
        self.trees.flush()?;
        // Between the two renames the records speak of trees that are not theirs, which their
        // digests tell.
        for path in [trees_path(&self.path), self.path.clone()] {
            std::fs::rename(new_path(&path), path)?;
        }
        Ok(())
    }

    /// Leaves the old cache as it is.
    fn discard(self) {
        for path in [trees_path(&self.path), self.path] {
            // What is left over is overwritten or removed by a later run.
            let _ = std::fs::remove_file(new_path(&path));
        }
    }
}

/// What is to be noted of a file that was read.
#[derive(Debug)]
pub(crate) struct Noted {
    path: String,
    record: Box<Record>,
    tree: Vec<u8>,
}

impl Noted {
    pub(crate) fn new(path: String, file: &File, state: &State<'_>) -> io::Result<Self> {
        let checked = state.checked;
        let mut tree = (checked.users.len() as u64).to_le_bytes().to_vec();
        for (index, at) in &checked.users {
            tree.extend_from_slice(&index.0.to_le_bytes());
            tree.extend_from_slice(&at.millis().to_le_bytes());
        }
        tree.extend_from_slice(&checked.tree.to_bytes());
        let &State { stamp, max_line, .. } = state;
        let (covered, contents) = (checked.covered, Some(state.contents()));
        let record = Record { stamp, max_line, covered, sample: sample(file, covered)?, contents };
        Ok(Self { path, record: Box::new(record), tree })
    }

    /// What is to be noted of a file that was searched and holds no evidence.
    pub(crate) fn no_evidence(path: String, file: &File, stamp: Stamp, max_line: usize) -> io::Result<Self> {
        let covered = stamp.size;
        let record = Record { stamp, max_line, covered, sample: sample(file, covered)?, contents: None };
        Ok(Self { path, record: Box::new(record), tree: Vec::new() })
    }
}

/// What there is to note of a file that was read.
#[derive(Debug)]
pub(crate) struct State<'a> {
    pub(crate) stamp: Stamp,
    pub(crate) max_line: usize,
    pub(crate) has_tail: bool,
    pub(crate) checked: &'a Checked,
    pub(crate) reduction: &'a Reduction,
}

impl State<'_> {
    fn contents(&self) -> Contents {
        let Self { checked, reduction, .. } = self;
        let mut names = Vec::new();
        let mut places = HashMap::new();
        let mut place = |name: &str| {
            *places.entry(name.to_owned()).or_insert_with(|| {
                names.push(name.to_owned());
                names.len() as u32 - 1
            })
        };
        let inputs = reduction.inputs().iter().map(|input| place(input.as_str())).collect();
        let mut markers = Vec::new();
        for (session, entries) in reduction.markers() {
            let session = place(session.as_str());
            markers.extend(entries.iter().map(|entry| (session, entry.as_str().to_owned())));
        }
        let references = reduction.references().map(|(key, of)| {
            let people = [&key.recipient, &of.actor].map(|login| place(login.as_str()));
            let (session, entry) = (place(key.session.as_str()), key.entry.as_str().to_owned());
            (session, entry, people[0], people[1], of.at.millis(), of.origin.line)
        });
        let references = references.collect();
        let header = checked.header.as_ref().expect("a valid file has a header");
        Contents {
            lines: checked.lines,
            is_artifact: checked.is_artifact,
            continued_by: (checked.is_artifact && checked.lines > 3).then(|| checked.tree.id(EntryIndex(2))),
            has_tail: self.has_tail,
            header: header.id.as_str().to_owned(),
            has_parent: header.has_parent,
            names,
            inputs,
            markers,
            references,
            tree: (0, 0, String::new()),
        }
    }
}
