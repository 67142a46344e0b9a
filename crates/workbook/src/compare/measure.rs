//! Measures every workload of a model at every level.

use anyhow::{Result, anyhow, ensure};
use benches::launches::LaunchCounter;
use benches::passes::device_ms;
use benches::{Job, Model, Workload, job};
use candle_core::{DType, Device, Tensor};
use clap::ValueEnum;
use cli::exit::caught_everywhere;
use cli::load::Request;
use cli::progress::Progress;
use levels::{Level, Name};
use models::trace::count_tensors;

use super::memory::Peak;
use super::stats::{Spread, relative_difference};
use super::turns::{FEWEST, LONGEST, Timed, time, warm_up};
use results::Row;

/// Maximum number of samples on the device's clock.
const ON_DEVICE: usize = 10;

/// A second in milliseconds.
const SECOND: f64 = 1e3;

/// Variants of a level to compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Graphs {
    /// Forward passes as CUDA graphs.
    On,
    /// Forward passes launched kernel by kernel.
    Off,
    /// Both, for comparison.
    Both,
}

impl Graphs {
    /// Variants of a level. The first level always includes the eager one, because all others are compared
    /// with it.
    fn variants(self, is_first: bool) -> Vec<bool> {
        match self {
            Self::On if !is_first => vec![true],
            Self::Off => vec![false],
            Self::On | Self::Both => vec![false, true],
        }
    }
}

/// A workload at one level, and its measurements.
struct Contender {
    level: Name,
    cuda_graph: bool,
    workload: Workload,
    tensors: usize,
    launches: Option<usize>,
    peak_bytes: u64,
    logits: Vec<f32>,
    ms: Vec<f64>,
    device_ms: Option<f64>,
}

/// Measurements of one model.
pub struct Measured {
    /// One row per workload and level.
    pub rows: Vec<Row>,
    /// Description of each workload's input: `prefill: 1 × 128 tokens`.
    pub inputs: Vec<String>,
    /// `mine: decode: WHY` for each learner's level that some rows lack.
    pub left_out: Vec<String>,
}

/// Measures every workload of `model` at every level with `samples` timed runs each.
pub fn compare(
    model: Model,
    request: &Request,
    graphs: Graphs,
    samples: usize,
    own: &[(Name, Level)],
) -> Result<Measured> {
    let mut variants = vec![];
    for level in levels::able(request.dtype, &request.device) {
        for cuda_graph in graphs.variants(variants.is_empty()) {
            let workloads = job::load(model, request, &level, cuda_graph)?;
            variants.push((Name::Number(level.level()), cuda_graph, workloads));
        }
    }
    let mut left_out = vec![];
    for (name, level) in own {
        match of_learner(|| Ok(job::load(model, request, level, false)?)) {
            Ok(workloads) => variants.push((name.clone(), false, workloads)),
            Err(error) => left_out.push(format!("{}: {}", name.label(), first_line(&error))),
        }
    }
    let workloads = by_workload(variants);
    let progress = Progress::new(
        format!("timing {}", model.name()),
        workloads.len() * samples,
    );
    let (mut rows, mut inputs) = (vec![], vec![]);
    for mut contenders in workloads {
        let Workload { name, input, .. } = &contenders[0].workload;
        inputs.push(format!("{name}: {input}"));
        keep(&mut contenders, &mut left_out, |c| inspect(c, request))?;
        let first = contenders[0].logits.clone();
        keep(&mut contenders, &mut left_out, |c| {
            hold(c, &first, request.dtype).map(|()| true)
        })?;
        for round in 0..samples {
            time(&mut contenders, round)?;
            progress.step();
        }
        for contender in &mut contenders {
            contender.time_on_device(&request.device)?;
        }
        rows.extend(summary(&contenders, request));
    }
    Ok(Measured {
        rows,
        inputs,
        left_out,
    })
}

