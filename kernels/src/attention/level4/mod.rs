//! Level 4: tiles of queries with online softmax, and split keys where there are few queries.

use candle_core::{DType, Result, Tensor};

use super::{Cache, Params, cpu, params};
use crate::element::{by_dtype, dispatch, dtype_name};
use crate::error::unsupported;
use crate::launch::{Launch, Module, module, on_cpu};
use crate::output;

static TILES: Module = module!("attention/level4/tile_f32", sm_75);
static TENSOR_CORES: Module = module!("attention/level4/tile_mma", sm_80);
static DECODE: Module = module!("attention/level4/decode", sm_75);

/// softmax(q·kᵀ/√D)·v over the keys `0..=position + t` of the cache: q (B, T, H, D) → (B, T, H·D)
///
/// # Errors
/// When shapes, formats or devices do not agree.
pub fn causal_attention(q: &Tensor, cache: &Cache, position: usize) -> Result<Tensor> {
    const KERNEL: &str = "causal_attention_level4";
    let _span = trace::span(KERNEL);
    if on_cpu(q.device()) {
        params::check_causal(KERNEL, q, cache, position)?;
        return dispatch!(
            "causal_attention_level4",
            q.dtype(),
            cpu::level4::causal_attention(q, cache, position)
        );
    }
    launch(&Params::causal(KERNEL, q, cache, position)?)
}

/// softmax(q·kᵀ/√D)·v: q (B, T, H, D), k and v (B, T, Hkv, D) → (B, T, H·D)
///
/// # Errors
/// When shapes, strides, formats or devices do not agree.
pub fn attention(q: &Tensor, k: &Tensor, v: &Tensor) -> Result<Tensor> {
    let _span = trace::span("attention_level4");
    let params = Params::full("attention_level4", q, k, v)?;
    if on_cpu(q.device()) {
        return dispatch!(
            "attention_level4",
            q.dtype(),
            cpu::level4::attention(q, k, v)
        );
    }
    launch(&params)
}

/// Queries of a sequence up to which the keys are split, in place of a tile of queries a block.
pub(super) const FEW: usize = 4;

fn launch(x: &Params) -> Result<Tensor> {
    if x.head_dim > 128 {
        return Err(unsupported("attention_level4", "D ≤ 128", x.head_dim, 3));
    }
    let shape = (x.batch, x.queries, x.heads * x.head_dim);
    let y = output::tensor(shape, x.q.dtype(), x.q.device())?;
    if x.queries <= FEW && x.is_whole() {
        decode(x, &y)?;
    } else {
        tiles(x, &y)?;
    }
    Ok(y)
}

/// Blocks of 64 queries below which blocks of 16 leave less of a GPU without work. f32 alone: on tensor
/// cores a tile has 64.
const ROOM: usize = 64;

/// A tile of queries a block.
fn tiles(x: &Params, y: &Tensor) -> Result<()> {
    // D goes up to the next that there is a kernel for.
    let d = [16, 32, 64, 80].into_iter().find(|&d| x.head_dim <= d);
    let d = d.unwrap_or(128);
    let blocks = x.queries.div_ceil(64) * x.heads * x.batch;
    let (module, [bm, threads, smem]) = match y.dtype() {
        DType::BF16 => (&TENSOR_CORES, tile_bf16(d)),
        _ => (&TILES, tile_f32(d, if blocks < ROOM { 1 } else { 4 })),
    };
    let launch = Launch::new(module, tile_entry(d, bm, y.dtype())?)
        .grid(x.heads, x.queries.div_ceil(bm), x.batch)
        .block(threads, 1, 1)
        .smem(smem);
    x.arguments(launch).write(y).run()
}

/// Queries, threads and bytes of shared memory of a block: `Tile` in `tile_f32.cu`.
fn tile_f32(d: usize, tm: usize) -> [usize; 3] {
    let warps = if d <= 80 || tm == 1 { 4 } else { 2 };
    let (bm, bn) = (4 * tm * warps, if d <= 80 { 64 } else { 32 });
    let (pitch, p_pitch) = (d + 4, bn + 8);
    let floats = bm * pitch + (bn * pitch).max(bm * p_pitch) + bn * d;
    [bm, 32 * warps, floats * size_of::<f32>()]
}

