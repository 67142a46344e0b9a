//! The ops of the models: the trait that every level implements.

use std::any::Any;

use candle_core::{DType, Device, Result, Tensor};

use crate::{Csr, KvCache, Linear, Norm, Rope, Sampling, Segments, Weight, WholePass};

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

    /// Cuts one matmul's result into heads, without a copy:
    /// y (B, T, (H + 2·Hkv)·D) → q (B, T, H, D), k and v (B, T, Hkv, D), views.
    ///
    /// # Errors
    /// If y has another shape.
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

    /// The same for a result that ends with a skip connection:
    /// y (N, 4·H·D) → q, k, v (N, H, D) and skip (N, H·D), views.
    ///
    /// # Errors
    /// If y has another shape.
    pub fn split_skip(self, y: &Tensor) -> Result<(Tensor, Tensor, Tensor, Tensor)> {
        let (n, h, d) = (y.dim(0)?, self.num_heads, self.head_dim);
        let heads = y.reshape((n, 4 * h, d))?;
        let part = |i: usize| heads.narrow(1, i * h, h);
        Ok((part(0)?, part(1)?, part(2)?, y.narrow(1, 3 * h * d, h * d)?))
    }
}

/// The size of the caches that a level makes for keys and values.
#[derive(Debug, Clone)]
pub struct CacheShape {
    /// Layers of the model.
    pub layers: usize,
    /// B: sequences of a batch.
    pub batch: usize,
    /// The most positions that a sequence may have.
    pub capacity: usize,
    /// Hkv key and value heads of D channels.
    pub heads: Heads,
    /// The type of keys and values.
    pub dtype: DType,
    /// Where keys and values are stored.
    pub device: Device,
}

impl CacheShape {
    /// One cache per layer, around what `state` makes.
    ///
    /// # Errors
    /// The errors of `state`.
    pub fn caches<T: Any + Send>(&self, state: impl Fn() -> Result<T>) -> Result<Vec<KvCache>> {
        let cache = |_| Ok(KvCache::new(self.capacity, state()?));
        (0..self.layers).map(cache).collect()
    }
}

/// One level of optimization: the operations of all three models.
///
/// A block of the language model or the vision transformer is five calls: `norm_qkv`, an attention, `linear_residual`,
/// `norm_swiglu` or `norm_gelu`, and `linear_residual`. A block of the graph transformer is four, because `edge_attention`
/// adds the residual. A level decides how many launches each call is. Shapes: `B` sequences or images of `T` tokens with
/// `C` channels, `H` query heads and `Hkv` key and value heads of `D` channels, `F` channels inside the MLP, `V` tokens
/// in the vocabulary, `S` positions in a cache, patches of `P`×`P` pixels, `N` nodes, `E` edges with `Fe` features each,
/// `G` graphs. A matmul has `K` columns of x and `N` output features. Operands are all f32 or all bf16.
///
/// **Architecture invariants:** no method has a default body: every level lists the same functions in this order, and the
/// `diff` of two levels is the lesson. All levels give the same answer. The function whose kernel runs opens a
/// [`crate::trace::span`] with the kernel's name and level. What one launch computes beyond a method is in [`WholePass`],
/// whose methods do have default bodies: a level without such a launch says nothing.
///
/// # Errors
/// Each method returns an error if shapes, dtypes or devices of its operands do not fit, if a cache has no room or is
/// another level's, and if the level's kernel cannot take the operands; then it names the kernel, what it expected and
/// found, and a level that can. A launch that the device refuses is an error, too, which may come with a later call.
pub trait Ops: WholePass + Send + Sync {
    /// 1 for naive candle ops, and so on; 0 for a learner's own level.
    fn level(&self) -> u8;

    /// Empty caches for the language model, one per layer.
    fn new_caches(&self, shape: &CacheShape) -> Result<Vec<KvCache>>;

    /// Row `ids[b][t]` of `w`: ids (B, T) u32, w (V, C) → (B, T, C)
    fn embedding(&self, ids: &Tensor, w: &Weight) -> Result<Tensor>;

    /// Cuts images into patches, projects each, puts the class token first and adds positions:
    /// pixels (B, 3, H, W), patch (C, 3, P, P), class (1, 1, C), positions (1, 1 + H·W/P², C) → (B, 1 + H·W/P², C)
    fn patch_embed(
        &self,
        pixels: &Tensor,
        patch: &Linear,
        class: &Tensor,
        positions: &Tensor,
    ) -> Result<Tensor>;

    /// x·Wᵀ + b: x (…, K), w (N, K) → (…, N)
    fn linear(&self, x: &Tensor, w: &Linear) -> Result<Tensor>;

    /// norm(x)·Wᵀ + b: x (…, C), w (N, C) → (…, N)
    fn norm_linear(&self, x: &Tensor, norm: &Norm, w: &Linear) -> Result<Tensor>;

