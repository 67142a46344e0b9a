//! Calls of every kernel that can compute a problem, on random operands.

use std::cell::RefCell;
use std::hint::black_box;
use std::rc::Rc;

use candle_core::{DType, Device, Result, Tensor};
use operands::Linear;

use crate::attention::level5 as attention;
use crate::dispatch::{Entry, Facts, Op, Problem};
use crate::error::mismatch;
use crate::layer_norm::level5 as layer;
use crate::linear::level5 as linear;
use crate::matmul::level5 as matmul;
use crate::rms_norm::level5 as rms;
use crate::rope::level4::rope_append;

/// A call with the next set of operands.
pub type Call = Box<dyn FnMut() -> Result<()>>;

/// Calls of one kernel.
pub struct CallOn {
    /// Name of the entry.
    pub name: &'static str,
    /// Number of sets of operands.
    pub sets: usize,
    /// The call.
    pub call: Call,
}

/// Name of the call that picks a kernel by the tables.
pub const PICKED: &str = "level5";

/// Name of candle's matmul.
pub const CANDLE: &str = "candle";

/// Returns calls of every entry that can run, in the order of its registry; of the picked one, as [`PICKED`];
/// and of candle's matmul, for comparison, if it is no entry.
///
/// # Errors
/// When there is no memory for the operands.
pub fn calls(problem: &Problem, device: &Device) -> Result<Vec<CallOn>> {
    let facts = Facts::of(device)?;
    match problem.op {
        Op::Matmul => matmuls(problem, device, facts),
        Op::Linear | Op::LinearResidual | Op::LinearGelu | Op::LinearSwiglu => {
            linears(problem, device, facts)
        }
        Op::Attention => attentions(problem, device, facts),
        Op::AttentionStep => steps(problem, device, facts),
        Op::RmsNorm | Op::LayerNorm => norms(problem, device, facts),
    }
}

// ANCHOR: sets
/// Bytes of the operands of all sets: more than a GPU's L2 cache holds, as for the weights of a model.
const ROTATED: usize = 128 << 20;

/// Maximum number of sets; a model has about as many layers.
const SETS: usize = 8;

fn sets(bytes: usize) -> usize {
    (ROTATED / bytes.max(1)).clamp(1, SETS)
}
// ANCHOR_END: sets

/// Random numbers in −1..1.
fn random(dims: &[usize], dtype: DType, device: &Device) -> Result<Tensor> {
    Tensor::rand(-1f32, 1., dims, device)?.to_dtype(dtype)
}

/// Calls `run` with one set after another.
fn in_turn<T: 'static>(
    name: &'static str,
    all: &Rc<Vec<T>>,
    run: impl Fn(&T) -> Result<Tensor> + 'static,
) -> CallOn {
    let (sets, all, mut next) = (all.len(), all.clone(), 0);
    let call = move || {
        black_box(run(&all[next])?);
        next = (next + 1) % all.len();
        Ok(())
    };
    CallOn {
        name,
        sets,
        call: Box::new(call),
    }
}

fn matmuls(problem: &Problem, device: &Device, facts: &Facts) -> Result<Vec<CallOn>> {
    let Problem {
        batch,
        m,
        n,
        k,
        dtype,
        ..
    } = *problem;
    let one = |_| {
        let a = random(&[batch, m, k], dtype, device)?;
        Ok((a, random(&[batch, k, n], dtype, device)?))
    };
    let bytes = 4 * batch * (m * k + k * n);
    let all = (0..sets(bytes)).map(one).collect::<Result<Vec<_>>>()?;
    let all = Rc::new(all);
    let call = |run| move |(a, b): &(Tensor, Tensor)| matmul::Call::new(a, b, None)?.run(run);
    let able = matmul::REGISTRY.able(problem, facts);
    let mut calls: Vec<_> = able.map(|e| in_turn(e.name, &all, call(e.run))).collect();
    calls.push(in_turn(PICKED, &all, |(a, b)| matmul::matmul(a, b, None)));
    if calls.iter().all(|call| call.name != CANDLE) && problem.batch * m * n * k > 0 {
        calls.push(in_turn(CANDLE, &all, call(matmul::Run::Candle)));
    }
    Ok(calls)
}

