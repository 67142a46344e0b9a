//! Attention in six steps: y = softmax(q·kᵀ/√D)·v for each head. q and y (H, T, D), k and v (H, S, D), f32,
//! D = 64.
//!
//! Tolerance: 1e-5 of Σ_s p_s·|v_s| for steps 1 to 4 and 6. Step 5 rounds q, k, the weights and v to TF32, which
//! has 10 bits of mantissa: 2^-8 of it, because the errors of scores up to 4 add to those of the weights.

use candle_core::{DType, Device, Result, Tensor};

use super::Counts;
use super::counts::count;
use crate::calls::List;
use crate::error::mismatch;
use crate::launch::{Launch, Module, is_aligned, module};
use crate::output;

/// Channels of a head.
pub const HEAD_DIM: usize = 64;

/// The most keys whose scores step 2 has room for: `THREADS + D` of the 48 KiB of shared memory are taken.
pub const MAX_KEYS_STEP2: usize = 48 * 256 - 128 - HEAD_DIM;

/// H, T and S of the simulated attention whose [`Counts`] are recorded.
pub const COUNTED: [usize; 3] = [2, 64, 256];

/// A step: kernels with one idea more than the step before.
#[derive(Debug)]
pub struct Step {
    /// From 1.
    pub number: usize,
    /// The idea.
    pub idea: &'static str,
    module: Module,
    /// Name in errors and lists.
    name: &'static str,
    launch: fn(&'static Step, &AttentionOperands) -> Result<()>,
}

/// All steps.
#[rustfmt::skip] // one line each
pub static STEPS: [Step; 6] = [
    step(1, "three launches", module!("worklogs/attention/step1", sm_75), "attention_step1", step1),
    step(2, "one launch", module!("worklogs/attention/step2", sm_75), "attention_step2", step2),
    step(3, "online softmax", module!("worklogs/attention/step3", sm_75), "attention_step3", step3),
    step(4, "query tiles", module!("worklogs/attention/step4", sm_75), "attention_step4", tile),
    step(5, "tensor cores, TF32", module!("worklogs/attention/step5", sm_80), "attention_step5", tile),
    step(6, "split keys", module!("worklogs/attention/step6", sm_75), "attention_step6", step6),
];

const fn step(
    number: usize,
    idea: &'static str,
    module: Module,
    name: &'static str,
    launch: fn(&'static Step, &AttentionOperands) -> Result<()>,
) -> Step {
    Step {
        number,
        idea,
        module,
        name,
        launch,
    }
}

/// Operands that agree, and the result.
struct AttentionOperands<'a> {
    q: &'a Tensor,
    k: &'a Tensor,
    v: &'a Tensor,
    y: &'a Tensor,
    heads: usize,
    queries: usize,
    keys: usize,
}

impl Step {
    /// Returns the attention of q (H, T, 64) to k and v (H, S, 64), all contiguous, f32, and on a GPU or simulated.
    ///
    /// # Errors
    /// If there is no GPU; if the operands are not f32, not contiguous or do not agree, or there is no key; for step
    /// 2, above [`MAX_KEYS_STEP2`] keys; for steps 5 and 6, if an operand is not 16-byte aligned; for step 5, below
    /// compute capability 8.0.
    pub fn attention(&'static self, q: &Tensor, k: &Tensor, v: &Tensor) -> Result<Tensor> {
        let (heads, queries, d) = q.dims3()?;
        let (_, keys, _) = k.dims3()?;
        let dtypes = [q, k, v].map(|x| x.dtype());
        if dtypes != [DType::F32; 3] {
            let found = format!("{:?}", dtypes.map(|dtype| dtype.as_str()));
            return Err(mismatch(self.name, "f32, f32 and f32", found));
        }
        let expected = [heads, keys, HEAD_DIM];
        if d != HEAD_DIM || k.dims() != expected || v.dims() != expected || keys == 0 {
            let found = format!("{:?}, {:?} and {:?}", q.dims(), k.dims(), v.dims());
            let expected = "q (H, T, 64), k and v (H, S, 64) with S above 0";
            return Err(mismatch(self.name, expected, found));
        }
        if self.number == 2 && keys > MAX_KEYS_STEP2 {
            let expected = format!("at most {MAX_KEYS_STEP2} keys");
            return Err(mismatch(self.name, expected, keys));
        }
        if self.number >= 5 && !is_aligned(&[q, k, v]) {
            let expected = "16-byte aligned operands";
            return Err(mismatch(self.name, expected, "another address"));
        }
        let y = output::tensor((heads, queries, d), DType::F32, q.device())?;
        (self.launch)(
            self,
            &AttentionOperands {
                q,
                k,
                v,
                y: &y,
                heads,
                queries,
                keys,
            },
        )?;
        Ok(y)
    }

