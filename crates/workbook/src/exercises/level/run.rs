//! `level check` and `level hint`.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Result;
use cli::own::OwnLevel;
use data::BadInput;

use super::milestones::{Milestone, Milestones, Progress};
use super::rung::{Options, Rung, methods_of};
use super::{child, new};

/// Levels that `--time` compares with, those of the milestones.
const TIMED: &[u8] = &[1, 2, 3];

/// Prints a row for each method: a tick for each milestone that is reached.
pub fn print(milestones: &Milestones, progress: &Progress) {
    let longest = milestones
        .methods
        .iter()
        .map(|m| m.name.len())
        .max()
        .unwrap_or(0);
    let kinds: Vec<&str> = milestones.kinds.iter().map(|kind| &*kind.name).collect();
    println!("{:longest$}  {}", "", kinds.join("  "));
    for method in &milestones.methods {
        let of = |kind: &&str| {
            milestones
                .all()
                .find(|m| m.method == method.name && m.kind == *kind)
        };
        let mark = |kind: &&str| {
            let width = kind.chars().count();
            let mark = match of(kind).map(|m| progress.get(&m.key()).map(|state| state.passed)) {
                None => " ",
                Some(Some(true)) => "✓",
                Some(Some(false)) => "–",
                Some(None) => "·",
            };
            format!("{mark:width$}")
        };
        let marks: Vec<String> = kinds.iter().map(mark).collect();
        println!("{:longest$}  {}", method.name, marks.join("  ").trim_end());
    }
    let reached = milestones
        .all()
        .filter(|m| progress.get(&m.key()).is_some_and(|s| s.passed))
        .count();
    println!(
        "{reached} of {} milestones reached (·: not measured yet)",
        milestones.all().count()
    );
}

/// Prints the next milestone, and what is missing.
pub fn print_next(checked: &Rung, progress: &Progress) {
    let Some(next) = checked.next(progress) else {
        println!("All milestones are reached that this machine can measure.");
        return;
    };
    println!("Next: {}.", next.task);
    if let Some(state) = progress
        .get(&next.key())
        .filter(|state| !state.line.is_empty())
    {
        println!("      {}", state.line);
    }
    let name = checked.level.name();
    println!(
        "      `cargo ex level hint {name}` gives a hint; exercise {} and chapter {} teach it",
        next.exercise, next.chapter
    );
}

/// Checks the level once; returns whether all results are right.
pub fn check(
    level: OwnLevel,
    method: Option<&str>,
    timed: bool,
    limit: Duration,
    seed: Option<u64>,
) -> Result<bool> {
    let methods = methods_of(method)?;
    let options = Options {
        timed: if timed { TIMED } else { &[] },
        limit,
        ..Options::new(seed)
    };
    let checked = Rung::new(level)?;
    let built = checked.build()??;
    let mut progress = checked.progress()?;
    let checks = checked.check(&built, &methods, options, &mut progress)?;
    checked.save(&progress)?;
    print(&checked.milestones, &progress);
    checks.wrong.values().for_each(|line| println!("{line}"));
    if !checks.wrong.is_empty() {
        let seed = options.seed;
        println!("(`--seed {seed}` repeats the check with the same random numbers)");
    }
    print_next(&checked, &progress);
    Ok(checks.wrong.is_empty())
}

/// Prints the hints of the next milestone, or of a method's next one: one more at each call.
pub fn hint(level: OwnLevel, method: Option<&str>) -> Result<bool> {
    let methods = methods_of(method)?;
    let checked = Rung::new(level)?;
    if !new::has_hints(checked.level.folder())? {
        let found = "a handout without hints; ask your teacher";
        return Err(BadInput::new(checked.level.folder().display(), "hints", found).into());
    }
    let progress = checked.progress()?;
    let passed = |m: &Milestone| progress.get(&m.key()).is_some_and(|state| state.passed);
    let of_method = |m: &Milestone| methods.contains(&m.method) && !passed(m);
    let next = match method {
        Some(_) => checked.milestones.all().find(of_method),
        None => checked.next(&progress),
    };
    let Some(next) = next else {
        println!("All of its milestones are reached.");
        return Ok(true);
    };
    let file = checked.level.folder().join("hints.json");
    let mut shown: BTreeMap<String, usize> = if file.is_file() {
        child::read(&file)?
    } else {
        BTreeMap::new()
    };
    let count = shown.entry(next.key()).or_default();
    *count = (*count + 1).min(next.hints.len());
    println!("{}", next.task);
    let hints = next.hints.iter().take(*count);
    (1..)
        .zip(hints)
        .for_each(|(i, hint)| println!("{i}. {hint}"));
    data::save_as(&file, &serde_json::to_vec_pretty(&shown)?)?;
    Ok(true)
}
