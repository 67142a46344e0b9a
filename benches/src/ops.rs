//! Every op on the shapes of the models, for Criterion and for `workbook ops`.

#[macro_use]
mod table;

mod attentions;
mod gathers;
mod limits;
mod norms;
mod products;
mod ropes;
mod rows;
mod ternary;

use candle_core::{DType, Device, Result, Tensor, bail};
use kernels::cost::Cost;
use levels::{Functions, Level, functions};
use models::trace::profile::{Limit, Limits, Total};
use rayon::prelude::*;

/// Minimum work of one call, which decides whether it is memory-bound or compute-bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// Minimum bytes read and written: the op is memory-bound, and a copy of as many bytes is timed
    /// next to the levels.
    Bytes(usize),
    /// Multiplications and additions.
    Flops(usize),
    /// Tokens, images or graphs.
    Items(usize),
}

/// One op on one shape.
#[derive(Debug, Clone, Copy)]
pub struct Case<'a> {
    /// The function, `linear_residual`; or the method of `Ops`.
    pub op: &'a str,
    /// `128x512x512`
    pub shape: &'a str,
    /// The unit that its rate counts.
    pub work: Work,
    /// The bytes and operations that the op needs, whatever the level.
    pub cost: Cost,
}

/// Something to time: `prepare` before each call, untimed, and then `call`.
pub trait Timed {
    /// Whether [`prepare`](Self::prepare) does anything; without, calls are timed in one go.
    fn has_state(&self) -> bool {
        false
    }

    /// Whether the call itself waits for the device, so that calls cannot queue: then they have no time on the device
    /// alone.
    fn waits(&self) -> bool {
        false
    }

    /// Why a CUDA graph cannot repeat the call, if it cannot.
    fn not_recorded(&self) -> Option<&str> {
        None
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

    /// Returns the result for a comparison; by default the tensor of one call.
    fn answer(&mut self) -> Result<Tensor> {
        self.call()
    }
}

/// Inputs of an op, each under its name in the formula.
pub type OpInputs<'a> = &'a [(&'a str, &'a Tensor)];

impl<F: FnMut() -> Result<Tensor>> Timed for F {
    fn call(&mut self) -> Result<Tensor> {
        self()
    }
}

/// Implementations of one op, each with its name: a level, or a reference that levels are compared with.
pub type Contenders<'a> = Vec<(&'a str, Box<dyn Timed + 'a>)>;

/// Who times: criterion in `cargo bench`, and `workbook ops`.
pub trait Bench {
    /// Where everything is computed.
    fn device(&self) -> &Device;

    /// Dtype of weights and activations.
    fn dtype(&self) -> DType;

    /// A random tensor, the same in every run.
    fn tensor(&self, name: &str, shape: &[usize]) -> Result<Tensor>;

    /// Whether shapes are timed, too, that only a GPU has the time for.
    fn large(&self) -> bool {
        false
    }

    /// Times `op` on `shape` by each of `all`.
    fn times(&mut self, op: &str, shape: &str, work: Work, all: Contenders) -> Result<()>;

    /// The bytes and operations that the next case needs.
    fn needs(&mut self, _op: &str, _shape: &str, _cost: Cost) {}

    /// Gets the inputs of the next case, to time it in another framework; `answer` runs the op once.
    fn given(
        &mut self,
        _op: &str,
        _shape: &str,
        _inputs: OpInputs,
        _answer: impl FnOnce() -> Result<Tensor>,
    ) -> Result<()> {
        Ok(())
    }

    /// A function on one shape at every level, and a copy next to memory-bound ones.
    fn function<T: Timed>(
        &mut self,
        case: Case,
        inputs: OpInputs,
        setup: impl FnMut(Functions) -> Result<T>,
    ) -> Result<()> {
        self.function_from(1, case, inputs, setup)
    }

    /// The same at the levels from `lowest` on.
    fn function_from<T: Timed>(
        &mut self,
        lowest: u8,
        case: Case,
        inputs: OpInputs,
        mut setup: impl FnMut(Functions) -> Result<T>,
    ) -> Result<()> {
        at_levels(self, lowest, case, inputs, |level| {
            setup(functions_of(level.level())?)
        })
    }

