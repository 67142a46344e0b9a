//! `level check` and `level hint`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display, Formatter};
use std::time::Duration;

use anyhow::Result;
use cli::own::{self, OwnLevel};
use data::BadInput;
use models::trace::profile::NOISY;

use super::milestones::{Method, Milestone, Milestones, Progress, State, TIMED, compared};
use super::rung::{Checks, Gained, Options, Rung, methods_of};
use super::{child, new};
use data::counted;

/// Marks of a method's milestones, below the names of the kinds: a tick for each that is reached.
fn marks(milestones: &Milestones, progress: &Progress, method: &str) -> String {
    let mark = |kind: &str| {
        let found = milestones
            .all()
            .find(|m| m.method == method && m.kind == kind);
        let state = found.map(|m| progress.get(&m.key()));
        let measured = |state: Option<&State>| {
            let state = state.filter(|state| !state.needs_gpu);
            state.map(|state| state.passed)
        };
        let mark = match state.map(measured) {
            None => " ",
            Some(Some(true)) => "✓",
            Some(Some(false)) => "–",
            Some(None) => "·",
        };
        let noise = if state.flatten().is_some_and(|state| state.noisy) {
            NOISE
        } else {
            ""
        };
        let width = kind.chars().count();
        format!("{:width$}", format!("{mark}{noise}"))
    };
    let marks: Vec<String> = milestones
        .kinds
        .iter()
        .map(|kind| mark(&kind.name))
        .collect();
    marks.join(" ").trim_end().to_owned()
}

/// Prints the rows of those of `methods` whose marks a check changed, and how many are as `before`.
pub fn print_changed(
    milestones: &Milestones,
    [before, progress]: [&Progress; 2],
    replaced: &BTreeSet<&str>,
    methods: &[&str],
) {
    let is_changed =
        |method: &&str| marks(milestones, before, method) != marks(milestones, progress, method);
    let changed: Vec<&str> = methods.iter().copied().filter(is_changed).collect();
    if !changed.is_empty() {
        print(milestones, progress, replaced, &changed);
    }
    let same = methods.len() - changed.len();
    if same > 0 {
        data::println!("{} as before", counted(same, "method"));
    }
}

/// Prints a row for each of `methods`: a tick for each milestone that is reached. Methods that are not `replaced` have theirs
/// from the starter.
pub fn print(
    milestones: &Milestones,
    progress: &Progress,
    replaced: &BTreeSet<&str>,
    methods: &[&str],
) {
    let longest = milestones
        .methods
        .iter()
        .map(|m| m.name.len())
        .max()
        .unwrap_or(0);
    let kinds: Vec<&str> = milestones.kinds.iter().map(|kind| &*kind.name).collect();
    // One space, so that all kinds fit into 80 columns.
    data::println!("{:longest$}  {}", "", kinds.join(" "));
    let is_shown = |method: &&Method| methods.contains(&&*method.name);
    for method in milestones.methods.iter().filter(is_shown) {
        let marks = marks(milestones, progress, &method.name);
        data::println!("{:longest$}  {marks}", method.name);
    }
    let tally = Tally::of(milestones.all().map(|m| {
        let state = progress.get(&m.key());
        let passed = state.is_some_and(|state| state.passed);
        let needs_gpu = state.is_some_and(|state| state.needs_gpu);
        (replaced.contains(m.method), passed, needs_gpu)
    }));
    data::println!("{tally} (·: not measured)");
    if progress.values().any(|state| state.noisy) {
        data::println!(
            "({NOISE}: a noisy time; the slow runs took more than {NOISY}× as long as the fast runs)"
        );
    }
}

/// How many milestones are reached and left, for a check and for a report.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Tally {
    /// Reached by a method that the learner replaced, and by one that is still the starter's.
    pub own: usize,
    pub starters: usize,
    /// Not reached, and this machine can measure it.
    pub left: usize,
    /// Not reached, and it needs a GPU, which this machine lacks.
    pub need_gpu: usize,
}

impl Tally {
    /// Counts milestones: whether the method is replaced, whether it is reached, and whether it needs a GPU.
    pub fn of(all: impl Iterator<Item = (bool, bool, bool)>) -> Self {
        let mut tally = Self::default();
        for milestone in all {
            *match milestone {
                (true, true, _) => &mut tally.own,
                (false, true, _) => &mut tally.starters,
                (_, false, false) => &mut tally.left,
                (_, false, true) => &mut tally.need_gpu,
            } += 1;
        }
        tally
    }

    /// `83, and 10 that need a GPU`
    pub fn to_do(self) -> String {
        match self.need_gpu {
            0 => self.left.to_string(),
            n => format!("{}, and {n} that need a GPU", self.left),
        }
    }
}

impl Display for Tally {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        let Self {
            own,
            starters,
            left,
            need_gpu,
        } = self;
        let all = own + starters + left + need_gpu;
        let to_do = self.to_do();
        write!(
            f,
            "{own} of {all} milestones reached, and {starters} that the starter has; left: {to_do}"
        )
    }
}

/// Marks a noisy time, as in the comparison of whole models.
const NOISE: &str = "~";

/// The milestones that a check reached, for the line about a method: `, reached steps, faster1~`.
pub fn reached(checks: &Checks, progress: &Progress) -> String {
    let name = |gained: &Gained| {
        let state = progress.get(&format!("{} {}", gained.method, gained.kind));
        let noise = if state.is_some_and(|state| state.noisy) {
            NOISE
        } else {
            ""
        };
        format!("{}{noise}", gained.kind)
    };
    let all: Vec<String> = checks.gained.iter().map(name).collect();
    if all.is_empty() {
        String::new()
    } else {
        format!(", reached {}", all.join(", "))
    }
}

