//! Few queries at a position that the device knows: the launch of `decode.cu`.

use candle_core::{Result, Tensor};

use super::PositionedCache;
use crate::attention::Params;
use crate::attention::level4::decode::{Entries, THREADS, launch_split_kv};
use crate::element::by_dtype;
use crate::launch::{Launch, Module, module};
use crate::output;

static MODULE: Module = module!("attention/level5/decode", sm_75);

pub(in crate::attention) const F32: Entries = [
    [
        "attention_decode_d32x1_f32_level5",
        "attention_decode_d32x4_f32_level5",
    ],
    [
        "attention_decode_d64x1_f32_level5",
        "attention_decode_d64x4_f32_level5",
    ],
    [
        "attention_decode_d128x1_f32_level5",
        "attention_decode_d128x4_f32_level5",
    ],
];

pub(in crate::attention) const BF16: Entries = [
    [
        "attention_decode_d32x1_bf16_level5",
        "attention_decode_d32x4_bf16_level5",
    ],
    [
        "attention_decode_d64x1_bf16_level5",
        "attention_decode_d64x4_bf16_level5",
    ],
    [
        "attention_decode_d128x1_bf16_level5",
        "attention_decode_d128x4_bf16_level5",
    ],
];

/// Splits the keys of the whole bucket, so that the launches are the same at each position of it.
pub(super) fn launch(params: &Params, cache: &PositionedCache) -> Result<Tensor> {
    let dims = (params.batch, params.queries, params.heads * params.head_dim);
    let y = output::tensor(dims, params.q.dtype(), params.q.device())?;
    let entries = by_dtype("attention_decode", y.dtype(), &F32, &BF16)?;
    launch_split_kv(params, &y, cache.bucket(params.keys), |split| {
        let launch = Launch::new(&MODULE, split.entry(entries, params.head_dim))
            .grid(split.splits, split.blocks_per_split, params.batch)
            .block(THREADS, 1, 1);
        let launch = params.arguments(launch).write(&y).u32(split.keys_per_split);
        launch
            .write_or_null(split.partial)
            .read(cache.position)
            .launch()
    })?;
    Ok(y)
}