/// The same of `tile_mma.cu`: q, and twice k and v.
fn tile_bf16(d: usize) -> [usize; 3] {
    [64, 128, 5 * 64 * (d + 8) * size_of::<u16>()]
}

fn tile_entry(d: usize, bm: usize, dtype: DType) -> Result<String> {
    let dtype = dtype_name("attention_level4", dtype)?;
    Ok(format!("attention_d{d}x{bm}_{dtype}_level4"))
}

/// Keys that are worth a block of their own.
const SPLIT: usize = 256;

/// Blocks beyond which more splits would only be more to join: a few for each multiprocessor of a
/// large GPU.
const BLOCKS: usize = 512;

/// How the keys of few queries are split.
pub(super) struct Split<'a> {
    /// Splits.
    pub count: usize,
    /// Keys of each.
    pub keys: usize,
    /// Blocks of a split and sequence.
    pub blocks: usize,
    /// Rows that read the same keys.
    pub rows: usize,
    /// Of each row and split D sums, the greatest score and the sum of exponentials; none of a single split.
    pub partial: Option<&'a Tensor>,
}

/// Few queries: up to `keys` keys are split over blocks until there are [`BLOCKS`], or [`SPLIT`] keys in each;
/// `launch` computes the splits, and they are joined.
pub(super) fn splits(
    x: &Params,
    y: &Tensor,
    keys: usize,
    launch: impl FnOnce(Split) -> Result<()>,
) -> Result<()> {
    let rows = x.queries * x.heads / x.kv_heads;
    let blocks = x.kv_heads * if rows == 1 { 1 } else { rows.div_ceil(4) };
    let most = BLOCKS.div_ceil((blocks * x.batch).max(1));
    let count = keys.div_ceil(SPLIT).clamp(1, most);
    let shape = (x.batch * x.queries * x.heads, count, x.head_dim + 2);
    let partial = (count > 1).then(|| output::tensor(shape, DType::F32, y.device()));
    let partial = partial.transpose()?;
    launch(Split {
        count,
        keys: keys.div_ceil(count),
        blocks,
        rows,
        partial: partial.as_ref(),
    })?;
    match &partial {
        Some(partial) => combine(partial, y),
        None => Ok(()),
    }
}

fn decode(x: &Params, y: &Tensor) -> Result<()> {
    splits(x, y, x.keys, |split| {
        let entry = decode_entry(x.head_dim, split.rows, y.dtype(), "level4")?;
        let launch = Launch::new(&DECODE, entry).grid(split.count, split.blocks, x.batch);
        let launch = x.arguments(launch.block(THREADS, 1, 1));
        let launch = launch.write(y).u32(split.keys);
        launch.write_or_null(split.partial).run()
    })
}

/// The entry for heads up to 32, 64 or 128 channels, and one row or several that read the same keys.
pub(super) fn decode_entry(d: usize, rows: usize, dtype: DType, level: &str) -> Result<String> {
    let dtype = dtype_name("attention_decode", dtype)?;
    let d = [32, 64].into_iter().find(|&held| d <= held).unwrap_or(128);
    let rows = if rows == 1 { 1 } else { 4 };
    Ok(format!("attention_decode_d{d}x{rows}_{dtype}_{level}"))
}

/// Of a block of `decode.cu`.
pub(super) const THREADS: usize = 256;

/// Joins the splits of each row: a block a row.
fn combine(partial: &Tensor, y: &Tensor) -> Result<()> {
    let (rows, splits, pitch) = partial.dims3()?;
    let entry = by_dtype(
        "attention_combine_level4",
        y.dtype(),
        "attention_combine_f32_level4",
        "attention_combine_bf16_level4",
    )?;
    Launch::new(&DECODE, entry)
        .grid(rows, 1, 1)
        .block(THREADS, 1, 1)
        .read(partial)
        .write(y)
        .u32(splits)
        .u32(pitch - 2)
        .run()
}
