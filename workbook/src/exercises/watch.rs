//! Checking a file whenever it is saved.

use std::fs;
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use anyhow::{Context, Result};
use classroom::{Exercise, Learner};
use notify::{Config, Event, PollWatcher, RecommendedWatcher, RecursiveMode, Watcher};

use super::LIMIT;
use super::learn::{introduce, judge};
use super::tools::Checker;

/// An editor writes a file in several steps: this long after the first, it is looked at.
const SETTLED: Duration = Duration::from_millis(50);
/// How often a folder is looked at that is polled.
const POLL: Duration = Duration::from_millis(500);

/// Checks the exercise in hand until it passes, then the next one, until none is left.
pub fn watch(exercises: &[Exercise], dir: &Path, poll: bool) -> Result<bool> {
    let mut learner = Learner::open(dir)?;
    let checker = Checker::new(LIMIT);
    let unsolved = |learner: &Learner| {
        let current = learner.current(exercises);
        let current = current.filter(|e| !learner.passed(e));
        current.or_else(|| learner.next(exercises))
    };
    let mut events = None;
    while let Some(exercise) = unsolved(&learner) {
        learner.start(exercise)?;
        introduce(exercise, &learner);
        println!("It is checked whenever you save it; Ctrl-C ends.\n");
        // The folder is there only now.
        let (_watcher, changes) = match events.take() {
            Some(events) => events,
            None => notices(dir, poll)?,
        };
        until_passed(exercise, &mut learner, &checker, &changes)?;
        events = Some((_watcher, changes));
    }
    println!("All exercises are solved.");
    Ok(true)
}

type Changes = Receiver<notify::Result<Event>>;

/// What tells of changes in `dir`; it does so for as long as the watcher lives.
fn notices(dir: &Path, poll: bool) -> Result<(Box<dyn Watcher>, Changes)> {
    let (sender, changes) = channel();
    let config = Config::default()
        .with_poll_interval(POLL)
        .with_compare_contents(true);
    let mut watcher: Box<dyn Watcher> = match poll {
        true => Box::new(PollWatcher::new(sender, config)?),
        false => Box::new(RecommendedWatcher::new(sender, config).context("try `watch --poll`")?),
    };
    watcher
        .watch(dir, RecursiveMode::NonRecursive)
        .context("try `watch --poll`")?;
    Ok((watcher, changes))
}

/// Checks the file now and after each change of what is in it.
fn until_passed(
    exercise: &Exercise,
    learner: &mut Learner,
    checker: &Checker,
    changes: &Changes,
) -> Result<()> {
    let file = learner.file(exercise);
    let mut checked = None;
    loop {
        // A file that is being replaced may be gone for a moment.
        let text = fs::read(&file).ok();
        if text.is_some() && text != checked {
            if checked.is_some() {
                println!("\nSaved:");
            }
            if judge(exercise, learner, checker, None)? {
                return Ok(());
            }
            checked = text;
        }
        changes
            .recv()
            .context("the watcher ended")?
            .context("try `watch --poll`")?;
        std::thread::sleep(SETTLED);
        while changes.try_recv().is_ok() {}
    }
}
