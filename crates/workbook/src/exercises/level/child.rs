//! Calls of a learner's methods, in a process of their own: `exercises level run`.
//!
//! The process writes results and counts to a file. The process that started it knows the right results, decides, and
//! survives whatever a learner's code does.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Instant;

use anyhow::{Result, bail};
use candle_core::{DType, Device, Tensor};
use data::BadInput;
use kernels::launch::{Sequence, noted, repeatable};
use kernels::output::poisoned;
use levels::{Level, Name};
use models::trace::count_tensors;
use models::trace::profile::Spread;
use serde::{Deserialize, Serialize};
use simt::{Options, Report};

use super::calls::{COUNTED, Call, Draw, ODD, Sizes, TIMED, tensors};
use super::check::difference;
use super::oracle;

/// dtypes of the calls.
pub const DTYPES: [DType; 2] = [DType::F32, DType::BF16];

/// Calls of a method that are checked: their dtype, sizes and variant. The last one is counted.
pub fn all() -> Vec<(DType, Sizes, usize)> {
    let of = |dtype| (0..ODD.len()).map(move |i| (dtype, ODD[i], i));
    let counted = (DType::F32, COUNTED, 0);
    DTYPES.into_iter().flat_map(of).chain([counted]).collect()
}

/// Draws call number `index` of a method; the same in every process. The call that is counted is the same for every seed:
/// level 1's steps in `edge_attention` grow with the largest degree of the graph.
pub fn draw(method: &str, seed: u64, index: usize) -> Result<Call> {
    let calls = all();
    let (dtype, sizes, variant) = calls[index];
    let is_counted = index + 1 == calls.len();
    let seed = if is_counted { 0 } else { seed };
    let mut draw = Draw::new(seed.wrapping_add(index as u64), dtype, &Device::Cpu);
    Ok(draw.call(method, sizes, variant)?)
}

/// The call `first` of [`draw`] with other activations, for a second run.
pub fn second(first: &Call, seed: u64, index: usize) -> Result<Call> {
    let (dtype, ..) = all()[index];
    let seed = seed.wrapping_add(index as u64) ^ (1 << 63);
    Ok(Draw::new(seed, dtype, &Device::Cpu).again(first)?)
}

/// The call of [`draw`] with random operands, which no process of a learner has seen. Its graphs are the same, because a launch
/// may depend on them.
pub fn unseen(method: &str, seed: u64, index: usize) -> Result<Call> {
    let (dtype, sizes, variant) = all()[index];
    let mut draw_new = Draw::new(rand::random(), dtype, &Device::Cpu);
    let mut call = draw_new.call(method, sizes, variant)?;
    match (&mut call, draw(method, seed, index)?) {
        (Call::Edges { graph, .. }, Call::Edges { graph: known, .. }) => *graph = known,
        (Call::SegmentMean(_, segments), Call::SegmentMean(_, known)) => *segments = known,
        _ => {}
    }
    Ok(call)
}

/// Outcome of a call: results, counts and findings.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Ran {
    /// The error that it returned.
    pub error: Option<String>,
    pub outputs: Vec<Output>,
    /// Results of the [`second`] call, without the simulator, where a method may choose its CPU twin.
    pub on_cpu: Vec<Output>,
    pub counts: Counts,
    pub findings: Vec<Found>,
    /// Whether that call launches kernels, too, so that a CPU has nothing to time.
    pub needs_gpu: bool,
    /// Names of the kernels that the simulator ran.
    pub entries: BTreeSet<String>,
    /// Its launches.
    pub sequence: Option<Sequence>,
    /// Output of `printf` in its kernels.
    #[serde(default)]
    pub printed: Vec<Printed>,
}

/// Output of `printf` in a launch.
#[derive(Debug, Serialize, Deserialize)]
pub struct Printed {
    /// Number of the launch in its call, from 1, and its kernel.
    pub launch: usize,
    pub entry: String,
    /// The first lines.
    pub lines: Vec<String>,
    /// Number of the other lines that the simulator keeps.
    pub more: usize,
}

