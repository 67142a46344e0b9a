//! The section of a page about the output of `check`: for the starter, and, folded, for the solution.
//!
//! Both outputs are recorded in the exercise's folder, because a check needs rustc or NVRTC, and all checks together take
//! minutes. `crates/workbook/tests/exercises/outputs.rs` runs each check and compares what it prints.

use super::{ALIAS, Solutions, folded};
use crate::exercise::Exercise;

/// Seed of the recorded checks.
pub const SEED: u64 = 1;

/// Name of the file with the output for the unchanged starter.
pub const STARTER_OUTPUT: &str = "starter.txt";

/// Name of the file with the output for the solution.
pub const SOLUTION_OUTPUT: &str = "solution.txt";

/// The line that stands for lines that a record leaves out.
pub const LEFT_OUT: &str = "…";

/// Maximum lines of a record.
pub const MOST_LINES: usize = 20;

/// Maximum bytes of a record.
const LARGEST: u64 = 1 << 16;

/// Formats the section; empty for an exercise without records, as while it is being written. Where solutions are hidden,
/// the output of a solved exercise is hidden, too: it shows counted values, which may be answers, and the idea.
pub fn outputs(exercise: &Exercise, solutions: Solutions) -> String {
    let Some(mut starter) = recorded(exercise, STARTER_OUTPUT) else {
        return String::new();
    };
    if exercise.spec.hints.is_empty() {
        // The record is of the exercise with its hints; a handout may leave them out.
        starter = starter.replace(&offer_of_hint(ALIAS, exercise.number()), "");
    }
    let name = exercise.name();
    let mut text = format!(
        "\n## Output of the check\n\n```sh\n{ALIAS} check {name} --seed {SEED}\n```\n\nprints this for the starter, as you \
         get it. The seed fixes the random numbers; without it, they are new each time.\n\n{}",
        block("text,wrap", &starter)
    );
    let solution = recorded(exercise, SOLUTION_OUTPUT);
    if let Some(solution) = solution.filter(|_| solutions == Solutions::Shown) {
        let shown = block("text", &solution);
        text += &folded("solution", "The output when it is solved", &shown);
    }
    text
}

/// The part of a failure's last line that offers a hint for the exercise of this number.
pub fn offer_of_hint(command: &str, number: &str) -> String {
    format!("; `{command} hint {number}` gives a hint")
}

fn recorded(exercise: &Exercise, name: &str) -> Option<String> {
    data::read_text_file(&exercise.folder.join(name), LARGEST).ok()
}

/// A block of output, and, if lines are left out, why.
fn block(fence: &str, output: &str) -> String {
    let note = if output.lines().any(|line| line == LEFT_OUT) {
        "`…` stands for lines that depend on your machine or on your progress, or are too many.\n\n"
    } else {
        ""
    };
    format!("```{fence}\n{output}```\n\n{note}")
}

#[cfg(test)]
mod tests {
    use super::block;

    #[test]
    fn only_lines_that_are_left_out_are_explained() {
        let all = "one …\ntwo\n";
        assert_eq!(block("text", all), format!("```text\n{all}```\n\n"));
        let some = block("text", "one\n…\n");
        assert!(some.starts_with("```text\none\n…\n```\n\n`…` stands for lines "));
    }
}
