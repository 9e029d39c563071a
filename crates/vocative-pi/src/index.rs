//! The index on disk: the references of a set of files, ready to be asked about one person without
//! a look at those of the others (section 4.4). It can be deleted at any time; only time changes.
//!
//! The index is asked only if it is fresh: it bears the fingerprint of the files that it was made
//! from, and whoever asks takes theirs again. The first line is that fingerprint; the second says
//! where each person's line stands; each line has a checksum. What does not fit is no index.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use vocative::Login;

use crate::cache::{Stamp, create, digest, new_path, sample};
use crate::ids::{EntryId, SessionId};
use crate::query::{Index, Query};
use crate::reduction::{Origin, Reference, ReferenceKey};
use crate::time::Timestamp;

/// The name of the index in a folder of artifacts.
pub const INDEX_NAME: &str = ".vocative-index";
/// What the first line begins with. Another version of the rules must write another one.
const MAGIC: &str = "vocative index 1";

/// What tells one state of a set of files from another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fingerprint(String);

impl Fingerprint {
    /// The fingerprint of one file: its path, device, inode, size, times, and first and last
    /// 4 KiB. `None` where it cannot be told.
    pub fn of_file(path: &Path) -> Option<Self> {
        let file = File::open(path).ok()?;
        let stamp = Stamp::of(&file.metadata().ok()?)?;
        let path = std::path::absolute(path).ok()?.into_os_string().into_string().ok()?;
        let state = serde_json::to_string(&(path, stamp, sample(&file, stamp.size).ok()?)).ok()?;
        Some(Self(digest(state.as_bytes())))
    }

    /// The fingerprint of files in this order, of which lines up to `max_line` bytes are read.
    pub fn of_all(files: &[Self], max_line: usize) -> Self {
        let files: String = files.iter().map(|file| file.0.as_str()).collect();
        Self(digest(format!("{max_line} {files}").as_bytes()))
    }
}

/// Where a person's line stands, after the second line.
type Places = BTreeMap<String, (u64, u64)>;

/// A reference to one person: session, entry, actor, time, place of the file, and line.
#[derive(Serialize, Deserialize)]
struct Row(String, String, String, i64, u32, u32);

impl Row {
    fn of((key, reference): &(ReferenceKey, Reference)) -> Self {
        let Origin { file, line } = reference.origin;
        let (session, entry) = (key.session.to_string(), key.entry.to_string());
        Self(session, entry, reference.actor.to_string(), reference.at.millis(), file, line)
    }

    fn read(self, recipient: &Arc<Login>) -> Option<(ReferenceKey, Reference)> {
        let Self(session, entry, actor, at, file, line) = self;
        let session = SessionId::from_evidence(&session)?;
        let (entry, recipient) = (EntryId::from_evidence(&entry)?, recipient.clone());
        let (actor, at) = (Arc::new(actor.parse().ok()?), Timestamp::from_millis(at)?);
        Some((
            ReferenceKey { session, entry, recipient },
            Reference { actor, at, origin: Origin { file, line } },
        ))
    }
}

/// Writes the index in the place of the old one. Only its owner may read it.
///
/// # Errors
/// What the file system says; then the old one is left as it is.
pub fn write(path: &Path, files: &Fingerprint, index: &Index) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let temporary = new_path(path);
    let write = || {
        let mut places = Places::new();
        let mut rows = Vec::new();
        for (recipient, references) in index.people() {
            let start = rows.len();
            let list: Vec<Row> = references.iter().map(Row::of).collect();
            write_line(&mut rows, &list)?;
            places.insert(recipient.to_string(), (start as u64, (rows.len() - start) as u64));
        }
        let mut out = create(&temporary)?;
        writeln!(out, "{MAGIC} {}", files.0)?;
        write_line(&mut out, &places)?;
        out.write_all(&rows)?;
        out.flush()?;
        std::fs::rename(&temporary, path)
    };
    let written = write();
    if written.is_err() {
        // What is left over is removed by a later run.
        let _ = std::fs::remove_file(&temporary);
    }
    written
}

fn write_line(out: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    let text = serde_json::to_string(value)?;
    writeln!(out, "{}\t{text}", digest(text.as_bytes()))
}

fn read_line<T: serde::de::DeserializeOwned>(line: &str) -> Option<T> {
    let (sum, text) = line.strip_suffix('\n')?.split_once('\t')?;
    (sum == digest(text.as_bytes())).then(|| serde_json::from_str(text).ok()).flatten()
}

/// An index that is fresh.
#[derive(Debug)]
pub struct OpenIndex {
    file: File,
    /// Where the lines of people begin.
    start: u64,
    places: Places,
}

impl OpenIndex {
    /// Opens the index, if there is one for files with this fingerprint.
    pub fn open(path: &Path, files: &Fingerprint) -> Option<Self> {
        let mut file = BufReader::new(File::open(path).ok()?);
        let (mut first, mut second) = (String::new(), String::new());
        // A first line of another kind may be of any length.
        let mut head = file.by_ref().take((MAGIC.len() + files.0.len() + 2) as u64);
        head.read_line(&mut first).ok()?;
        if first.strip_suffix('\n') != Some(&format!("{MAGIC} {}", files.0)) {
            return None;
        }
        file.read_line(&mut second).ok()?;
        let start = (first.len() + second.len()) as u64;
        Some(Self { file: file.into_inner(), start, places: read_line(&second)? })
    }

    /// What [`Query::run`] answers; `None` if the index is damaged.
    pub fn run(&self, query: &Query) -> Option<Vec<(ReferenceKey, Reference)>> {
        let Some((place, length)) = self.places.get(query.recipient.as_str()) else {
            return Some(Vec::new());
        };
        let mut file = &self.file;
        file.seek(SeekFrom::Start(self.start.checked_add(*place)?)).ok()?;
        let mut line = String::new();
        file.take(*length).read_to_string(&mut line).ok()?;
        let recipient = Arc::new(query.recipient.clone());
        let rows: Vec<Row> = read_line(&line)?;
        let list = rows.into_iter().map(|row| row.read(&recipient)).collect::<Option<Vec<_>>>()?;
        Some(
            query
                .choose(&list)
                .into_iter()
                .map(|(key, reference)| (key.clone(), reference.clone()))
                .collect(),
        )
    }
}
