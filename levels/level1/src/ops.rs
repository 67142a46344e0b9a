//! Every operation, spelled out.

use candle_core::{D, DType, Result, Tensor};
use models::trace::span;
use models::{CacheShape, Csr, Heads, KvCache, Ops, Rope, Sampling, Segments, Weight};

use crate::formulas::{
    add, attend, causal_mask, gelu, repeat_heads, rotate, segment_max, silu, softmax,
};

/// Naive candle ops.
#[derive(Debug, Clone, Copy, Default)]
pub struct Level1;

/// Keys and values so far, both (B, S, Hkv, D).
type Cached = Option<(Tensor, Tensor)>;

impl Ops for Level1 {
    fn level(&self) -> u8 {
        1
    }

    // ANCHOR: new_caches
    fn new_caches(&self, shape: &CacheShape) -> Result<Vec<KvCache>> {
        shape.caches(|| Ok(Cached::None))
    }
    // ANCHOR_END: new_caches

    // ANCHOR: embedding
    fn embedding(&self, ids: &Tensor, w: &Weight) -> Result<Tensor> {
        let _span = span("embedding_level1");
        let (b, t) = ids.dims2()?;
        let rows = w.tensor().index_select(&ids.flatten_all()?, 0)?; // (B·T, C)
        rows.reshape((b, t, ()))
    }
    // ANCHOR_END: embedding

    // ANCHOR: linear
    fn linear(&self, x: &Tensor, w: &Weight, b: Option<&Tensor>) -> Result<Tensor> {
        let _span = span("linear_level1");
        product(x, w.tensor(), b)
    }
    // ANCHOR_END: linear

    // ANCHOR: qkv
    fn qkv(
        &self,
        x: &Tensor,
        w: &Weight,
        b: Option<&Tensor>,
        heads: Heads,
    ) -> Result<(Tensor, Tensor, Tensor)> {
        let _span = span("qkv_level1");
        let (batch, t, _) = x.dims3()?;
        let d = heads.head_dim;
        let project = |first_head: usize, num_heads: usize| {
            let w = w.tensor().narrow(0, first_head * d, num_heads * d)?;
            let b = b
                .map(|b| b.narrow(0, first_head * d, num_heads * d))
                .transpose()?;
            product(x, &w, b.as_ref())?.reshape((batch, t, num_heads, d))
        };
        let (h, h_kv) = (heads.num_heads, heads.num_kv_heads);
        Ok((project(0, h)?, project(h, h_kv)?, project(h + h_kv, h_kv)?))
    }
    // ANCHOR_END: qkv

    // ANCHOR: qkv_skip
    fn qkv_skip(
        &self,
        x: &Tensor,
        w: &Weight,
        b: &Tensor,
        heads: Heads,
    ) -> Result<(Tensor, Tensor, Tensor, Tensor)> {
        let _span = span("qkv_skip_level1");
        let (n, h, d) = (x.dim(0)?, heads.num_heads, heads.head_dim);
        let project = |part: usize| {
            let w = w.tensor().narrow(0, part * h * d, h * d)?;
            let b = b.narrow(0, part * h * d, h * d)?;
            product(x, &w, Some(&b))
        };
        let split = |x: Tensor| x.reshape((n, h, d));
        Ok((
            split(project(0)?)?,
            split(project(1)?)?,
            split(project(2)?)?,
            project(3)?,
        ))
    }
    // ANCHOR_END: qkv_skip

    // ANCHOR: linear_gelu
    fn linear_gelu(&self, x: &Tensor, w: &Weight, b: &Tensor) -> Result<Tensor> {
        let _span = span("linear_gelu_level1");
        gelu(&product(x, w.tensor(), Some(b))?)
    }
    // ANCHOR_END: linear_gelu

