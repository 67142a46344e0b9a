//! Measurements of a report, kept until the level, the machine or the repository changes.

use std::path::Path;
use std::time::Duration;

use anyhow::{Result, bail};
use benches::{limits, machine};
use candle_core::{DType, Device};
use classroom::printable;
use cli::device::Choice;
use cli::own::{self, Built};
use cli::progress::Waiting;
use levels::Name;
use models::trace::profile::Limits;
use results::{Machine, Results};
use serde::{Deserialize, Serialize};

use super::super::calls::{Draw, TIMED};
use super::super::check::{Checker, counts_of};
use super::super::child::{self, Counts, Times};
use super::super::milestones;
use super::super::rung::{Checks, Options, Rung};
use super::super::simulated;
use super::super::texts::Texts;
use crate::compare;

/// Time limit of the comparison of whole models.
const LONGEST: Duration = Duration::from_secs(600);

/// Measurements of a level.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Measured {
    /// A number of the crate's texts, which differs after an edit.
    texts: String,
    pub whole: Whole,
    pub methods: Vec<Method>,
}

/// Whole models at all levels, and the limits of the device.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Whole {
    pub results: Results,
    /// Bandwidth of memory.
    pub bytes_per_s: f64,
    /// Rate of a large matmul.
    pub flops_per_s: f64,
    /// Why the level's row is missing, where it is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
}

/// A method of the level.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Method {
    pub name: String,
    /// Whether its text is no longer level 1's.
    pub replaced: bool,
    /// The fault, if it is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wrong: Option<String>,
    /// Counters of one call; none of a method that is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counts: Option<Counts>,
    /// Whether other code than its kernels did a part of the work.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub part: bool,
    /// Steps of level 1 in the same call.
    pub level1_steps: usize,
    /// Bytes that the counted call needs at least.
    pub minimum_bytes: u64,
    /// FLOPs of the timed call.
    pub flops: u64,
    /// Bytes that the timed call needs at least.
    pub bytes: u64,
    /// Times of the timed call; only of a method that was replaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times: Option<Times>,
    /// Why level 1's method runs in the whole models in place of this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instead: Option<String>,
}

impl Measured {
    /// Reads the measurements in the crate's folder if they still hold, otherwise measures.
    pub fn of(rung: &Rung, samples: usize, again: bool) -> Result<Self> {
        let folder = rung.level.folder();
        let texts = Texts::read(folder)?.hash();
        let here = here()?;
        let file = folder.join(own::MEASURED);
        if !again
            && file.is_file()
            && let Ok(kept) = child::read::<Self>(&file)
            && kept.texts == texts
            && kept.machine().is_like(&here)
            && kept.machine().commit == here.commit
        {
            data::println!(
                "measured on {} (`--again` measures again)",
                kept.machine().date
            );
            return Ok(kept);
        }
        let built = rung.build()??;
        let mut progress = rung.progress()?;
        let options = Options {
            timed: milestones::TIMED,
            ..Options::new(None)
        };
        let checks = {
            let _waiting = Waiting::new("checking and timing all methods");
            rung.check(&built, levels::OPS, options, &mut progress)?
        };
        rung.save(levels::OPS, &progress)?;
        let methods = methods(rung, &checks)?;
        let measured = Self {
            texts,
            whole: whole(rung, &built, &methods, samples)?,
            methods,
        };
        data::save_as(&file, &serde_json::to_vec_pretty(&measured)?)?;
        Ok(measured)
    }

    pub fn machine(&self) -> &Machine {
        &self.whole.results.machine
    }
}

/// This machine and the repository's commit.
fn here() -> Result<Machine> {
    machine::describe(&Choice::Auto.open()?, &compare::root()?)
}

/// Returns the result of the checks for each method.
pub fn methods(rung: &Rung, checks: &Checks) -> Result<Vec<Method>> {
    let (replaced, on_cpu) = (rung.replaced(), Choice::Auto.open()?.is_cpu());
    let Some(level1) = levels::level(1) else {
        bail!("expected level 1, found none");
    };
    let method = |name: &&'static str| -> Result<Method> {
        let (of_level1, minimum_bytes) = counts_of(&level1, name)?;
        let timed = Draw::new(2, DType::F32, &Device::Cpu).call(name, TIMED, 0)?;
        let cost = timed.cost()?;
        let counts = checks.right.get(name).map(|right| right.counts);
        let wrong = checks.wrong.get(name);
        let times = checks.times.get(name).cloned();
        // A method may have a twin in addition to a kernel.
        let is_kernel = times.as_ref().is_some_and(|times| times.own_ms.is_none());
        let instead = match wrong {
            Some(_) => Some("it is wrong"),
            None if on_cpu && is_kernel => Some(simulated::WHY),
            None => None,
        };
        Ok(Method {
            name: (*name).into(),
            replaced: replaced.contains(name),
            wrong: wrong.cloned(),
            counts,
            part: checks
                .right
                .get(name)
                .is_some_and(|right| right.left.is_some()),
            level1_steps: of_level1.steps(),
            minimum_bytes,
            flops: cost.flops,
            bytes: cost.bytes,
            times,
            instead: instead.map(str::to_owned),
        })
    };
    levels::OPS.iter().map(method).collect()
}

/// Compares whole models in a process of their own, which may fail.
fn whole(rung: &Rung, built: &Built, methods: &[Method], samples: usize) -> Result<Whole> {
    let _waiting = Waiting::new(format!("comparing {} with the levels", rung.level.name()));
    let checker = Checker::new(&rung.level, &built.program, LONGEST)?;
    let instead = methods.iter().filter(|method| method.instead.is_some());
    let instead: Vec<&str> = instead.map(|method| &*method.name).collect();
    let why = match checker.compare(&instead, samples)? {
        Ok(file) => {
            let mut whole: Whole = child::read(&file)?;
            // The process ran elsewhere, so that its places are whole paths.
            let folder = rung.level.folder();
            let here = folder.canonicalize()?;
            let [here, folder] = [here.display(), folder.display()].map(|it| format!("{it}/"));
            for line in &mut whole.left_out {
                *line = printable(&line.replace(&here, &folder));
            }
            return Ok(whole);
        }
        Err(line) => line,
    };
    // The process ended with the level; without a method of it, the other levels remain.
    let mut whole: Whole = match checker.compare(levels::OPS, samples)? {
        Ok(file) => child::read(&file)?,
        Err(line) => bail!("{line}"),
    };
    whole.results.rows.retain(|row| row.system.is_none());
    whole.left_out.push(why);
    Ok(whole)
}

/// Compares the trained models at the level `name` with all levels, with level 1's methods for those in `instead`, and
/// writes [`Whole`] to `out`.
pub fn compare(name: &Name, instead: &[String], samples: usize, out: &Path) -> Result<bool> {
    let own = simulated::with_level_1(name.find("NAME")?, instead)?;
    let (results, left_out) = compare::with_own(name, own, samples)?;
    let Limits {
        bytes_per_s,
        flops_per_s,
    } = limits::measure(&Choice::Auto.open()?, DType::F32)?;
    let whole = Whole {
        results,
        bytes_per_s,
        flops_per_s,
        left_out,
    };
    data::save_as(out, &serde_json::to_vec(&whole)?)?;
    Ok(true)
}
