//! How a call is timed, the same way for every op, model and level.

use std::hint::black_box;
use std::time::{Duration, Instant};

use benches::ops::{Bench, Timed, Work};
#[cfg(feature = "cuda")]
use benches::{limits, timer::Timer};
use candle_core::{DType, Device, Result, Tensor};
use candle_nn::VarBuilder;
use cli::device::Choice;
use criterion::{BenchmarkId, Criterion, Throughput};
use models::random::RandomWeights;
#[cfg(feature = "cuda")]
use models::trace::{
    Needs,
    profile::{Limit, Limits, Total},
};

/// Criterion, the device, and what random tensors are drawn from.
pub struct Harness {
    criterion: Criterion,
    /// Where everything is computed: a GPU where one was built in and answers.
    pub device: Device,
    weights: VarBuilder<'static>,
    #[cfg(feature = "cuda")]
    timer: Timer,
    /// What a GPU can do at the most.
    #[cfg(feature = "cuda")]
    limits: Option<Limits>,
    /// What an op on a shape needs at the least.
    #[cfg(feature = "cuda")]
    needs: Option<(String, String, Needs)>,
}

impl Harness {
    /// Ten samples and a second a case.
    pub fn new() -> anyhow::Result<Self> {
        let device = Choice::Auto.open()?;
        let criterion = Criterion::default()
            .sample_size(10)
            .warm_up_time(Duration::from_millis(300))
            .measurement_time(Duration::from_secs(1))
            .configure_from_args();
        Ok(Self {
            criterion,
            weights: RandomWeights::weights(0, DType::F32, &device),
            #[cfg(feature = "cuda")]
            timer: Timer::new(&device)?,
            #[cfg(feature = "cuda")]
            limits: match device.is_cuda() {
                true => Some(limits::measure(&device, DType::F32)?),
                false => None,
            },
            #[cfg(feature = "cuda")]
            needs: None,
            device,
        })
    }

    /// Criterion's closing words.
    pub fn finish(self) {
        self.criterion.final_summary();
    }

    /// Whether memory limits an op on a shape: by what it needs where it says so, else by its unit of work.
    #[cfg(feature = "cuda")]
    fn is_limited_by_memory(&self, op: &str, shape: &str, work: Work) -> bool {
        let of_case = |(of, on, _): &&(String, String, Needs)| of == op && on == shape;
        match (self.limits, self.needs.as_ref().filter(of_case)) {
            (Some(limits), Some((_, _, needs))) => {
                let (bytes, flops) = (needs.bytes as f64, needs.flops as f64);
                limits.least(Total { bytes, flops }).1 == Limit::Memory
            }
            _ => matches!(work, Work::Bytes(_)),
        }
    }
}

impl Bench for Harness {
    fn device(&self) -> &Device {
        &self.device
    }

    fn dtype(&self) -> DType {
        self.weights.dtype()
    }

    fn tensor(&self, name: &str, shape: &[usize]) -> Result<Tensor> {
        self.weights.get(shape, name)
    }

    #[cfg(feature = "cuda")]
    fn needs(
        &mut self,
        op: &str,
        shape: &str,
        count: impl FnOnce() -> Result<Option<Needs>>,
    ) -> Result<()> {
        self.needs = match self.limits {
            Some(_) => count()?.map(|needs| (op.into(), shape.into(), needs)),
            None => None,
        };
        Ok(())
    }

    /// `group`/`function`/`parameter` in Criterion's words: as the host sees it, and on a GPU by the device's own clock
    /// (`level4_device`; with a cold L2 where memory is the limit) and in a CUDA graph (`level4_graph`; of calls on the
    /// same operands) besides.
    fn one(
        &mut self,
        group: &str,
        function: &str,
        parameter: &str,
        work: Work,
        mut timed: impl Timed,
    ) -> Result<()> {
        let device = self.device.clone();
        let case = Case {
            group,
            parameter,
            work,
        };
        case.bench(&mut self.criterion, function, |calls| {
            time(&mut timed, calls, &device)
        });
        #[cfg(feature = "cuda")]
        if device.is_cuda() && !timed.waits() {
            let cold = self.is_limited_by_memory(group, parameter, work);
            let (criterion, timer) = (&mut self.criterion, &self.timer);
            case.on_device(criterion, timer, function, &mut timed, cold);
        }
        Ok(())
    }
}

/// One op on one shape, or one workload.
struct Case<'a> {
    group: &'a str,
    parameter: &'a str,
    work: Work,
}

impl Case<'_> {
    /// Has Criterion time what takes `time(calls)`.
    fn bench(
        &self,
        criterion: &mut Criterion,
        function: &str,
        mut time: impl FnMut(u64) -> Result<Duration>,
    ) {
        let mut group = criterion.benchmark_group(self.group);
        group.throughput(match self.work {
            Work::Bytes(n) => Throughput::Bytes(n as u64),
            Work::Flops(n) | Work::Items(n) => Throughput::Elements(n as u64),
        });
        group.bench_function(BenchmarkId::new(function, self.parameter), |bencher| {
            bencher.iter_custom(|calls| {
                let case = format!("{}/{function}/{}", self.group, self.parameter);
                time(calls).unwrap_or_else(|error| panic!("{case}: {error}"))
            });
        });
        group.finish();
    }

    /// The two series that only a GPU has. What cannot be recorded is skipped by name.
    #[cfg(feature = "cuda")]
    fn on_device(
        &self,
        criterion: &mut Criterion,
        timer: &Timer,
        function: &str,
        timed: &mut impl Timed,
        cold: bool,
    ) {
        self.bench(criterion, &format!("{function}_device"), |calls| {
            timer.device_time(timed, calls, cold)
        });
        if timed.has_state() {
            return; // which a recording would repeat where it stood
        }
        match timer.record(timed) {
            Ok(recorded) => self.bench(criterion, &format!("{function}_graph"), |calls| {
                timer.graph_time(&recorded, calls)
            }),
            Err(error) => {
                let message = error.to_string();
                let why = message.lines().next().unwrap_or_default();
                let Self {
                    group, parameter, ..
                } = self;
                eprintln!("skipped: {group}/{function}/{parameter} in a graph: {why}");
            }
        }
    }
}

/// The time of `calls` calls; on a GPU until the last of them is done.
fn time(timed: &mut impl Timed, calls: u64, device: &Device) -> Result<Duration> {
    let mut total = Duration::ZERO;
    let (rounds, calls) = match timed.has_state() {
        true => (calls, 1),
        false => (1, calls),
    };
    for _ in 0..rounds {
        timed.prepare()?;
        device.synchronize()?;
        let start = Instant::now();
        for _ in 0..calls {
            black_box(timed.call()?);
        }
        device.synchronize()?;
        total += start.elapsed();
    }
    Ok(total / timed.results() as u32)
}
