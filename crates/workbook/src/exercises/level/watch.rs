//! `level watch`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Instant;

use anyhow::Result;
use cli::own::{Built, OwnLevel};

use super::milestones;
use super::run::{print, print_next};
use super::rung::{Checks, Options, Rung};
use super::texts::{Changed, Texts};
use crate::exercises::watch::{notices_of_all, wait};

/// What is known of the methods from their last checks.
#[derive(Default)]
struct Known {
    /// Files whose kernels a method launched; no entry for a method that is wrong or was not checked.
    files: BTreeMap<&'static str, BTreeSet<PathBuf>>,
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
    let built = match checked.build()? {
        Ok(built) => built,
        Err(bad) => {
            println!("{bad}");
            println!("{}\n", bad.text);
            // No method was checked, so that all may differ from what is known.
            *known = Known::default();
            return Ok(());
        }
    };
    let mut progress = checked.progress()?;
    let methods = known.concerned(changed, &checked.replaced());
    let checks = checked.check(&built, &methods, Options::new(None), &mut progress)?;
    known.learn(&methods, &checks);
    checked.save(&progress)?;
    match &methods[..] {
        [] => println!("no method uses what changed"),
        [method] => {
            let verdict = if checks.wrong.is_empty() {
                "right"
            } else {
                "wrong"
            };
            println!("{method}: {verdict}");
        }
        _ => print(&checked.milestones, &progress),
    }
    checks.wrong.values().for_each(|line| println!("{line}"));
    println!("({:.1} s)", begin.elapsed().as_secs_f64());
    if checks.wrong.is_empty() {
        time(checked, &built, &methods, &mut progress)?;
    }
    print_next(checked, &progress);
    println!();
    Ok(())
}

/// Times the method of the next milestone if that needs a time, after the verdict is printed.
fn time(
    checked: &Rung,
    built: &Built,
    methods: &[&'static str],
    progress: &mut milestones::Progress,
) -> Result<()> {
    let Some(next) = checked.next(progress) else {
        return Ok(());
    };
    let (Some(level), Some(method)) = (
        milestones::compared(next.kind),
        methods.iter().find(|method| **method == next.method),
    ) else {
        return Ok(());
    };
    let levels: &[u8] = match level {
        1 => &[1],
        2 => &[1, 2],
        _ => &[1, 2, 3],
    };
    println!("timing {method} …");
    let options = Options {
        timed: levels,
        ..Options::new(None)
    };
    checked.check(built, &[method], options, progress)?;
    checked.save(progress)
}

#[cfg(test)]
mod tests {
    use super::*;

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
        // What is known of `attention` is nothing: its last check failed.
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
