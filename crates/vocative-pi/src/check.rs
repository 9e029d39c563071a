//! The strict check of a whole session (section 1.6) and of the evidence in it (section 4.1), in
//! one pass, in memory bounded by the longest line and a few dozen bytes per entry.

use std::io::{self, Read};

use crate::artifact::Watch;
use crate::evidence::Evidence;
use crate::findings::{Checked, Header, Options, Sink};
use crate::ids::EntryId;
use crate::json::Scratch;
use crate::line::{MARKER_TYPE, Record};
use crate::lines::{Lines, Next};
use crate::marker::Marker;
use crate::parents::{Pending, resolve};
use crate::problem::{Code, Fault, Problem};
use crate::tree::{EntryIndex, Refused, Tree};

/// Checks line after line.
#[derive(Debug)]
pub struct Checker {
    options: Options,
    scratch: Scratch,
    faults: Vec<Fault>,
    pending: Vec<Pending>,
    header_seen: bool,
    /// Whether it was said that there is no header where it belongs.
    headless: bool,
    watch: Watch,
    /// Whether the next line is where the header belongs.
    at_start: bool,
    so_far: Checked,
}

impl Checker {
    /// A check that has seen nothing.
    pub fn new(options: Options) -> Self {
        let so_far = Checked {
            header: None,
            tree: Tree::default(),
            offsets: Vec::new(),
            covered: 0,
            lines: 0,
            is_artifact: false,
            errors: 0,
            users: Vec::new(),
        };
        Self::resume(options, so_far)
    }

    /// A check that goes on after the lines of a valid file.
    pub(crate) fn resume(options: Options, so_far: Checked) -> Self {
        Self {
            options,
            scratch: Scratch::default(),
            faults: Vec::new(),
            pending: Vec::new(),
            header_seen: so_far.header.is_some(),
            headless: false,
            watch: Watch::resume(&so_far),
            at_start: so_far.lines == 0,
            so_far,
        }
    }

    fn report(&mut self, problem: Problem, sink: &mut dyn Sink) {
        self.so_far.errors += u64::from(!problem.is_warning());
        sink.problem(problem);
    }

    /// Reports the faults that were gathered for the line at hand.
    fn report_faults(&mut self, entry: Option<&str>, sink: &mut dyn Sink) {
        let line = self.so_far.lines;
        for fault in std::mem::take(&mut self.faults) {
            self.report(fault.at(line, entry.map(str::to_owned)), sink);
        }
    }

    fn fault(&mut self, code: Code, detail: impl Into<String>) {
        self.faults.push(Fault::new(code, detail));
    }

    /// Checks the next line, which begins at `offset` and is given without its line feed.
    pub fn line(&mut self, offset: u64, line: &[u8], sink: &mut dyn Sink) {
        self.so_far.lines += 1;
        self.so_far.covered = offset + line.len() as u64 + 1;
        let line = if self.at_start { self.first_bytes(line) } else { line };
        let mut scratch = std::mem::take(&mut self.scratch);
        match Record::read(line, &mut scratch) {
            Err(fault) => {
                self.at_start = false;
                self.faults.push(fault);
                self.report_faults(None, sink);
            }
            Ok(record) => {
                self.record(offset, &record, &mut scratch, sink);
                self.watch(line, &record, &mut scratch, sink);
            }
        }
        self.scratch = scratch;
    }

    /// Compares the first three lines with those of an artifact (section 4.2).
    fn watch(&mut self, line: &[u8], record: &Record<'_>, scratch: &mut Scratch, sink: &mut dyn Sink) {
        let Some(header) = &self.so_far.header else {
            return;
        };
        match self.watch.line(self.so_far.lines, line, header, record, scratch) {
            None => return,
            Some(Ok(reduction)) => {
                self.so_far.is_artifact = true;
                sink.reduction(reduction);
            }
            Some(Err(fault)) => {
                self.so_far.is_artifact |= fault.code.is_warning();
                self.faults.push(fault);
            }
        }
        self.report_faults(record.shown_id().as_deref(), sink);
    }

