//! Fetching an entry by session and id, and paging around it (section 4.4).
//!
//! A reference is a claim until the message is found here, in a session that passes the strict
//! check. Files are known by their headers; several may share one session id.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::check::check;
use crate::evidence::Evidence;
use crate::findings::{Checked, Findings, Header, Options};
use crate::ids::{EntryId, SessionId};
use crate::json::{Kind, Scanner, Scratch, Value};
use crate::line::Record;
use crate::lines::{Lines, Next};
use crate::problem::{Code, Problem};
use crate::time::Timestamp;
use crate::tree::{EntryIndex, Tree};

/// Whether the file is the session itself or one that continues it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A file whose header has the session's id.
    Original,
    /// A fork or clone that holds the entry; the original was not found.
    Copy,
}

/// Where an entry lies in the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Branch {
    /// On the path from the last entry to its root.
    Current,
    /// On a branch that was left.
    Abandoned,
}

/// One entry as it stands in its file.
#[derive(Clone, Debug)]
pub struct FetchedEntry {
    /// Its id.
    pub id: String,
    /// Its parent's id, or `None` at a root.
    pub parent: Option<String>,
    /// Its type.
    pub kind: String,
    /// The role of a message.
    pub role: Option<String>,
    /// Its time.
    pub at: Timestamp,
    /// Whether it is on the current branch.
    pub branch: Branch,
    /// The text of a message's content, where it has any; untrusted.
    pub text: Option<String>,
    /// The line without its line feed, byte for byte.
    pub raw: String,
}

/// A page of entries and where the next one begins.
#[derive(Clone, Debug)]
pub struct Page {
    /// The entries.
    pub entries: Vec<FetchedEntry>,
    /// The id of the first entry that is not on this page.
    pub next: Option<String>,
}

/// Where the lines of a session are.
#[derive(Clone)]
pub enum Content {
    /// In a file.
    File(PathBuf),
    /// In memory.
    Memory(Arc<[u8]>),
}

/// Says where, not what: the text of a session has no place in a log.
impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => f.debug_tuple("File").field(path).finish(),
            Self::Memory(bytes) => f.debug_struct("Memory").field("bytes", &bytes.len()).finish(),
        }
    }
}

/// The path of a file.
impl fmt::Display for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::Memory(_) => f.write_str("memory"),
        }
    }
}

impl Content {
    /// What stands there from an offset on, in bytes.
    fn read_from(&self, offset: u64) -> io::Result<Box<dyn Read + '_>> {
        Ok(match self {
            Self::File(path) => {
                let mut file = File::open(path)?;
                file.seek(SeekFrom::Start(offset))?;
                Box::new(file)
            }
            Self::Memory(bytes) => {
                let start = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
                Box::new(&bytes[start..])
            }
        })
    }
}

/// A valid session, open for fetching.
#[derive(Debug)]
pub struct Opened {
    /// Where its lines are.
    pub content: Content,
    /// The session that its header names.
    pub header: Header,
    checked: Checked,
    evidence: Vec<Evidence>,
}

/// Why an entry was not fetched.
#[derive(Debug)]
pub struct NotFound {
    /// The files that were searched for the entry, since their headers or forks fit.
    pub searched: Vec<PathBuf>,
    /// Files that fit but are invalid, each with the first thing that is wrong.
    pub invalid: Vec<(PathBuf, Problem)>,
    /// How many files there were in all.
    pub files: usize,
}

/// The files among which entries are looked for.
#[derive(Debug)]
pub struct Library {
    files: Vec<PathBuf>,
    headers: Option<Vec<Option<Header>>>,
    options: Options,
    /// The file that was used last.
    open: Option<Opened>,
}

impl Library {
    /// A library of these files.
    pub fn new(files: Vec<PathBuf>, options: Options) -> Self {
        let options = Options { offsets: true, ..options };
        Self { files, headers: None, options, open: None }
    }