    // ANCHOR: linear_swiglu
    fn linear_swiglu(&self, x: &Tensor, w: &Weight) -> Result<Tensor> {
        let _span = span("linear_swiglu_level1");
        let f = w.tensor().dim(0)? / 2;
        let gate = product(x, &w.tensor().narrow(0, 0, f)?, None)?; // (B, T, F)
        let up = product(x, &w.tensor().narrow(0, f, f)?, None)?;
        silu(&gate)? * up
    }
    // ANCHOR_END: linear_swiglu

    // ANCHOR: add_rms_norm
    fn add_rms_norm(
        &self,
        x: &Tensor,
        residual: Option<&Tensor>,
        w: &Tensor,
        eps: f64,
    ) -> Result<(Tensor, Tensor)> {
        let _span = span("add_rms_norm_level1");
        let sum = add(x, residual)?;
        let x = sum.to_dtype(DType::F32)?;
        let mean_square = x.sqr()?.mean_keepdim(D::Minus1)?;
        let rms = (mean_square + eps)?.sqrt()?;
        let y = x
            .broadcast_div(&rms)?
            .to_dtype(sum.dtype())?
            .broadcast_mul(w)?;
        Ok((sum, y))
    }
    // ANCHOR_END: add_rms_norm

    // ANCHOR: add_layer_norm
    fn add_layer_norm(
        &self,
        x: &Tensor,
        residual: Option<&Tensor>,
        w: &Tensor,
        b: &Tensor,
        eps: f64,
    ) -> Result<(Tensor, Tensor)> {
        let _span = span("add_layer_norm_level1");
        let sum = add(x, residual)?;
        let x = sum.to_dtype(DType::F32)?;
        let mean = x.mean_keepdim(D::Minus1)?;
        let x = x.broadcast_sub(&mean)?;
        let variance = x.sqr()?.mean_keepdim(D::Minus1)?;
        let y = x.broadcast_div(&(variance + eps)?.sqrt()?)?;
        let y = y
            .to_dtype(sum.dtype())?
            .broadcast_mul(w)?
            .broadcast_add(b)?;
        Ok((sum, y))
    }
    // ANCHOR_END: add_layer_norm

    // ANCHOR: causal_attention
    fn causal_attention(
        &self,
        q: &Tensor,
        k: &Tensor,
        v: &Tensor,
        rope: &Rope,
        cache: &mut KvCache,
    ) -> Result<Tensor> {
        let _span = span("causal_attention_level1");
        let (_, t, num_heads, _) = q.dims4()?;
        let past = cache.len();
        let (cos, sin) = rope.at(past, t)?;
        let (q, k) = (rotate(q, &cos, &sin)?, rotate(k, &cos, &sin)?);

        let cached = cache.advance::<Cached>(t)?;
        let (k, v) = match cached {
            Some((old_k, old_v)) if past > 0 => (
                Tensor::cat(&[&old_k.narrow(1, 0, past)?, &k], 1)?,
                Tensor::cat(&[&old_v.narrow(1, 0, past)?, v], 1)?,
            ),
            _ => (k, v.clone()),
        };
        *cached = Some((k.clone(), v.clone())); // (B, S, Hkv, D)

        let mask = causal_mask(t, k.dim(1)?, &q)?;
        let (k, v) = (repeat_heads(&k, num_heads)?, repeat_heads(&v, num_heads)?);
        attend(&q, &k, &v, Some(&mask))
    }
    // ANCHOR_END: causal_attention

    // ANCHOR: attention
    fn attention(&self, q: &Tensor, k: &Tensor, v: &Tensor) -> Result<Tensor> {
        let _span = span("attention_level1");
        attend(q, k, v, None)
    }
    // ANCHOR_END: attention