/// Lines that `printf` writes, and are shown of a method.
pub const PRINTED: usize = 20;

fn printed(launch: usize, report: &Report) -> Option<Printed> {
    let all: Vec<&str> = report.printed.lines().collect();
    let (lines, more) = all.split_at(all.len().min(PRINTED));
    (!lines.is_empty()).then(|| Printed {
        launch,
        entry: report.entry.clone(),
        lines: lines.iter().map(|line| (*line).to_owned()).collect(),
        more: more.len(),
    })
}

/// Maximum dimensions of a result, bytes of a kernel's name, and tensors of a call; a right method has far fewer.
const DIMENSIONS: usize = 8;
const LONGEST_NAME: usize = 200;
const MOST_TENSORS: usize = 1_000_000;

impl Ran {
    /// Names a value that no call has, but a learner's process can write: it would make lines long, or sums overflow.
    pub fn made_up(&self) -> Option<&'static str> {
        let is_result =
            |y: &Output| y.dtype.parse::<DType>().is_ok() && y.shape.len() <= DIMENSIONS;
        match () {
            () if !self.outputs.iter().chain(&self.on_cpu).all(is_result) => {
                Some("results of at most 8 dimensions and of a known dtype")
            }
            () if self.entries.iter().any(|name| name.len() > LONGEST_NAME) => {
                Some("names of kernels of at most 200 bytes")
            }
            () => (self.counts.tensors > MOST_TENSORS).then_some("at most 1000000 tensors"),
        }
    }
}

/// A result.
#[derive(Debug, Serialize, Deserialize)]
pub struct Output {
    pub shape: Vec<usize>,
    pub dtype: String,
    /// Bits of the elements as f64, because JSON has no NaN.
    pub bits: Vec<u64>,
}

/// Counters of a call.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Kernels that the simulator ran.
    pub launches: usize,
    /// Tensors made, with views.
    pub tensors: usize,
    /// Bytes that the kernels moved: sectors of 32 bytes.
    pub bytes: u64,
    /// Instructions that warps of the kernels executed.
    pub warps: u64,
    /// Floating-point operations of the kernels.
    pub flops: u64,
}

impl Counts {
    /// Launches of kernels, or tensors that candle makes if they are more.
    pub fn steps(self) -> usize {
        self.tensors.max(self.launches)
    }

    /// The same with the cost of kernels that were simulated.
    pub fn with(self, reports: &[Report]) -> Self {
        let sum = |of: &dyn Fn(&simt::Counts) -> u64| reports.iter().map(|r| of(&r.total)).sum();
        Self {
            launches: reports.len(),
            bytes: sum(&|total| 32 * total.global_sectors()),
            warps: sum(&|total| total.warps),
            flops: sum(&|total| total.flops),
            ..self
        }
    }
}

/// A finding of the simulator, or another remark about a line of a kernel.
#[derive(Debug, Serialize, Deserialize)]
pub struct Found {
    pub entry: String,
    /// File and line of a kernel in CUDA.
    pub source: Option<(String, u32)>,
    /// The line that calls a function of a header, if `source` is in one.
    #[serde(default)]
    pub called: Option<(String, u32)>,
    /// Line of the PTX.
    pub line: u32,
    pub what: String,
}

/// Warp instructions of a block after which a kernel counts as endless: hundreds of times what a right one needs here.
const FUEL: u64 = 2_000_000;

/// Options of the simulator.
pub fn options() -> Options {
    Options {
        fuel: FUEL,
        launch_fuel: 20 * FUEL,
        faulty_fuel: level_kit::FAULTY_FUEL,
        ..Options::default()
    }
}