/// Runs code of a learner, whose panic is an error with its place.
fn of_learner<T>(run: impl FnOnce() -> Result<T>) -> Result<T> {
    caught_everywhere(run).unwrap_or_else(|panic| Err(anyhow!(panic)))
}

fn first_line(error: &anyhow::Error) -> String {
    let said = error.to_string();
    said.lines().next().unwrap_or_default().to_owned()
}

/// Keeps the contenders for which `keeps` returns true. A learner's level that fails is left out, with a line; the failure of
/// another is an error.
fn keep(
    contenders: &mut Vec<Contender>,
    left_out: &mut Vec<String>,
    mut keeps: impl FnMut(&mut Contender) -> Result<bool>,
) -> Result<()> {
    let mut failure = None;
    contenders.retain_mut(|contender| {
        let is_own = contender.level.own().is_some();
        let kept = if is_own {
            of_learner(|| keeps(contender))
        } else {
            keeps(contender)
        };
        match kept {
            Ok(is_kept) => is_kept,
            Err(error) if is_own => {
                let (workload, label) = (&contender.workload.name, contender.level.label());
                let why = first_line(&error).replace(&format!("{workload} at {label}: "), "");
                left_out.push(format!("{label}: {workload}: {why}"));
                false
            }
            Err(error) => {
                failure = Some(error);
                true
            }
        }
    });
    failure.map_or(Ok(()), Err)
}

/// Measures everything but times; returns whether it could. A level whose launches cannot be recorded is skipped by name.
fn inspect(contender: &mut Contender, request: &Request) -> Result<bool> {
    match contender.inspect(request) {
        Err(error) if contender.cuda_graph => {
            let (workload, label) = (&contender.workload.name, contender.level.label());
            let why = first_line(&error);
            data::note(format_args!(
                "skipped: {workload} at {label} in a graph: {why}"
            ));
            Ok(false)
        }
        inspected => inspected.map(|()| true),
    }
}

// ANCHOR: hold
/// The largest difference of two right answers, relative to the largest logit.
pub fn tolerance(dtype: DType) -> f64 {
    if dtype == DType::BF16 { 5e-2 } else { 1e-4 }
}

/// Checks that a level agrees with the first up to rounding; other frameworks are checked the same way.
fn hold(contender: &Contender, first: &[f32], dtype: DType) -> Result<()> {
    let Contender {
        workload, logits, ..
    } = contender;
    let tolerance = tolerance(dtype);
    let apart = relative_difference(first, logits);
    ensure!(
        apart <= tolerance,
        "{} at {}: expected logits within {tolerance:e} of the largest, found {apart:.1e}",
        workload.name,
        contender.level.label()
    );
    Ok(())
}
// ANCHOR_END: hold

/// Regroups the workloads of each level into the levels of each workload.
fn by_workload(variants: Vec<(Name, bool, Vec<Workload>)>) -> Vec<Vec<Contender>> {
    let mut workloads: Vec<Vec<Contender>> = vec![];
    for (level, cuda_graph, of_level) in variants {
        for (i, workload) in of_level.into_iter().enumerate() {
            if workloads.len() <= i {
                workloads.push(vec![]);
            }
            workloads[i].push(Contender {
                level: level.clone(),
                cuda_graph,
                workload,
                tensors: 0,
                launches: None,
                peak_bytes: 0,
                logits: vec![],
                ms: vec![],
                device_ms: None,
            });
        }
    }
    workloads
}

impl Timed for Contender {
    fn timed(&mut self) -> (&mut dyn Job, &mut Vec<f64>) {
        (self.workload.job.as_mut(), &mut self.ms)
    }
}

