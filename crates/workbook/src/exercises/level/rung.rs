//! A learner's level that is built and checked, and the progress that is kept of it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use classroom::exercise::closest;
use cli::device::Choice;
use cli::nvrtc;
use cli::own::{self, Artifacts, Built, NotCompiled, OwnLevel};
use data::{BadInput, Lock};
use levels::{Level, Name};

use super::check::{Checker, Right, at, counts_of};
use super::child::{self, Times};
use super::milestones::{self, Milestone, Milestones, Progress, State};
use super::texts::Texts;
use super::traffic::in_kernel;

/// Time limit of a method's check, and of its timing, in seconds.
pub const LIMIT: f32 = 20.;

/// Options of a check.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Levels whose time is compared with that of the methods that the learner replaced; none without `--time`.
    pub timed: &'static [u8],
    /// Time limit of each method.
    pub limit: Duration,
    /// Seed of the random numbers.
    pub seed: u64,
}

impl Options {
    /// A check without times, of any random numbers if there is no seed.
    pub fn new(seed: Option<u64>) -> Self {
        Self {
            timed: &[],
            limit: Duration::from_secs_f32(LIMIT),
            // 32 bits are quick to type.
            seed: seed.unwrap_or_else(|| rand::random::<u32>().into()),
        }
    }
}

/// A learner's level that is checked.
pub struct Rung {
    pub level: OwnLevel,
    artifacts: Artifacts,
    level1: Level,
    pub milestones: Milestones,
}

/// Results of a check.
#[derive(Debug, Default)]
pub struct Checks {
    /// One line for each method that is wrong.
    pub wrong: BTreeMap<&'static str, String>,
    /// The last lines of their stderr.
    pub said: BTreeMap<&'static str, Vec<String>>,
    /// The first lines of `printf` in the methods' kernels.
    pub printed: BTreeMap<&'static str, Vec<String>>,
    /// Counts of the others.
    pub right: BTreeMap<&'static str, Right>,
    /// Times of those that were timed.
    pub times: BTreeMap<&'static str, Times>,
    /// Milestones that were not reached before.
    pub gained: Vec<Gained>,
}

/// A milestone that a check reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gained {
    pub method: String,
    pub kind: String,
}

/// The methods of `level` whose text is no longer the one that `level new` wrote.
fn replaced(level: &OwnLevel) -> BTreeSet<&'static str> {
    let text = fs::read_to_string(level.folder().join("src/ops.rs"));
    let own = Texts::of(&text.unwrap_or_default());
    own.differing(&Texts::of(super::new::OPS))
}

/// Checks the methods that a learner replaced in the level `name`, which is in this program. Returns a line about each that is
/// wrong.
pub fn wrong_methods(name: &Name) -> Result<BTreeMap<&'static str, String>> {
    let level = OwnLevel::find(name)?;
    let program = std::env::current_exe()?;
    let replaced: Vec<&str> = replaced(&level).into_iter().collect();
    let options = Options::new(None);
    let checker = Checker::new(&level, &program, options.limit)?;
    super::run::note_begin(&replaced);
    let mut wrong = BTreeMap::new();
    for method in replaced {
        if let Err(line) = checker.check(method, options.seed)? {
            wrong.insert(method, line);
        }
    }
    Ok(wrong)
}

/// The milestones that are reached now and were not before, kind by kind.
fn gained(milestones: &Milestones, before: &Progress, now: &Progress) -> Vec<Gained> {
    let is_in = |progress: &Progress, key: &str| progress.get(key).is_some_and(|s| s.passed);
    let is_new = |m: &Milestone| is_in(now, &m.key()) && !is_in(before, &m.key());
    let new = milestones.all().filter(is_new);
    new.map(|m| Gained {
        method: m.method.to_owned(),
        kind: m.kind.to_owned(),
    })
    .collect()
}

/// The progress in a file, of the milestones that exist; none if there is no file.
fn read(file: &Path) -> Result<Progress> {
    if !data::is_regular(file)? {
        return Ok(Progress::new());
    }
    let mut read: Progress = child::read(file)?;
    let milestones = Milestones::read()?;
    let keys: BTreeSet<String> = milestones.all().map(|m| m.key()).collect();
    read.retain(|key, _| keys.contains(key));
    Ok(read)
}