/// Runs a call with its kernels simulated, into memory full of NaN.
pub fn observe(call: &Call, run: impl FnOnce() -> candle_core::Result<Vec<Tensor>>) -> Result<Ran> {
    let (made, reports, recording) = repeatable(&tensors(call), options(), || {
        poisoned(|| count_tensors(run))
    });
    let mut ran = Ran::default();
    for report in &reports {
        ran.entries.insert(report.entry.clone());
        ran.findings
            .extend(report.findings.iter().map(|finding| Found {
                entry: report.entry.clone(),
                source: finding.source.clone(),
                called: finding.called.as_deref().cloned(),
                line: finding.line,
                what: format!(
                    "{}: `{}`: {}: {}",
                    finding.class, finding.form, finding.thread, finding.what
                ),
            }));
    }
    let numbered = (1..).zip(&reports);
    ran.printed = numbered
        .filter_map(|(i, report)| printed(i, report))
        .collect();
    ran.counts.launches = reports.len();
    match made {
        Ok((outputs, tensors)) => {
            ran.counts.tensors = tensors;
            ran.outputs = outputs.iter().map(output).collect::<Result<_>>()?;
            ran.sequence = Some(recording.ending_in(&outputs));
        }
        Err(error) => ran.error = Some(first_line(&error)),
    }
    Ok(ran)
}

fn output(y: &Tensor) -> Result<Output> {
    let values = match y.dtype() {
        DType::U32 | DType::F32 | DType::BF16 => oracle::values(y)?,
        _ => vec![],
    };
    Ok(Output {
        shape: y.dims().to_vec(),
        dtype: y.dtype().as_str().into(),
        bits: values.into_iter().map(f64::to_bits).collect(),
    })
}

/// The same, and a second call without the simulator, when a method may run other code. Counts of a method that
/// launches no kernel are those of the second call, for which it has packed its weights.
fn twice(call: &Call, second: &Call, ops: &Level) -> Result<Ran> {
    let mut ran = observe(call, || call.run(&**ops))?;
    if ran.error.is_some() || !ran.findings.is_empty() {
        return Ok(ran);
    }
    let (again, launches) = noted(|| poisoned(|| count_tensors(|| second.run(&**ops))));
    ran.needs_gpu = !launches.is_empty();
    match again {
        Ok((outputs, tensors)) => {
            ran.on_cpu = outputs.iter().map(output).collect::<Result<_>>()?;
            if ran.counts.launches == 0 {
                ran.counts.tensors = tensors;
            }
        }
        Err(error) => ran.error = Some(first_line(&error)),
    }
    Ok(ran)
}

/// The first line of an error.
pub fn first_line(error: &candle_core::Error) -> String {
    let said = error.to_string();
    said.lines().next().unwrap_or_default().to_owned()
}

/// Calls `method` of the level `name` as [`all`] lists it, up to the first call that fails, and writes what happened to `out`.
pub fn run(name: &Name, method: &str, seed: u64, out: &Path) -> Result<bool> {
    let ops = name.find("NAME")?;
    let mut ran = vec![];
    for i in 0..all().len() {
        let call = draw(method, seed, i)?;
        let one = twice(&call, &second(&call, seed, i)?, &ops)?;
        let is_faulty = one.error.is_some() || !one.findings.is_empty();
        ran.push(one);
        // The check tells the first fault.
        if is_faulty {
            break;
        }
    }
    data::save_as(out, &serde_json::to_vec(&ran)?)?;
    Ok(true)
}

/// Median milliseconds of a method at several levels, measured in turns.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Times {
    /// The learner's level; `None` for a kernel without a GPU, which the simulator would run.
    pub own_ms: Option<f64>,
    /// By number of the level.
    pub levels: BTreeMap<u8, f64>,
    /// For each level whose comparison is noisy, the time of slow runs over that of fast runs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub noise: BTreeMap<u8, f64>,
    /// The same of the learner's level alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_noise: Option<f64>,
}

