//! A bar for work that takes longer than a second.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Counts steps; shows a bar with the time left on stderr, when that is a terminal, from the second
/// second on, and takes it away at the end.
pub struct Progress {
    bar: ProgressBar,
    start: Instant,
}

impl Progress {
    /// `steps` of `what`.
    pub fn new(what: &'static str, steps: usize) -> Self {
        let bar = ProgressBar::with_draw_target(Some(steps as u64), ProgressDrawTarget::hidden());
        let template = "{msg} {bar:30} {pos}/{len}, {eta} left";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_message(what);
        Self {
            bar,
            start: Instant::now(),
        }
    }

    /// One step more.
    pub fn step(&self) {
        if self.bar.is_hidden() && self.start.elapsed() > Duration::from_secs(1) {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.bar.inc(1);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
