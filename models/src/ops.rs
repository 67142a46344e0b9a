//! The seam: everything that the models compute, and nothing about how.

use std::any::Any;

use candle_core::{DType, Device, Result, Tensor};

use crate::{Csr, KvCache, Rope, Sampling, Segments, Weight};

/// How a projection to queries, keys and values is cut into heads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Heads {
    /// H: query heads.
    pub num_heads: usize,
    /// Hkv: key and value heads; H is a multiple of it.
    pub num_kv_heads: usize,
    /// D: channels of a head.
    pub head_dim: usize,
}

impl Heads {
    /// As many key and value heads as query heads.
    pub fn full(num_heads: usize, head_dim: usize) -> Self {
        Self {
            num_heads,
            num_kv_heads: num_heads,
            head_dim,
        }
    }

    /// One product cut into its heads, nothing copied:
    /// y (B, T, (H + 2·Hkv)·D) → q (B, T, H, D), k and v (B, T, Hkv, D), views.
    pub fn split(self, y: &Tensor) -> Result<(Tensor, Tensor, Tensor)> {
        let (batch, t, _) = y.dims3()?;
        let (h, h_kv) = (self.num_heads, self.num_kv_heads);
        let y = y.reshape((batch, t, h + 2 * h_kv, self.head_dim))?;
        Ok((
            y.narrow(2, 0, h)?,
            y.narrow(2, h, h_kv)?,
            y.narrow(2, h + h_kv, h_kv)?,
        ))
    }

    /// The same with a skip connection behind them:
    /// y (N, 4·H·D) → q, k, v (N, H, D) and skip (N, H·D), views.
    pub fn split_skip(self, y: &Tensor) -> Result<(Tensor, Tensor, Tensor, Tensor)> {
        let (n, h, d) = (y.dim(0)?, self.num_heads, self.head_dim);
        let heads = y.reshape((n, 4 * h, d))?;
        let part = |i: usize| heads.narrow(1, i * h, h);
        Ok((part(0)?, part(1)?, part(2)?, y.narrow(1, 3 * h * d, h * d)?))
    }
}

/// What a level has to know to make room for keys and values.
#[derive(Debug, Clone)]
pub struct CacheShape {
    /// Of the model.
    pub layers: usize,
    /// B: sequences.
    pub batch: usize,
    /// Positions at most.
    pub capacity: usize,
    /// Hkv and D.
    pub heads: Heads,
    /// Of keys and values.
    pub dtype: DType,
    /// Of keys and values.
    pub device: Device,
}

impl CacheShape {
    /// A cache for each layer, around what `state` makes.
    ///
    /// # Errors
    /// Those of `state`.
    pub fn caches<T: Any + Send>(&self, state: impl Fn() -> Result<T>) -> Result<Vec<KvCache>> {
        let cache = |_| Ok(KvCache::new(self.capacity, state()?));
        (0..self.layers).map(cache).collect()
    }
}

/// One level of optimization: the operations of all three models.
///
/// Each method is the widest fusion that any level uses, so that a level may fuse without moving
/// the models' seams. `B` sequences or pictures of `T` tokens with `C` channels, `H` heads of `D`
/// channels, `N` nodes, `E` edges, `G` graphs.
///
/// **Architecture invariants:** no method has a default body: every level lists the same functions
/// in this order, and `diff` of two levels is the lesson. All levels give the same answer. Every
/// method opens a [`crate::trace::span`] named after the kernel and the level that ran.
pub trait Ops: Send + Sync {
    /// 1 for naive candle ops, and so on.
    fn level(&self) -> u8;

    /// Empty caches for the language model, one a layer.
    fn new_caches(&self, shape: &CacheShape) -> Result<Vec<KvCache>>;

    /// Row `ids[b][t]` of `w`: ids (B, T) u32, w (V, C) → (B, T, C)
    fn embedding(&self, ids: &Tensor, w: &Weight) -> Result<Tensor>;

    /// x·wᵀ + b: x (…, K), w (N, K), b (N) → (…, N)
    fn linear(&self, x: &Tensor, w: &Weight, b: Option<&Tensor>) -> Result<Tensor>;

    /// Queries, keys and values: x (B, T, C), w (H·D + 2·Hkv·D, C) → q (B, T, H, D), k and v (B, T, Hkv, D)
    fn qkv(
        &self,
        x: &Tensor,
        w: &Weight,
        b: Option<&Tensor>,
        heads: Heads,
    ) -> Result<(Tensor, Tensor, Tensor)>;