/// Samples of each level, and the seconds after which fewer are taken.
const SAMPLES: usize = 11;
const LONGEST: f64 = 2.;
/// Samples that are always taken.
const FEWEST: usize = 3;

/// Whether a method launches kernels on a CPU, where the simulator runs them.
///
/// # Errors
/// Those of the method.
pub fn launches(method: &str, ops: &Level) -> Result<bool> {
    let small = Draw::new(1, DType::F32, &Device::Cpu).call(method, ODD[1], 0)?;
    let (tried, launches) = noted(|| small.run(&**ops));
    tried?;
    Ok(!launches.is_empty())
}

/// Times `method` of the level `name` and of `levels` in turns, and writes [`Times`] to `out`.
pub fn time(name: &Name, method: &str, levels: &[u8], out: &Path) -> Result<bool> {
    let device = cli::device::Choice::Auto.open()?;
    let own = name.find("NAME")?;
    let can_time = !device.is_cpu() || !launches(method, &own)?;
    // Weights of its own for each level, because a weight is packed for one level.
    let mut turns = vec![];
    let with_call = |ops: Level| -> Result<(Level, Call)> {
        Ok((
            ops,
            Draw::new(2, DType::F32, &device).call(method, TIMED, 0)?,
        ))
    };
    for level in levels {
        turns.push(with_call(Name::Number(*level).find("LEVEL")?)?);
    }
    if can_time {
        turns.push(with_call(own)?);
    }
    let mut ms = vec![vec![]; turns.len()];
    // Inputs that no learner can know in advance.
    let mut fresh = Draw::new(rand::random(), DType::F32, &device);
    let compared = rand::random_range(1..=FEWEST);
    let begin = Instant::now();
    for round in 0..=SAMPLES {
        for turn in 0..turns.len() {
            let of = (round + turn) % turns.len();
            let (ops, first) = &turns[of];
            let call = fresh.again(first)?;
            device.synchronize()?;
            let start = Instant::now();
            let results = call.run(&**ops)?;
            device.synchronize()?;
            // The first round fills caches and packs weights.
            if round > 0 {
                ms[of].push(start.elapsed().as_secs_f64() * 1e3);
            }
            if of == levels.len() && round == compared {
                let results = results.iter().map(output).collect::<Result<Vec<_>>>()?;
                if let Some(line) = difference(&oracle::expected(&call)?, &results, DType::F32) {
                    bail!("in a run that is timed: {line}");
                }
            }
        }
        if round >= FEWEST && begin.elapsed().as_secs_f64() > LONGEST {
            break;
        }
    }
    let spreads: Vec<Spread> = ms.iter().map(|ms| Spread::of(ms)).collect();
    data::save_as(out, &serde_json::to_vec(&summary(levels, &spreads))?)?;
    Ok(true)
}

/// Medians and noise of the samples of `levels`, and then of the learner's level, if that was timed.
fn summary(levels: &[u8], spreads: &[Spread]) -> Times {
    let own = spreads.get(levels.len());
    let own_noise = own.and_then(|own| own.noise());
    let of_levels = || levels.iter().copied().zip(spreads);
    // A comparison is as noisy as the noisier of the two.
    let noise = |(level, spread): (u8, &Spread)| {
        let all = [spread.noise(), own_noise];
        Some((level, all.into_iter().flatten().reduce(f64::max)?))
    };
    Times {
        own_ms: own.map(|own| own.median),
        levels: of_levels().map(|(n, spread)| (n, spread.median)).collect(),
        noise: of_levels().filter_map(noise).collect(),
        own_noise,
    }
}

/// Maximum bytes of a file that a child writes; those of a right method are below 2 MB, and nine
/// copies of its PTX.
const LARGEST: u64 = 1 << 25;

