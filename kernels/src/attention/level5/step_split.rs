//! A decode step's attention in one launch on every GPU: the launch of `step_split.cu`.

use candle_core::{DType, Result, Tensor};

use super::step::Step;
use crate::attention::Params;
use crate::attention::cache::TICKETS_PER_HEAD;
use crate::attention::level4::decode::{ROWS, TARGET_BLOCKS};
use crate::dispatch::{Facts, Problem};
use crate::element::by_dtype;
use crate::launch::{Launch, Module, module};
use crate::output;

static MODULE: Module = module!("attention/level5/step_split", sm_75);

/// Name of `step_split.cu` in the registry, in tables and in traces.
pub(super) const KERNEL: &str = "attention_step_split";

/// Threads of a block: `THREADS` of `step_split.cu`.
const THREADS: usize = 512;

/// Keys of a split, as long as there are fewer than [`TARGET_BLOCKS`] blocks: a longer cache gets more splits. With 4 rows
/// and D = 64, a block loads 64 keys at a time in bf16, and 32 in f32.
const KEYS_PER_SPLIT: usize = 128;

/// Whether a block's groups of lanes can have the heads, and there are enough tickets.
pub(super) fn can(p: &Problem, facts: &Facts) -> bool {
    let is_float = matches!(p.dtype, DType::F32 | DType::BF16);
    let fits = p.k <= 128 && p.k.is_multiple_of(16 / p.dtype.size_in_bytes());
    facts.at_least((7, 5)) && is_float && fits && p.m.div_ceil(ROWS) <= TICKETS_PER_HEAD
}

/// For problems that [`can`] allows; q, k, v and the angles may lie anywhere.
pub(in crate::attention) fn launch(step: &Step) -> Result<Tensor> {
    launch_of(&MODULE, step)
}

/// [`launch`] of a module: a test has one with a mistake.
pub(in crate::attention) fn launch_of(module: &'static Module, step: &Step) -> Result<Tensor> {
    let (batch, tokens, heads, head_dim) = step.q.dims4()?;
    let (dtype, device) = (step.q.dtype(), step.q.device());
    let cache = &*step.cache.inner;
    let blocks_per_split = cache.kv_heads * (tokens * heads / cache.kv_heads).div_ceil(ROWS);
    let keys = step.cache.bucket(step.cache.host_position + tokens);
    let most_splits = TARGET_BLOCKS.div_ceil(blocks_per_split * batch);
    let splits = keys.div_ceil(KEYS_PER_SPLIT).min(most_splits);
    let y = output::tensor((batch, tokens, heads * head_dim), dtype, device)?;
    // `part_pitch` of the kernel: a row's channels, its maximum, its sum, and two more.
    let shape = (batch * blocks_per_split, splits, ROWS, head_dim + 4);
    let parts = (splits > 1).then(|| output::tensor(shape, DType::F32, device));
    let parts = parts.transpose()?;
    let entry = by_dtype(
        KERNEL,
        dtype,
        "attention_step_split_f32_level5",
        "attention_step_split_bf16_level5",
    )?;
    let (keys_of_cache, values) = cache.tensors()?;
    let launch = Launch::new(module, entry)
        .grid(splits, blocks_per_split, batch)
        .block(THREADS, 1, 1)
        .view(step.q)
        .view(step.k)
        .view(step.v)
        .read(step.cos)
        .read(step.sin)
        .update(keys_of_cache)
        .update(values)
        .write(&y)
        .read(step.cache.position)
        .write_or_null(parts.as_ref())
        .update(cache.tickets()?);
    step.sizes(launch)?
        .u32(keys.div_ceil(splits))
        .u32((head_dim * dtype.size_in_bytes() / 16).next_power_of_two())
        .f32(Params::scale_of(head_dim))
        .launch()?;
    Ok(y)
}

/// A copy of the module with `replacement` in place of `text`.
#[cfg(test)]
pub(in crate::attention) fn mutant(text: &str, replacement: &str) -> &'static Module {
    let ptx = MODULE.texts()[0];
    assert!(ptx.contains(text), "{text}");
    let changed: &'static str = ptx.replace(text, replacement).leak();
    Box::leak(Box::new(Module::new("a mutant", vec![changed].leak())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attention::level4::MAX_DECODE_QUERIES;
    use crate::testing::directive;

    #[test]
    fn rows_and_threads_are_those_of_the_kernel() {
        let cu = include_str!("step_split.cu");
        assert!(cu.contains(&format!("ROWS = {ROWS};")));
        assert!(cu.contains(&format!("MOST_TOKENS = {MAX_DECODE_QUERIES};")));
        for entry in [
            "attention_step_split_f32_level5",
            "attention_step_split_bf16_level5",
        ] {
            assert!(cu.contains(&format!("STEP({entry}, ")), "{entry}");
            let threads = directive(MODULE.texts()[0], entry, ".maxntid");
            assert_eq!(threads, THREADS, "{entry}");
        }
    }
}
