//! How a call is timed, the same way for every op, model and level.

use std::hint::black_box;
use std::time::{Duration, Instant};

use benches::ops::{Bench, Timed, Work};
use candle_core::{DType, Device, Result, Tensor};
use candle_nn::VarBuilder;
use cli::device::Choice;
use criterion::{BenchmarkId, Criterion, Throughput};
use models::random::RandomWeights;

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

    /// Criterion's closing words.
    pub fn finish(self) {
        self.criterion.final_summary();
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

    /// `group`/`function`/`parameter` in Criterion's words.
    fn one(
        &mut self,
        group: &str,
        function: &str,
        parameter: &str,
        work: Work,
        mut timed: impl Timed,
    ) -> Result<()> {
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
        Ok(())
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
