//! What each op needs at the least, from the shapes of its operands: the costs that the kernels state.

use candle_core::{Result, Tensor};
use kernels::cost::Cost;
use kernels::{
    add_layer_norm as layer_norm, add_rms_norm as rms_norm, attention as attend,
    edge_attention as edges_of, embedding as rows_of, linear as product, next_token as token,
    patch_embed as patches, rope, segment_mean as mean,
};
use models::{Csr, Segments, Weight};

/// Rows and columns of a tensor whose last dimension is its rows'.
fn rows(x: &Tensor) -> (usize, usize) {
    let columns = x.dims().last().copied().unwrap_or(1);
    (x.elem_count() / columns.max(1), columns)
}

/// ids (…), w (V, C)
pub fn embedding(ids: &Tensor, w: &Weight) -> Cost {
    let w = w.tensor();
    rows_of::cost(ids.elem_count(), rows(w).1, w.dtype())
}

/// x (…, K), w (N, K); what an activation adds is little beside the product, and not counted.
pub fn linear(x: &Tensor, w: &Weight) -> Cost {
    let ((m, k), (n, _)) = (rows(x), rows(w.tensor()));
    product::cost(m, n, k, x.dtype())
}

/// x (…, C), w (2F, C)
pub fn linear_swiglu(x: &Tensor, w: &Weight) -> Cost {
    let ((m, k), (n, _)) = (rows(x), rows(w.tensor()));
    product::swiglu_cost(m, n / 2, k, x.dtype())
}

/// x and residual (…, C)
pub fn add_rms_norm(x: &Tensor, residual: Option<&Tensor>) -> Cost {
    let (rows, c) = rows(x);
    rms_norm::cost(rows, c, residual.is_some(), x.dtype())
}

/// x and residual (…, C)
pub fn add_layer_norm(x: &Tensor, residual: Option<&Tensor>) -> Cost {
    let (rows, c) = rows(x);
    layer_norm::cost(rows, c, residual.is_some(), x.dtype())
}

/// q (B, T, H, D), k (B, T, Hkv, D), behind `position` positions: the rotation, and beside what attention
/// moves, k and v into the cache and the angles out of their table.
pub fn causal_attention(q: &Tensor, k: &Tensor, position: usize) -> Result<Cost> {
    let ((b, t, h, d), dtype) = (q.dims4()?, q.dtype());
    let heads = (h, k.dim(2)?);
    let attended = attend::causal_cost(b, t, position, heads, d, dtype);
    let rotated = rope::cost(b, t, heads, d, dtype);
    let appended = Cost::new(2 * k.elem_count() + t * d, dtype, 0);
    Ok(Cost {
        bytes: attended.bytes + appended.bytes,
        flops: attended.flops + rotated.flops,
    })
}

/// q (B, T, H, D), k (B, T, Hkv, D)
pub fn attention(q: &Tensor, k: &Tensor) -> Result<Cost> {
    let (b, t, h, d) = q.dims4()?;
    Ok(attend::cost(b, t, (h, k.dim(2)?), d, q.dtype()))
}

/// q (N, H, D), edges (E, Fe)
pub fn edge_attention(q: &Tensor, edges: &Tensor, graph: &Csr) -> Result<Cost> {
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

/// x (N, C)
pub fn segment_mean(x: &Tensor, segments: &Segments) -> Cost {
    let (nodes, channels) = rows(x);
    let size = mean::Size {
        nodes,
        graphs: segments.num_segments,
        channels,
    };
    mean::cost(size, x.dtype())
}

/// pixels (B, 3, H, W), w (C, 3, P, P), positions (1, 1 + patches, C)
pub fn patch_embed(pixels: &Tensor, w: &Weight, positions: &Tensor) -> Result<Cost> {
    let (batch, tokens) = (pixels.dim(0)?, positions.dim(1)?);
    let (c, k) = (w.tensor().dim(0)?, w.tensor().elem_count());
    let patches_of = tokens.saturating_sub(1);
    Ok(patches::cost(
        batch,
        patches_of,
        c,
        k / c.max(1),
        pixels.dtype(),
    ))
}

/// logits (V)
pub fn next_token(logits: &Tensor) -> Cost {
    token::cost(logits.elem_count(), logits.dtype())
}

#[cfg(test)]
mod tests {
    use super::*;
    use candle_core::{DType, Device};

    fn zeros(shape: &[usize]) -> Result<Tensor> {
        Tensor::zeros(shape, DType::F32, &Device::Cpu)
    }

    #[test]
    fn products_have_the_sizes_of_their_operands() -> Result<()> {
        let (x, w) = (zeros(&[2, 3, 5])?, Weight::new(zeros(&[8, 5])?));
        assert_eq!(linear(&x, &w).flops, 2 * 6 * 8 * 5);
        assert_eq!(linear_swiglu(&x, &w).flops, 2 * 6 * 8 * 5);
        let less = 4 * (6 * 4 + 8); // half the columns, and no bias
        let bytes = linear(&x, &w).bytes - less;
        assert_eq!(linear_swiglu(&x, &w).bytes, bytes);

        let (pixels, w) = (zeros(&[2, 3, 4, 4])?, Weight::new(zeros(&[7, 3, 2, 2])?));
        let cost = patch_embed(&pixels, &w, &zeros(&[1, 5, 7])?)?;
        assert_eq!(cost, patches::cost(2, 4, 7, 12, DType::F32));
        Ok(())
    }

    #[test]
    fn a_causal_query_sees_what_is_before_it() -> Result<()> {
        let (q, k) = (zeros(&[1, 3, 4, 8])?, zeros(&[1, 3, 2, 8])?);
        let (cost, first) = (causal_attention(&q, &k, 10)?, causal_attention(&q, &k, 0)?);
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
        let cost = edge_attention(&zeros(&[3, 2, 4])?, &zeros(&[2, 5])?, &graph)?;
        assert_eq!(cost, edges_of::cost(size, DType::F32));
        Ok(())
    }
}