impl Contender {
    /// Measures everything but times, after the warm-up.
    fn inspect(&mut self, request: &Request) -> Result<()> {
        let job = &mut self.workload.job;
        warm_up(job.as_mut())?;
        job.prepare()?;
        let on_gpu = !request.device.is_cpu();
        let counter = (on_gpu && !self.cuda_graph)
            .then(LaunchCounter::begin)
            .flatten();
        let (logits, tensors) = count_tensors(|| job.run())?;
        self.tensors = tensors / job.forwards();
        let counted = counter.map(|counter| counter.end() / job.forwards());
        self.launches = job.recorded().or(counted);
        self.logits = values(&logits)?;
        let (workload, label) = (&self.workload.name, self.level.label());
        // ANCHOR: finite
        ensure!(
            self.logits.iter().all(|x| x.is_finite()),
            "{workload} at {label}: expected finite logits, found NaN or infinity"
        );
        // ANCHOR_END: finite
        drop(logits);

        let job = &mut self.workload.job;
        job.reset();
        let peak = Peak::begin(&request.device)?;
        job.prepare()?;
        let logits = job.run()?;
        self.peak_bytes = peak.end()?;
        drop(logits);
        Ok(())
    }

    /// Samples the device's clock after all samples of the host's. Passes that take seconds gain nothing from
    /// it and are skipped.
    fn time_on_device(&mut self, device: &Device) -> Result<()> {
        let ms = Spread::of(&self.ms).median;
        if ms >= SECOND {
            return Ok(());
        }
        let fit = (LONGEST.as_secs_f64() * 1e3 / ms) as usize;
        let samples = self.ms.len().min(fit.clamp(FEWEST, ON_DEVICE));
        let times = device_ms(self.workload.job.as_mut(), device, ms, samples)?;
        self.device_ms = times.map(|ms| Spread::of(&ms).median);
        Ok(())
    }
}

fn values(logits: &Tensor) -> candle_core::Result<Vec<f32>> {
    logits.to_dtype(DType::F32)?.flatten_all()?.to_vec1()
}