    /// Simulates an attention of [`COUNTED`], and returns its cost per 32 multiply-adds of both matmuls.
    ///
    /// # Errors
    /// If the simulator finds a fault.
    pub fn counts(&'static self) -> Result<Counts> {
        let [heads, queries, keys] = COUNTED;
        let operand = |tokens: usize, phase: f64| {
            let n = (heads * tokens * HEAD_DIM) as f32;
            let x = Tensor::arange(0f32, n, &Device::Cpu)?.affine(1., phase)?;
            x.sin()?.reshape((heads, tokens, HEAD_DIM))
        };
        let (q, k, v) = (
            operand(queries, 0.)?,
            operand(keys, 1.)?,
            operand(keys, 2.)?,
        );
        let units = 2 * heads * queries * keys * HEAD_DIM / 32;
        count((self.number, self.idea), self.name, units, || {
            self.attention(&q, &k, &v)
        })
    }
}

/// The scores, their softmax, and the weighted sum of the values.
fn step1(step: &'static Step, x: &AttentionOperands) -> Result<()> {
    let shape = (x.heads, x.queries, x.keys);
    let scores = output::tensor(shape, DType::F32, x.q.device())?;
    let weights = output::tensor(shape, DType::F32, x.q.device())?;
    Launch::new(&step.module, "attention_step1_scores")
        .grid(x.keys.div_ceil(256), x.queries, x.heads)
        .block(256, 1, 1)
        .read(x.q)
        .read(x.k)
        .write(&scores)
        .u32(x.queries)
        .u32(x.keys)
        .launch()?;
    Launch::new(&step.module, "attention_step1_softmax")
        .grid(x.queries, x.heads, 1)
        .block(256, 1, 1)
        .read(&scores)
        .write(&weights)
        .u32(x.queries)
        .u32(x.keys)
        .launch()?;
    Launch::new(&step.module, "attention_step1_mix")
        .grid(x.queries, x.heads, 1)
        .block(HEAD_DIM, 1, 1)
        .read(&weights)
        .read(x.v)
        .write(x.y)
        .u32(x.queries)
        .u32(x.keys)
        .launch()
}

/// A block per query.
fn step2(step: &'static Step, x: &AttentionOperands) -> Result<()> {
    fused(step, x, x.queries).smem(x.keys * 4).launch()
}

/// A warp per query, four in a block.
fn step3(step: &'static Step, x: &AttentionOperands) -> Result<()> {
    fused(step, x, x.queries.div_ceil(4)).launch()
}

/// A block per 64 queries.
fn tile(step: &'static Step, x: &AttentionOperands) -> Result<()> {
    fused(step, x, x.queries.div_ceil(64)).launch()
}

fn fused<'a>(step: &'static Step, x: &AttentionOperands<'a>, blocks: usize) -> Launch<'a> {
    Launch::new(&step.module, step.name)
        .grid(blocks, x.heads, 1)
        .block(128, 1, 1)
        .read(x.q)
        .read(x.k)
        .read(x.v)
        .write(x.y)
        .u32(x.queries)
        .u32(x.keys)
}

/// Blocks of a GPU that is busy: two for each of 132 SMs.
const ENOUGH_BLOCKS: usize = 264;

/// Chunks of the keys, and what joins them.
fn step6(step: &'static Step, x: &AttentionOperands) -> Result<()> {
    // As many chunks as make the GPU busy, each of whole groups of 128 keys, which a block takes at once.
    let wanted = ENOUGH_BLOCKS.div_ceil(x.heads * x.queries).max(1);
    let keys = x.keys.div_ceil(wanted).next_multiple_of(128);
    let chunks = x.keys.div_ceil(keys);
    let parts = (x.heads, x.queries, chunks, HEAD_DIM + 2);
    let parts = output::tensor(parts, DType::F32, x.q.device())?;
    Launch::new(&step.module, "attention_step6_parts")
        .grid(chunks, x.queries, x.heads)
        .block(128, 1, 1)
        .read(x.q)
        .read(x.k)
        .read(x.v)
        .write(&parts)
        .u32(x.queries)
        .u32(x.keys)
        .u32(keys)
        .launch()?;
    Launch::new(&step.module, "attention_step6_join")
        .grid(x.queries, x.heads, 1)
        .block(HEAD_DIM, 1, 1)
        .read(&parts)
        .write(x.y)
        .u32(x.queries)
        .u32(chunks)
        .launch()
}

/// Calls of each step: whole tiles, tails, and one query.
pub(crate) fn add(list: &mut List) {
    for step in &STEPS {
        for [h, t, s] in [[1, 64, 64], [2, 3, 37], [1, 1, 300]] {
            list.kernel(
                step.name,
                4,
                &[DType::F32],
                &format!("{h}×{t}×{s}"),
                move |i| {
                    let (q, k) = (i.tensor(&[h, t, HEAD_DIM])?, i.tensor(&[h, s, HEAD_DIM])?);
                    let v = i.tensor(&[h, s, HEAD_DIM])?;
                    step.attention(&q, &k, &v)
                },
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::RngExt;
    use rand_chacha::ChaCha8Rng;

    use super::super::counts::check_recorded;
    use super::*;
    use crate::launch::on_cpu;
    use crate::output::poisoned;
    use crate::testing::{Expected, assert_close, devices, rng, uniform};

    /// y, and Σ_s p_s·|v_s| as the scale of its rounding, in f64.
    fn oracle([q, k, v]: [&[f64]; 3], [h, t, s]: [usize; 3]) -> Expected {
        let row = |x: &[f64], at: usize| x[at * HEAD_DIM..][..HEAD_DIM].to_vec();
        let (mut values, mut scales) = (vec![], vec![]);
        for query in 0..h * t {
            let head = query / t;
            let a = row(q, query);
            let score = |key: usize| {
                let b = row(k, head * s + key);
                a.iter().zip(&b).map(|(a, b)| a * b).sum::<f64>() / 8.
            };
            let scores: Vec<f64> = (0..s).map(score).collect();
            let max = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let weights: Vec<f64> = scores.iter().map(|x| (x - max).exp()).collect();
            let sum: f64 = weights.iter().sum();
            for c in 0..HEAD_DIM {
                let of = |key: usize| weights[key] / sum * v[(head * s + key) * HEAD_DIM + c];
                values.push((0..s).map(of).sum());
                scales.push((0..s).map(|key| of(key).abs()).sum());
            }
        }
        Expected { values, scales }
    }

    fn compare(rng: &mut ChaCha8Rng, [h, t, s]: [usize; 3], device: &Device) -> Result<()> {
        let mut operand = |tokens| uniform(rng, &[h, tokens, HEAD_DIM], DType::F32, device);
        let ((q, q64), (k, k64), (v, v64)) = (operand(t)?, operand(s)?, operand(s)?);
        let expected = oracle([&q64, &k64, &v64], [h, t, s]);
        for step in &STEPS {
            let y = poisoned(|| step.attention(&q, &k, &v))?;
            let tolerance = if step.number == 5 {
                2f64.powi(-8)
            } else {
                1e-5
            };
            let what = format!("{} {device:?} {h}×{t}×{s}", step.name);
            assert_close(&what, &y, &expected, tolerance)?;
        }
        Ok(())
    }

    #[test]
    fn each_step_agrees_with_the_oracle_at_odd_sizes() -> Result<()> {
        let mut rng = rng();
        for device in devices().filter(|device| !on_cpu(device)) {
            let any = [
                rng.random_range(1..3),
                rng.random_range(1..70),
                rng.random_range(1..150),
            ];
            for sizes in [[1, 1, 1], [2, 65, 33], [1, 1, 400], any] {
                compare(&mut rng, sizes, &device)?;
            }
        }
        Ok(())
    }

    #[test]
    fn operands_that_do_not_fit_are_named() -> Result<()> {
        let zeros = |shape: [usize; 3]| Tensor::zeros(&shape, DType::F32, &Device::Cpu);
        let refusal = |step: usize, q: &Tensor, k: &Tensor| {
            let refused = STEPS[step - 1].attention(q, k, k);
            refused.err().map(|e| e.to_string()).unwrap_or_default()
        };
        let (q, k) = (zeros([1, 1, 64])?, zeros([1, 2, 64])?);
        let found = refusal(3, &q, &zeros([2, 2, 64])?);
        assert!(
            found.contains("q (H, T, 64), k and v (H, S, 64)"),
            "{found}"
        );
        assert!(refusal(3, &q, &zeros([1, 0, 64])?).contains("S above 0"));
        let found = refusal(2, &q, &zeros([1, MAX_KEYS_STEP2 + 1, 64])?);
        assert!(found.contains("at most 12096 keys"), "{found}");
        assert!(refusal(1, &q.to_dtype(DType::F64)?, &k).contains("f64"));
        Ok(())
    }

    #[test]
    fn the_recorded_counts_are_those_of_the_simulator() -> Result<()> {
        check_recorded("attention", STEPS.iter().map(Step::counts))
    }
}
