//! The entries of level 5, and where each can run.

use candle_core::DType;

use super::Run;
use super::gemv_split::{GEMV_SPLITS, GemvSplit, MAX_ROWS};
use super::mma::{MMAS, Mma};
use super::row_gemv;
use super::wgmma::{WGMMAS, Wgmma};
use crate::cpu::parallel::Threads;
use crate::dispatch::{Entry, Facts, Feature, Op, Problem, Registry};
use crate::linear::cpu;
use crate::linear::level4::gemv;
use crate::matmul;

/// All implementations. Without a table the first that can run is picked: level 4.
pub static REGISTRY: Registry<Run> = Registry {
    entries: &[
        Entry {
            name: "linear_level4",
            can: can_level4,
            run: Run::Level4,
        },
        panels("linear_level5_one_thread", Threads::One, is_shared),
        panels("linear_level5_threads", Threads::All, is_not_by_all),
        Entry {
            name: "linear_level4_gemv",
            can: |p, facts| is_f32_or_bf16(p) && facts.at_least((7, 5)) && p.m <= gemv::MAX_ROWS,
            run: Run::Gemv,
        },
        gemv_split("linear_level5_split_1", GEMV_SPLITS[0]),
        gemv_split("linear_level5_split_4", GEMV_SPLITS[1]),
        Entry {
            name: "linear_level5_row_gemv",
            can: row_gemv::can,
            run: Run::RowGemv,
        },
        tile_f32("linear_level4_f32_64x64", 0),
        tile_f32("linear_level4_f32_32x32", 1),
        tile_bf16("linear_level4_bf16_128x128", 0),
        tile_bf16("linear_level4_bf16_64x64", 1),
        tile_bf16("linear_level4_bf16_32x64", 2),
        mma(MMAS[0]),
        mma(MMAS[1]),
        mma(MMAS[2]),
        mma(MMAS[3]),
        mma(MMAS[4]),
        mma(MMAS[5]),
        wgmma(WGMMAS[0]),
        wgmma(WGMMAS[1]),
        small(matmul::level5::TILES[0]),
        small(matmul::level5::TILES[1]),
        small(matmul::level5::TILES[2]),
        small(matmul::level5::TILES[3]),
        small(matmul::level5::TILES[4]),
        small(matmul::level5::TILES[5]),
        small(matmul::level5::TILES[6]),
        Entry {
            name: "candle",
            can: |p, facts| is_f32_or_bf16(p) && is_library(facts) && p.m * p.n * p.k > 0,
            run: Run::Candle,
        },
        Entry {
            name: "cublaslt",
            can: |p, facts| cfg!(feature = "cuda") && is_library(facts) && has_aligned_rows(p),
            run: Run::CublasLt,
        },
    ],
};

/// Level 4: on a GPU in bf16, `mma.cu` needs 8.0; up to [`gemv::MAX_ROWS`] rows go to `gemv.cu`, which needs 7.5.
fn can_level4(p: &Problem, facts: &Facts) -> bool {
    let few = p.m <= gemv::MAX_ROWS && facts.at_least((7, 5));
    is_f32_or_bf16(p) && (few || facts.computes_by_mma(p.dtype))
}

fn is_f32_or_bf16(p: &Problem) -> bool {
    matches!(p.dtype, DType::F32 | DType::BF16)
}

/// Whether a library can run: on a GPU. On a CPU the weight is in panels, which only our own matmul reads.
fn is_library(facts: &Facts) -> bool {
    facts.is_gpu() && !facts.simulated
}

/// Level 4's panels, by a number of threads that level 4 does not take.
const fn panels(
    name: &'static str,
    threads: Threads,
    can: fn(&Problem, &Facts) -> bool,
) -> Entry<Run> {
    Entry {
        name,
        can,
        run: Run::Panels(threads),
    }
}

/// Multiply-adds up to which one thread may be the fastest: for more, waking the others costs little in comparison.
const ALONE: usize = 32 * cpu::WORTH;

fn is_shared(p: &Problem, facts: &Facts) -> bool {
    is_f32_or_bf16(p) && !facts.is_gpu() && level4_threads(p, facts) > 1 && p.m * p.n * p.k <= ALONE
}

fn is_not_by_all(p: &Problem, facts: &Facts) -> bool {
    is_f32_or_bf16(p) && !facts.is_gpu() && level4_threads(p, facts) < facts.units
}

/// Threads that level 4 takes on a CPU.
fn level4_threads(p: &Problem, facts: &Facts) -> usize {
    cpu::threads(p.m * p.n * p.k).min(facts.units)
}

/// Whether the rows of x, w and y are 16-byte aligned in aligned tensors: TMA needs it, and cuBLASLt may have no kernel
/// for other rows.
fn has_aligned_rows(p: &Problem) -> bool {
    let aligned = |size: usize| size > 0 && (size * p.dtype.size_in_bytes()).is_multiple_of(16);
    is_f32_or_bf16(p) && p.m > 0 && aligned(p.n) && aligned(p.k)
}

const fn gemv_split(name: &'static str, split: GemvSplit) -> Entry<Run> {
    Entry {
        name,
        can: |p, facts| is_f32_or_bf16(p) && facts.at_least((7, 5)) && p.m <= MAX_ROWS,
        run: Run::GemvSplit(split),
    }
}

const fn tile_f32(name: &'static str, index: usize) -> Entry<Run> {
    Entry {
        name,
        can: |p, facts| p.dtype == DType::F32 && facts.at_least((7, 5)),
        run: Run::Tile(index),
    }
}

const fn tile_bf16(name: &'static str, index: usize) -> Entry<Run> {
    Entry {
        name,
        can: |p, facts| p.dtype == DType::BF16 && facts.has(Feature::Bf16),
        run: Run::Tile(index),
    }
}

const fn mma(mma: Mma) -> Entry<Run> {
    Entry {
        name: mma.entries.name(),
        can: match mma.dtype {
            DType::F32 => |p, facts| p.dtype == DType::F32 && facts.has(Feature::Bf16),
            _ => |p, facts| p.dtype == DType::BF16 && facts.has(Feature::Bf16),
        },
        run: Run::Mma(mma),
    }
}

/// The simulator has neither wgmma nor TMA.
const fn wgmma(wgmma: Wgmma) -> Entry<Run> {
    Entry {
        name: wgmma.entries.name(),
        can: |p, facts| {
            let hopper = facts.has(Feature::Wgmma) && !facts.simulated;
            hopper && p.dtype == DType::BF16 && has_aligned_rows(p)
        },
        run: Run::Wgmma(wgmma),
    }
}

/// A tile of `matmul`, for `linear` alone: it adds no residual, and SwiGLU would need two matmuls.
const fn small(tile: matmul::level5::BlockTile) -> Entry<Run> {
    Entry {
        name: tile.entry,
        can: |p, facts| p.op == Op::Linear && matmul::level5::can(p, facts),
        run: Run::Small(tile),
    }
}