/// Replaces the progress of `methods` in a file as it is now.
fn save(file: &Path, methods: &[&str], progress: &Progress) -> Result<Progress> {
    let is_checked = |key: &str| methods.iter().any(|m| key.split(' ').next() == Some(m));
    let _lock = Lock::of(file)?;
    let mut all = read(file)?;
    all.retain(|key, _| !is_checked(key));
    let checked = progress.iter().filter(|(key, _)| is_checked(key));
    all.extend(checked.map(|(key, state)| (key.clone(), state.clone())));
    data::save_as(file, serde_json::to_vec_pretty(&all)?)?;
    Ok(all)
}

/// Names of methods that are checked.
pub fn methods_of(named: Option<&str>) -> Result<Vec<&'static str>, BadInput> {
    let Some(named) = named else {
        return Ok(levels::OPS.to_vec());
    };
    let found = levels::OPS.iter().copied().find(|method| *method == named);
    let expected = || format!("a method: {}", levels::OPS.join(", "));
    Ok(vec![found.ok_or_else(|| {
        let names = levels::OPS
            .iter()
            .map(|method| (method.to_string(), method));
        let meant = closest(names, named).map(|method| format!("; did you mean {method}?"));
        let found = format!("{named:?}{}", meant.unwrap_or_default());
        BadInput::new("METHOD", expected(), found)
    })?])
}

impl Rung {
    pub fn new(level: OwnLevel) -> Result<Self> {
        Self::with(level, Artifacts::of(own::Program::Workbook)?)
    }

    /// The same where the libraries are known.
    pub fn with(level: OwnLevel, artifacts: Artifacts) -> Result<Self> {
        let Some(level1) = levels::level(1) else {
            anyhow::bail!("expected level 1, found none");
        };
        Ok(Self {
            level,
            artifacts,
            level1,
            milestones: Milestones::read()?,
        })
    }

    /// File of the progress.
    fn file(&self) -> PathBuf {
        self.level.folder().join(own::PROGRESS)
    }

    /// The progress of earlier checks.
    pub fn progress(&self) -> Result<Progress> {
        read(&self.file())
    }

    /// Saves the progress of `methods`, which were checked. Returns the progress of all methods: another check may have
    /// saved that of others in the meantime.
    pub fn save(&self, methods: &[&str], progress: &Progress) -> Result<Progress> {
        save(&self.file(), methods, progress)
    }

    pub fn build(&self) -> Result<std::result::Result<Built, NotCompiled>> {
        own::build(&self.artifacts, std::slice::from_ref(&self.level))
    }