/// Summarises one workload, one row per level; speed-ups are over the first level.
fn summary(contenders: &[Contender], request: &Request) -> Vec<Row> {
    let first = &contenders[0];
    let of_first = Spread::of(&first.ms);
    let row = |c: &Contender, ms: Spread| Row {
        model: c.workload.model.name().into(),
        preset: request.model.clone(),
        workload: c.workload.name.clone(),
        level: c.level.number(),
        system: c.level.own().map(str::to_owned),
        cuda_graph: c.cuda_graph,
        dtype: request.dtype.as_str().into(),
        median_ms: ms.median,
        low_ms: ms.low,
        high_ms: ms.high,
        device_ms: c.device_ms,
        speedup: of_first.median / ms.median,
        tensors: c.tensors,
        launches: c.launches,
        peak_bytes: c.peak_bytes,
        max_difference: relative_difference(&first.logits, &c.logits),
        samples: c.ms.len(),
        origin: None,
    };
    let rows = contenders.iter().map(|c| row(c, Spread::of(&c.ms)));
    rows.collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// A job that sleeps, and returns two logits after two passes.
    struct Sleep(Duration, f32);

    impl Job for Sleep {
        fn run(&mut self) -> candle_core::Result<Tensor> {
            std::thread::sleep(self.0);
            Tensor::new(&[8f32, self.1], &Device::Cpu)
        }

        fn queue(&mut self) -> candle_core::Result<Tensor> {
            self.run()
        }

        fn forwards(&self) -> usize {
            2
        }

        fn inputs(&self) -> candle_core::Result<Vec<(&'static str, Tensor)>> {
            Ok(vec![])
        }
    }

    fn contenders() -> Vec<Contender> {
        let contender = |level, ms, logit: f32| Contender {
            level: Name::Number(level),
            cuda_graph: false,
            workload: Workload {
                model: Model::Lm,
                preset: "tiny".into(),
                name: "decode".into(),
                input: "nothing".into(),
                items: 1,
                job: Box::new(Sleep(Duration::from_millis(ms), logit)),
            },
            tensors: 0,
            launches: None,
            peak_bytes: 0,
            logits: vec![],
            ms: vec![],
            device_ms: None,
        };
        vec![contender(1, 40, 1.), contender(2, 10, 2.)]
    }

    fn request() -> Request {
        Request {
            model: "tiny".into(),
            dtype: DType::F32,
            device: Device::Cpu,
            seed: 0,
        }
    }

    #[test]
    fn level_1_is_always_measured_eagerly() {
        for graphs in [Graphs::On, Graphs::Off, Graphs::Both] {
            assert!(!graphs.variants(true)[0], "{graphs:?}");
        }
        assert_eq!(Graphs::On.variants(false), [true]);
    }

    #[test]
    fn levels_are_compared_with_the_first() -> Result<()> {
        let mut contenders = contenders();
        for contender in &mut contenders {
            contender.inspect(&request())?;
        }
        for round in 0..3 {
            time(&mut contenders, round)?;
        }
        let rows = summary(&contenders, &request());
        let [one, two] = &rows[..] else {
            panic!("expected two rows, found {}", rows.len());
        };
        assert_eq!((one.speedup, one.max_difference), (1., 0.));
        assert_eq!((two.level, two.samples), (2, 3));
        assert_eq!(two.max_difference, 1. / 8.);
        // A pass is half a run; a busy machine makes it only longer.
        assert!(one.median_ms >= 20. && two.median_ms >= 5.);
        assert!(two.speedup > 1., "{}", two.speedup);
        Ok(())
    }

    /// Two passes per run: under five seconds there are three samples, above that one is enough.
    #[test]
    fn a_slow_level_drops_out_alone() -> Result<()> {
        for (before, samples) in [(vec![2499.; 2], 3), (vec![2501.], 1)] {
            let mut contenders = contenders();
            contenders[0].ms = before;
            for round in 0..4 {
                time(&mut contenders, round)?;
            }
            let counts = contenders.iter().map(|c| c.ms.len()).collect::<Vec<_>>();
            assert_eq!(counts, [samples, 4], "the fewest, and all");
        }
        Ok(())
    }

    #[test]
    fn a_level_with_another_answer_is_not_timed() -> Result<()> {
        let mut contenders = contenders();
        for contender in &mut contenders {
            contender.inspect(&request())?;
        }
        let first = contenders[0].logits.clone();
        let mut left_out = vec![];
        let mut holds = |contenders: &mut Vec<Contender>| {
            keep(contenders, &mut left_out, |c| {
                hold(c, &first, DType::F32).map(|()| true)
            })
        };
        let error = holds(&mut contenders).unwrap_err().to_string();
        let expected =
            "decode at level 2: expected logits within 1e-4 of the largest, found 1.2e-1";
        assert_eq!(error, expected);
        contenders[1].level = "mine".parse().unwrap();
        holds(&mut contenders)?;
        assert_eq!(contenders.len(), 1);
        let expected = "mine: decode: expected logits within 1e-4 of the largest, found 1.2e-1";
        assert_eq!(left_out, [expected]);
        Ok(())
    }

    #[test]
    fn a_panic_of_a_learner_leaves_the_other_levels() -> Result<()> {
        let mut contenders = contenders();
        contenders[1].level = "mine".parse().unwrap();
        let mut left_out = vec![];
        keep(&mut contenders, &mut left_out, |contender| {
            assert!(contender.level.own().is_none(), "no such row");
            Ok(true)
        })?;
        assert_eq!(contenders.len(), 1);
        let [line] = &left_out[..] else {
            panic!("expected a line, found {left_out:?}");
        };
        assert!(line.starts_with("mine: decode: "), "{line}");
        assert!(line.ends_with("no such row"), "{line}");
        Ok(())
    }

    #[test]
    fn a_non_finite_answer_is_an_error() {
        let mut contender = contenders().remove(1);
        contender.workload.job = Box::new(Sleep(Duration::ZERO, f32::NAN));
        let error = contender.inspect(&request()).unwrap_err().to_string();
        assert!(
            error.starts_with("decode at level 2: expected finite"),
            "{error}"
        );
    }
}
