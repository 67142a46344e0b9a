//! A decode step's attention in one launch of clusters: the launch of `step_cluster.cu`.

use candle_core::{DType, Result, Tensor};

use super::step::Step;
use crate::attention::Params;
use crate::attention::level4::decode::{Entries, ROWS};
use crate::dispatch::{Facts, Problem};
use crate::element::by_dtype;
use crate::launch::{Launch, Module, is_aligned, module};
use crate::output;

static MODULE: Module = module!("attention/level5/step_cluster", sm_90);

/// Name of `step_cluster.cu` in the registry, in tables and in traces.
pub(super) const KERNEL: &str = "attention_step_cluster";

/// Threads of a block: `THREADS` of `step_cluster.cu`.
const THREADS: usize = 128;

/// Blocks of a cluster for one row, and for several: `BLOCKS` of `step_cluster.cu`.
const BLOCKS: [usize; 2] = [4, 8];

const F32: Entries = [
    [
        "attention_step_d32x1_f32_level5",
        "attention_step_d32x4_f32_level5",
    ],
    [
        "attention_step_d64x1_f32_level5",
        "attention_step_d64x4_f32_level5",
    ],
    [
        "attention_step_d128x1_f32_level5",
        "attention_step_d128x4_f32_level5",
    ],
];

const BF16: Entries = [
    [
        "attention_step_d32x1_bf16_level5",
        "attention_step_d32x4_bf16_level5",
    ],
    [
        "attention_step_d64x1_bf16_level5",
        "attention_step_d64x4_bf16_level5",
    ],
    [
        "attention_step_d128x1_bf16_level5",
        "attention_step_d128x4_bf16_level5",
    ],
];

/// Keys up to which one cluster may be the fastest: it has fewer loads in flight than the blocks of `decode.cu`.
const MOST_KEYS: usize = 8192;

/// Whether the GPU has clusters, and half a head is whole chunks of 16 bytes. [`fits`] checks alignment and strides, and
/// the launch the size of the grid.
pub(super) fn can(p: &Problem, facts: &Facts) -> bool {
    let is_float = matches!(p.dtype, DType::F32 | DType::BF16);
    let half = 2 * (16 / p.dtype.size_in_bytes());
    facts.at_least((9, 0)) && is_float && p.k <= 128 && p.k.is_multiple_of(half) && p.n <= MOST_KEYS
}

/// Whether the heads of q, k and v, and the angles, are 16-byte aligned.
pub(super) fn fits(step: &Step) -> Result<bool> {
    let (q, kv) = step.strides()?;
    let elements = 16 / step.q.dtype().size_in_bytes();
    let strides = [q.batch, q.token, kv.batch, kv.token];
    let tensors = [step.q, step.k, step.v, step.cos, step.sin];
    Ok(is_aligned(&tensors) && strides.iter().all(|stride| stride % elements == 0))
}

/// For problems that [`can`] allows, and operands that [`fits`].
pub(super) fn launch(step: &Step) -> Result<Tensor> {
    let (batch, tokens, heads, head_dim) = step.q.dims4()?;
    let cache = &*step.cache.inner;
    let y = output::tensor(
        (batch, tokens, heads * head_dim),
        step.q.dtype(),
        step.q.device(),
    )?;
    let entries = by_dtype("attention_step", y.dtype(), &F32, &BF16)?;
    let rows = tokens * heads / cache.kv_heads;
    let variant = usize::from(rows > 1);
    let d = [32, 64].iter().position(|&d| head_dim <= d).unwrap_or(2);
    let (keys, values) = cache.tensors()?;
    let clusters = rows.div_ceil(ROWS); // of a key head
    // Where several clusters share a key head, one would append a key while another loads its place early.
    let early = match clusters {
        1 => step.cache.bucket(step.cache.host_position + tokens),
        _ => 0,
    };
    let launch = Launch::new(&MODULE, entries[d][variant])
        .grid(BLOCKS[variant], cache.kv_heads * clusters, batch)
        .block(THREADS, 1, 1)
        .programmatic()
        .view(step.q)
        .view(step.k)
        .view(step.v)
        .constant(step.cos)
        .constant(step.sin)
        .update(keys)
        .update(values)
        .write(&y)
        .constant(step.cache.position);
    step.sizes(launch)?
        .u32(early)
        .f32(Params::scale_of(head_dim))
        .launch()?;
    Ok(y)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::directive;

    #[test]
    fn rows_and_threads_are_those_of_the_kernel() {
        let cu = include_str!("step_cluster.cu");
        let [one, several] = BLOCKS;
        assert!(cu.contains(&format!("BLOCKS = ROWS == 1 ? {one} : {several};")));
        for (dtype, entries) in [("float", F32), ("bf16", BF16)] {
            for (d, of_d) in [32, 64, 128].into_iter().zip(entries) {
                for ((rows, blocks), entry) in [1, ROWS].into_iter().zip(BLOCKS).zip(of_d) {
                    let line = format!("STEP({entry}, {dtype}, {d}, {rows})");
                    assert!(cu.contains(&line), "{line}");
                    let text = MODULE.texts()[0];
                    assert_eq!(directive(text, entry, ".maxntid"), THREADS, "{entry}");
                    assert_eq!(
                        directive(text, entry, ".reqnctapercluster"),
                        blocks,
                        "{entry}"
                    );
                }
            }
        }
    }
}