/// Reads what a child or another person wrote, which may be anything.
pub fn read<T: for<'de> Deserialize<'de>>(out: &Path) -> Result<T, BadInput> {
    let found = std::fs::symlink_metadata(out).map_err(|e| BadInput::unreadable(out, &e))?;
    if !found.is_file() {
        return Err(BadInput::new(out.display(), "a file", "something else"));
    }
    let bytes = data::read_file(out, LARGEST)?;
    let bad = |error| BadInput::new(out.display(), "", error);
    serde_json::from_slice(&bytes).map_err(bad)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_call_that_is_counted_does_not_depend_on_the_seed() -> Result<()> {
        let graph = |seed, index| match draw("edge_attention", seed, index)? {
            Call::Edges { graph, .. } => Ok((graph.max_degree, graph.col_idx.to_vec1::<u32>()?)),
            _ => bail!("expected edges"),
        };
        let counted = all().len() - 1;
        let first = graph(0, counted)?;
        for seed in 1..9 {
            assert_eq!(graph(seed, counted)?, first, "seed {seed}");
            assert_ne!(graph(seed, 2)?, graph(0, 2)?, "seed {seed}");
        }
        Ok(())
    }

    /// A method that keeps a result by the identity or the sizes of its operands has the wrong one the second time.
    #[test]
    fn the_second_call_has_the_same_weights_and_other_activations() -> Result<()> {
        for method in levels::OPS {
            let index = all().len() - 1;
            let first = draw(method, 5, index)?;
            let other = second(&first, 5, index)?;
            let (one, two) = (oracle::expected(&first)?, oracle::expected(&other)?);
            assert_eq!(one[0].shape, two[0].shape, "{method}");
            assert_ne!(one, two, "{method}");
        }
        let (Call::Linear(x, w), Call::Linear(y, v)) =
            (draw("linear", 5, 0)?, second(&draw("linear", 5, 0)?, 5, 0)?)
        else {
            bail!("expected linear");
        };
        assert_ne!(x.id(), y.id());
        assert_eq!(
            oracle::values(w.weight.tensor())?,
            oracle::values(v.weight.tensor())?
        );
        Ok(())
    }

    #[test]
    fn made_up_texts_and_numbers_are_refused() {
        let refused = |dtype: &str, dimensions, name: usize, tensors| {
            let output = Output {
                shape: vec![1; dimensions],
                dtype: dtype.into(),
                bits: vec![],
            };
            let mut ran = Ran {
                on_cpu: vec![output],
                entries: ["k".repeat(name)].into(),
                ..Ran::default()
            };
            ran.counts.tensors = tensors;
            ran.made_up().is_some()
        };
        for dtype in ["f32", "bf16", "u32", "f64"] {
            assert!(!refused(dtype, 4, 30, 99), "{dtype}");
        }
        assert!(refused(&"A".repeat(2_000_000), 4, 30, 99));
        assert!(refused("f32", 9, 30, 99) && refused("f32", 4, 201, 99));
        assert!(refused("f32", 4, 30, usize::MAX));
    }

    #[test]
    fn a_comparison_is_as_noisy_as_the_noisier_of_the_two() {
        let spread = |low, high| Spread {
            low,
            median: 2.,
            high,
        };
        let times = |all: &[Spread]| summary(&[1, 3], all);
        let calm = times(&[spread(1.9, 2.1), spread(1.9, 2.1), spread(1.9, 2.2)]);
        assert_eq!((calm.own_ms, calm.noise.len()), (Some(2.), 0));
        let level_3 = times(&[spread(1.9, 2.1), spread(1., 4.), spread(1., 2.)]);
        assert_eq!(level_3.noise, [(1, 2.), (3, 4.)].into());
        assert_eq!((level_3.own_noise, calm.own_noise), (Some(2.), None));
        let kernel = times(&[spread(1., 2.), spread(2., 2.)]);
        assert_eq!(kernel.own_ms, None);
        assert_eq!(kernel.levels, [(1, 2.), (3, 2.)].into());
    }
}
