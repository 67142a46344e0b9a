//! Measures every workload of a model at every level.

use anyhow::{Result, ensure};
use benches::launches::LaunchCounter;
use benches::passes::device_ms;
use benches::{Job, Model, Workload, job};
use candle_core::{DType, Device, Tensor};
use clap::ValueEnum;
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
    for (name, level) in own {
        let workloads = job::load(model, request, level, false)?;
        variants.push((name.clone(), false, workloads));
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
        inspect(&mut contenders, request)?;
        hold(&contenders, request.dtype)?;
        for round in 0..samples {
            time(&mut contenders, round)?;
            progress.step();
        }
        for contender in &mut contenders {
            contender.time_on_device(&request.device)?;
        }
        rows.extend(summary(&contenders, request));
    }
    Ok(Measured { rows, inputs })
}

/// Measures everything but times. A level whose launches cannot be recorded is skipped by name.
fn inspect(contenders: &mut Vec<Contender>, request: &Request) -> Result<()> {
    let mut failure = None;
    contenders.retain_mut(|contender| match contender.inspect(request) {
        Err(error) if contender.cuda_graph => {
            let (workload, label) = (&contender.workload.name, contender.level.label());
            let message = error.to_string();
            let why = message.lines().next().unwrap_or_default();
            data::note(format_args!(
                "skipped: {workload} at {label} in a graph: {why}"
            ));
            false
        }
        Err(error) => {
            failure = Some(error);
            true
        }
        Ok(()) => true,
    });
    failure.map_or(Ok(()), Err)
}

// ANCHOR: hold
/// The largest difference of two right answers, relative to the largest logit.
pub fn tolerance(dtype: DType) -> f64 {
    if dtype == DType::BF16 { 5e-2 } else { 1e-4 }
}

/// Checks that all levels agree with the first up to rounding; other frameworks are checked the same way.
fn hold(contenders: &[Contender], dtype: DType) -> Result<()> {
    let tolerance = tolerance(dtype);
    for contender in contenders {
        let Contender {
            workload, logits, ..
        } = contender;
        let apart = relative_difference(&contenders[0].logits, logits);
        ensure!(
            apart <= tolerance,
            "{} at {}: expected logits within {tolerance:e} of the largest, found {apart:.1e}",
            workload.name,
            contender.level.label()
        );
    }
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
        let error = hold(&contenders, DType::F32).unwrap_err().to_string();
        let expected =
            "decode at level 2: expected logits within 1e-4 of the largest, found 1.2e-1";
        assert_eq!(error, expected);
        contenders[1].logits = contenders[0].logits.clone();
        hold(&contenders, DType::F32)
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