    /// Finds the entry in an original of the session, or else in a copy.
    pub fn find(
        &mut self,
        session: &SessionId,
        entry: &EntryId,
    ) -> Result<(&Opened, EntryIndex, Source), NotFound> {
        let id = entry.as_str().as_bytes();
        let known = self.open.as_ref().filter(|open| open.header.id == *session);
        if let Some(index) = known.and_then(|open| open.checked.tree.find(id)) {
            return Ok((self.open.as_ref().expect("it was just looked at"), index, Source::Original));
        }
        let mut not_found = NotFound { searched: Vec::new(), invalid: Vec::new(), files: self.files.len() };
        for (source, path) in self.candidates(session) {
            if source == Source::Copy && !mentions(&path, session) {
                continue;
            }
            not_found.searched.push(path.clone());
            match open(Content::File(path.clone()), self.options) {
                Err(problem) => not_found.invalid.push((path, problem)),
                Ok(opened) => {
                    let index = opened
                        .checked
                        .tree
                        .find(id)
                        .filter(|index| source == Source::Original || opened.inherits(session, *index));
                    if let Some(index) = index {
                        return Ok((self.open.insert(opened), index, source));
                    }
                }
            }
        }
        Err(not_found)
    }

    /// The files that may hold the entry: originals, the largest first, then forks.
    fn candidates(&mut self, session: &SessionId) -> Vec<(Source, PathBuf)> {
        let lenient = self.options.lenient;
        let headers = self.headers.get_or_insert_with(|| {
            self.files.iter().map(|path| header_of(path, lenient).ok().flatten()).collect()
        });
        let mut originals = Vec::new();
        let mut forks = Vec::new();
        for (path, header) in self.files.iter().zip(headers) {
            match header {
                Some(header) if header.id == *session => {
                    originals.push((Source::Original, path.clone()));
                }
                Some(header) if header.has_parent => forks.push((Source::Copy, path.clone())),
                _ => {}
            }
        }
        originals.sort_by_key(|(_, path)| {
            (std::cmp::Reverse(path.metadata().map_or(0, |file| file.len())), path.clone())
        });
        originals.append(&mut forks);
        originals
    }
}

/// Whether the file may hold evidence of the session: its id stands in it, or an escape that may
/// spell a part of it.
fn mentions(path: &Path, session: &SessionId) -> bool {
    let plain = memchr::memmem::Finder::new(session.as_str());
    let escape = memchr::memmem::Finder::new(r"\u00");
    let search = || -> io::Result<bool> {
        let mut lines = Lines::new(File::open(path)?, 0, crate::lines::MAX_LINE);
        loop {
            match lines.next()? {
                Next::Line(line) if plain.find(line).or_else(|| escape.find(line)).is_some() => {
                    return Ok(true);
                }
                Next::End => return Ok(false),
                _ => {}
            }
        }
    };
    search().unwrap_or(true)
}

/// The header of a file, from its first line alone.
///
/// # Errors
/// What reading the file says.
pub fn header_of(path: &Path, lenient: bool) -> io::Result<Option<Header>> {
    let mut file = BufReader::with_capacity(4096, File::open(path)?);
    let mut line = Vec::new();
    let mut scratch = Scratch::default();
    for _ in 0..2 {
        line.clear();
        Read::take(&mut file, crate::lines::MAX_LINE as u64).read_until(b'\n', &mut line)?;
        let Ok(record) = Record::read(line.trim_ascii(), &mut scratch) else {
            return Ok(None);
        };
        if record.is("session") {
            let has_parent = record.parent_session.is_some();
            return Ok(record.session_id().map(|id| Header { id, has_parent }));
        }
        if !(lenient && record.is("title")) {
            return Ok(None);
        }
    }
    Ok(None)
}

