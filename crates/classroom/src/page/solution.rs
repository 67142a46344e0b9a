//! The folded parts at the end of a page: the solution, explained, and the wrong answers that the check rejects.

use super::{fence, folded};
use crate::exercise::{Exercise, Language};
use crate::source::regions;
use crate::spec::{Debrief, Wrong};

/// Maximum lines of a file that a page shows as a whole.
const SHORT: usize = 30;

/// Formats both parts; empty in a handout, which has neither.
pub fn folded_solution(exercise: &Exercise) -> String {
    let Some(solution) = &exercise.solution else {
        return String::new();
    };
    let wrong = exercise.bank().map_or_else(|_| vec![], |bank| bank.wrong);
    let shown = explained(exercise, solution);
    let mut text = "\n## Solution\n\n".to_owned();
    text += &folded("solution", "The solution, explained", &shown);
    text += &folded(
        "solution",
        "Wrong answers that the check rejects",
        &usual(&wrong),
    );
    text
}

/// The code, its explanation, and where a real kernel uses the idea.
fn explained(exercise: &Exercise, solution: &str) -> String {
    let mut text = code(solution, fence(exercise.language));
    if let Some(explanation) = &exercise.explanation {
        text += &format!("{}\n", explanation.trim());
    }
    if let Some(debrief) = &exercise.spec.debrief {
        text += &format!("\n{}", in_a_real_kernel(debrief, exercise));
    }
    text
}

/// The whole file if it is short, otherwise its regions.
fn code(solution: &str, fence: &str) -> String {
    if solution.lines().count() <= SHORT {
        return format!("```{fence}\n{solution}```\n\n");
    }
    let shown = regions(solution).into_iter().map(|region| {
        let lines = region.lines.join("\n");
        format!(
            "The region `{}`:\n\n```{fence}\n{lines}\n```\n\n",
            region.name
        )
    });
    shown.collect()
}

/// The idea, the line of the repository that uses it, and what to read next.
fn in_a_real_kernel(debrief: &Debrief, exercise: &Exercise) -> String {
    let Debrief {
        idea,
        file,
        line,
        next,
    } = debrief;
    let number = exercise
        .of_repository(file)
        .and_then(|text| debrief.number(&text));
    let at = number.map_or_else(String::new, |number| format!(", line {number}"));
    // As from the task, whose folder is three below the repository.
    let up = "](../../../";
    let next = next.trim().replace("](", &format!("{up}book/chapters/"));
    format!(
        "**The idea in a real kernel.** {}\n\n[`{file}`{up}{file}){at}:\n\n```{}\n{line}\n```\n\nRead next: {next}\n",
        idea.trim(),
        fence_of(file)
    )
}

/// The fence of a file of the repository.
fn fence_of(file: &str) -> &'static str {
    let extension = file.rsplit('.').next().unwrap_or_default();
    Language::of_extension(extension).map_or("text", fence)
}

/// The mistakes, below the part that rejects them, in the order in which the parts of the check first occur.
fn usual(wrong: &[Wrong]) -> String {
    let mut parts: Vec<&str> = vec![];
    for Wrong { caught_by, .. } in wrong {
        if !parts.contains(&caught_by.as_str()) {
            parts.push(caught_by);
        }
    }
    let of_part = |part: &&str| {
        let of_it = wrong.iter().filter(|wrong| wrong.caught_by == **part);
        let lines: String = of_it
            .map(|wrong| format!("- {}\n", item(&wrong.what)))
            .collect();
        format!("{}:\n\n{lines}\n", rejects(part))
    };
    parts.iter().map(of_part).collect()
}

/// A description as an item of a list, in which `<` begins no tag.
fn item(what: &str) -> String {
    let what = what.trim();
    let in_code = |(k, part): (usize, &str)| match k % 2 {
        0 => part.replace('<', "&lt;"),
        _ => part.to_owned(),
    };
    let parts: Vec<String> = what.split('`').enumerate().map(in_code).collect();
    parts.join("`")
}

/// Says which part of the check rejects a submission.
fn rejects(part: &str) -> String {
    let what = match part {
        "outside" => "The text outside the regions differs from the starter",
        "text" => "The file does not compile, or has a word that no region may have",
        "output" => "A number of the result is wrong",
        "limit" => "A cost is outside its limit",
        "question" => "An answer or a prediction is wrong",
        "check" => "The check of your functions finds a wrong result or too high a cost",
        "time" => "It runs too long",
        "crash" => "Your program ends before the check does",
        class => return format!("The simulator finds {}", finding(class)),
    };
    what.to_owned()
}

/// A finding of the simulator, by the name of its class.
fn finding(class: &str) -> &str {
    match class {
        "out-of-bounds" => "an access outside a buffer or a variable (out of bounds)",
        "misaligned" => "a misaligned address",
        "uninitialised" => {
            "a read of memory or of a register that nothing has written (uninitialised)"
        }
        "race" => "a race",
        "barrier-divergence" => "a barrier that some threads do not reach (barrier divergence)",
        "wrong-mask" => "a member mask that does not name the lanes that execute the instruction",
        "deadlock" => "threads that wait for each other (deadlock)",
        "endless" => "a loop that does not end",
        "read-only" => "a write to read-only memory",
        "trap" => "a trap",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_file_is_shown_by_its_regions() {
        let short = "a\n// REGION: one\nx\n// END\n";
        assert_eq!(code(short, "text"), format!("```text\n{short}```\n\n"));
        let long = "b\n".repeat(SHORT) + short;
        assert_eq!(
            code(&long, "text"),
            "The region `one`:\n\n```text\nx\n```\n\n"
        );
    }

    #[test]
    fn wrong_answers_stand_below_what_rejects_them() {
        let wrong = [
            ("no `<` guard", "race"),
            ("a < b", "limit"),
            ("two", "race"),
        ];
        let wrong = wrong.map(|(what, caught_by)| Wrong {
            what: what.into(),
            replace: String::new(),
            with: String::new(),
            caught_by: caught_by.into(),
        });
        assert_eq!(
            usual(&wrong),
            "The simulator finds a race:\n\n- no `<` guard\n- two\n\nA cost is outside its limit:\n\n- a &lt; b\n\n"
        );
    }
}
