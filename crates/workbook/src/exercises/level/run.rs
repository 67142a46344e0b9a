//! `level check`, `level watch` and `level hint`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Result;
use cli::own::{self, Artifacts, Built, OwnLevel};
use data::BadInput;
use levels::Level;

use super::check::{Checker, counts_of};
use super::milestones::{self, Milestone, Milestones, Progress, State};
use super::texts::Texts;
use crate::exercises::watch::{notices_of_all, wait};

/// Time limit of a method's check, and of its timing, in seconds.
pub const LIMIT: f32 = 20.;

/// Options of a check.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Whether the methods that differ from level 1's are timed.
    pub timed: bool,
    /// Time limit of each method.
    pub limit: Duration,
    /// Seed of the random numbers; any if there is none.
    pub seed: Option<u64>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            timed: false,
            limit: Duration::from_secs_f32(LIMIT),
            seed: None,
        }
    }
}

impl Options {
    fn seed(self) -> u64 {
        self.seed.unwrap_or_else(|| rand::random::<u32>().into())
    }
}

/// A learner's level that is checked.
pub struct Rung {
    level: OwnLevel,
    artifacts: Artifacts,
    level1: Level,
    milestones: Milestones,
}

/// Names of methods that are checked.
fn methods_of(named: Option<&str>) -> Result<Vec<&'static str>, BadInput> {
    let Some(named) = named else {
        return Ok(levels::OPS.to_vec());
    };
    let found = levels::OPS.iter().copied().find(|method| *method == named);
    let expected = || format!("a method: {}", levels::OPS.join(", "));
    Ok(vec![found.ok_or_else(|| {
        BadInput::new("METHOD", expected(), format!("{named:?}"))
    })?])
}

impl Rung {
    pub fn new(level: OwnLevel) -> Result<Self> {
        let Some(level1) = levels::level(1) else {
            anyhow::bail!("expected level 1, found none");
        };
        Ok(Self {
            level,
            artifacts: Artifacts::of(own::Program::Workbook)?,
            level1,
            milestones: Milestones::read()?,
        })
    }

    /// File of the progress.
    fn file(&self) -> PathBuf {
        self.level.folder().join("progress.json")
    }

    fn progress(&self) -> Result<Progress> {
        let file = self.file();
        if file.is_file() {
            Ok(super::child::read(&file)?)
        } else {
            Ok(Progress::new())
        }
    }

    fn save(&self, progress: &Progress) -> Result<()> {
        Ok(data::save_as(
            self.file(),
            &serde_json::to_vec_pretty(progress)?,
        )?)
    }

    fn build(&self) -> Result<std::result::Result<Built, BadInput>> {
        own::build(&self.artifacts, std::slice::from_ref(&self.level))
    }

    /// Checks `methods` of the built level, and updates `progress`; returns what is wrong.
    pub fn check(
        &self,
        built: &Built,
        methods: &[&'static str],
        options: Options,
        seed: u64,
        progress: &mut Progress,
    ) -> Result<BTreeMap<&'static str, String>> {
        let checker = Checker::new(&self.level, &built.program, options.limit)?;
        let mut wrong = BTreeMap::new();
        for &method in methods {
            match checker.check(method, seed)? {
                Ok(counts) => self.reached(&checker, method, counts, options.timed, progress)?,
                Err(line) => {
                    // Without the right result, no other milestone counts.
                    let of_method = |key: &String| key.split(' ').next() == Some(method);
                    progress.retain(|key, _| !of_method(key));
                    let state = State {
                        passed: false,
                        line: line.clone(),
                    };
                    progress.insert(format!("{method} correct"), state);
                    wrong.insert(method, line);
                }
            }
        }
        Ok(wrong)
    }

    /// Updates the milestones of a method with the right result.
    fn reached(
        &self,
        checker: &Checker,
        method: &'static str,
        counts: super::child::Counts,
        timed: bool,
        progress: &mut Progress,
    ) -> Result<()> {
        let (level1, minimum) = counts_of(&self.level1, method)?;
        let is_level_1 = counts == level1;
        for milestone in self.milestones.all().filter(|m| m.method == method) {
            let state = match milestone.kind {
                "correct" => State {
                    passed: true,
                    line: String::new(),
                },
                "steps" => milestones::steps(counts, level1),
                "traffic" => milestones::traffic(counts, minimum),
                kind => match milestones::compared(kind) {
                    // A method that delegates to level 1 is as fast as level 1.
                    Some(level) if timed && !is_level_1 => match checker.time(method, level)? {
                        Ok(times) => milestones::faster(times, level),
                        Err(line) => State {
                            passed: false,
                            line,
                        },
                    },
                    _ => continue,
                },
            };
            progress.insert(milestone.key(), state);
        }
        Ok(())
    }