/// x, w with its bias, and a residual.
type LinearOperands = (Tensor, Linear, Option<Tensor>);

fn linears(problem: &Problem, device: &Device, facts: &Facts) -> Result<Vec<CallOn>> {
    let Problem {
        op, m, n, k, dtype, ..
    } = *problem;
    let rows = if op == Op::LinearSwiglu { 2 * n } else { n };
    let one = |_| {
        let w = random(&[rows, k], dtype, device)?;
        let b = (op != Op::LinearSwiglu).then(|| random(&[n], dtype, device));
        let residual = (op == Op::LinearResidual).then(|| random(&[m, n], dtype, device));
        let w = Linear::new(w, b.transpose()?);
        Ok((random(&[m, k], dtype, device)?, w, residual.transpose()?))
    };
    let bytes = dtype.size_in_bytes() * (rows + m) * k;
    let all = (0..sets(bytes)).map(one).collect::<Result<Vec<_>>>()?;
    let all = Rc::new(all);
    let product = move |(x, w, residual): &LinearOperands, run: Option<linear::Run>| {
        let call = match (op, residual) {
            (Op::LinearGelu, _) => linear::Call::gelu(x, w)?,
            (Op::LinearSwiglu, _) => linear::Call::swiglu(x, w)?,
            (_, Some(residual)) => linear::Call::residual(x, w, residual)?,
            (_, None) => linear::Call::linear(x, w)?,
        };
        match run {
            Some(run) => call.run(run),
            None => Ok(call.picked()?.0),
        }
    };
    let able = linear::REGISTRY.able(problem, facts);
    let one = |e: &'static Entry<linear::Run>| {
        in_turn(e.name, &all, move |operands| product(operands, Some(e.run)))
    };
    let mut calls: Vec<_> = able.map(one).collect();
    calls.push(in_turn(PICKED, &all, move |operands| {
        product(operands, None)
    }));
    Ok(calls)
}

/// One head per matrix of the problem, in one sequence; equally many keys and queries.
fn attentions(problem: &Problem, device: &Device, facts: &Facts) -> Result<Vec<CallOn>> {
    let Problem {
        batch, m, k, dtype, ..
    } = *problem;
    let random = || random(&[1, m, batch, k], dtype, device);
    let one = |_| Ok([random()?, random()?, random()?]);
    let bytes = 3 * dtype.size_in_bytes() * batch * m * k;
    let all = (0..sets(bytes)).map(one).collect::<Result<Vec<_>>>()?;
    let all = Rc::new(all);
    let able = attention::REGISTRY.able(problem, facts);
    let one = |e: &'static Entry<attention::RunAttention>| {
        in_turn(e.name, &all, |[q, k, v]| (e.run)(q, k, v))
    };
    let mut calls: Vec<_> = able.map(one).collect();
    let picked = |[q, k, v]: &[Tensor; 3]| attention::attention(q, k, v);
    calls.push(in_turn(PICKED, &all, picked));
    Ok(calls)
}

/// q, k, v, cos and sin, and the cache, of one token at the last position of its bucket.
struct Step([Tensor; 5], RefCell<attention::Cache>);

impl Step {
    fn run(&self, run: Option<attention::RunStep>) -> Result<Tensor> {
        let Self([q, k, v, cos, sin], cache) = self;
        let mut cache = cache.borrow_mut();
        let position = cos.dim(0)? - 1;
        let Some(cache) = &cache.on_device(q, position)? else {
            return Err(mismatch(
                "attention_step",
                "the position on the device",
                "none",
            ));
        };
        match run {
            Some(run) => run(&attention::Step {
                q,
                k,
                v,
                cos,
                sin,
                cache,
            }),
            None => attention::attention_step(q, k, v, cos, sin, cache),
        }
    }
}

