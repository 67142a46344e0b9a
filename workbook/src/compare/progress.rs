//! A bar with an estimate of the time left, for work that lasts longer than a second.

use std::cell::Cell;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// What shorter work does not show.
const PATIENCE: Duration = Duration::from_secs(1);
/// Steps of the bar for each part of the work.
const STEPS: usize = 1000;

/// The bar, on stderr; silent when stdout or stderr is not a terminal.
pub struct Progress {
    bar: ProgressBar,
    begin: Instant,
    waiting: Cell<bool>,
}

impl Progress {
    /// For so many parts, taken as equally long.
    pub fn new(parts: usize) -> Self {
        let target = ProgressDrawTarget::hidden();
        let bar = ProgressBar::with_draw_target(Some((parts * STEPS) as u64), target);
        let style = ProgressStyle::with_template("{bar:30} {percent:>3}% {msg}, {eta} left");
        // The template is a constant that `style_is_valid` checks.
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self {
            bar,
            begin: Instant::now(),
            waiting: Cell::new(std::io::stdout().is_terminal() && std::io::stderr().is_terminal()),
        }
    }

    /// One part of the work.
    pub fn part(&self, index: usize) -> Part<'_> {
        Part {
            progress: self,
            index,
        }
    }

    /// Prints without the bar in the way.
    pub fn pause(&self, print: impl FnOnce()) {
        self.bar.suspend(print);
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }

    fn set(&self, position: usize, message: String) {
        if self.waiting.get() && self.begin.elapsed() > PATIENCE {
            self.waiting.set(false);
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.bar.set_message(message);
        self.bar.set_position(position as u64);
    }
}

/// One part of the work.
pub struct Part<'a> {
    progress: &'a Progress,
    index: usize,
}

impl Part<'_> {
    /// `done` of `all` steps of this part are done.
    pub fn set(&self, done: usize, all: usize, message: impl Into<String>) {
        let position = self.index * STEPS + done * STEPS / all.max(1);
        self.progress.set(position, message.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn style_is_valid() {
        assert!(ProgressStyle::with_template("{bar:30} {percent:>3}% {msg}, {eta} left").is_ok());
    }

    #[test]
    fn parts_follow_each_other() {
        let progress = Progress::new(3);
        progress.part(1).set(1, 4, "a quarter of the second");
        assert_eq!(progress.bar.position(), 1250);
        assert_eq!(progress.bar.length(), Some(3000));
        progress.part(2).set(7, 7, "all");
        assert_eq!(progress.bar.position(), 3000);
    }
}