    // ANCHOR: edge_attention
    fn edge_attention(
        &self,
        q: &Tensor,
        k: &Tensor,
        v: &Tensor,
        skip: &Tensor,
        edges: &Tensor,
        w: &Weight,
        graph: &Csr,
    ) -> Result<Tensor> {
        let _span = span("edge_attention_level1");
        if graph.num_edges == 0 {
            return Ok(skip.clone());
        }
        let (n, h, d) = q.dims3()?;
        let (src, dst) = (&graph.col_idx, &graph.row_idx);
        let e = product(edges, w.tensor(), None)?.reshape((graph.num_edges, h, d))?; // (E, H, D)
        let q = q.contiguous()?.index_select(dst, 0)?;
        let k = (k.contiguous()?.index_select(src, 0)? + &e)?;
        let v = (v.contiguous()?.index_select(src, 0)? + &e)?;

        let scores = ((q * k)?.sum(2)? / (d as f64).sqrt())?.to_dtype(DType::F32)?; // (E, H)
        let exp = (&scores - segment_max(&scores, graph)?)?.exp()?;
        let sum = Tensor::zeros((n, h), DType::F32, skip.device())?.index_add(dst, &exp, 0)?;
        let alpha = (exp / sum.index_select(dst, 0)?)?.to_dtype(v.dtype())?; // (E, H)

        let messages = v.broadcast_mul(&alpha.unsqueeze(2)?)?; // (E, H, D)
        let mixed =
            Tensor::zeros((n, h, d), v.dtype(), v.device())?.index_add(dst, &messages, 0)?;
        mixed.reshape((n, h * d))? + skip
    }
    // ANCHOR_END: edge_attention

    // ANCHOR: segment_mean
    fn segment_mean(&self, x: &Tensor, residual: &Tensor, segments: &Segments) -> Result<Tensor> {
        let _span = span("segment_mean_level1");
        let sum = (x + residual)?.to_dtype(DType::F32)?; // (N, C)
        let shape = (segments.num_segments, sum.dim(1)?);
        let total =
            Tensor::zeros(shape, DType::F32, sum.device())?.index_add(&segments.index, &sum, 0)?;
        total
            .broadcast_mul(&segments.inverse_count)?
            .to_dtype(x.dtype())
    }
    // ANCHOR_END: segment_mean

    // ANCHOR: patch_embed
    fn patch_embed(
        &self,
        pixels: &Tensor,
        w: &Weight,
        b: &Tensor,
        class: &Tensor,
        positions: &Tensor,
    ) -> Result<Tensor> {
        let _span = span("patch_embed_level1");
        let (batch, channels, height, width) = pixels.dims4()?;
        let (c, _, p, _) = w.tensor().dims4()?;
        let (rows, columns) = (height / p, width / p);
        let patches = pixels
            .reshape(&[batch, channels, rows, p, columns, p])?
            .permute(vec![0, 2, 4, 1, 3, 5])? // (B, rows, columns, 3, P, P)
            .reshape((batch, rows * columns, channels * p * p))?;
        let x = product(&patches, &w.tensor().reshape((c, ()))?, Some(b))?; // (B, patches, C)
        let class = class.expand((batch, 1, c))?;
        Tensor::cat(&[&class, &x], 1)?.broadcast_add(positions)
    }
    // ANCHOR_END: patch_embed

    // ANCHOR: next_token
    fn next_token(&self, logits: &Tensor, sampling: &mut Sampling) -> Result<u32> {
        let _span = span("next_token_level1");
        let logits = logits.to_dtype(DType::F32)?; // (V)
        if sampling.is_greedy() {
            return logits.argmax(0)?.to_scalar();
        }
        let probabilities = softmax(&(logits / sampling.temperature)?)?;
        sampling.draw(&probabilities.to_vec1()?)
    }
    // ANCHOR_END: next_token
}

/// x·wᵀ + b: x (…, K), w (N, K), b (N) → (…, N)
fn product(x: &Tensor, w: &Tensor, b: Option<&Tensor>) -> Result<Tensor> {
    let (leading, k) = x.dims().split_at(x.rank() - 1);
    let y = x.reshape(((), k[0]))?.matmul(&w.t()?)?; // (rows, N)
    let y = match b {
        Some(b) => y.broadcast_add(b)?,
        None => y,
    };
    let shape: Vec<usize> = [leading, &[w.dim(0)?]].concat();
    y.reshape(shape)
}
