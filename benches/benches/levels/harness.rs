//! How a call is timed, the same way for every op, model and level.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

use benches::machine;
use benches::ops::{Bench, Contenders, Timed, Work};
#[cfg(feature = "cuda")]
use benches::{limits, ops, timer::Timer};
use candle_core::{DType, Device, Result, Tensor};
use candle_nn::VarBuilder;
use cli::device::Choice;
use cli::files::{self, Output};
use criterion::{BenchmarkId, Criterion, Throughput};
#[cfg(feature = "cuda")]
use kernels::cost::Cost;
use models::random::RandomWeights;
#[cfg(feature = "cuda")]
use models::trace::profile::Limits;
use results::BenchResults;
use results::criterion::cases_since;

use crate::rates::{Rates, Unit};

/// Criterion, the device, and what random tensors are drawn from.
pub struct Harness {
    timing: Timing,
    /// Where everything is computed: a GPU where one was built in and answers.
    pub device: Device,
    weights: VarBuilder<'static>,
    #[cfg(feature = "cuda")]
    timer: Timer,
    /// Measured limits of the GPU: bytes/s and FLOP/s.
    #[cfg(feature = "cuda")]
    limits: Option<Limits>,
    /// An op, its shape and its minimum bytes and FLOPs.
    #[cfg(feature = "cuda")]
    needs: Option<(String, String, Cost)>,
}

impl Harness {
    /// On a GPU where one was built in and answers.
    pub fn new() -> anyhow::Result<Self> {
        let device = Choice::Auto.open()?;
        Ok(Self {
            timing: Timing::new()?,
            weights: RandomWeights::weights(0, DType::F32, &device),
            #[cfg(feature = "cuda")]
            timer: Timer::new(&device)?,
            #[cfg(feature = "cuda")]
            limits: if device.is_cuda() {
                Some(limits::measure(&device, DType::F32)?)
            } else {
                None
            },
            #[cfg(feature = "cuda")]
            needs: None,
            device,
        })
    }

    /// Criterion's closing words, and the figures of the run as `workbook record` takes them; none where nothing was timed,
    /// as with `--test` and `--list`.
    pub fn finish(self) -> anyhow::Result<()> {
        let Timing {
            criterion,
            root,
            start,
            seconds,
            ..
        } = self.timing;
        criterion.final_summary();
        let mut results = BenchResults::new(machine::describe(&self.device, &root)?);
        let folder = root.join(CRITERION);
        if folder.exists() {
            results.rows = cases_since(start, &folder)?;
        }
        for case in &mut results.rows {
            case.seconds = seconds.get(&case.key()).copied();
        }
        if let Some(all) = results.seconds().filter(|_| !results.rows.is_empty()) {
            let folder = root.join("target/workbook");
            std::fs::create_dir_all(&folder)?;
            let path = folder.join(results.kind.left_by_a_run());
            Output::new(&path)?.write(results.json()?.as_bytes())?;
            let (cases, path) = (results.rows.len(), path.display());
            println!("{cases} cases in {all:.0} s\nfigures  {path}");
        }
        Ok(())
    }

    /// Whether memory limits an op on a shape: by what it needs where it says so, else by its unit of work.
    #[cfg(feature = "cuda")]
    fn is_limited_by_memory(&self, op: &str, shape: &str, work: Work) -> bool {
        let of_case = |(of, on, _): &&(String, String, Cost)| of == op && on == shape;
        let needs = self.needs.as_ref().filter(of_case);
        let needs = needs.map(|(_, _, needs)| *needs);
        self.limits
            .is_some_and(|limits| ops::is_limited_by_memory(&limits, needs, work))
    }

