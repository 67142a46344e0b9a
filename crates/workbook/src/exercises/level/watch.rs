//! `level watch`.

#![expect(
    clippy::disallowed_macros,
    reason = "a watch ends when the reader of its output is gone"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Instant;

use anyhow::Result;
use cli::own::{Built, NotCompiled, OwnLevel};

use super::milestones::{self, Progress};
use super::run::{
    note_begin, print, print_changed, print_next, print_printed, print_wrong, reached,
};
use super::rung::{Checks, Options, Rung};
use super::texts::{Changed, Texts};
use crate::exercises::watch::{notices_of_all, wait};

/// Results of the methods' last checks.
#[derive(Default)]
struct Known {
    /// Files whose kernels a method launched; no entry for a method that is wrong or was not checked.
    files: BTreeMap<&'static str, BTreeSet<PathBuf>>,
    /// Whether the table of all methods was printed.
    is_shown: bool,
}

impl Known {
    fn learn(&mut self, checked: &[&'static str], checks: &Checks) {
        for method in checked {
            self.files.remove(method);
        }
        for (method, right) in &checks.right {
            self.files.insert(method, right.files.clone());
        }
    }

    /// Methods whose results a change may change.
    fn concerned(&self, changed: &Changed, replaced: &BTreeSet<&'static str>) -> Vec<&'static str> {
        let may_use = |method: &str| match self.files.get(method) {
            Some(files) => changed.kernels.iter().any(|file| files.contains(file)),
            None => true,
        };
        let is_concerned = |method: &&str| {
            let text = changed.all || changed.methods.contains(*method);
            let calls = changed.functions
                && (replaced.contains(method) || !self.files.contains_key(method));
            text || calls || !changed.kernels.is_empty() && may_use(method)
        };
        levels::OPS.iter().copied().filter(is_concerned).collect()
    }
}

/// Builds and checks what changed, now and after each save.
pub fn watch(level: OwnLevel, poll: bool) -> Result<bool> {
    let checked = Rung::new(level)?;
    let (_watcher, changes) = notices_of_all(checked.level.folder(), poll)?;
    let mut before: Option<Texts> = None;
    let mut known = Known::default();
    println!(
        "{} is checked each time you save; stop with Ctrl-C.",
        checked.level.folder().display()
    );
    loop {
        let texts = Texts::read(checked.level.folder())?;
        let changed = texts.changed(before.as_ref());
        if !changed.is_empty() {
            let begin = Instant::now();
            pass(&checked, &changed, &mut known, begin)?;
        }
        before = Some(texts);
        wait(&changes)?;
    }
}

/// One pass of `watch` over the methods that may have changed.
fn pass(checked: &Rung, changed: &Changed, known: &mut Known, begin: Instant) -> Result<()> {
    if changed.needs_rustc() {
        data::note("compiling …");
    }
    let built = match checked.build()? {
        Ok(built) => built,
        Err(bad) => {
            println!("{}\n", refusal(&bad));
            // No method was checked, so that all may differ from what is known.
            known.files.clear();
            return Ok(());
        }
    };
    let mut progress = checked.progress()?;
    let before = progress.clone();
    let replaced = checked.replaced();
    let mut methods = known.concerned(changed, &replaced);
    methods.sort_by_key(|method| !changed.methods.contains(method));
    note_begin(&methods);
    let checks = checked.check(&built, &methods, Options::new(None), &mut progress)?;
    known.learn(&methods, &checks);
    let mut progress = checked.save(&methods, &progress)?;
    let mut shown: Vec<String> = checks.wrong.values().cloned().collect();
    match &methods[..] {
        [] => println!("no method uses what changed"),
        [method] => {
            let verdict = if checks.wrong.is_empty() {
                "right"
            } else {
                "wrong"
            };
            println!("{method}: {verdict}{}", reached(&checks, &progress));
            let faster = progress.get(&format!("{method} faster1"));
            if faster.is_some_and(|state| state.needs_gpu) {
                println!("{method}: a CPU cannot time a kernel");
            }
        }
        _ if known.is_shown => print_changed(
            &checked.milestones,
            [&before, &progress],
            &replaced,
            &methods,
        ),
        _ => {
            print(&checked.milestones, &progress, &replaced, levels::OPS);
            known.is_shown = true;
        }
    }
    let focus = edited(changed, &methods, &replaced);
    for line in focus
        .iter()
        .flat_map(|method| missed(method, &checks, &progress))
        .filter(|line| methods.len() == 1 || !is_old(line, &before))
    {
        println!("{line}");
        shown.push(line.to_owned());
    }
    print_wrong(&checks);
    print_printed(&checks);
    println!("({:.1} s)", begin.elapsed().as_secs_f64());
    if checks.wrong.is_empty() {
        shown.extend(time(checked, &built, &methods, &focus, &mut progress)?);
    }
    let next = checked.next(&progress, &focus);
    print_next(checked, &progress, next, &methods, &shown);
    println!();
    Ok(())
}

/// Why a method that is right misses `steps`, or `traffic` if it launches kernels: `Next:` may be about another method.
fn missed<'p>(method: &str, checks: &Checks, progress: &'p Progress) -> Vec<&'p str> {
    let Some(right) = checks.right.get(method) else {
        return vec![];
    };
    let line = |kind| {
        let state = progress.get(&format!("{method} {kind}"))?;
        (!state.passed).then_some(&*state.line)
    };
    let traffic = (right.counts.launches > 0).then_some("traffic");
    let kinds = ["steps"].into_iter().chain(traffic);
    kinds.filter_map(line).collect()
}