    /// The first milestone that is not reached.
    fn next<'m>(&'m self, progress: &Progress) -> Option<Milestone<'m>> {
        let passed = |m: &Milestone| progress.get(&m.key()).is_some_and(|state| state.passed);
        // A milestone of a method that the learner works on comes first.
        let begun = |m: &Milestone| {
            let other = progress.get(&format!("{} steps", m.method));
            other.is_some_and(|state| state.passed)
        };
        let open = || self.milestones.all().filter(|m| !passed(m));
        let wrong = open().find(|m| m.kind == "correct");
        wrong
            .or_else(|| open().find(begun))
            .or_else(|| open().next())
    }
}

/// Prints a row for each method: a tick for each milestone that is reached.
fn print(milestones: &Milestones, progress: &Progress) {
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
fn print_next(checked: &Rung, progress: &Progress) {
    let Some(next) = checked.next(progress) else {
        println!("All milestones are reached.");
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
pub fn check(level: OwnLevel, method: Option<&str>, options: Options) -> Result<bool> {
    let methods = methods_of(method)?;
    let checked = Rung::new(level)?;
    let built = checked.build()??;
    let mut progress = checked.progress()?;
    let seed = options.seed();
    let wrong = checked.check(&built, &methods, options, seed, &mut progress)?;
    checked.save(&progress)?;
    print(&checked.milestones, &progress);
    wrong.values().for_each(|line| println!("{line}"));
    if !wrong.is_empty() {
        println!("(`--seed {seed}` repeats the check with the same random numbers)");
    }
    print_next(&checked, &progress);
    Ok(wrong.is_empty())
}

/// Prints the hints of the next milestone, or of a method's next one: one more at each call.
pub fn hint(level: OwnLevel, method: Option<&str>) -> Result<bool> {
    let methods = methods_of(method)?;
    let checked = Rung::new(level)?;
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
        super::child::read(&file)?
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

/// Builds and checks what changed, now and after each save.
pub fn watch(level: OwnLevel, poll: bool) -> Result<bool> {
    let checked = Rung::new(level)?;
    let (_watcher, changes) = notices_of_all(checked.level.folder(), poll)?;
    let mut before: Option<Texts> = None;
    println!(
        "{} is checked each time you save; stop with Ctrl-C.",
        checked.level.folder().display()
    );
    loop {
        let texts = Texts::read(checked.level.folder())?;
        let changed = texts.changed(before.as_ref());
        if !changed.is_empty() {
            let begin = Instant::now();
            pass(&checked, &changed)?;
            println!("{:.1} s\n", begin.elapsed().as_secs_f64());
        }
        before = Some(texts);
        wait(&changes)?;
    }
}

/// One pass of `watch` over the methods that may have changed.
fn pass(checked: &Rung, changed: &[&'static str]) -> Result<()> {
    let built = match checked.build()? {
        Ok(built) => built,
        Err(bad) => {
            println!("{bad}");
            return Ok(());
        }
    };
    let mut progress = checked.progress()?;
    let options = Options::default();
    let seed = options.seed();
    let wrong = checked.check(&built, changed, options, seed, &mut progress)?;
    if wrong.is_empty()
        && let Some(next) = checked.next(&progress)
        && milestones::compared(next.kind).is_some()
        && let Some(method) = changed.iter().find(|method| **method == next.method)
    {
        let options = Options {
            timed: true,
            ..options
        };
        checked.check(&built, &[method], options, seed, &mut progress)?;
    }
    checked.save(&progress)?;
    match changed.len() {
        1 => println!(
            "{}: {}",
            changed[0],
            if wrong.is_empty() { "right" } else { "wrong" }
        ),
        _ => print(&checked.milestones, &progress),
    }
    wrong.values().for_each(|line| println!("{line}"));
    print_next(checked, &progress);
    Ok(())
}
