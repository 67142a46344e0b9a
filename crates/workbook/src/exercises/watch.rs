//! Checks a file whenever it is saved.

#![expect(
    clippy::disallowed_macros,
    reason = "a watch ends when the reader of its output is gone"
)]

use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use anyhow::{Context, Result};
use classroom::{Exercise, Learner, exercise};
use data::BadInput;
use notify::{Config, Event, PollWatcher, RecommendedWatcher, RecursiveMode, Watcher};

use super::learn::{all_solved, introduce, judge, left_out};
use super::tools::{Checker, can_check};
use super::{LIMIT, Place};

/// Time to wait after a change, because editors write a file in several steps.
const SETTLED: Duration = Duration::from_millis(50);
/// Interval of checks that folder and file still exist, which not every system reports.
const STILL_THERE: Duration = Duration::from_secs(2);
/// Interval of polling.
const POLL: Duration = Duration::from_millis(500);

/// Checks an exercise until it passes, the one in hand where none is named, then the next one, until none is left. A watch
/// of a solved one that is named stays with it.
pub fn watch(
    exercises: &[Exercise],
    place: &Place,
    name: Option<&str>,
    poll: bool,
) -> Result<bool> {
    let named = name.map(|name| exercise::find(exercises, name));
    let mut named = named.transpose()?;
    let dir = &place.dir();
    let mut learner = Learner::open(dir)?;
    let checker = Checker::new(LIMIT);
    let unsolved =
        |learner: &Learner| learner.next(exercises, learner.current(exercises), can_check);
    let mut events = None;
    loop {
        let (next, skipped) = match named.take() {
            Some(named) => (Some(named), vec![]),
            None => unsolved(&learner),
        };
        let Some(exercise) = next else {
            break;
        };
        // Only one that is named can be solved already.
        let stays = learner.passed(exercise);
        learner.start(exercise)?;
        introduce(exercise, &learner);
        left_out(&skipped, place);
        println!("It is checked each time you save it; stop with Ctrl-C.");
        if stays {
            println!("It is solved already, so this watch stays with it.");
        }
        println!();
        // The folder is there only now.
        let (_watcher, changes) = match events.take() {
            Some(events) => events,
            None => notices(dir, poll)?,
        };
        until_passed(exercise, &mut learner, &checker, place, &changes, stays)?;
        events = Some((_watcher, changes));
    }
    all_solved(exercises, &learner, place);
    Ok(true)
}

/// Advice if the system sends no notifications.
const TRY_POLL: &str = "try `watch --poll`";

type Changes = Receiver<notify::Result<Event>>;

/// Watches `dir` for changes as long as the watcher lives.
fn notices(dir: &Path, poll: bool) -> Result<(Box<dyn Watcher>, Changes)> {
    notices_of(dir, poll, RecursiveMode::NonRecursive)
}

/// The same with all folders in `dir`.
pub fn notices_of_all(dir: &Path, poll: bool) -> Result<(Box<dyn Watcher>, Changes)> {
    notices_of(dir, poll, RecursiveMode::Recursive)
}

fn notices_of(dir: &Path, poll: bool, mode: RecursiveMode) -> Result<(Box<dyn Watcher>, Changes)> {
    let (sender, changes) = channel();
    let config = Config::default()
        .with_poll_interval(POLL)
        .with_compare_contents(true);
    let mut watcher: Box<dyn Watcher> = if poll {
        Box::new(PollWatcher::new(sender, config)?)
    } else {
        Box::new(RecommendedWatcher::new(sender, config).context(TRY_POLL)?)
    };
    let watched = watcher.watch(dir, mode);
    if poll {
        watched?
    } else {
        watched.context(TRY_POLL)?
    }
    Ok((watcher, changes))
}

/// Checks the file now and after each change of what is in it, until it passes, or for ever if it `stays`.
fn until_passed(
    exercise: &Exercise,
    learner: &mut Learner,
    checker: &Checker,
    place: &Place,
    changes: &Changes,
    stays: bool,
) -> Result<()> {
    let file = learner.file(exercise);
    let mut checked = None;
    let mut is_gone = false;
    loop {
        if !learner.folder().is_dir() {
            let expected = "the watched folder";
            return Err(BadInput::new(
                learner.folder().display(),
                expected,
                "nothing: it was removed",
            )
            .into());
        }
        let text = data::read_file(&file, 1 << 20);
        match &text {
            // A pipe, for example.
            Err(bad) if !is_gone && data::is_there(&file) => println!("{bad}"),
            Err(_) if !is_gone => println!(
                "{} is gone; `{} start {}` creates it again",
                file.display(),
                place.command(),
                exercise.number()
            ),
            _ => {}
        }
        let text = text.ok();
        is_gone = text.is_none();
        if text.is_some() && text != checked {
            if checked.is_some() {
                println!("\nSaved:");
            }
            if judge(exercise, learner, checker, place, None)? && !stays {
                return Ok(());
            }
            checked = text;
        }
        wait(changes)?;
    }
}

/// Waits for a possible change.
pub fn wait(changes: &Changes) -> Result<()> {
    match changes.recv_timeout(STILL_THERE) {
        // Polling reports a removed file as an error.
        Ok(change) => drop(change),
        Err(RecvTimeoutError::Timeout) => {}
        Err(RecvTimeoutError::Disconnected) => anyhow::bail!("the file watcher stopped"),
    }
    // A file that is being replaced may be missing for a moment.
    std::thread::sleep(SETTLED);
    while changes.try_recv().is_ok() {}
    Ok(())
}
