//! Level 5: the blocks of `readme` and `smollm-135m` for one token on Hopper as one chain of launches that overlap.
//!
//! `decoder_attend` and `decoder_mlp` for each block, then `decoder_end`. The first `decoder_attend` reads the token's row of the
//! embedding. The weights are read where they lie.

mod attend;
mod ends;
mod mlp;
mod state;

use candle_core::{DType, Result, Tensor};
use operands::{DecoderBlock, Linear, Norm};
use state::State;

use crate::attention::level5::Cache;
use crate::dispatch::{Facts, Feature};
use crate::launch::{chained, is_aligned, is_chained};
use crate::without::Idea;

#[cfg(test)]
pub(super) use state::{MLP_CLUSTERS, State as Launches};

/// Name of the pass in traces.
const KERNEL: &str = "decoder_pass_level5";

/// D and F of `cluster.cuh`.
pub(super) const D: usize = 64;
pub(super) const F: usize = 1536;

/// Keys up to which the pass is taken. A cluster waits for memory once per 256 keys, where the kernels of a long cache have
/// more blocks; the pass was measured at 256 keys, and the limit is an estimate.
pub(super) const MOST_KEYS: usize = 1024;

/// A model that the kernels are compiled for.
#[derive(Debug)]
pub(super) struct Size {
    /// H of `cluster.cuh`: channels.
    pub hidden: usize,
    /// HEADS and KV of `attend.cu`.
    pub heads: usize,
    pub kv_heads: usize,
    /// Dtype of all operands.
    pub dtype: DType,
    pub attend: &'static str,
    pub mlp: &'static str,
    pub end: &'static str,
}

macro_rules! size {
    ($hidden:literal, $heads:literal, $kv_heads:literal, $dtype:ident, $name:literal) => {
        Size {
            hidden: $hidden,
            heads: $heads,
            kv_heads: $kv_heads,
            dtype: DType::$dtype,
            attend: concat!("decoder_attend_", $hidden, "_", $name, "_level5"),
            mlp: concat!("decoder_mlp_", $hidden, "_", $name, "_level5"),
            end: concat!("decoder_end_", $name, "_level5"),
        }
    };
}

pub(super) const SIZES: [Size; 4] = [
    size!(512, 8, 8, BF16, "bf16"),
    size!(576, 9, 3, BF16, "bf16"),
    size!(512, 8, 8, F32, "f32"),
    size!(576, 9, 3, F32, "f32"),
];

/// The embedding and all blocks of a language model, for one token.
pub struct DecoderStep<'a> {
    /// (1, 1) u32
    pub id: &'a Tensor,
    /// The embedding: (V, C)
    pub table: &'a Tensor,
    /// The blocks, in order.
    pub blocks: &'a [DecoderBlock<'a>],
    /// Query heads.
    pub heads: usize,
    /// (positions, D/2)
    pub cos: &'a Tensor,
    /// (positions, D/2)
    pub sin: &'a Tensor,
    /// The token's.
    pub position: usize,
}