/// Prints what is wrong, and the end of what each of these methods wrote to stderr.
pub fn print_wrong(checks: &Checks) {
    for (method, line) in &checks.wrong {
        data::println!("{line}");
        let said = checks.said.get(method).into_iter().flatten();
        said.for_each(|line| data::println!("    stderr: {line}"));
    }
}

/// Prints the first lines of `printf` in the methods' kernels.
pub fn print_printed(checks: &Checks) {
    for (method, lines) in &checks.printed {
        lines
            .iter()
            .for_each(|line| data::println!("{method}: {line}"));
    }
}

/// Says on stderr what is checked, because a check may take as long as its limit.
pub fn note_begin(methods: &[&str]) {
    match methods.len() {
        0 => {}
        all if all == levels::OPS.len() => data::note(format!("checking {all} methods …")),
        _ => data::note(format!("checking {} …", methods.join(", "))),
    }
}

/// Prints the next milestone after a check of `checked_now`, and what is missing, unless that is one of the lines `shown`.
pub fn print_next(
    checked: &Rung,
    progress: &Progress,
    next: Option<Milestone>,
    checked_now: &[&str],
    shown: &[String],
) {
    let Some(next) = next else {
        data::println!("All milestones are reached that this machine can measure.");
        return;
    };
    let name = checked.level.name();
    data::println!("Next: {}{}.", next.task, measure(&next, name));
    let is_new = |line: &String| !shown.contains(line);
    if let Some(state) = progress
        .get(&next.key())
        .filter(|state| !state.line.is_empty() && is_new(&state.line))
    {
        data::println!("      {}", told(&next, &state.line, checked_now));
    }
    data::println!(
        "      `cargo ex level hint {name} {}` gives a hint; exercise {} and chapter {} teach it",
        next.method,
        next.exercise,
        next.chapter
    );
}

/// How a time is measured.
fn measure(next: &Milestone, name: &str) -> String {
    let method = next.method;
    let command = |_| format!(" (measure: `cargo ex level check {name} {method} --time`)");
    compared(next.kind).map_or(String::new(), command)
}

/// The line of a milestone that is not reached; an old one, of a method that was not checked now, is marked: its place may
/// have moved.
fn told(next: &Milestone, line: &str, checked_now: &[&str]) -> String {
    if checked_now.contains(&next.method) {
        line.to_owned()
    } else {
        format!("{line} (not checked again)")
    }
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
    note_begin(&methods);
    let checks = checked.check(&built, &methods, options, &mut progress)?;
    let progress = checked.save(&methods, &progress)?;
    print(
        &checked.milestones,
        &progress,
        &checked.replaced(),
        &methods,
    );
    print_wrong(&checks);
    print_printed(&checks);
    if !checks.wrong.is_empty() {
        let seed = options.seed;
        data::println!("(`--seed {seed}` repeats the check with the same random numbers)");
    }
    let focus = if method.is_some() { &methods[..] } else { &[] };
    // Who names a method works on it until its last milestone.
    let next = checked.next_of(&progress, focus);
    let next = next.or_else(|| checked.next(&progress, focus));
    let shown: Vec<String> = checks.wrong.values().cloned().collect();
    print_next(&checked, &progress, next, &methods, &shown);
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
    let next = match method {
        Some(_) => checked.next_of(&progress, &methods),
        None => checked.next(&progress, &[]),
    };
    let Some(next) = next else {
        data::println!("All of its milestones are reached that this machine can measure.");
        return Ok(true);
    };
    let file = checked.level.folder().join(own::HINTS);
    let mut shown: BTreeMap<String, usize> = if data::is_regular(&file)? {
        child::read(&file)?
    } else {
        BTreeMap::new()
    };
    let count = shown.entry(next.key()).or_default();
    let mut hints = next.hints.clone();
    let without_kernel = next.without_kernel;
    if let Some(other) = without_kernel.filter(|_| checked.replaced_without_kernel(next.method)) {
        hints.splice(hints.len() - 1.., [other]);
    }
    let is_last = *count >= hints.len();
    *count = count.saturating_add(1).min(hints.len());
    data::println!("{}", next.task);
    let so_far = hints.iter().take(*count);
    (1..)
        .zip(so_far)
        .for_each(|(i, hint)| data::println!("{i}. {hint}"));
    if is_last {
        data::println!("No more hints; the last was {count}.");
    }
    data::save_as(&file, &serde_json::to_vec_pretty(&shown)?)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_failure_of_another_method_is_marked() -> Result<()> {
        let milestones = Milestones::read()?;
        let of = |kind: &str| {
            let mut all = milestones.all();
            all.find(|m| m.method == "linear" && m.kind == kind)
        };
        let line = |kind, now: &[&str]| of(kind).map(|next| told(&next, "wrong", now));
        let old = Some("wrong (not checked again)".to_owned());
        assert_eq!(line("correct", &["attention"]), old);
        assert_eq!(line("steps", &["attention"]), old);
        let current = Some("wrong".to_owned());
        assert_eq!(line("correct", &["attention", "linear"]), current);
        assert_eq!(line("steps", &["linear"]), current);
        let measured = |kind| of(kind).map(|next| measure(&next, "mine"));
        let expected = " (measure: `cargo ex level check mine linear --time`)";
        assert_eq!(measured("faster2").as_deref(), Some(expected));
        assert_eq!(measured("steps").as_deref(), Some(""));
        Ok(())
    }
}
