//! What each op needs at the least, from the shapes of its operands: see [`Cost`].

use candle_core::{Result, Tensor};
use kernels::cost::Cost;
use models::{Csr, Segments, Weight};

/// Of indices, u32.
const INDEX: usize = size_of::<u32>();

/// Rows and columns of a tensor whose last dimension is its rows'.
fn rows(x: &Tensor) -> (usize, usize) {
    let columns = x.dims().last().copied().unwrap_or(1);
    (x.elem_count() / columns.max(1), columns)
}

fn with_indices(cost: Cost, indices: usize) -> Cost {
    Cost {
        bytes: cost.bytes + (indices * INDEX) as u64,
        ..cost
    }
}

/// A row read and written for each token.
pub fn embedding(ids: &Tensor, w: &Weight) -> Cost {
    let (tokens, (_, c)) = (ids.elem_count(), rows(w.tensor()));
    with_indices(Cost::new(2 * tokens * c, w.tensor().dtype(), 0), tokens)
}

/// x, w and b in, (…, N) out.
pub fn linear(x: &Tensor, w: &Weight) -> Cost {
    let ((m, k), (n, _)) = (rows(x), rows(w.tensor()));
    Cost::new(m * k + n * k + n + m * n, x.dtype(), 2 * m * n * k)
}

/// Gate and up-projection in one, (…, F) out.
pub fn linear_swiglu(x: &Tensor, w: &Weight) -> Cost {
    let ((m, k), (n, _)) = (rows(x), rows(w.tensor()));
    Cost::new(m * k + n * k + m * n / 2, x.dtype(), 2 * m * n * k)
}

/// x, residual and w in, sum and norm out; a square, an addition and two products an element.
pub fn add_rms_norm(x: &Tensor, residual: Option<&Tensor>) -> Cost {
    let (_, c) = rows(x);
    let (passes, flops) = if residual.is_some() { (4, 5) } else { (2, 4) };
    let n = x.elem_count();
    Cost::new(passes * n + c, x.dtype(), flops * n)
}

/// x, residual, w and b in, sum and norm out; mean and variance are three operations an element, the
/// norm four.
pub fn add_layer_norm(x: &Tensor, residual: Option<&Tensor>) -> Cost {
    let (_, c) = rows(x);
    let (passes, flops) = if residual.is_some() { (4, 8) } else { (2, 7) };
    let n = x.elem_count();
    Cost::new(passes * n + 2 * c, x.dtype(), flops * n)
}

/// T queries at positions `before`… attend to the positions up to their own; q, k, v and the keys and values
/// before in, those of T positions and the result out. Scores and sums are 4·D operations a pair.
pub fn causal_attention(q: &Tensor, k: &Tensor, before: usize) -> Result<Cost> {
    let (b, t, h, d) = q.dims4()?;
    let kv_channels = k.dim(2)? * d;
    let pairs = t * before + t * (t + 1) / 2;
    let moved = 2 * t * h * d + 4 * t * kv_channels + 2 * before * kv_channels;
    Ok(Cost::new(
        b * moved + t * d,
        q.dtype(),
        4 * b * h * pairs * d,
    ))
}

/// q, k and v in, as much out; 4·D operations a pair of tokens.
pub fn attention(q: &Tensor) -> Result<Cost> {
    let (b, t, h, d) = q.dims4()?;
    Ok(Cost::new(
        4 * b * t * h * d,
        q.dtype(),
        4 * b * h * t * t * d,
    ))
}

/// q, k, v, skip, edges, w and the graph in, (N, H·D) out; 4·(D + Fe) operations an edge and head, and
/// 4·Fe a node and channel: q·(Wₑe) is (Wₑᵀq)·e, and ΣαWₑe is Wₑ(Σαe).
pub fn edge_attention(q: &Tensor, edges: &Tensor, graph: &Csr) -> Result<Cost> {
    let (n, h, d) = q.dims3()?;
    let (e, (_, fe)) = (graph.num_edges, rows(edges));
    let moved = 5 * n * h * d + e * fe + h * d * fe;
    let flops = 4 * e * h * (d + fe) + 4 * n * h * d * fe;
    Ok(with_indices(Cost::new(moved, q.dtype(), flops), e + n + 1))
}

/// x and residual in, (G, C) out.
pub fn segment_mean(x: &Tensor, segments: &Segments) -> Cost {
    let (n, (_, c), g) = (x.elem_count(), rows(x), segments.num_segments);
    let cost = Cost::new(2 * n + g * c, x.dtype(), 2 * n + g * c);
    with_indices(cost, g + 1)
}

