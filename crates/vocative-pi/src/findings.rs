//! What a check is asked and what it gives; how it checks is the business of [`mod@crate::check`].

use crate::evidence::Evidence;
use crate::ids::SessionId;
use crate::lines::MAX_LINE;
use crate::problem::Problem;
use crate::reduction::Reduction;
use crate::time::Timestamp;
use crate::tree::{EntryIndex, Tree};

/// How a file is checked.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Passes over a leading title line of another agent. For reading, never before writing.
    pub lenient: bool,
    /// The longest line, in bytes.
    pub max_line: usize,
    /// Keeps where each entry's line begins, for fetching.
    pub offsets: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { lenient: false, max_line: MAX_LINE, offsets: false }
    }
}

/// Takes what a check finds, as it finds it.
pub trait Sink {
    /// Something is wrong, or worth a notice.
    fn problem(&mut self, problem: Problem);

    /// The file begins with the canonical lines of this reduction.
    fn reduction(&mut self, reduction: Reduction) {
        drop(reduction);
    }

    /// A valid marker. That the file around it is valid is known only at the end.
    fn evidence(&mut self, evidence: Evidence) {
        drop(evidence);
    }
}

/// Keeps everything.
#[derive(Debug, Default)]
pub struct Findings {
    /// What is wrong.
    pub problems: Vec<Problem>,
    /// The valid markers.
    pub evidence: Vec<Evidence>,
}

impl Sink for Findings {
    fn problem(&mut self, problem: Problem) {
        self.problems.push(problem);
    }

    fn evidence(&mut self, evidence: Evidence) {
        self.evidence.push(evidence);
    }
}

/// What the header says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The session.
    pub id: SessionId,
    /// Whether the session continues another, so that it may hold that one's evidence.
    pub has_parent: bool,
}

/// A file that was checked.
#[derive(Debug)]
pub struct Checked {
    /// The header, if there is one with an id.
    pub header: Option<Header>,
    /// The entries. The last one is the leaf.
    pub tree: Tree,
    /// Where each entry's line begins, if that was asked for.
    pub offsets: Vec<u64>,
    /// The bytes up to the end of the last complete line.
    pub covered: u64,
    /// Lines that were read, the header included.
    pub lines: u64,
    /// Whether the first three lines are a reduced artifact.
    pub is_artifact: bool,
    /// How many problems make the file invalid; warnings are not among them.
    pub errors: u64,
    pub(crate) users: Vec<(EntryIndex, Timestamp)>,
}

impl Checked {
    /// Whether the file is valid.
    pub fn is_valid(&self) -> bool {
        self.errors == 0
    }
}