/// One sequence with a key head per matrix of the problem.
fn steps(problem: &Problem, device: &Device, facts: &Facts) -> Result<Vec<CallOn>> {
    let Problem {
        batch,
        m,
        n,
        k,
        dtype,
        ..
    } = *problem;
    let position = attention::Position::new(device)?;
    let one = |_| {
        let qkv = random(&[1, 1, batch * (m + 2), k], dtype, device)?;
        let part = |from, heads| qkv.narrow(2, from, heads);
        let parts = [
            part(0, batch * m)?,
            part(batch * m, batch)?,
            part(batch * (m + 1), batch)?,
        ];
        let angles = [
            random(&[n, k / 2], dtype, device)?,
            random(&[n, k / 2], dtype, device)?,
        ];
        let cache =
            attention::Cache::new(full_cache(batch, n, k, dtype, device)?, position.clone());
        let [q, key, value] = parts;
        let [cos, sin] = angles;
        Ok(Step([q, key, value, cos, sin], RefCell::new(cache)))
    };
    let bytes = 2 * dtype.size_in_bytes() * batch * n * k;
    let all = (0..sets(bytes)).map(one).collect::<Result<Vec<_>>>()?;
    let all = Rc::new(all);
    let able = attention::STEP_REGISTRY.able(problem, facts);
    let one = |e: &'static Entry<attention::RunStep>| {
        in_turn(e.name, &all, |step: &Step| step.run(Some(e.run)))
    };
    let mut calls: Vec<_> = able.map(one).collect();
    calls.push(in_turn(PICKED, &all, |step| step.run(None)));
    Ok(calls)
}

/// A cache of one sequence whose keys and values are random.
fn full_cache(
    kv_heads: usize,
    keys: usize,
    head_dim: usize,
    dtype: DType,
    device: &Device,
) -> Result<crate::attention::Cache> {
    let mut cache = crate::attention::Cache::new(1, keys, kv_heads, head_dim, dtype, device)?;
    let x = random(&[1, keys, kv_heads, head_dim], dtype, device)?;
    let angles = random(&[keys, head_dim / 2], dtype, device)?;
    rope_append(&x, &x, &x, &angles, &angles, &mut cache, 0)?;
    Ok(cache)
}

const EPS: f64 = 1e-5;

fn norms(problem: &Problem, device: &Device, facts: &Facts) -> Result<Vec<CallOn>> {
    let Problem { m, n, dtype, .. } = *problem;
    let vector = || random(&[n], dtype, device);
    let one = |_| Ok([random(&[m, n], dtype, device)?, vector()?, vector()?]);
    let bytes = dtype.size_in_bytes() * m * n;
    let all = (0..sets(bytes)).map(one).collect::<Result<Vec<_>>>()?;
    let all = Rc::new(all);
    if problem.op == Op::RmsNorm {
        let call = |run: rms::RunRmsNorm| move |[x, w, _]: &[Tensor; 3]| run(x, w, EPS);
        let able = rms::REGISTRY.able(problem, facts);
        let mut calls: Vec<_> = able.map(|e| in_turn(e.name, &all, call(e.run))).collect();
        calls.push(in_turn(PICKED, &all, call(rms::rms_norm)));
        return Ok(calls);
    }
    let call = |run: layer::RunLayerNorm| move |[x, w, b]: &[Tensor; 3]| run(x, w, b, EPS);
    let able = layer::REGISTRY.able(problem, facts);
    let mut calls: Vec<_> = able.map(|e| in_turn(e.name, &all, call(e.run))).collect();
    calls.push(in_turn(PICKED, &all, call(layer::layer_norm)));
    Ok(calls)
}
