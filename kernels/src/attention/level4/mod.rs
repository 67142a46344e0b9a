//! Level 4: one of three kernels, chosen by the number of queries, the dtype and the alignment.
//!
//! Few queries cannot fill a tile: their keys are split over blocks (`decode.cu`). More queries are cut into tiles, one
//! per block: in bf16 on tensor cores (`tile_mma.cu`), in f32 on FFMA units (`tile_f32.cu`).

pub(super) mod decode;
pub(super) mod tile_f32;
pub(super) mod tile_mma;

use candle_core::{DType, Result, Tensor};

use super::{Cache, Params, cpu, params};
use crate::element::{by_element, no_kernel};
use crate::error::unsupported;
use crate::launch::on_cpu;
use crate::output;

/// softmax(q·kᵀ/√D)·v over the keys `0..=position + t` of the cache: q (B, T, H, D) → (B, T, H·D)
///
/// # Errors
/// When q and the cache do not agree in shape, dtype or device, q is not contiguous, H is no multiple of Hkv, the
/// cache has fewer than position + T positions, or, on a GPU, D is above 128, or there are more than 4 queries in bf16 and
/// the compute capability is below 8.0.
pub fn causal_attention(q: &Tensor, cache: &Cache, position: usize) -> Result<Tensor> {
    const KERNEL: &str = "causal_attention_level4";
    let _span = trace::span(KERNEL);
    if on_cpu(q.device()) {
        params::check_causal(KERNEL, q, cache, position)?;
        return by_element!(
            "causal_attention_level4",
            q.dtype(),
            cpu::level4::causal_attention(q, cache, position)
        );
    }
    launch(&Params::causal(KERNEL, q, cache, position)?)
}

/// softmax(q·kᵀ/√D)·v: q (B, T, H, D), k and v (B, T, Hkv, D) → (B, T, H·D). Tokens and sequences may be strided.
///
/// # Errors
/// When shapes, strides of k and v, or devices do not agree, operands are not all f32 or all bf16, the heads and
/// channels of one are not contiguous, H is no multiple of Hkv, or, on a GPU, D is above 128 or more than 4 queries
/// are bf16 below compute capability 8.0.
pub fn attention(q: &Tensor, k: &Tensor, v: &Tensor) -> Result<Tensor> {
    let _span = trace::span("attention_level4");
    let params = Params::full("attention_level4", q, k, v)?;
    if on_cpu(q.device()) {
        return by_element!(
            "attention_level4",
            q.dtype(),
            cpu::level4::attention(q, k, v)
        );
    }
    launch(&params)
}

/// Queries of a sequence up to which `decode.cu` computes them. More of them fill enough of a tile that reading the
/// keys once for a whole tile is worth more than splitting them over blocks.
pub(super) const MAX_DECODE_QUERIES: usize = 4;

fn launch(params: &Params) -> Result<Tensor> {
    if params.head_dim > 128 {
        return Err(unsupported(
            "attention_level4",
            "D ≤ 128",
            params.head_dim,
            3,
        ));
    }
    let shape = (params.batch, params.queries, params.heads * params.head_dim);
    let y = output::tensor(shape, params.q.dtype(), params.q.device())?;
    if params.queries <= MAX_DECODE_QUERIES && params.is_aligned() {
        decode::launch(params, &y)?;
        return Ok(y);
    }
    match y.dtype() {
        DType::F32 => tile_f32::launch(params, &y)?,
        DType::BF16 => tile_mma::launch(params, &y)?,
        other => return Err(no_kernel("attention_level4", other)),
    }
    Ok(y)
}
