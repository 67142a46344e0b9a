//! Minimum bytes and FLOPs of each op from the shapes of its operands: the costs that the kernels state.
//!
//! An op of several launches is counted as if it were one: what its launches pass to each other never has to reach
//! memory, so that only its operands and its result count.

use candle_core::{Result, Tensor};
use kernels::cost::Cost;
use kernels::{
    attention as attend, edge_attention as edges_of, embedding as rows_of, layer_norm,
    linear as product, next_token as token, patch_embed as patches, rms_norm, segment_mean as mean,
};
use models::{Csr, Heads, KvCache, Linear, Norm, Rope, Sampling, Segments, Weight};

/// Rows and columns of a tensor whose last dimension is its rows'.
fn rows(x: &Tensor) -> (usize, usize) {
    let columns = x.dims().last().copied().unwrap_or(1);
    (x.elem_count() / columns.max(1), columns)
}

/// Adds a norm's FLOPs and the bytes of its weights to the op that reads its result.
fn with_norm(x: &Tensor, norm: &Norm, of: Cost) -> Cost {
    let ((rows, c), dtype) = (rows(x), x.dtype());
    let norm = match norm {
        Norm::Rms { .. } => rms_norm::cost(rows, c, dtype),
        Norm::Layer { .. } => layer_norm::cost(rows, c, dtype),
    };
    let x_and_result = Cost::new(2 * rows * c, dtype, 0);
    Cost {
        bytes: of.bytes + norm.bytes - x_and_result.bytes,
        flops: of.flops + norm.flops,
    }
}

/// ids (…), w (V, C)
pub fn embedding(ids: &Tensor, w: &Weight) -> Result<Cost> {
    let w = w.tensor();
    Ok(rows_of::cost(ids.elem_count(), rows(w).1, w.dtype()))
}

/// pixels (B, 3, H, W), patch (C, 3, P, P), positions (1, 1 + patches, C)
pub fn patch_embed(
    pixels: &Tensor,
    patch: &Linear,
    _class: &Tensor,
    positions: &Tensor,
) -> Result<Cost> {
    let (batch, tokens) = (pixels.dim(0)?, positions.dim(1)?);
    let w = patch.weight.tensor();
    let (c, k) = (w.dim(0)?, w.elem_count());
    let k = k / c.max(1);
    let patches_of = tokens.saturating_sub(1);
    Ok(patches::cost(batch, patches_of, c, k, pixels.dtype()))
}

/// x (…, K), w (N, K)
pub fn linear(x: &Tensor, w: &Linear) -> Result<Cost> {
    let ((m, k), (n, _)) = (rows(x), rows(w.weight.tensor()));
    Ok(product::cost(m, n, k, x.dtype()))
}

/// x (…, C), w (N, C)
pub fn norm_linear(x: &Tensor, norm: &Norm, w: &Linear) -> Result<Cost> {
    Ok(with_norm(x, norm, linear(x, w)?))
}

/// x (…, C), w (N, C)
pub fn norm_qkv(x: &Tensor, norm: &Norm, w: &Linear, _heads: &Heads) -> Result<Cost> {
    norm_linear(x, norm, w)
}

/// x (…, C), w (N, C)
pub fn norm_qkv_skip(x: &Tensor, norm: &Norm, w: &Linear, _heads: &Heads) -> Result<Cost> {
    norm_linear(x, norm, w)
}

/// q (B, T, H, D), k (B, T, Hkv, D), after the positions of the cache: the rotation, and in addition to what attention
/// moves, k and v into the cache and the angles out of their table.
pub fn causal_attention(
    q: &Tensor,
    k: &Tensor,
    _v: &Tensor,
    _rope: &Rope,
    cache: &KvCache,
) -> Result<Cost> {
    let (b, t, h, d) = q.dims4()?;
    let heads = (h, k.dim(2)?);
    Ok(attend::cached_cost(b, t, cache.len(), heads, d, q.dtype()))
}

/// q (B, T, H, D), k (B, T, Hkv, D)
pub fn attention(q: &Tensor, k: &Tensor, _v: &Tensor) -> Result<Cost> {
    let (b, t, h, d) = q.dims4()?;
    Ok(attend::cost(b, t, (h, k.dim(2)?), d, q.dtype()))
}

/// q (N, H, D), edges (E, Fe)
#[allow(clippy::too_many_arguments)]
pub fn edge_attention(
    q: &Tensor,
    _k: &Tensor,
    _v: &Tensor,
    _skip: &Tensor,
    _residual: &Tensor,
    edges: &Tensor,
    _w: &Weight,
    graph: &Csr,
) -> Result<Cost> {
    let (nodes, heads, head_dim) = q.dims3()?;
    let size = edges_of::Size {
        nodes,
        heads,
        head_dim,
        edges: graph.num_edges,
        features: rows(edges).1,
    };
    Ok(edges_of::cost(size, q.dtype()))
}

