//! Level 4.

use candle_core::{Result, Tensor};

use super::{Cache, Operands, cpu, operands};
use crate::element::{dispatch, entry};
use crate::launch::{Launch, Module, module};
use crate::output;

static MODULE: Module = module!("attention_level4", "level4.ptx");

/// softmax(q·kᵀ/√D)·v over the keys `0..=position + t` of the cache: q (B, T, H, D) → (B, T, H·D)
///
/// # Errors
/// When shapes, formats or devices do not agree.
pub fn causal_attention(q: &Tensor, cache: &Cache, position: usize) -> Result<Tensor> {
    const KERNEL: &str = "causal_attention_level4";
    if q.device().is_cpu() {
        operands::check_causal(KERNEL, q, cache, position)?;
        return dispatch!(
            "causal_attention_level4",
            q.dtype(),
            cpu::level4::causal_attention(q, cache, position)
        );
    }
    launch(&Operands::causal(KERNEL, q, cache, position)?)
}

/// softmax(q·kᵀ/√D)·v: q (B, T, H, D), k and v (B, T, Hkv, D) → (B, T, H·D)
///
/// # Errors
/// When shapes, strides, formats or devices do not agree.
pub fn attention(q: &Tensor, k: &Tensor, v: &Tensor) -> Result<Tensor> {
    let operands = Operands::full("attention_level4", q, k, v)?;
    if q.device().is_cpu() {
        return dispatch!(
            "attention_level4",
            q.dtype(),
            cpu::level4::attention(q, k, v)
        );
    }
    launch(&operands)
}

fn launch(x: &Operands) -> Result<Tensor> {
    let shape = (x.batch, x.queries, x.heads * x.head_dim);
    let y = output::tensor(shape, x.q.dtype(), x.q.device())?;
    let launch = Launch::new(&MODULE, entry!("attention", x.q.dtype(), "level4")?)
        .grid(x.queries, x.heads, x.batch)
        .block(128, 1, 1);
    x.arguments(launch).write(&y).run()?;
    Ok(y)
}