    /// Queries, keys and values of norm(x): x (B, T, C), w ((H + 2·Hkv)·D, C)
    /// → q (B, T, H, D), k and v (B, T, Hkv, D)
    fn norm_qkv(
        &self,
        x: &Tensor,
        norm: &Norm,
        w: &Linear,
        heads: Heads,
    ) -> Result<(Tensor, Tensor, Tensor)>;

    /// Queries, keys, values and the skip connection of graph attention, from norm(x):
    /// x (N, C), w (4·H·D, C) → q, k, v (N, H, D) and skip (N, H·D)
    fn norm_qkv_skip(
        &self,
        x: &Tensor,
        norm: &Norm,
        w: &Linear,
        heads: Heads,
    ) -> Result<(Tensor, Tensor, Tensor, Tensor)>;

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
    /// αᵢⱼ = softmaxⱼ(qᵢ·(kⱼ + Wₑeᵢⱼ)/√D), result Σⱼ αᵢⱼ(vⱼ + Wₑeᵢⱼ) + skipᵢ + residualᵢ.
    /// q, k, v (N, H, D), skip and residual (N, H·D), edges (E, Fe) in the graph's order, w (H·D, Fe) → (N, H·D).
    /// A repeated edge counts twice; a node without edges gets skip + residual.
    /// "Masked label prediction", Shi et al. 2021, equations 3 and 4.
    #[allow(clippy::too_many_arguments)]
    fn edge_attention(
        &self,
        q: &Tensor,
        k: &Tensor,
        v: &Tensor,
        skip: &Tensor,
        residual: &Tensor,
        edges: &Tensor,
        w: &Weight,
        graph: &Csr,
    ) -> Result<Tensor>;

    /// residual + x·Wᵀ + b: x (…, K), w (C, K), residual (…, C) → (…, C)
    fn linear_residual(&self, x: &Tensor, w: &Linear, residual: &Tensor) -> Result<Tensor>;

    /// silu(n·Wgᵀ) ⊙ (n·Wuᵀ) with n = norm(x) and silu(y) = y/(1 + e⁻ʸ):
    /// x (…, C), gate_up (2F, C), the rows of Wg above those of Wu → (…, F).
    /// "GLU variants improve Transformer", Shazeer 2020.
    fn norm_swiglu(&self, x: &Tensor, norm: &Norm, gate_up: &Linear) -> Result<Tensor>;

    /// gelu(norm(x)·Wᵀ + b) with gelu(y) = y·½(1 + erf(y/√2)): x (…, C), up (F, C) → (…, F)
    fn norm_gelu(&self, x: &Tensor, norm: &Norm, up: &Linear) -> Result<Tensor>;

    /// Mean of x over the nodes of each graph: x (N, C) → (G, C); 0 for a graph without nodes.
    fn segment_mean(&self, x: &Tensor, segments: &Segments) -> Result<Tensor>;

    /// The next token from the logits (V) of the last one. NaN logits are an error when sampling; from level 4 on, also for
    /// the greedy token. At lower levels candle's argmax passes over a NaN.
    fn next_token(&self, logits: &Tensor, sampling: &mut Sampling) -> Result<u32>;
}

/// Calls `$macro!` with every method of [`Ops`] that computes something, in the trait's order: its name, its arguments with
/// their types, and what its [`Result`] holds. Wrappers of a level and lists of ops are made from it, so that a new
/// operation is added in one place.
#[macro_export]
macro_rules! for_each_op {
    ($macro:ident) => {
        $macro! {
            embedding(ids: &Tensor, w: &Weight) -> Tensor;
            patch_embed(pixels: &Tensor, patch: &Linear, class: &Tensor, positions: &Tensor) -> Tensor;
            linear(x: &Tensor, w: &Linear) -> Tensor;
            norm_linear(x: &Tensor, norm: &Norm, w: &Linear) -> Tensor;
            norm_qkv(x: &Tensor, norm: &Norm, w: &Linear, heads: Heads) -> (Tensor, Tensor, Tensor);
            norm_qkv_skip(x: &Tensor, norm: &Norm, w: &Linear, heads: Heads) -> (Tensor, Tensor, Tensor, Tensor);
            causal_attention(q: &Tensor, k: &Tensor, v: &Tensor, rope: &Rope, cache: &mut KvCache) -> Tensor;
            attention(q: &Tensor, k: &Tensor, v: &Tensor) -> Tensor;
            edge_attention(
                q: &Tensor,
                k: &Tensor,
                v: &Tensor,
                skip: &Tensor,
                residual: &Tensor,
                edges: &Tensor,
                w: &Weight,
                graph: &Csr
            ) -> Tensor;
            linear_residual(x: &Tensor, w: &Linear, residual: &Tensor) -> Tensor;
            norm_swiglu(x: &Tensor, norm: &Norm, gate_up: &Linear) -> Tensor;
            norm_gelu(x: &Tensor, norm: &Norm, up: &Linear) -> Tensor;
            segment_mean(x: &Tensor, segments: &Segments) -> Tensor;
            next_token(logits: &Tensor, sampling: &mut Sampling) -> u32;
        }
    };
}
