//! What the counted launch may cost.

use data::BadInput;
use simt::Report;

use super::kernel::{Counted, Submission, named};
use super::{Failure, Part};
use crate::exercise::Exercise;
use crate::metric;
use crate::spec::Limit;

/// The first limit that is not kept, with the line of the file that costs most.
pub fn check(
    exercise: &Exercise,
    submission: &Submission,
    counted: &Counted,
) -> Result<Result<(), Failure>, BadInput> {
    let sizes = &exercise.spec.shapes.counted;
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

/// `FILE:54` and what stands there, where a line has most of the cost; else the file. Where others have as much, any of
/// them may be the one too many.
fn most_of_it(limit: &Limit, submission: &Submission, report: &Report) -> (String, String) {
    let places = metric::costliest(&limit.of, report);
    let mut places: Vec<(u32, String)> = (places.iter())
        .map(|line| submission.place(line.line, line.source.as_ref()))
        .collect();
    places.dedup();
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

/// What was expected, if `found` is not that.
fn broken(limit: &Limit, found: f64) -> Option<String> {
    if let Some(most) = limit.at_most.filter(|&most| found.is_nan() || found > most) {
        return Some(format!("at most {}", short(most)));
    }
    let least = limit
        .at_least
        .filter(|&least| found.is_nan() || found < least);
    least.map(|least| format!("at least {}", short(least)))
}

/// Two digits behind the point, where there are any.
pub fn short(x: f64) -> String {
    let text = format!("{x:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