/// Whether a line about a milestone was in the progress `before`, perhaps at another place: an edit above it moves it.
fn is_old(line: &str, before: &Progress) -> bool {
    let what = |line: &str| line.split_once(": ").map(|(_, what)| what.to_owned());
    before.values().any(|state| what(&state.line) == what(line))
}

/// The first error in one line, and below it all of rustc's, if it is rustc that refuses.
fn refusal(bad: &NotCompiled) -> String {
    if bad.text.is_empty() {
        bad.to_string()
    } else {
        format!("{bad}\n{}", bad.text)
    }
}

/// The replaced methods that an edit is about, among those that were checked; none at the start.
fn edited(
    changed: &Changed,
    methods: &[&'static str],
    replaced: &BTreeSet<&'static str>,
) -> Vec<&'static str> {
    let own: Vec<&str> = methods
        .iter()
        .copied()
        .filter(|m| changed.methods.contains(m))
        .collect();
    if changed.all || !own.is_empty() {
        return own;
    }
    let is_replaced = |method: &&&str| replaced.contains(**method);
    methods.iter().filter(is_replaced).copied().collect()
}

/// Times a method whose next milestone needs a time, after the verdict is printed. After an edit this is one of
/// `focus`; at the start it may be any of `methods` that the learner replaced. Returns the lines that say what is missing.
fn time(
    checked: &Rung,
    built: &Built,
    methods: &[&'static str],
    focus: &[&'static str],
    progress: &mut Progress,
) -> Result<Vec<String>> {
    let replaced: Vec<&str> = checked.replaced().into_iter().collect();
    let begun = if focus.is_empty() { &replaced } else { focus };
    let Some(next) = checked.next_of(progress, begun) else {
        return Ok(vec![]);
    };
    let of_next = |method: &&&'static str| **method == next.method;
    let among = if focus.is_empty() { methods } else { focus };
    let (Some(level), Some(method)) = (milestones::compared(next.kind), among.iter().find(of_next))
    else {
        return Ok(vec![]);
    };
    // All up to the level of the milestone.
    let levels = milestones::TIMED.get(..usize::from(level));
    println!("timing {method} …");
    let options = Options {
        timed: levels.unwrap_or(milestones::TIMED),
        ..Options::new(None)
    };
    let checks = checked.check(built, &[method], options, progress)?;
    print_wrong(&checks);
    let mut shown: Vec<String> = checks.wrong.values().cloned().collect();
    if checks.times.contains_key(method) {
        match progress.get(&next.key()) {
            Some(state) if !state.passed => {
                println!("{}", state.line);
                shown.push(state.line.clone());
            }
            _ => println!("{method}: timed{}", reached(&checks, progress)),
        }
    }
    checked.save(&[method], progress)?;
    Ok(shown)
}

#[cfg(test)]
mod tests {
    use data::BadInput;

    use super::*;

    #[test]
    fn a_refusal_without_a_text_is_one_line() {
        let line = BadInput::new("src/lib.rs", "", "error: no");
        let bad = NotCompiled::from(line);
        assert_eq!(refusal(&bad), "src/lib.rs: error: no");
        let text = "error: no\n --> src/lib.rs".into();
        let bad = NotCompiled { text, ..bad };
        assert_eq!(
            refusal(&bad),
            "src/lib.rs: error: no\nerror: no\n --> src/lib.rs"
        );
    }

    #[test]
    fn an_edit_is_about_the_methods_that_it_changes() {
        let replaced = ["linear", "norm_gelu"].into();
        let checked = ["linear", "norm_gelu", "attention"];
        let of = |changed| edited(&changed, &checked, &replaced);
        let method = Changed {
            methods: ["norm_gelu"].into(),
            functions: true,
            ..Changed::default()
        };
        assert_eq!(of(method), ["norm_gelu"]);
        let functions = Changed {
            functions: true,
            ..Changed::default()
        };
        assert_eq!(of(functions), ["linear", "norm_gelu"]);
        let all = |methods: &[&'static str]| Changed {
            methods: methods.iter().copied().collect(),
            all: true,
            ..Changed::default()
        };
        assert!(of(all(&[])).is_empty());
        assert_eq!(of(all(&["norm_gelu"])), ["norm_gelu"], "with an import");
    }

    #[test]
    fn missed_milestones_of_a_right_method_have_their_lines() {
        let right = |launches| {
            let mut right = super::super::check::Right::default();
            right.counts.launches = launches;
            right
        };
        let checks = Checks {
            right: [("linear", right(1)), ("norm_gelu", right(0))].into(),
            ..Checks::default()
        };
        let state = |passed, line: &str| milestones::State {
            passed,
            line: line.into(),
            ..milestones::State::default()
        };
        let progress: Progress = [
            ("linear steps".to_owned(), state(true, "few")),
            ("linear traffic".to_owned(), state(false, "too many bytes")),
            ("norm_gelu steps".to_owned(), state(false, "too many steps")),
            ("norm_gelu traffic".to_owned(), state(false, "no kernel")),
            ("attention steps".to_owned(), state(false, "is wrong")),
        ]
        .into();
        let of = |method| missed(method, &checks, &progress);
        assert_eq!(of("linear"), ["too many bytes"]);
        assert_eq!(of("norm_gelu"), ["too many steps"]);
        assert!(of("attention").is_empty());
    }

    #[test]
    fn a_kernel_concerns_the_methods_that_launch_it() {
        let file = |name: &str| PathBuf::from("kernels").join(name);
        let mut known = Known::default();
        for method in levels::OPS {
            known.files.insert(method, BTreeSet::new());
        }
        known.files.insert("norm_linear", [file("a.ptx")].into());
        known.files.remove("attention");
        let changed = |kernels: &[&str], methods: &[&'static str], all| Changed {
            kernels: kernels.iter().map(|name| file(name)).collect(),
            methods: methods.iter().copied().collect(),
            functions: false,
            all,
        };
        let replaced = ["linear"].into();
        let of = |changed| known.concerned(&changed, &replaced);
        // Nothing is known of `attention`, because its last check failed.
        assert_eq!(
            of(changed(&["a.ptx"], &[], false)),
            ["norm_linear", "attention"]
        );
        assert_eq!(of(changed(&["b.ptx"], &[], false)), ["attention"]);
        assert_eq!(of(changed(&[], &["linear"], false)), ["linear"]);
        assert_eq!(of(changed(&[], &[], true)), levels::OPS);
        let functions = Changed {
            functions: true,
            ..Changed::default()
        };
        assert_eq!(of(functions), ["linear", "attention"]);
    }
}