    /// Splits off what only the first line may have before its `{` or after its `}`.
    fn first_bytes<'a>(&mut self, line: &'a [u8]) -> &'a [u8] {
        let line = match line.strip_prefix(b"\xef\xbb\xbf") {
            Some(rest) => {
                self.fault(Code::ByteOrderMark, "the file begins with a byte-order mark");
                rest
            }
            None => line,
        };
        // Another agent pads its title line with spaces, which it later overwrites.
        let trimmed = line.trim_ascii();
        let is_title = Record::read(trimmed, &mut self.scratch).is_ok_and(|record| record.is("title"));
        if is_title { trimmed } else { line }
    }

    fn record(&mut self, offset: u64, record: &Record<'_>, scratch: &mut Scratch, sink: &mut dyn Sink) {
        if self.at_start && record.is("title") {
            if !self.options.lenient {
                self.headless = true;
                self.fault(Code::TitleLine, "a title line stands before the header");
            }
            // The header is expected on the next line, and a second title line is none.
            self.report_faults(record.shown_id().as_deref(), sink);
            self.at_start = false;
            return;
        }
        self.at_start = false;
        if record.is("session") {
            self.header(record, sink);
            return;
        }
        if !self.header_seen && !self.headless && self.so_far.errors == 0 {
            self.headless = true;
            self.fault(Code::HeaderMissing, "an entry stands where the header belongs");
        }
        self.entry(offset, record, scratch, sink);
    }

    fn header(&mut self, record: &Record<'_>, sink: &mut dyn Sink) {
        if self.header_seen {
            self.fault(Code::SecondHeader, "a header stands after the first line");
        } else {
            self.header_seen = true;
            record.header_faults(&mut self.faults);
            let has_parent = record.parent_session.is_some();
            self.so_far.header = record.session_id().map(|id| Header { id, has_parent });
        }
        self.report_faults(record.shown_id().as_deref(), sink);
    }

    fn entry(&mut self, offset: u64, record: &Record<'_>, scratch: &mut Scratch, sink: &mut dyn Sink) {
        record.entry_faults(&mut self.faults);
        let id = record.id.and_then(|id| id.string()).filter(|id| !id.is(""));
        let index = id.and_then(|id| self.place(&id.bytes(), offset, record));
        if let Some(index) = index {
            if record.is_user_message()
                && let Some(at) = record.time()
            {
                self.so_far.users.push((index, at));
            }
            if record.is_custom(MARKER_TYPE) {
                match self.evidence(offset, index, record, scratch) {
                    Ok(evidence) => sink.evidence(evidence),
                    Err(fault) => self.faults.push(fault),
                }
            }
        }
        if !self.faults.is_empty() {
            self.report_faults(record.shown_id().as_deref(), sink);
        }
    }

    /// Gives the entry its place in the tree (rule 3).
    fn place(&mut self, id: &[u8], offset: u64, record: &Record<'_>) -> Option<EntryIndex> {
        let tree = &mut self.so_far.tree;
        let mut parent = None;
        let mut missing = None;
        if let Some(wanted) = record.parent.and_then(|parent| parent.string()) {
            let wanted = wanted.bytes();
            parent = tree.find(&wanted);
            if parent.is_none() && *wanted == *id {
                self.faults.push(Fault::new(Code::ParentSelf, "the entry is its own parent"));
            } else if parent.is_none() {
                missing = Some(wanted);
            }
        }
        match tree.insert(id, parent) {
            Ok(index) => {
                if self.options.offsets {
                    self.so_far.offsets.push(offset);
                }
                if let Some(parent) = missing {
                    self.pending.push(Pending::new(self.so_far.lines, index, &parent));
                }
                Some(index)
            }
            Err(Refused::Taken(first)) => {
                let detail = format!("the id is that of entry number {} already", first.0 + 1);
                self.fault(Code::DuplicateId, detail);
                None
            }
            Err(Refused::Full) => {
                self.fault(Code::TooManyEntries, "more entries than can be numbered");
                None
            }
        }
    }

    /// Checks a marker against the tree (section 4.1).
    fn evidence(
        &self,
        offset: u64,
        index: EntryIndex,
        record: &Record<'_>,
        scratch: &mut Scratch,
    ) -> Result<Evidence, Fault> {
        let marker = Marker::read(record.data, scratch)?;
        let own_id = record.id.and_then(|id| EntryId::from_evidence(&id.string()?.text()?));
        let id = own_id
            .ok_or_else(|| Fault::new(Code::MarkerId, "the marker's own id cannot be used in evidence"))?;
        if let Some(header) = &self.so_far.header
            && header.id != marker.session
            && !header.has_parent
        {
            let detail = format!("the target is of session {}", marker.session);
            return Err(Fault::new(Code::MarkerSession, detail));
        }
        let refuse = |code, what: &str| Err(Fault::new(code, format!("the target {} {what}", marker.entry)));
        let tree = &self.so_far.tree;
        let Some(target) = tree.find(marker.entry.as_str().as_bytes()) else {
            return refuse(Code::MarkerTargetMissing, "is not among the entries before the marker");
        };
        let users = &self.so_far.users;
        let Ok(user) = users.binary_search_by_key(&target, |(index, _)| *index) else {
            return refuse(Code::MarkerTargetNotUser, "is no message of the user");
        };
        if !tree.is_ancestor_or_self(target, index) {
            return refuse(Code::MarkerTargetNotAncestor, "is no ancestor of the marker");
        }
        let line = self.so_far.lines;
        Ok(Evidence { line, offset, id, index, target, at: users[user].1, marker })
    }

    /// Notes a line over the limit, of which the next one begins at `end`.
    pub fn too_long(&mut self, end: u64, sink: &mut dyn Sink) {
        self.so_far.lines += 1;
        self.so_far.covered = end;
        self.at_start = false;
        let detail = format!("the line is longer than {} bytes", self.options.max_line);
        self.fault(Code::LineTooLong, detail);
        self.report_faults(None, sink);
    }

    /// Notes that the file does not end with a line feed (rule 1).
    pub fn tail(&mut self, sink: &mut dyn Sink) {
        let line = self.so_far.lines + 1;
        let fault = if self.watch.is_bare_artifact(self.so_far.lines) {
            let detail = "the artifact's last line does not end with a line feed";
            Fault::new(Code::UnterminatedArtifact, detail)
        } else {
            let detail = "the last line does not end with a line feed and is ignored";
            Fault::new(Code::UnterminatedTail, detail)
        };
        self.report(fault.at(line, None), sink);
    }

    /// Says what can be said only at the end.
    pub fn finish(mut self, sink: &mut dyn Sink) -> Checked {
        if self.so_far.lines == 0 {
            self.report(Problem::of_file(Code::EmptyFile, "no complete line"), sink);
        } else if !self.header_seen && !self.headless && self.so_far.errors == 0 {
            self.report(Problem::of_file(Code::HeaderMissing, "no header"), sink);
        }
        if self.watch.was_cut_short(self.so_far.lines) {
            let detail = "an artifact of fewer than three lines";
            self.report(Problem::of_file(Code::ArtifactNotCanonical, detail), sink);
        }
        let tree = std::mem::take(&mut self.so_far.tree);
        for problem in resolve(&tree, std::mem::take(&mut self.pending)) {
            self.report(problem, sink);
        }
        self.so_far.tree = tree;
        self.so_far
    }
}

/// Checks a session from its first byte to its last.
///
/// # Errors
/// What reading the source says; what is wrong with the session goes to the sink.
pub fn check(source: impl Read, options: Options, sink: &mut dyn Sink) -> io::Result<Checked> {
    go_on(source, Checker::new(options), sink)
}

/// Goes on with a check; `source` begins where the last one ended.
pub(crate) fn go_on(source: impl Read, mut checker: Checker, sink: &mut dyn Sink) -> io::Result<Checked> {
    let mut lines = Lines::new(source, checker.so_far.covered, checker.options.max_line);
    loop {
        let offset = lines.offset();
        match lines.next()? {
            Next::Line(line) => checker.line(offset, line, sink),
            Next::TooLong => checker.too_long(lines.offset(), sink),
            Next::Tail(_) => checker.tail(sink),
            Next::End => return Ok(checker.finish(sink)),
        }
    }
}
