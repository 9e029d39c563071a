//! One file as an input of reduction or of a query: a session, an artifact, or an artifact that
//! Pi continued (section 4.3).

use std::io::{self, Read};

use crate::check::{Checker, go_on};
use crate::evidence::Evidence;
use crate::findings::{Checked, Options, Sink};
use crate::problem::Problem;
use crate::reduction::{Origin, Reduction};

/// What one valid file contributes.
#[derive(Debug)]
pub struct Input {
    /// The set.
    pub reduction: Reduction,
    /// What was checked.
    pub checked: Checked,
}

/// Reads files as inputs and passes on what is wrong with them.
#[derive(Debug, Default)]
pub struct Inputs {
    /// How files are checked.
    pub options: Options,
}

/// Gathers what a check finds into a reduction.
struct Gather<'a> {
    file: u32,
    reduction: Reduction,
    problems: &'a mut dyn FnMut(Problem),
}

impl Sink for Gather<'_> {
    fn problem(&mut self, problem: Problem) {
        (self.problems)(problem);
    }

    fn evidence(&mut self, evidence: Evidence) {
        self.reduction.add_evidence(self.file, evidence);
    }

    fn reduction(&mut self, reduction: Reduction) {
        self.reduction.absorb(reduction.with_origin(Origin { file: self.file, line: 3 }));
    }
}

impl Inputs {
    /// Inputs that are checked in this way.
    pub fn new(options: Options) -> Self {
        Self { options }
    }

    /// Reads the file with place `file` among the inputs, and checks all of it. `None` if the
    /// file is invalid; what is wrong goes to `problems`.
    pub fn read(
        &self,
        file: u32,
        source: impl Read,
        problems: &mut dyn FnMut(Problem),
    ) -> io::Result<Option<Input>> {
        let gather = Gather { file, reduction: Reduction::default(), problems };
        Self::read_with(source, Checker::new(self.options), gather)
    }

    /// Goes on with a file of which the first part is known; `source` begins after it.
    pub(crate) fn go_on(
        &self,
        file: u32,
        source: impl Read,
        so_far: Checked,
        reduction: Reduction,
        problems: &mut dyn FnMut(Problem),
    ) -> io::Result<Option<Input>> {
        let gather = Gather { file, reduction, problems };
        Self::read_with(source, Checker::resume(self.options, so_far), gather)
    }

    fn read_with(source: impl Read, checker: Checker, mut gather: Gather<'_>) -> io::Result<Option<Input>> {
        let checked = go_on(source, checker, &mut gather)?;
        if !checked.is_valid() {
            return Ok(None);
        }
        let mut reduction = gather.reduction;
        // The id of an artifact is never an input, nor that of a session that continues it.
        if !checked.is_artifact
            && let Some(header) = &checked.header
        {
            reduction.add_input(header.id.clone());
        }
        Ok(Some(Input { reduction, checked }))
    }
}
