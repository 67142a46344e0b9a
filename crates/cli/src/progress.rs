//! Progress of work that takes longer than a second, shown on stderr if that is a terminal.

use std::borrow::Cow;
use std::thread;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Time before progress appears.
const SILENT: Duration = Duration::from_secs(1);
/// Interval between updates of a [`Waiting`].
const TICK: Duration = Duration::from_secs(1);

/// Counts steps. After a second, shows a bar with the remaining time; dropping it removes the bar.
pub struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// Starts counting `steps` of the work that `what` names.
    pub fn new(what: impl Into<Cow<'static, str>>, steps: usize) -> Self {
        let bar = hidden(Some(steps), "{msg} {bar:30} {pos}/{len}, {eta} left", what);
        show_later(&bar, None);
        Self { bar }
    }

    /// Counts one step.
    pub fn step(&self) {
        self.bar.inc(1);
    }

    /// Hides the bar while `print` runs, which may print whole lines.
    pub fn suspend<T>(&self, print: impl FnOnce() -> T) -> T {
        self.bar.suspend(print)
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Work without countable steps. After a second, shows its name and the time so far; dropping it removes the
/// line.
pub struct Waiting {
    bar: ProgressBar,
}

impl Waiting {
    /// For the work that `what` names, such as `compiling a.cu`.
    pub fn new(what: impl Into<Cow<'static, str>>) -> Self {
        let bar = hidden(None, "{spinner} {msg} … {elapsed}", what);
        show_later(&bar, Some(TICK));
        Self { bar }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

fn hidden(steps: Option<usize>, template: &str, what: impl Into<Cow<'static, str>>) -> ProgressBar {
    let steps = steps.map(|steps| steps as u64);
    let bar = ProgressBar::with_draw_target(steps, ProgressDrawTarget::hidden());
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    let what: Cow<'static, str> = what.into();
    bar.with_message(data::plain_line(&what).into_owned())
}

/// Shows `bar` after [`SILENT`].
fn show_later(bar: &ProgressBar, tick: Option<Duration>) {
    let bar = bar.downgrade();
    thread::spawn(move || {
        thread::sleep(SILENT);
        if let Some(bar) = bar.upgrade().filter(|bar| !bar.is_finished()) {
            bar.set_draw_target(ProgressDrawTarget::stderr());
            match tick {
                Some(tick) => bar.enable_steady_tick(tick),
                None => bar.tick(),
            }
        }
    });
}
