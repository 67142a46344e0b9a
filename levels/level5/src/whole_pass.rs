//! Whole passes: what one launch, or a few, compute beyond a method of [`Ops`](models::Ops).

use candle_core::{Result, Tensor};
use kernels::level5 as k;
use models::{DecoderPass, EncoderPass, GraphPass, HeadPass, KvCache, WholePass};

use crate::Level5;

impl WholePass for Level5 {
    /// 1 launch on a Hopper, one block per graph of at most 32 nodes, for the sizes of the preset `base`.
    fn graph_pass(&self, pass: &GraphPass) -> Result<Option<Tensor>> {
        k::graph_pass(pass)
    }

    /// 1 launch for all blocks in bf16 on a Hopper, for one image in the sizes of the preset `s16`.
    fn encoder_pass(&self, pass: &EncoderPass) -> Result<Option<Tensor>> {
        k::encoder_pass(pass)
    }

    /// 2 launches per block and 1 after the last, on a Hopper, for one token in the sizes of the presets `readme` and `smollm-135m`,
    /// up to 1024 keys.
    fn decoder_pass(&self, pass: &mut DecoderPass) -> Result<Option<Tensor>> {
        let position = pass.caches.first().map_or(0, KvCache::len);
        let step = k::DecoderStep {
            id: pass.ids,
            table: pass.embedding.tensor(),
            blocks: &pass.blocks,
            heads: pass.heads.num_heads,
            cos: &pass.rope.cos,
            sin: &pass.rope.sin,
            position,
        };
        let states = pass.caches.iter().map(|cache| {
            let is_there = cache.len() == position && position < cache.capacity();
            cache.state::<k::Cache>().filter(|_| is_there)
        });
        let Some(states) = states.collect::<Option<Vec<_>>>() else {
            return Ok(None);
        };
        if !step.fits(&states)? {
            return Ok(None);
        }
        let caches = pass.caches.iter_mut().map(|cache| cache.advance(1));
        let caches = caches.collect::<Result<Vec<&mut k::Cache>>>()?;
        step.run(caches).map(Some)
    }

    /// 1 launch, that of `norm_linear`: it also finds the most probable token and advances the position.
    fn head_pass(&self, pass: &HeadPass) -> Result<Option<Tensor>> {
        k::head_pass(pass)
    }
}