/// Pixels, w, b, class and positions in, tokens out.
pub fn patch_embed(pixels: &Tensor, w: &Weight, positions: &Tensor) -> Result<Cost> {
    let (c, k) = (w.tensor().dim(0)?, w.tensor().elem_count());
    let batch = pixels.dim(0)?;
    let tokens = batch * rows(positions).0;
    let moved = pixels.elem_count() + k + 2 * c + positions.elem_count() + tokens * c;
    let flops = 2 * (tokens - batch) * k + 2 * tokens * c;
    Ok(Cost::new(moved, pixels.dtype(), flops))
}

/// Logits in; a comparison each.
pub fn next_token(logits: &Tensor) -> Cost {
    let v = logits.elem_count();
    Cost::new(v, logits.dtype(), v)
}

#[cfg(test)]
mod tests {
    use super::*;
    use candle_core::{DType, Device};

    fn zeros(shape: &[usize], dtype: DType) -> Result<Tensor> {
        Tensor::zeros(shape, dtype, &Device::Cpu)
    }

    #[test]
    fn products_count_each_operand_once() -> Result<()> {
        let x = zeros(&[2, 3, 5], DType::F32)?;
        let w = Weight::new(zeros(&[8, 5], DType::F32)?);
        let moved = 6 * 5 + 8 * 5 + 8 + 6 * 8;
        assert_eq!(linear(&x, &w), Cost::new(moved, DType::F32, 2 * 6 * 5 * 8));
        let moved = 6 * 5 + 8 * 5 + 6 * 4;
        assert_eq!(
            linear_swiglu(&x, &w),
            Cost::new(moved, DType::F32, 2 * 6 * 5 * 8)
        );
        let pixels = zeros(&[2, 3, 4, 4], DType::BF16)?;
        let w = Weight::new(zeros(&[7, 3, 2, 2], DType::BF16)?);
        let positions = zeros(&[1, 5, 7], DType::BF16)?;
        let moved = 2 * 48 + 7 * 12 + 2 * 7 + 5 * 7 + 10 * 7;
        let flops = 2 * 8 * 7 * 12 + 2 * 10 * 7;
        let cost = patch_embed(&pixels, &w, &positions)?;
        assert_eq!(cost, Cost::new(moved, DType::BF16, flops));
        Ok(())
    }

    #[test]
    fn a_causal_query_sees_what_is_before_it() -> Result<()> {
        let q = zeros(&[1, 3, 4, 8], DType::F32)?;
        let k = zeros(&[1, 3, 2, 8], DType::F32)?;
        let cost = causal_attention(&q, &k, 10)?;
        assert_eq!(cost.flops, 4 * 4 * (11 + 12 + 13) * 8);
        // q and the result; k, v and their copies in the cache; 10 keys and values; cos and sin.
        let moved = 2 * 3 * 32 + 4 * 3 * 16 + 2 * 10 * 16 + 3 * 8;
        assert_eq!(cost.bytes, 4 * moved);
        let all = attention(&q)?;
        assert_eq!(all.flops, 4 * 4 * 9 * 8);
        Ok(())
    }

    #[test]
    fn indices_are_bytes_too() -> Result<()> {
        let ids = zeros(&[2, 3], DType::U32)?;
        let w = Weight::new(zeros(&[100, 8], DType::BF16)?);
        assert_eq!(embedding(&ids, &w).bytes, 6 * 4 + 2 * 6 * 8 * 2);
        let graph = Csr::new(3, &[[0, 1], [2, 1]], &Device::Cpu);
        let (graph, _) = graph.map_err(candle_core::Error::from)?;
        let (q, edges) = (zeros(&[3, 2, 4], DType::F32)?, zeros(&[2, 5], DType::F32)?);
        let cost = edge_attention(&q, &edges, &graph)?;
        assert_eq!(cost.bytes, 4 * (5 * 24 + 10 + 40 + 2 + 4));
        assert_eq!(cost.flops, 4 * 2 * 2 * (4 + 5) + 4 * 24 * 5);
        Ok(())
    }

    #[test]
    fn a_residual_costs_two_passes() -> Result<()> {
        let x = zeros(&[2, 3, 4], DType::F32)?;
        for (alone, both) in [
            (add_rms_norm(&x, None), add_rms_norm(&x, Some(&x))),
            (add_layer_norm(&x, None), add_layer_norm(&x, Some(&x))),
        ] {
            assert_eq!(both.bytes - alone.bytes, 2 * 24 * 4);
            assert_eq!(both.flops - alone.flops, 24);
        }
        Ok(())
    }
}
