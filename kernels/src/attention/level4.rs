//! Level 4: tiles of queries with online softmax, and split keys where there are few queries.

use candle_core::{DType, Result, Tensor};

use super::{Cache, Operands, cpu, operands};
use crate::element::{dispatch, entry};
use crate::error::unsupported;
use crate::launch::{Launch, Module, module};
use crate::output;

static TILES: Module = module!("attention_level4", "level4.ptx");
static TENSOR_CORES: Module = module!("attention_level4_sm80", "level4_sm80.ptx");
static DECODE: Module = module!("attention_level4_decode", "level4_decode.ptx");

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

/// Queries of a sequence up to which keys are split, in place of a tile of queries a block.
const FEW: usize = 4;

fn launch(x: &Operands) -> Result<Tensor> {
    if x.head_dim > 128 {
        return Err(unsupported("attention_level4", "D ≤ 128", x.head_dim, 3));
    }
    let shape = (x.batch, x.queries, x.heads * x.head_dim);
    let y = output::tensor(shape, x.q.dtype(), x.q.device())?;
    if x.queries <= FEW {
        decode(x, &y)?;
    } else {
        tiles(x, &y)?;
    }
    Ok(y)
}

/// A tile of queries a block: D goes up to the next of 16, 32, 64, 80 and 128.
fn tiles(x: &Operands, y: &Tensor) -> Result<()> {
    let (d, entry) = match x.head_dim {
        0..=16 => (16, entry!("attention_d16", y.dtype(), "level4")),
        17..=32 => (32, entry!("attention_d32", y.dtype(), "level4")),
        33..=64 => (64, entry!("attention_d64", y.dtype(), "level4")),
        65..=80 => (80, entry!("attention_d80", y.dtype(), "level4")),
        _ => (128, entry!("attention_d128", y.dtype(), "level4")),
    };
    let (module, [bm, threads, bytes]) = match y.dtype() {
        DType::BF16 => (&TENSOR_CORES, tile_bf16(d)),
        _ => (&TILES, tile_f32(d)),
    };
    let launch = Launch::new(module, entry?)
        .grid(x.queries.div_ceil(bm), x.heads, x.batch)
        .block(threads, 1, 1)
        .smem(bytes);
    x.arguments(launch).write(y).run()
}

/// Queries, threads and bytes of shared memory of a block: `Tile` in `level4.cu`.
fn tile_f32(d: usize) -> [usize; 3] {
    let (warps, bn) = if d <= 80 { (4, 64) } else { (2, 32) };
    let bm = 16 * warps;
    let (pitch, p_pitch) = (d + 4, bn + 8);
    let floats = bm * pitch + (bn * pitch).max(bm * p_pitch) + bn * d;
    [bm, 32 * warps, floats * size_of::<f32>()]
}

/// The same of `level4_sm80.cu`.
fn tile_bf16(d: usize) -> [usize; 3] {
    [64, 128, 5 * 64 * (d + 8) * size_of::<u16>()]
}

/// Keys that are worth a block of their own.
const SPLIT: usize = 256;

/// Blocks beyond which more splits would only be more to join: a few for each multiprocessor of the
/// largest GPU.
const BLOCKS: usize = 512;

/// Few queries: the keys are split over blocks until there are [`BLOCKS`], or [`SPLIT`] keys in each.
fn decode(x: &Operands, y: &Tensor) -> Result<()> {
    let rows = if x.queries * x.heads == x.kv_heads {
        1
    } else {
        4
    };
    let entry = match (x.head_dim, rows) {
        (0..=16, 1) => entry!("attention_decode_d16x1", y.dtype(), "level4"),
        (0..=16, _) => entry!("attention_decode_d16x4", y.dtype(), "level4"),
        (17..=32, 1) => entry!("attention_decode_d32x1", y.dtype(), "level4"),
        (17..=32, _) => entry!("attention_decode_d32x4", y.dtype(), "level4"),
        (33..=64, 1) => entry!("attention_decode_d64x1", y.dtype(), "level4"),
        (33..=64, _) => entry!("attention_decode_d64x4", y.dtype(), "level4"),
        (_, 1) => entry!("attention_decode_d128x1", y.dtype(), "level4"),
        (_, _) => entry!("attention_decode_d128x4", y.dtype(), "level4"),
    };
    let blocks = x.kv_heads * (x.queries * x.heads / x.kv_heads).div_ceil(rows);
    let most = BLOCKS.div_ceil((blocks * x.batch).max(1));
    let splits = x.keys.div_ceil(SPLIT).clamp(1, most);
    let split = x.keys.div_ceil(splits);
    let all = x.batch * x.queries * x.heads;
    let partial = match splits {
        1 => None,
        _ => Some((all, splits, x.head_dim + 2)),
    };
    let partial = partial.map(|shape| output::tensor(shape, DType::F32, y.device()));
    let partial = partial.transpose()?;
    let launch = Launch::new(&DECODE, entry?)
        .grid(splits, blocks, x.batch)
        .block(THREADS, 1, 1);
    let launch = x.arguments(launch).write(y);
    launch.u32(split).write_or_null(partial.as_ref()).run()?;
    match &partial {
        Some(partial) => combine(partial, y, all, splits, x.head_dim),
        None => Ok(()),
    }
}

/// Threads of a block of `level4_decode.cu`.
const THREADS: usize = 256;

/// Joins the splits of each row: a warp a row.
fn combine(partial: &Tensor, y: &Tensor, rows: usize, splits: usize, d: usize) -> Result<()> {
    Launch::new(&DECODE, entry!("attention_combine", y.dtype(), "level4")?)
        .grid(rows.div_ceil(THREADS / 32), 1, 1)
        .block(THREADS, 1, 1)
        .read(partial)
        .write(y)
        .u32(rows)
        .u32(splits)
        .u32(d)
        .run()
}
