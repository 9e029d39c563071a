//! Progress on standard error, for a scan that a person waits for.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::context::Context;

/// A count of bytes that appears only on a terminal, and only once the scan has taken a while.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: ProgressBar,
    started: std::time::Instant,
    allowed: bool,
}

const A_WHILE: Duration = Duration::from_millis(500);

impl Progress {
    pub(crate) fn new(context: &Context, files: usize) -> Self {
        let bar = ProgressBar::with_draw_target(Some(files as u64), ProgressDrawTarget::hidden());
        let style =
            ProgressStyle::with_template("{bar:30} {pos}/{len} files").expect("the template is well-formed");
        bar.set_style(style);
        Self { bar, started: std::time::Instant::now(), allowed: context.progress }
    }

    /// One more file was read.
    pub(crate) fn step(&mut self) {
        if self.allowed && self.started.elapsed() > A_WHILE {
            self.allowed = false;
            self.bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(10));
        }
        self.bar.inc(1);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