    /// A method of `Ops`, which has the level's own cache, on one shape at every level.
    fn method<T: Timed>(
        &mut self,
        case: Case,
        inputs: OpInputs,
        setup: impl FnMut(Level) -> Result<T>,
    ) -> Result<()> {
        at_levels(self, 1, case, inputs, setup)
    }
}

/// The functions of the level with this number.
fn functions_of(level: u8) -> Result<Functions> {
    match functions().into_iter().find(|of| of.level == level) {
        Some(of) => Ok(of),
        None => bail!("expected functions of level {level}, found none"),
    }
}

fn at_levels<T: Timed>(
    bench: &mut (impl Bench + ?Sized),
    lowest: u8,
    case: Case,
    inputs: OpInputs,
    mut setup: impl FnMut(Level) -> Result<T>,
) -> Result<()> {
    let Case {
        op,
        shape,
        work,
        cost,
    } = case;
    let mut able = levels::able(bench.dtype(), bench.device());
    able.retain(|level| level.level() >= lowest);
    if let Some(first) = able.first() {
        bench.given(op, shape, inputs, || setup(first.clone())?.answer())?;
    }
    bench.needs(op, shape, cost);
    let names: Vec<String> = (able.iter().map(|level| format!("level{}", level.level()))).collect();
    let mut all: Contenders = vec![];
    for (name, level) in names.iter().zip(able) {
        all.push((name, Box::new(setup(level)?)));
    }
    if let Work::Bytes(bytes) = work {
        all.push(("copy", copy(bench.device(), bytes)?));
    }
    bench.times(op, shape, work, all)
}

/// A copy of as many bytes, half of them read and half of them written.
fn copy<'a>(device: &Device, bytes: usize) -> Result<Box<dyn Timed + 'a>> {
    let half = bytes.div_ceil(2);
    if device.is_cpu() {
        return Ok(Box::new(HostCopy::new(half)?));
    }
    let x = Tensor::zeros(half, DType::U8, device)?;
    Ok(Box::new(move || x.copy()))
}

/// `shapes`, and `large` after them where those are timed.
fn with_large<T: Copy>(bench: &impl Bench, shapes: &[T], large: &[T]) -> Vec<T> {
    let large = if bench.large() { large } else { &[] };
    [shapes, large].concat()
}

/// `rows` rows of `c` random numbers, each another mixture of the same two: drawing millions of them would take longer than
/// timing them, and rows that are all alike would hide one that is taken for another.
fn mixed_rows(bench: &impl Bench, name: &str, rows: usize, c: usize) -> Result<Tensor> {
    let draw = |what: &str, shape: &[usize]| bench.tensor(&format!("{name}.{what}"), shape);
    let share = draw("share", &[rows, 1])?;
    draw("first", &[1, c])?
        .broadcast_mul(&share)?
        .broadcast_add(&draw("second", &[1, c])?)
}

/// Whether memory limits an op that needs so much, or, where that is not known, has so much work.
pub fn is_limited_by_memory(limits: &Limits, needs: Option<Cost>, work: Work) -> bool {
    match needs {
        Some(Cost { bytes, flops }) => {
            let (bytes, flops) = (bytes as f64, flops as f64);
            limits.least(Total { bytes, flops }).1 == Limit::Memory
        }
        None => matches!(work, Work::Bytes(_)),
    }
}

/// A copy by all threads of a CPU, between the same two places each time: candle's is one thread's, into
/// memory that is new.
pub struct HostCopy {
    from: Vec<u8>,
    to: Vec<u8>,
    nothing: Tensor,
}

impl HostCopy {
    /// Bytes that a thread copies at a time, large enough to hide the cost of scheduling.
    const PIECE: usize = 128 * 1024;

    /// From `bytes` bytes to as many others.
    ///
    /// # Errors
    /// When an empty tensor cannot be made.
    pub fn new(bytes: usize) -> Result<Self> {
        Ok(Self {
            from: vec![1; bytes],
            to: vec![0; bytes],
            nothing: Tensor::zeros(0, DType::U8, &Device::Cpu)?,
        })
    }
}

impl Timed for HostCopy {
    fn call(&mut self) -> Result<Tensor> {
        self.to
            .par_chunks_mut(Self::PIECE)
            .zip(self.from.par_chunks(Self::PIECE))
            .for_each(|(to, from)| to.copy_from_slice(from));
        Ok(self.nothing.clone())
    }
}

pub use limits::limits;
pub use products::small;

/// An op that is timed.
#[derive(Debug, Clone, Copy)]
pub struct Op {
    /// `linear_residual`
    pub name: &'static str,
    /// The chart of its times.
    pub chart: Chart,
    /// The shape that stands for it in the roofline: a preset's prefill or batch. `None` for an op without FLOPs.
    pub in_roofline: Option<&'static str>,
}

/// A chart holds ops whose speed-ups are of similar size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chart {
    /// Matmuls and what is fused to them.
    Matmuls,
    /// Ops that go along rows.
    Rows,
    /// Attention over tokens.
    Attention,
    /// Ops over nodes and edges.
    Graphs,
}

/// Every op that is timed, in the order of [`all`].
pub fn ops() -> impl Iterator<Item = Op> {
    let groups = [
        products::OPS,
        norms::OPS,
        attentions::OPS,
        ropes::OPS,
        gathers::OPS,
        rows::OPS,
        ternary::OPS,
    ];
    groups.into_iter().flatten().copied()
}

/// Times all of them: the functions below `Ops` and its methods with a cache, and then what the models have only inside
/// others.
pub fn all(bench: &mut impl Bench) -> Result<()> {
    products::all(bench)?;
    norms::all(bench)?;
    attentions::all(bench)?;
    ropes::all(bench)?;
    gathers::all(bench)?;
    rows::all(bench)?;
    ternary::all(bench)
}