    /// The methods whose text is no longer the one that `level new` wrote.
    pub fn replaced(&self) -> BTreeSet<&'static str> {
        replaced(&self.level)
    }

    /// Whether the learner replaced a method and has no kernels.
    pub fn replaced_without_kernel(&self, method: &str) -> bool {
        let kernels = fs::read_dir(self.level.folder().join("kernels"));
        kernels.map_or(0, Iterator::count) == 0 && self.replaced().contains(method)
    }

    /// Checks `methods` of the built level, and updates `progress`.
    pub fn check(
        &self,
        built: &Built,
        methods: &[&'static str],
        options: Options,
        progress: &mut Progress,
    ) -> Result<Checks> {
        let checker = Checker::new(&self.level, &built.program, options.limit)?;
        let replaced = self.replaced();
        let before = progress.clone();
        let mut checks = Checks::default();
        for &method in methods {
            let checked = checker.check(method, options.seed)?;
            checks.printed.insert(method, checker.printed());
            let right = match checked {
                Ok(right) => right,
                // Nothing is known of a method whose kernel cannot be compiled here, so that its milestones stay.
                Err(line) if nvrtc::says_missing(&line) => {
                    checks.wrong.insert(method, format!("{line}; not checked"));
                    continue;
                }
                Err(line) => {
                    self.is_wrong(method, &line, progress);
                    checks.wrong.insert(method, line);
                    checks.said.insert(method, checker.said());
                    continue;
                }
            };
            self.counted(method, &right, progress)?;
            // A method that delegates to level 1 is as fast as level 1.
            if !options.timed.is_empty() && replaced.contains(method) {
                match checker.time(method, options.timed)? {
                    Ok(times) => {
                        self.timed(method, &times, progress);
                        checks.times.insert(method, times);
                    }
                    Err(line) => {
                        self.is_wrong(method, &line, progress);
                        checks.wrong.insert(method, line);
                        checks.said.insert(method, checker.said());
                        continue;
                    }
                }
            }
            checks.right.insert(method, right);
        }
        checks.gained = gained(&self.milestones, &before, progress);
        Ok(checks)
    }

    /// Without the right result, no other milestone counts.
    fn is_wrong(&self, method: &str, line: &str, progress: &mut Progress) {
        progress.retain(|key, _| key.split(' ').next() != Some(method));
        let state = State {
            line: line.to_owned(),
            ..State::default()
        };
        progress.insert(format!("{method} correct"), state);
    }

    /// Updates the milestones that need no time, and those that no CPU can measure.
    fn counted(&self, method: &str, right: &Right, progress: &mut Progress) -> Result<()> {
        let (level1, minimum) = counts_of(&self.level1, method)?;
        let needs_gpu = right.needs_gpu && Choice::Auto.open()?.is_cpu();
        for milestone in self.milestones.all().filter(|m| m.method == method) {
            let state = match milestone.kind {
                "correct" => State {
                    passed: true,
                    ..State::default()
                },
                "steps" => milestones::steps(right.counts, level1),
                "traffic" => in_kernel(method, right, milestones::traffic(right, minimum)),
                _ if needs_gpu => milestones::needs_gpu(),
                _ => {
                    // Rust code may stand where a kernel stood.
                    let key = milestone.key();
                    if progress.get(&key).is_some_and(|state| state.needs_gpu) {
                        progress.remove(&key);
                    }
                    continue;
                }
            };
            progress.insert(milestone.key(), self.placed(&milestone, state));
        }
        Ok(())
    }

    /// The state of a milestone that is not reached names the method's file and line.
    fn placed(&self, milestone: &Milestone, state: State) -> State {
        let place = format!(": {}: {}: ", milestone.method, milestone.kind);
        if state.passed || state.line.contains(&place) {
            return state;
        }
        let what = format!("{}: {}", milestone.kind, state.line);
        let line = at(&self.level, milestone.method, &what);
        State { line, ..state }
    }

    /// Updates the milestones of a method that was timed.
    fn timed(&self, method: &str, times: &Times, progress: &mut Progress) {
        for milestone in self.milestones.all().filter(|m| m.method == method) {
            let level = milestones::compared(milestone.kind);
            // A kernel that no GPU runs has no time next to any level.
            let is_timed = |level: &u8| times.own_ms.is_none() || times.levels.contains_key(level);
            if let Some(level) = level.filter(is_timed) {
                let key = milestone.key();
                let state = milestones::faster(times, level).after(progress.get(&key));
                progress.insert(key, self.placed(&milestone, state));
            }
        }
    }

    /// The next milestone among those that are not reached and can be measured here. First come the result and the steps of
    /// `methods`, on which the learner works, and results that are wrong; then the steps of other methods, in the order of
    /// the chapter's plan; then all others.
    pub fn next<'m>(&'m self, progress: &Progress, methods: &[&str]) -> Option<Milestone<'m>> {
        next(&self.milestones, progress, methods, &self.replaced())
    }

    /// The first milestone of `methods` that is not reached and can be measured here.
    pub fn next_of<'m>(&'m self, progress: &Progress, methods: &[&str]) -> Option<Milestone<'m>> {
        let mut open = open(&self.milestones, progress);
        open.find(|m| methods.contains(&m.method))
    }
}

/// The milestones that are not reached and can be measured here: what needs a GPU cannot be next without one.
fn open<'m>(
    milestones: &'m Milestones,
    progress: &Progress,
) -> impl Iterator<Item = Milestone<'m>> {
    milestones.all().filter(|m| {
        let state = progress.get(&m.key());
        !state.is_some_and(|state| state.passed || state.needs_gpu)
    })
}

