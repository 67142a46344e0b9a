//! The section of a page about the check.

use crate::check::{forbidden, options, short};
use crate::exercise::{Exercise, Language};
use crate::spec::{KernelSpec, Limit, Question, Sizes};

/// Lists all that a submission is checked against.
pub fn checked(exercise: &Exercise) -> String {
    let spec = &exercise.spec;
    let mut lines = vec!["Outside the regions, the file equals the starter.".to_owned()];
    match exercise.language {
        Language::Rust => lines.push(
            "Your functions run on fresh random numbers, for at most ten seconds. What they print is shown."
                .into(),
        ),
        _ => lines.push("The simulator finds no fault under two schedules.".into()),
    }
    lines.extend(forbidden(exercise.language));
    lines.extend(spec.checked.iter().cloned());
    for kernel in &spec.kernels {
        lines.push(launched(kernel));
    }
    if !spec.shapes.odd.is_empty() {
        let shapes: Vec<String> = spec.shapes.odd.iter().map(sizes).collect();
        let mut args = spec.kernels.iter().flat_map(|kernel| &kernel.args);
        let random = if args.any(|arg| arg.contains(":random")) {
            " Inputs are random and new each time."
        } else {
            ""
        };
        lines.push(format!("Sizes: {}.{random}", shapes.join("; ")));
    }
    if !spec.limits.is_empty() || !spec.questions.is_empty() {
        lines.push(format!(
            "Costs are counted for {}.",
            sizes(&spec.shapes.counted)
        ));
    }
    lines.extend(spec.limits.iter().map(limit));
    lines.extend(spec.questions.iter().map(question));
    lines.iter().map(|line| format!("- {line}\n")).collect()
}

fn launched(kernel: &KernelSpec) -> String {
    let launch = if kernel.launch.contains("{launch}") {
        "launched as your line `// launch = …` says".to_owned()
    } else {
        format!("launched with `{}`", kernel.launch)
    };
    let within = match kernel.tolerance {
        0. => "exactly".to_owned(),
        tolerance => format!("within {tolerance:e}"),
    };
    format!(
        "`{}`, {launch}, with the arguments `{}`, writes the result of the formula to argument {} (counted from 0), {within}.",
        kernel.entry,
        kernel.args.join(" "),
        kernel.output,
    )
}

fn sizes(sizes: &Sizes) -> String {
    let each = sizes.iter().map(|(name, size)| format!("{name} {size}"));
    each.collect::<Vec<_>>().join(", ")
}

fn limit(limit: &Limit) -> String {
    let kernel = limit
        .entry
        .as_ref()
        .map(|entry| format!(" for `{entry}`"))
        .unwrap_or_default();
    let bounds = [("at most", limit.at_most), ("at least", limit.at_least)];
    let bounds = bounds
        .iter()
        .filter_map(|(word, bound)| Some(format!("{word} {}", short((*bound)?))));
    format!(
        "Limit{kernel}: {}: {} (`{}`).",
        limit.what,
        bounds.collect::<Vec<_>>().join(", "),
        limit.of
    )
}

fn question(question: &Question) -> String {
    let options = options(&question.truth);
    let answer = if options.is_empty() {
        "a number".to_owned()
    } else {
        format!("one of `{}`", options.join("`, `"))
    };
    format!(
        "`// {} = …`: {} Answer with {answer}.",
        question.name, question.ask
    )
}