impl DecoderStep<'_> {
    /// Whether the kernels compute this step with a cache for each block, whose layers share a position.
    ///
    /// They need a GPU of compute capability 9.0, one of their sizes, aligned and contiguous operands of one dtype, f32 or
    /// bf16, and at most 1024 keys; and the idea must not be left out.
    ///
    /// # Errors
    /// If the driver does not answer.
    pub fn fits(&self, caches: &[&Cache]) -> Result<bool> {
        let facts = Facts::of(self.table.device())?;
        let hopper = facts.has(Feature::Wgmma) && !facts.simulated;
        Ok(hopper && !Idea::DecoderPass.is_left_out() && self.is_readable(caches))
    }

    /// Whether sizes, dtypes and memory are those that the kernels read.
    pub(super) fn is_readable(&self, caches: &[&Cache]) -> bool {
        let Some(size) = self.size() else {
            return false;
        };
        let capacity = caches.first().map_or(0, |cache| cache.inner_ref().capacity);
        let has_angles = |x: &Tensor| {
            let fits = |(positions, half)| positions >= capacity && half == D / 2;
            x.dims2().is_ok_and(fits) && size.reads(x)
        };
        let has_id = self.id.dims() == [1, 1] && self.id.dtype() == DType::U32;
        has_id
            && !self.blocks.is_empty()
            && self.blocks.len() == caches.len()
            && self.blocks.iter().all(|block| size.has(block))
            && [self.cos, self.sin].into_iter().all(has_angles)
            && self.position < capacity
            && share_a_position(caches)
            && caches.iter().all(|cache| {
                let inner = cache.inner_ref();
                let found = (inner.batch, inner.kv_heads, inner.head_dim, inner.capacity);
                found == (1, size.kv_heads, D, capacity)
                    && inner.dtype == size.dtype
                    && inner.tensors().is_ok()
                    && cache.bucket(self.position + 1) <= MOST_KEYS
            })
    }

    fn size(&self) -> Option<&'static Size> {
        let of_table = |size: &&Size| {
            let is_wide = (self.table.dims2()).is_ok_and(|(_, c)| c == size.hidden);
            is_wide && self.heads == size.heads && size.reads(self.table)
        };
        SIZES.iter().find(of_table)
    }

    /// (1, 1, C), for a step that [fits](Self::fits).
    ///
    /// # Errors
    /// If it does not, if a launch fails, or memory is exhausted.
    pub fn run(&self, caches: Vec<&mut Cache>) -> Result<Tensor> {
        let Some(size) = self.size() else {
            candle_core::bail!("{KERNEL}: expected a step that fits, found another")
        };
        let _span = trace::span(KERNEL);
        let caches: Option<Vec<_>> = caches
            .into_iter()
            .map(|cache| cache.at(self.position).transpose())
            .collect::<Option<Result<_>>>()
            .transpose()?;
        let Some(caches) = caches else {
            candle_core::bail!("{KERNEL}: expected caches on a GPU, found one on the CPU")
        };
        let run = || {
            let mut state = State::new(self.id, self.table, size)?;
            for (block, cache) in self.blocks.iter().zip(&caches) {
                state.attend(block, [self.cos, self.sin], cache)?;
                state.mlp(block)?;
            }
            state.end()
        };
        // No launch of a step writes a weight, and each cache belongs to one. In the chain of a step, the head overlaps with the
        // last launch: a chain of its own would wait at both ends.
        if is_chained() { run() } else { chained(run) }
    }
}

fn share_a_position(caches: &[&Cache]) -> bool {
    let position = |cache: &&Cache| cache.position().map(std::sync::Arc::as_ptr);
    let first = caches.first().and_then(position);
    first.is_some() && caches.iter().all(|cache| position(cache) == first)
}

impl Size {
    /// Whether a tensor has the dtype, is contiguous and aligned.
    fn reads(&self, x: &Tensor) -> bool {
        x.dtype() == self.dtype && x.is_contiguous() && is_aligned(&[x])
    }

    /// The first arguments of the macros that make the entries: the element's type, and its name.
    #[cfg(test)]
    pub(super) fn types(&self) -> String {
        let name = self.dtype.as_str();
        for entry in [self.attend, self.mlp, self.end] {
            assert!(entry.contains(&format!("_{name}_")), "{entry}");
        }
        let element = if self.dtype == DType::F32 {
            "float"
        } else {
            name
        };
        format!("{element}, {name}")
    }

    /// Whether the kernels can read the weights of a block.
    fn has(&self, block: &DecoderBlock) -> bool {
        let (c, q, kv) = (self.hidden, self.heads * D, self.kv_heads * D);
        let layers = [
            (block.qkv, [q + 2 * kv, c]),
            (block.out, [c, q]),
            (block.gate_up, [2 * F, c]),
            (block.down, [c, F]),
        ];
        let has_layer = |(Linear { weight, bias }, dims): (&Linear, [usize; 2])| {
            bias.is_none() && weight.tensor().dims() == dims && self.reads(weight.tensor())
        };
        let has_norm = |norm: &Norm| match norm {
            Norm::Rms { weight, .. } => weight.dims() == [c] && self.reads(weight),
            Norm::Layer { .. } => false,
        };
        layers.into_iter().all(has_layer)
            && [block.norm_before, block.norm_after]
                .into_iter()
                .all(has_norm)
    }
}