/// x (…, K), w (C, K)
pub fn linear_residual(x: &Tensor, w: &Linear, _residual: &Tensor) -> Result<Cost> {
    let ((m, k), (n, _)) = (rows(x), rows(w.weight.tensor()));
    Ok(product::residual_cost(m, n, k, x.dtype()))
}

/// x (…, C), gate_up (2F, C)
pub fn norm_swiglu(x: &Tensor, norm: &Norm, gate_up: &Linear) -> Result<Cost> {
    let ((m, k), (n, _)) = (rows(x), rows(gate_up.weight.tensor()));
    Ok(with_norm(
        x,
        norm,
        product::swiglu_cost(m, n / 2, k, x.dtype()),
    ))
}

/// x (…, C), up (F, C); what the activation adds is little compared with the matmul, and not counted.
pub fn norm_gelu(x: &Tensor, norm: &Norm, up: &Linear) -> Result<Cost> {
    norm_linear(x, norm, up)
}

/// x (N, C)
pub fn segment_mean(x: &Tensor, segments: &Segments) -> Result<Cost> {
    let (nodes, channels) = rows(x);
    let size = mean::Size {
        nodes,
        graphs: segments.num_segments,
        channels,
    };
    Ok(mean::cost(size, x.dtype()))
}

/// logits (V)
pub fn next_token(logits: &Tensor, _sampling: &Sampling) -> Result<Cost> {
    Ok(token::cost(logits.elem_count(), logits.dtype()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use candle_core::{DType, Device};

    fn zeros(shape: &[usize]) -> Result<Tensor> {
        Tensor::zeros(shape, DType::F32, &Device::Cpu)
    }

    #[test]
    fn matmuls_have_the_sizes_of_their_operands() -> Result<()> {
        let (x, w) = (zeros(&[2, 3, 5])?, Linear::new(zeros(&[8, 5])?, None));
        let norm = Norm::Rms {
            weight: zeros(&[5])?,
            eps: 1e-5,
        };
        let cost = linear(&x, &w)?;
        assert_eq!(cost.flops, 2 * 6 * 8 * 5);
        let residual = linear_residual(&x, &w, &zeros(&[2, 3, 8])?)?;
        assert_eq!(residual.bytes, cost.bytes + 4 * 6 * 8);
        // The norm's weight is read too, and its result is never in memory.
        let normed = norm_linear(&x, &norm, &w)?;
        assert_eq!(normed.bytes, cost.bytes + 4 * 5);
        assert_eq!(
            normed.flops,
            cost.flops + rms_norm::cost(6, 5, DType::F32).flops
        );
        let less = 4 * (6 * 4 + 8); // half the columns, and no bias
        assert_eq!(norm_swiglu(&x, &norm, &w)?.bytes, normed.bytes - less);
        assert_eq!(norm_swiglu(&x, &norm, &w)?.flops, normed.flops);

        let (pixels, patch) = (
            zeros(&[2, 3, 4, 4])?,
            Linear::new(zeros(&[7, 3, 2, 2])?, None),
        );
        let cost = patch_embed(&pixels, &patch, &zeros(&[1, 1, 7])?, &zeros(&[1, 5, 7])?)?;
        assert_eq!(cost, patches::cost(2, 4, 7, 12, DType::F32));
        Ok(())
    }

    #[test]
    fn a_causal_query_sees_what_is_before_it() -> Result<()> {
        let (q, k) = (zeros(&[1, 3, 4, 8])?, zeros(&[1, 3, 2, 8])?);
        let rope = Rope::new(1e4, 8, 16, DType::F32, &Device::Cpu)?;
        let mut cache = KvCache::new(16, ());
        let first = causal_attention(&q, &k, &k, &rope, &cache)?;
        cache.advance::<()>(10)?;
        let cost = causal_attention(&q, &k, &k, &rope, &cache)?;
        let pairs = 4 * (11 + 12 + 13);
        assert_eq!(cost.flops, pairs * (4 * 8 + 3) + 3 * 3 * 6 * 8);
        // q and the result; k and v, written and read again; cos and sin.
        assert_eq!(first.bytes, 4 * (2 * 3 * 32 + 4 * 3 * 16 + 3 * 8));
        assert_eq!(cost.bytes, first.bytes + 4 * 2 * 10 * 16);
        Ok(())
    }

    #[test]
    fn a_graph_has_the_sizes_of_its_operands() -> Result<()> {
        let graph = Csr::new(3, &[[0, 1], [2, 1]], &Device::Cpu);
        let (graph, _) = graph.map_err(candle_core::Error::from)?;
        let size = edges_of::Size {
            nodes: 3,
            heads: 2,
            head_dim: 4,
            edges: 2,
            features: 5,
        };
        let (heads, channels) = (zeros(&[3, 2, 4])?, zeros(&[3, 8])?);
        let (q, skip, w) = (&heads, &channels, Weight::new(zeros(&[8, 5])?));
        let cost = edge_attention(q, q, q, skip, skip, &zeros(&[2, 5])?, &w, &graph)?;
        assert_eq!(cost, edges_of::cost(size, DType::F32));
        Ok(())
    }
}
