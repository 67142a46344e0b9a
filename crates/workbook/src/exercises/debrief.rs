//! Text that `check` and `watch` print after a pass.

use std::path::Path;

use classroom::Exercise;
use classroom::check::named;
use classroom::debrief::table;
use cli::files;

use super::tools::Checker;

/// Prints the counters of the starter and of the learner's file, and the exercise's debrief.
pub fn debrief(exercise: &Exercise, file: &Path, checker: &Checker, seed: u64) {
    // The exercise is solved, whatever happens to the file meanwhile.
    let counters = checker.counters(exercise, file, seed).unwrap_or_default();
    let rows = table(&named(&exercise.spec.shapes.counted), &counters);
    rows.iter().for_each(|row| data::println!("{row}"));
    let Some(debrief) = &exercise.spec.debrief else {
        return;
    };
    let real = files::find(&debrief.file).ok();
    let text = real.and_then(|real| data::read_text(&real).ok());
    let lines = debrief.lines(text.as_deref());
    lines.iter().for_each(|line| data::println!("{line}"));
}
