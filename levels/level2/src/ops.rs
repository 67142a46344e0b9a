//! Every operation, fused as far as candle's own ops go.

use candle_core::{D, DType, Result, Tensor};
use candle_nn::ops::{layer_norm, rms_norm, softmax_last_dim};
use candle_nn::rotary_emb::rope as rotate;
use level1::{Level1, segment_max};
use models::trace::span;
use models::{CacheShape, Csr, Heads, KvCache, Ops, Rope, Sampling, Segments, Weight};

use crate::attend::{MaskMemo, attend};
use crate::patches::Patches;

/// Fused candle ops.
#[derive(Default)]
pub struct Level2 {
    mask: MaskMemo,
}

/// Keys and values, both (B, Hkv, capacity, D), made once and filled in place.
struct Slots(Tensor, Tensor);

impl Ops for Level2 {
    fn level(&self) -> u8 {
        2
    }

    // ANCHOR: new_caches
    fn new_caches(&self, shape: &CacheShape) -> Result<Vec<KvCache>> {
        let (h, d) = (shape.heads.num_kv_heads, shape.heads.head_dim);
        let slots = (shape.batch, h, shape.capacity, d);
        let zeros = || Tensor::zeros(slots, shape.dtype, &shape.device);
        shape.caches(|| Ok(Slots(zeros()?, zeros()?)))
    }
    // ANCHOR_END: new_caches

    // ANCHOR: embedding
    fn embedding(&self, ids: &Tensor, w: &Weight) -> Result<Tensor> {
        Level1.embedding(ids, w)
    }
    // ANCHOR_END: embedding

    // ANCHOR: linear
    fn linear(&self, x: &Tensor, w: &Weight, b: Option<&Tensor>) -> Result<Tensor> {
        Level1.linear(x, w, b)
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
        let _span = span("qkv_level2");
        let y = self.linear(x, w, b)?; // (B, T, (H + 2·Hkv)·D)
        heads.split(&y)
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
        let _span = span("qkv_skip_level2");
        let y = self.linear(x, w, Some(b))?; // (N, 4·H·D)
        heads.split_skip(&y)
    }
    // ANCHOR_END: qkv_skip

    // ANCHOR: linear_gelu
    fn linear_gelu(&self, x: &Tensor, w: &Weight, b: &Tensor) -> Result<Tensor> {
        let _span = span("linear_gelu_level2");
        self.linear(x, w, Some(b))?.gelu_erf()
    }
    // ANCHOR_END: linear_gelu

    // ANCHOR: linear_swiglu
    fn linear_swiglu(&self, x: &Tensor, w: &Weight) -> Result<Tensor> {
        let _span = span("linear_swiglu_level2");
        let y = self.linear(x, w, None)?; // (B, T, 2F)
        let f = w.tensor().dim(0)? / 2;
        // candle's silu uses all threads only when its operand is contiguous: worth a copy.
        let gate = y.narrow(D::Minus1, 0, f)?.contiguous()?.silu()?; // (B, T, F)
        gate * y.narrow(D::Minus1, f, f)?
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
        let _span = span("add_rms_norm_level2");
        let sum = add(x, residual)?;
        let y = rms_norm(&sum, w, eps as f32)?;
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
        let _span = span("add_layer_norm_level2");
        let sum = add(x, residual)?;
        let y = layer_norm(&sum, w, b, eps as f32)?;
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
        let _span = span("causal_attention_level2");
        let (past, t) = (cache.len(), q.dim(1)?);
        let (cos, sin) = rope.at(past, t)?;
        let (q, k, v) = (heads_first(q)?, heads_first(k)?, heads_first(v)?); // (B, H, T, D)
        let (q, k) = (rotate(&q, &cos, &sin)?, rotate(&k, &cos, &sin)?);

        let Slots(keys, values) = cache.advance(t)?;
        keys.slice_set(&k, 2, past)?;
        values.slice_set(&v, 2, past)?;
        let s = past + t;
        let (k, v) = (keys.narrow(2, 0, s)?, values.narrow(2, 0, s)?); // (B, Hkv, S, D), views
        let mask = self.mask.get(t, s, &q)?;
        attend(&q, &k, &v, mask.as_ref())
    }
    // ANCHOR_END: causal_attention