/// Opens a session that must pass the strict check.
///
/// # Errors
/// The first thing that is wrong with it.
pub fn open(content: Content, options: Options) -> Result<Opened, Problem> {
    let io = |error: io::Error| Problem::of_file(Code::Io, error.to_string());
    let mut findings = Findings::default();
    let options = Options { offsets: true, ..options };
    let checked = check(content.read_from(0).map_err(io)?, options, &mut findings).map_err(io)?;
    if let Some(problem) = findings.problems.into_iter().find(|problem| !problem.is_warning()) {
        return Err(problem);
    }
    let header = checked.header.clone().expect("a valid file has a header");
    Ok(Opened { content, header, checked, evidence: findings.evidence })
}

impl Opened {
    /// The entry with this id.
    pub fn find(&self, entry: &EntryId) -> Option<EntryIndex> {
        self.checked.tree.find(entry.as_str().as_bytes())
    }

    /// The tree of its entries.
    pub fn tree(&self) -> &Tree {
        &self.checked.tree
    }

    /// What the check found.
    pub fn checked(&self) -> &Checked {
        &self.checked
    }

    /// All its evidence, that of sessions that it continues included.
    pub fn all_evidence(&self) -> &[Evidence] {
        &self.evidence
    }

    /// The evidence that points at the entry under this session's id.
    pub fn evidence<'a>(
        &'a self,
        session: &'a SessionId,
        entry: EntryIndex,
    ) -> impl Iterator<Item = &'a Evidence> {
        self.evidence.iter().filter(move |item| item.target == entry && item.marker.session == *session)
    }

    /// Whether the entry came with the copy: evidence of the session stands at or below it.
    fn inherits(&self, session: &SessionId, entry: EntryIndex) -> bool {
        let of_session = self.evidence.iter().filter(|item| item.marker.session == *session);
        of_session.into_iter().any(|item| self.checked.tree.is_ancestor_or_self(entry, item.index))
    }

    /// Whether the entry is on the path from the last entry to its root.
    pub fn branch(&self, entry: EntryIndex) -> Branch {
        let leaf = EntryIndex(self.checked.tree.len() as u32 - 1);
        if self.checked.tree.is_ancestor_or_self(entry, leaf) { Branch::Current } else { Branch::Abandoned }
    }

    /// Reads the entry.
    ///
    /// # Errors
    /// What reading says; a file that changed since it was checked is invalid data.
    pub fn read(&self, entry: EntryIndex) -> io::Result<FetchedEntry> {
        let changed = || io::Error::new(io::ErrorKind::InvalidData, "the file changed while it was read");
        let offset = self.checked.offsets[entry.0 as usize];
        let mut lines = Lines::new(self.content.read_from(offset)?, offset, crate::lines::MAX_LINE);
        let Next::Line(line) = lines.next()? else {
            return Err(changed());
        };
        let mut scratch = Scratch::default();
        let record = Record::read(line, &mut scratch).map_err(|_| changed())?;
        let shown = |value: Option<Value<'_>>| Some(value?.string()?.lossy().into_owned());
        let id = shown(record.id).ok_or_else(changed)?;
        if self.checked.tree.find(id.as_bytes()).is_some_and(|found| found != entry) {
            return Err(changed());
        }
        Ok(FetchedEntry {
            id,
            parent: shown(record.parent),
            kind: shown(record.kind).ok_or_else(changed)?,
            role: record.role(),
            at: record.time().ok_or_else(changed)?,
            branch: self.branch(entry),
            text: record.content().and_then(|content| text_of(content, &mut scratch)),
            raw: std::str::from_utf8(line).map_err(|_| changed())?.to_owned(),
        })
    }

    /// A page of ancestors of the entry, the nearest first, from `from` on or from the parent.
    ///
    /// # Errors
    /// What reading says. `Ok(None)` if `from` is no ancestor.
    pub fn parents(
        &self,
        entry: EntryIndex,
        from: Option<&str>,
        limit: usize,
        conversation: bool,
    ) -> io::Result<Option<Page>> {
        let tree = &self.checked.tree;
        let mut at = tree.parent(entry);
        if let Some(from) = from {
            let start = tree.find(from.as_bytes());
            if !start.is_some_and(|start| start != entry && tree.is_ancestor_or_self(start, entry)) {
                return Ok(None);
            }
            at = start;
        }
        let path = std::iter::successors(at, |entry| tree.parent(*entry));
        self.page(path, limit, conversation).map(Some)
    }

    /// A page of children of the entry in file order, from `from` on or from the first. With
    /// `conversation` the page holds messages, and looks through what is none: an answer hangs
    /// below the marker of its question.
    ///
    /// # Errors
    /// What reading says. `Ok(None)` if `from` is no child.
    pub fn children(
        &self,
        entry: EntryIndex,
        from: Option<&str>,
        limit: usize,
        conversation: bool,
    ) -> io::Result<Option<Page>> {
        self.children_where(entry, from, limit, conversation, |_| true)
    }

    /// The same page of those children that may be seen: others are passed over as if they were not
    /// there, with what hangs below them.
    ///
    /// # Errors
    /// What reading says. `Ok(None)` if `from` is no child that may be seen.
    pub fn children_where(
        &self,
        entry: EntryIndex,
        from: Option<&str>,
        limit: usize,
        conversation: bool,
        may_see: impl Fn(EntryIndex) -> bool,
    ) -> io::Result<Option<Page>> {
        let tree = &self.checked.tree;
        let mut page = Page { entries: Vec::new(), next: None };
        let mut above = std::collections::HashSet::from([entry]);
        let mut started = from.is_none();
        let below = (entry.0 + 1..tree.len() as u32).map(EntryIndex);
        for index in below {
            if !tree.parent(index).is_some_and(|parent| above.contains(&parent)) || !may_see(index) {
                continue;
            }
            started |= from == Some(&*tree.id(index));
            if !conversation && !started {
                continue;
            }
            if !conversation && page.entries.len() == limit {
                page.next = Some(tree.id(index));
                break;
            }
            let child = self.read(index)?;
            if conversation && child.kind != "message" {
                above.insert(index);
            } else if started && page.entries.len() == limit {
                page.next = Some(child.id);
                break;
            } else if started {
                page.entries.push(child);
            }
        }
        Ok(started.then_some(page))
    }

    fn page(
        &self,
        entries: impl Iterator<Item = EntryIndex>,
        limit: usize,
        conversation: bool,
    ) -> io::Result<Page> {
        let mut page = Page { entries: Vec::new(), next: None };
        for index in entries {
            if page.entries.len() == limit && !conversation {
                page.next = Some(self.checked.tree.id(index));
                break;
            }
            let entry = self.read(index)?;
            if conversation && entry.kind != "message" {
                continue;
            }
            if page.entries.len() == limit {
                page.next = Some(entry.id);
                break;
            }
            page.entries.push(entry);
        }
        Ok(page)
    }
}

/// The text of a message's content: the string, or its text blocks, one after another on lines of
/// their own. Lone surrogates become U+FFFD.
fn text_of(content: Value<'_>, scratch: &mut Scratch) -> Option<String> {
    if let Some(text) = content.string() {
        return Some(text.lossy().into_owned());
    }
    if !matches!(content.kind, Kind::Array) {
        return None;
    }
    let mut blocks = Vec::new();
    let mut scanner = Scanner::new(content.raw, scratch);
    let read = scanner.array(1, |scanner| {
        if !scanner.at_object() {
            return scanner.value(2).map(drop);
        }
        let (mut is_text, mut text) = (false, None);
        scanner.object(2, |scanner, key| {
            let value = scanner.value(3)?;
            if key.is("type") {
                is_text = value.string().is_some_and(|kind| kind.is("text"));
            } else if key.is("text") {
                text = value.string();
            }
            Ok(())
        })?;
        blocks.extend(text.filter(|_| is_text).map(|text| text.lossy().into_owned()));
        Ok(())
    });
    read.ok().map(|()| blocks.join("\n"))
}