    /// `group`/`function`/`parameter` in Criterion's words: as the host sees it, and on a GPU by the device's own clock
    /// (`level4_device`; with a cold L2 where memory is the limit) and in a CUDA graph (`level4_graph`; of calls on the
    /// same operands) besides.
    pub fn one(
        &mut self,
        group: &str,
        function: &str,
        parameter: &str,
        work: Work,
        timed: &mut dyn Timed,
    ) -> Result<()> {
        let device = self.device.clone();
        let case = Case {
            group,
            parameter,
            work,
        };
        case.bench(&mut self.timing, function, |calls| {
            time(timed, calls, &device)
        });
        #[cfg(feature = "cuda")]
        if device.is_cuda() && !timed.waits() {
            let cold = self.is_limited_by_memory(group, parameter, work);
            let (timing, timer) = (&mut self.timing, &self.timer);
            case.on_device(timing, timer, function, timed, cold);
        }
        Ok(())
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
    fn needs(&mut self, op: &str, shape: &str, cost: Cost) {
        self.needs = Some((op.into(), shape.into(), cost));
    }

    /// Criterion times one after the other.
    fn times(&mut self, op: &str, shape: &str, work: Work, all: Contenders) -> Result<()> {
        all.into_iter().try_for_each(|(function, mut timed)| {
            self.one(op, function, shape, work, timed.as_mut())
        })
    }
}

/// Where Criterion keeps what it found, wherever cargo builds: `workbook` and the book read it there.
const CRITERION: &str = "target/criterion";

/// Criterion, and how long its cases take.
struct Timing {
    criterion: Criterion<Rates>,
    /// Unit of the next case's rate.
    unit: Unit,
    /// The repository, or a copy of what the benches read.
    root: PathBuf,
    /// Time at which the run began.
    start: SystemTime,
    /// The end of the case before.
    before: Instant,
    /// Seconds that each case took, by name.
    seconds: BTreeMap<String, f64>,
}

impl Timing {
    /// Ten samples and a second a case.
    fn new() -> anyhow::Result<Self> {
        let root = files::root()?;
        let unit = Unit::default();
        let criterion = Criterion::default()
            .with_measurement(Rates::new(unit.clone()))
            .output_directory(&root.join(CRITERION))
            .sample_size(10)
            .warm_up_time(Duration::from_millis(300))
            .measurement_time(Duration::from_secs(1))
            .configure_from_args();
        Ok(Self {
            criterion,
            unit,
            root,
            start: SystemTime::now(),
            before: Instant::now(),
            seconds: BTreeMap::new(),
        })
    }

    /// Notes what the case took, and what was set up for it.
    fn done(&mut self, name: String) {
        self.seconds
            .insert(name, self.before.elapsed().as_secs_f64());
        self.before = Instant::now();
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
        timing: &mut Timing,
        function: &str,
        mut time: impl FnMut(u64) -> Result<Duration>,
    ) {
        let name = [self.group, function, self.parameter].join("/");
        timing.unit.set(Rates::unit(self.group, self.work));
        let mut group = timing.criterion.benchmark_group(self.group);
        group.throughput(match self.work {
            Work::Bytes(n) => Throughput::Bytes(n as u64),
            Work::Flops(n) | Work::Items(n) => Throughput::Elements(n as u64),
        });
        group.bench_function(BenchmarkId::new(function, self.parameter), |bencher| {
            bencher
                .iter_custom(|calls| time(calls).unwrap_or_else(|error| panic!("{name}: {error}")));
        });
        group.finish();
        timing.done(name);
    }

    /// The two series that only a GPU has. What cannot be recorded is skipped by name.
    #[cfg(feature = "cuda")]
    fn on_device(
        &self,
        timing: &mut Timing,
        timer: &Timer,
        function: &str,
        timed: &mut dyn Timed,
        cold: bool,
    ) {
        self.bench(timing, &format!("{function}_device"), |calls| {
            timer.device_time(timed, calls, cold)
        });
        if timed.has_state() {
            return; // which a recording would repeat where it stood
        }
        match timer.record(timed) {
            Ok(recorded) => self.bench(timing, &format!("{function}_graph"), |calls| {
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
fn time(timed: &mut dyn Timed, calls: u64, device: &Device) -> Result<Duration> {
    let mut total = Duration::ZERO;
    let (rounds, calls) = if timed.has_state() {
        (calls, 1)
    } else {
        (1, calls)
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