    // ANCHOR: attention
    fn attention(&self, q: &Tensor, k: &Tensor, v: &Tensor) -> Result<Tensor> {
        let _span = span("attention_level2");
        attend(
            &q.transpose(1, 2)?,
            &heads_first(k)?,
            &heads_first(v)?,
            None,
        )
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
        let _span = span("edge_attention_level2");
        if graph.num_edges == 0 {
            return Ok(skip.clone());
        }
        let (n, h, d) = q.dims3()?;
        let (src, dst) = (&graph.col_idx, &graph.row_idx);
        let e = self
            .linear(edges, w, None)?
            .reshape((graph.num_edges, h, d))?; // (E, H, D)
        let q = q.contiguous()?.index_select(dst, 0)?;
        let k = (k.contiguous()?.index_select(src, 0)? + &e)?;
        let v = (v.contiguous()?.index_select(src, 0)? + e)?;

        let scores = ((q * k)?.sum(2)? / (d as f64).sqrt())?.to_dtype(DType::F32)?; // (E, H)
        let exp = (&scores - segment_max(&scores, graph)?)?.exp()?;
        let sum = Tensor::zeros((n, h), DType::F32, exp.device())?.index_add(dst, &exp, 0)?;
        let alpha = (exp / sum.index_select(dst, 0)?)?.to_dtype(v.dtype())?; // (E, H)

        // The messages are added to the skip connection itself: no zeros first, no sum after. It is copied for
        // this also where it lies contiguously, in a graph of one node: on a GPU, candle's index_add wants
        // it to begin where its storage begins.
        let messages = v.broadcast_mul(&alpha.unsqueeze(2)?)?; // (E, H, D)
        let skip = skip.force_contiguous()?.reshape((n, h, d))?;
        skip.index_add(dst, &messages, 0)?.reshape((n, h * d))
    }
    // ANCHOR_END: edge_attention

    // ANCHOR: segment_mean
    fn segment_mean(&self, x: &Tensor, residual: &Tensor, segments: &Segments) -> Result<Tensor> {
        Level1.segment_mean(x, residual, segments)
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
        let _span = span("patch_embed_level2");
        let (batch, channels, height, width) = pixels.dims4()?;
        let (c, _, p, _) = w.tensor().dims4()?;
        let (rows, columns) = (height / p, width / p);
        let patches = pixels
            .reshape(&[batch, channels, rows, p, columns, p])?
            .permute(vec![0, 2, 4, 1, 3, 5])? // (B, rows, columns, 3, P, P)
            .reshape((batch * rows * columns, channels * p * p))?;
        // Bias and positions do not depend on the picture: added to each other once, at load.
        let made = Patches::of(w, b, class, positions)?;
        let x = patches
            .matmul(&made.w.t()?)?
            .reshape((batch, rows * columns, c))?;
        let first = made.first.expand((batch, 1, c))?;
        Tensor::cat(&[&first, &x.broadcast_add(&made.rest)?], 1)
    }
    // ANCHOR_END: patch_embed

    // ANCHOR: next_token
    fn next_token(&self, logits: &Tensor, sampling: &mut Sampling) -> Result<u32> {
        if sampling.is_greedy() {
            return Level1.next_token(logits, sampling);
        }
        let _span = span("next_token_level2");
        let logits = (logits.to_dtype(DType::F32)? * (1. / sampling.temperature))?; // (V)
        sampling.draw(&softmax_last_dim(&logits)?.to_vec1()?)
    }
    // ANCHOR_END: next_token
}

/// x + residual, or x itself.
fn add(x: &Tensor, residual: Option<&Tensor>) -> Result<Tensor> {
    residual.map_or_else(|| Ok(x.clone()), |residual| x + residual)
}

/// (B, T, H, D) → (B, H, T, D); copies nothing for a single token.
fn heads_first(x: &Tensor) -> Result<Tensor> {
    x.transpose(1, 2)?.contiguous()
}
