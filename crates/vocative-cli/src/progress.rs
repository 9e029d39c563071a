//! Progress on standard error, for a scan that a person waits for.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::context::Context;

/// A count of files or parts that appears only on a terminal, and only once the scan has taken a while.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: ProgressBar,
    started: std::time::Instant,
    allowed: bool,
}

const A_WHILE: Duration = Duration::from_millis(500);

impl Progress {
    pub(crate) fn new(context: &Context, files: usize) -> Self {
        Self::of(context, files, "{bar:30} {pos}/{len} files")
    }

    /// Of work whose parts are counted as they are left.
    pub(crate) fn of_parts(context: &Context) -> Self {
        Self::of(context, 0, "{bar:30} {pos}/{len} parts")
    }

    fn of(context: &Context, length: usize, template: &str) -> Self {
        let bar = ProgressBar::with_draw_target(Some(length as u64), ProgressDrawTarget::hidden());
        bar.set_style(ProgressStyle::with_template(template).expect("the template is well-formed"));
        Self { bar, started: std::time::Instant::now(), allowed: context.progress }
    }

    fn appear(&mut self) {
        if self.allowed && self.started.elapsed() > A_WHILE {
            self.allowed = false;
            self.bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(10));
        }
    }

    /// One more file was read.
    pub(crate) fn step(&mut self) {
        self.appear();
        self.bar.inc(1);
    }

    /// So many parts are left.
    pub(crate) fn left(&mut self, left: usize) {
        self.appear();
        let all = self.bar.length().unwrap_or_default().max(left as u64);
        self.bar.set_length(all);
        self.bar.set_position(all - left as u64);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
