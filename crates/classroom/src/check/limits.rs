//! Limits on the cost of the counted launch.

use data::BadInput;
use simt::Report;

use super::kernel::{Counted, Submission, named};
use super::{Failure, Part};
use crate::exercise::Exercise;
use crate::metric;
use crate::spec::Limit;

/// Checks the limits; the failure names the line with the largest share of the cost.
pub fn check(
    exercise: &Exercise,
    submission: &Submission,
    counted: &Counted,
) -> Result<Result<(), Failure>, BadInput> {
    let sizes = &exercise.spec.shapes.counted;
    let uncounted = |report| {
        let mut limits = exercise.spec.limits.iter();
        limits.find_map(|limit| metric::uncounted(&limit.of, report))
    };
    let mut all = counted
        .iter()
        .filter_map(|(kernel, report)| Some((kernel, uncounted(report)?)));
    if let Some((kernel, line)) = all.next() {
        let (_, place) = submission.place(line.line, line.source.as_ref());
        let what = format!(
            "{}: expected accesses and barriers that can be counted, found `{}`",
            kernel.entry, line.form
        );
        return Ok(Err(Failure::new(Part::Limit, place, what)));
    }
    for limit in &exercise.spec.limits {
        let is_it = |entry: &str| limit.entry.as_deref().is_none_or(|e| e == entry);
        for (kernel, report) in counted.iter().filter(|(kernel, _)| is_it(&kernel.entry)) {
            let found = metric::value(&limit.of, report, sizes)?;
            let Some(expected) = broken(limit, found) else {
                continue;
            };
            let (place, most) = most_of_it(limit, submission, report);
            let what = format!(
                "{} at {}: {}: expected {expected}, found {}{most}",
                kernel.entry,
                named(sizes),
                limit.what,
                short(found)
            );
            return Ok(Err(Failure::new(Part::Limit, place, what)));
        }
    }
    Ok(Ok(()))
}

/// Returns `FILE:54` for the line with the largest share of the cost, and its text; the file if no line has
/// any. Names the other lines with an equal share, because any of them may be the one to remove.
fn most_of_it(limit: &Limit, submission: &Submission, report: &Report) -> (String, String) {
    let mut places: Vec<(u32, String)> = vec![];
    for line in metric::costliest(&limit.of, report) {
        let place = submission.place(line.line, line.source.as_ref());
        // The compiler mixes the instructions of several lines of an unrolled loop.
        if !places.contains(&place) {
            places.push(place);
        }
    }
    let Some(((number, place), others)) = places.split_first() else {
        return (submission.path.display().to_string(), String::new());
    };
    let code = submission.line(*number);
    let others: Vec<String> = others.iter().map(|(line, _)| line.to_string()).collect();
    let most = match &others[..] {
        [] => format!(", most of it here | {code}"),
        [other] => format!(", as much of it here as in line {other} | {code}"),
        _ => format!(
            ", as much of it here as in each of the lines {} | {code}",
            others.join(", ")
        ),
    };
    (place.clone(), most)
}

/// Returns what was expected if `found` violates the limit.
fn broken(limit: &Limit, found: f64) -> Option<String> {
    if let Some(most) = limit.at_most.filter(|&most| found.is_nan() || found > most) {
        return Some(format!("at most {}", short(most)));
    }
    let least = limit
        .at_least
        .filter(|&least| found.is_nan() || found < least);
    least.map(|least| format!("at least {}", short(least)))
}

/// Formats with at most two decimals.
pub fn short(x: f64) -> String {
    let text = format!("{x:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
