//! Level 3: one block per token and head, one thread per pair of channels.

use candle_core::{Result, Tensor};

use super::Params;
use crate::attention::Cache;
use crate::element::by_dtype;
use crate::launch::{Launch, Module, module};
use crate::output;

static F32: Module = module!("rope/level3");
static BF16: Module = module!("rope/level3_bf16");

pub(super) fn launch(x: &Params, cache: &Cache, position: usize) -> Result<Tensor> {
    let q = x.q;
    let (batch, tokens, heads, d) = q.dims4()?;
    let y = output::tensor(q.shape(), q.dtype(), q.device())?;
    let (module, entry) = by_dtype(
        "rope_append_level3",
        q.dtype(),
        (&F32, "rope_append_f32_level3"),
        (&BF16, "rope_append_bf16_level3"),
    )?;
    let launch = Launch::new(module, entry)
        .grid(tokens, heads + cache.kv_heads, batch)
        .block((d / 2).next_multiple_of(32).clamp(32, 128), 1, 1);
    x.arguments(launch, &y, cache)?.u32(position).launch()?;
    Ok(y)
}