    /// Queries, keys, values and the skip connection of graph attention:
    /// x (N, C), w (4·H·D, C), b (4·H·D) → q, k, v (N, H, D) and skip (N, H·D)
    fn qkv_skip(
        &self,
        x: &Tensor,
        w: &Weight,
        b: &Tensor,
        heads: Heads,
    ) -> Result<(Tensor, Tensor, Tensor, Tensor)>;

    /// gelu(x·wᵀ + b) with gelu(x) = x·½(1 + erf(x/√2)): x (…, K), w (N, K), b (N) → (…, N)
    fn linear_gelu(&self, x: &Tensor, w: &Weight, b: &Tensor) -> Result<Tensor>;

    /// silu(x·Wgᵀ) ⊙ (x·Wuᵀ) with silu(x) = x/(1 + e⁻ˣ): x (…, C), w (2F, C), gate above up → (…, F).
    /// "GLU variants improve Transformer", Shazeer 2020.
    fn linear_swiglu(&self, x: &Tensor, w: &Weight) -> Result<Tensor>;

    /// s = x + residual and s/√(mean(s²) + eps) ⊙ w, both (…, C). The first norm has no residual.
    /// "Root mean square layer normalization", Zhang and Sennrich 2019.
    fn add_rms_norm(
        &self,
        x: &Tensor,
        residual: Option<&Tensor>,
        w: &Tensor,
        eps: f64,
    ) -> Result<(Tensor, Tensor)>;

    /// s = x + residual and (s − mean(s))/√(var(s) + eps) ⊙ w + b, both (…, C); var divides by C.
    /// "Layer normalization", Ba, Kiros and Hinton 2016.
    fn add_layer_norm(
        &self,
        x: &Tensor,
        residual: Option<&Tensor>,
        w: &Tensor,
        b: &Tensor,
        eps: f64,
    ) -> Result<(Tensor, Tensor)>;

    /// Rotates q and k by their positions, appends k and v to the cache, and attends to it:
    /// softmax(q·kᵀ/√D, over the positions up to its own)·v.
    /// q (B, T, H, D), k and v (B, T, Hkv, D), query head h reads key head ⌊h·Hkv/H⌋ → (B, T, H·D)
    fn causal_attention(
        &self,
        q: &Tensor,
        k: &Tensor,
        v: &Tensor,
        rope: &Rope,
        cache: &mut KvCache,
    ) -> Result<Tensor>;

    /// softmax(q·kᵀ/√D)·v, every token sees every token: q, k, v (B, T, H, D) → (B, T, H·D)
    fn attention(&self, q: &Tensor, k: &Tensor, v: &Tensor) -> Result<Tensor>;

    /// Node i attends to its incoming edges j → i:
    /// αᵢⱼ = softmaxⱼ(qᵢ·(kⱼ + Wₑeᵢⱼ)/√D), result Σⱼ αᵢⱼ(vⱼ + Wₑeᵢⱼ) + skipᵢ.
    /// q, k, v (N, H, D), skip (N, H·D), edges (E, Fe) in the graph's order, w (H·D, Fe) → (N, H·D).
    /// A repeated edge counts twice; a node without edges gets its skip alone.
    /// "Masked label prediction", Shi et al. 2021, equations 3 and 4.
    #[allow(clippy::too_many_arguments)]
    fn edge_attention(
        &self,
        q: &Tensor,
        k: &Tensor,
        v: &Tensor,
        skip: &Tensor,
        edges: &Tensor,
        w: &Weight,
        graph: &Csr,
    ) -> Result<Tensor>;

    /// Mean of x + residual over each graph's nodes: x and residual (N, C) → (G, C); 0 without nodes.
    fn segment_mean(&self, x: &Tensor, residual: &Tensor, segments: &Segments) -> Result<Tensor>;

    /// Cuts pictures into patches, projects each, puts the class token first and adds positions:
    /// pixels (B, 3, H, W), w (C, 3, P, P), b (C), class (1, 1, C), positions (1, 1 + H·W/P², C)
    /// → (B, 1 + H·W/P², C)
    fn patch_embed(
        &self,
        pixels: &Tensor,
        w: &Weight,
        b: &Tensor,
        class: &Tensor,
        positions: &Tensor,
    ) -> Result<Tensor>;

    /// The next token from the logits (V) of the last one. A draw from logits of which one is NaN is an error, and so is
    /// their maximum from level 4 on; candle's argmax passes over a NaN.
    fn next_token(&self, logits: &Tensor, sampling: &mut Sampling) -> Result<u32>;
}