fn next<'m>(
    milestones: &'m Milestones,
    progress: &Progress,
    methods: &[&str],
    replaced: &BTreeSet<&str>,
) -> Option<Milestone<'m>> {
    let order = |m: &Milestone| {
        let (is_worked_on, is_begun) = (methods.contains(&m.method), replaced.contains(m.method));
        let turn = match (m.kind, is_worked_on) {
            ("correct" | "steps", true) => 0,
            ("correct", false) => 1,
            ("steps", false) => 2,
            (_, true) => 3,
            (_, false) => 4,
        };
        (turn, !is_begun, milestones.place(m.method))
    };
    // `min_by_key` returns the first of several minima.
    open(milestones, progress).min_by_key(order)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn progress(keys: &[&str]) -> Progress {
        let state = State {
            passed: true,
            ..State::default()
        };
        let all = levels::OPS.iter().map(|method| format!("{method} correct"));
        let keys = keys.iter().map(|key| (*key).to_owned());
        all.chain(keys).map(|key| (key, state.clone())).collect()
    }

    #[test]
    fn the_next_step_follows_the_plan() -> Result<()> {
        let milestones = Milestones::read()?;
        let next = |progress: &Progress, methods: &[&str], replaced: &[&str]| {
            let replaced = replaced.iter().copied().collect();
            next(&milestones, progress, methods, &replaced).map(|m| m.key())
        };
        let of = |keys: &[&str], methods: &[&str], replaced: &[&str]| {
            next(&progress(keys), methods, replaced).unwrap_or_default()
        };
        assert_eq!(of(&[], &[], &[]), "norm_qkv steps");
        // A method that the learner works on, or has begun, comes before the plan.
        assert_eq!(of(&[], &["linear"], &["linear"]), "linear steps");
        assert_eq!(of(&[], &[], &["linear"]), "linear steps");
        let one = &["norm_qkv steps"][..];
        assert_eq!(of(one, &["norm_qkv"], &["norm_qkv"]), "norm_qkv_skip steps");
        let candle = [
            "norm_qkv steps",
            "norm_qkv_skip steps",
            "norm_gelu steps",
            "norm_swiglu steps",
        ];
        assert_eq!(of(&candle, &["norm_swiglu"], &[]), "norm_linear steps");
        let steps: Vec<String> = levels::OPS.iter().map(|m| format!("{m} steps")).collect();
        let steps: Vec<&str> = steps.iter().map(String::as_str).collect();
        assert_eq!(of(&steps, &["linear"], &["linear"]), "linear faster1");
        assert_eq!(of(&steps, &[], &["norm_gelu"]), "norm_gelu faster1");
        let mut wrong = progress(&steps);
        wrong.remove("attention correct");
        assert_eq!(
            next(&wrong, &["linear"], &[]),
            Some("attention correct".into())
        );
        Ok(())
    }

    #[test]
    fn a_kernel_on_a_cpu_goes_on_with_its_traffic() -> Result<()> {
        let milestones = Milestones::read()?;
        let mut now = progress(&["norm_linear steps"]);
        let next = |now: &Progress| {
            let mut open = open(&milestones, now);
            open.find(|m| m.method == "norm_linear").map(|m| m.key())
        };
        assert_eq!(next(&now).as_deref(), Some("norm_linear faster1"));
        for level in milestones::TIMED {
            let key = format!("norm_linear faster{level}");
            now.insert(key, milestones::needs_gpu());
        }
        assert_eq!(next(&now).as_deref(), Some("norm_linear traffic"));
        Ok(())
    }

    /// As two checks of different methods at the same time do, which both read the progress before they check.
    #[test]
    fn a_check_keeps_what_another_saved_in_the_meantime() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("progress.json");
        let of = |keys: &[&str]| -> Progress {
            let all = progress(keys).into_iter();
            all.filter(|(key, _)| keys.contains(&&**key)).collect()
        };
        save(
            &file,
            levels::OPS,
            &of(&["linear faster1", "norm_gelu steps"]),
        )?;
        let both: [Progress; 2] = [
            of(&["linear steps", "norm_gelu steps"]),
            of(&["linear faster1", "norm_gelu traffic"]),
        ];
        save(&file, &["linear"], &both[0])?;
        let all = save(&file, &["norm_gelu"], &both[1])?;
        // A check of `linear` replaces all of its states.
        assert_eq!(all, of(&["linear steps", "norm_gelu traffic"]));
        assert_eq!(read(&file)?, all);
        Ok(())
    }

    #[test]
    fn a_check_lists_what_it_reached() -> Result<()> {
        let milestones = Milestones::read()?;
        let (before, now) = (progress(&[]), progress(&["linear faster1", "linear steps"]));
        let new = gained(&milestones, &before, &now);
        let kinds: Vec<&str> = new.iter().map(|gained| &*gained.kind).collect();
        assert_eq!(kinds, ["steps", "faster1"]);
        assert!(gained(&milestones, &now, &now).is_empty());
        Ok(())
    }
}
