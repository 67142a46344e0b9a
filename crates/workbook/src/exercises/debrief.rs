//! Text that `check` and `watch` print after a pass.

use std::path::Path;

use classroom::check::{Counter, named};
use classroom::debrief::{table, why_alone};
use classroom::{Exercise, Kind};
use cli::files;

use super::tools::Checker;

/// Prints the counters before and after, and the exercise's debrief.
pub fn debrief(exercise: &Exercise, file: &Path, checker: &Checker, seed: u64) {
    // The exercise is solved, whatever happens to the file meanwhile.
    let counters = checker.counters(exercise, file, seed).unwrap_or_default();
    let before = exercise.spec.before.as_deref().unwrap_or("starter");
    let rows = table(&named(&exercise.spec.shapes.counted), before, &counters);
    rows.iter().for_each(|row| data::println!("{row}"));
    if let (Some(before), true) = (&exercise.spec.before, counters.iter().any(Counter::differs)) {
        data::println!("The numbers on the left are those of another solution: {before}.");
    }
    let why = why_alone(&counters).filter(|_| exercise.spec.kind == Kind::FindTheBug);
    why.iter().for_each(|why| data::println!("{why}"));
    let Some(debrief) = &exercise.spec.debrief else {
        return;
    };
    let real = files::find(&debrief.file).ok();
    let text = real.and_then(|real| data::read_text(&real).ok());
    let lines = debrief.lines(text.as_deref());
    lines.iter().for_each(|line| data::println!("{line}"));
}
