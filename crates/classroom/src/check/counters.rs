//! Counters of a submission that passed, next to those of the starter or of a wrong solution.

use std::path::Path;
use std::time::Instant;

use data::BadInput;
use simt::{Counts, Module, Report, Schedule};

use super::Tools;
use super::kernel::{Counted, Submission};
use crate::answers::Answers;
use crate::exercise::{CostsBefore, Exercise, Language};
use crate::metric;
use crate::spec::KernelSpec;

/// A counter of the counted launch.
#[derive(Debug, Clone, PartialEq)]
pub struct Counter {
    /// Name of the counter, as in its limit.
    pub what: String,
    /// The value of the starter or of the solution that costs more; `None` if it does not run, has a wrong result, or the
    /// simulator has a finding.
    pub before: Option<f64>,
    /// The submission's value.
    pub own: f64,
}

impl Counter {
    /// Whether there is nothing to count, as for atomics that are forbidden.
    pub fn is_zero(&self) -> bool {
        self.own == 0. && self.before.is_none_or(|before| before == 0.)
    }

    /// Whether there is a value to compare with, and it is another.
    pub fn differs(&self) -> bool {
        self.before.is_some_and(|before| before != self.own)
    }
}

/// Counters that every kernel has.
fn of_all(counts: &Counts) -> [(&'static str, u64); 2] {
    [
        ("instructions executed by warps", counts.warps),
        ("sectors of global memory", counts.global_sectors()),
    ]
}

/// Counters by name, in the order of the limits.
type Costs = Vec<(String, f64)>;

/// Counts the launches of the submission in `path`, which has passed, and of [`Exercise::before`]; empty for Rust.
///
/// # Errors
/// The file cannot be read, the compiler is missing, or the exercise has an invalid launch or formula.
pub fn counters(
    exercise: &Exercise,
    path: &Path,
    tools: &Tools,
    seed: u64,
) -> Result<Vec<Counter>, BadInput> {
    if exercise.language == Language::Rust {
        return Ok(vec![]);
    }
    let text = data::read_text(path)?;
    let text = text.trim_start_matches('\u{feff}');
    let Some(own) = counted(exercise, path, text, tools, seed, false)? else {
        return Ok(vec![]);
    };
    let before = match &exercise.costs_before {
        Some(recorded) => Some(recorded.clone()),
        None => costs_before(exercise, tools, seed)?,
    };
    let counter = |(what, own): (String, f64)| Counter {
        before: before.as_ref().and_then(|costs| costs.get(&what).copied()),
        what,
        own,
    };
    Ok(costs(exercise, &own)?.into_iter().map(counter).collect())
}

/// Counts the launches of [`Exercise::before`]; `None` if it does not run, has a wrong result or a finding.
///
/// # Errors
/// The compiler is missing, or the exercise has an invalid launch or formula.
pub fn costs_before(
    exercise: &Exercise,
    tools: &Tools,
    seed: u64,
) -> Result<Option<CostsBefore>, BadInput> {
    let Some(text) = exercise.before()?.1 else {
        return Ok(None);
    };
    let name = format!("solution.{}", exercise.language.extension());
    let path = exercise.folder.join(name);
    let before = counted(exercise, &path, &text, tools, seed, true)?;
    let costs = before.map(|before| costs(exercise, &before)).transpose()?;
    Ok(costs.map(CostsBefore::from_iter))
}

/// Counters of the limits and of every kernel.
fn costs(exercise: &Exercise, counted: &Counted) -> Result<Costs, BadInput> {
    let sizes = &exercise.spec.shapes.counted;
    let mut costs = vec![];
    for limit in &exercise.spec.limits {
        let value = |report: &Report| metric::value(&limit.of, report, sizes);
        costs.extend(each(
            counted,
            &brief(&limit.what),
            limit.entry.as_deref(),
            value,
        )?);
    }
    for (k, (what, _)) in of_all(&Counts::default()).into_iter().enumerate() {
        let value = |report: &Report| Ok(of_all(&report.total)[k].1 as f64);
        costs.extend(each(counted, what, None, value)?);
    }
    Ok(costs)
}

/// Reports of the counted launches of a text; `None` if one does not run, has a finding or, with `compare`, a wrong result: the
/// costs of a kernel that leaves work undone are no measure of one that does it.
fn counted<'e>(
    exercise: &'e Exercise,
    path: &Path,
    text: &str,
    tools: &Tools,
    seed: u64,
    compare: bool,
) -> Result<Option<Counted<'e>>, BadInput> {
    let ptx = match exercise.language {
        Language::Cuda => match (tools.cuda)(path, text)? {
            Ok(ptx) => ptx,
            Err(_) => return Ok(None),
        },
        _ => text.to_owned(),
    };
    let Ok(module) = Module::parse(&ptx) else {
        return Ok(None);
    };
    let answers = Answers::read(text);
    let submission = Submission {
        path,
        text,
        answers,
        begin: Instant::now(),
    };
    let sizes = &exercise.spec.shapes.counted;
    let mut counted = vec![];
    for kernel in &exercise.spec.kernels {
        let launched = submission.launch(kernel, &module, sizes, seed, Schedule::default())?;
        match launched {
            Ok(launched) if compare && launched.wrong_result(kernel).is_some() => return Ok(None),
            Ok(launched) if launched.report.is_clean() => counted.push((kernel, launched.report)),
            _ => return Ok(None),
        }
    }
    Ok(Some(counted))
}

/// Returns `value` of each kernel, or of the one of the name `entry`.
fn each(
    counted: &Counted,
    what: &str,
    entry: Option<&str>,
    value: impl Fn(&Report) -> Result<f64, BadInput>,
) -> Result<Costs, BadInput> {
    let is_meant =
        |(kernel, _): &&(&KernelSpec, Report)| entry.is_none_or(|entry| entry == kernel.entry);
    let cost = |(kernel, report): &(&KernelSpec, Report)| {
        let what = match counted.len() {
            1 => what.to_owned(),
            _ => format!("{}: {what}", kernel.entry),
        };
        Ok((what, value(report)?))
    };
    counted.iter().filter(is_meant).map(cost).collect()
}

/// A description without what explains it: in parentheses, or as `, which …`.
fn brief(what: &str) -> String {
    let ends = [" (", ", which "].iter().filter_map(|end| what.find(end));
    let end = ends.min().unwrap_or(what.len());
    what[..end].to_owned()
}

#[cfg(test)]
mod tests {
    use super::brief;

    #[test]
    fn an_explanation_is_left_out() {
        assert_eq!(brief("loads, per row (in a tree)"), "loads, per row");
        assert_eq!(brief("atomics, which add (one by one)"), "atomics");
        assert_eq!(brief("barriers"), "barriers");
    }
}
