//! How a call is timed, the same way for every op, model and level.

use std::hint::black_box;
use std::time::{Duration, Instant};

use benches::levels::{self, Level};
use candle_core::{DType, Device, Result, Tensor};
use candle_nn::VarBuilder;
use cli::device::Choice;
use criterion::{BenchmarkId, Criterion, Throughput};
use models::random::RandomWeights;

/// What one call has to do, and so what limits it.
#[derive(Debug, Clone, Copy)]
pub enum Work {
    /// Bytes read and written at least: memory is the limit, and a copy of as many bytes is timed
    /// beside the levels.
    Bytes(usize),
    /// Multiplications and additions.
    Flops(usize),
    /// Tokens, pictures or graphs.
    Items(usize),
}

/// Something to time: `prepare` before each call, untimed, and then `call`.
pub trait Timed {
    /// Whether [`prepare`](Self::prepare) does anything; without, calls are timed in one go.
    fn has_state(&self) -> bool {
        false
    }

    /// Brings the state to where the call starts.
    fn prepare(&mut self) -> Result<()> {
        Ok(())
    }

    /// The call.
    fn call(&mut self) -> Result<Tensor>;

    /// Results of one call; a time is given for one of them.
    fn results(&self) -> usize {
        1
    }
}

impl<F: FnMut() -> Result<Tensor>> Timed for F {
    fn call(&mut self) -> Result<Tensor> {
        self()
    }
}

/// Criterion, the device, and what random tensors are drawn from.
pub struct Harness {
    criterion: Criterion,
    /// Where everything is computed: a GPU where one was built in and answers.
    pub device: Device,
    weights: VarBuilder<'static>,
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
            device,
        })
    }

    /// A random tensor, the same in every run.
    pub fn tensor(&self, name: &str, shape: &[usize]) -> Result<Tensor> {
        self.weights.get(shape, name)
    }

    /// One op on one shape at every level.
    pub fn op<T: Timed>(
        &mut self,
        op: &str,
        shape: &str,
        work: Work,
        mut setup: impl FnMut(Level) -> Result<T>,
    ) -> Result<()> {
        for level in levels::all() {
            let name = format!("level{}", level.level());
            self.one(op, &name, shape, work, setup(level)?);
        }
        match work {
            Work::Bytes(bytes) => self.copy(op, shape, bytes),
            Work::Flops(_) | Work::Items(_) => Ok(()),
        }
    }

    /// As many bytes, half of them read and half of them written.
    fn copy(&mut self, op: &str, shape: &str, bytes: usize) -> Result<()> {
        let x = Tensor::zeros(bytes.div_ceil(2), DType::U8, &self.device)?;
        self.one(op, "copy", shape, Work::Bytes(bytes), || x.copy());
        Ok(())
    }

    /// One case: `group`/`function`/`parameter` in Criterion's words.
    pub fn one(
        &mut self,
        group: &str,
        function: &str,
        parameter: &str,
        work: Work,
        mut timed: impl Timed,
    ) {
        let device = self.device.clone();
        let mut group = self.criterion.benchmark_group(group);
        group.throughput(match work {
            Work::Bytes(n) => Throughput::Bytes(n as u64),
            Work::Flops(n) | Work::Items(n) => Throughput::Elements(n as u64),
        });
        group.bench_function(BenchmarkId::new(function, parameter), |bencher| {
            bencher.iter_custom(|calls| {
                let time = time(&mut timed, calls, &device);
                time.unwrap_or_else(|error| panic!("{function}/{parameter}: {error}"))
            });
        });
        group.finish();
    }

    /// Criterion's closing words.
    pub fn finish(self) {
        self.criterion.final_summary();
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
