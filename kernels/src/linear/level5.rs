//! Level 5: the kernel that was the fastest for this shape on this device.
//!
//! The entries are level 4's kernels one by one, a product of a few rows that splits K (`level5_decode.cu`), tiles
//! on tensor cores for f32 as well (`level5_sm80.cu`) and on Hopper's (`level5_sm90a.cu`), the small tiles of
//! `matmul`, and NVIDIA's libraries: cuBLAS through candle, cuBLASLt with the bias in its epilogue.
//! cuBLASLt's GELU is the one with tanh; here it is the one with erf, so that its GELU stays out, and a kernel of
//! our own follows the product. On a CPU: level 4's panels, by one thread or by all.

mod entries;
mod mma;
mod run;
mod split;
mod wgmma;

#[cfg(feature = "cuda")]
mod cublaslt;

use candle_core::{DType, Result, Tensor};

pub use super::level4::Packed;
use super::level4::{FEW_ROWS, Op as Kind};
use super::{Shape, half};
use crate::cpu::parallel::Threads;
use crate::dispatch::{Entry, Facts, Feature, Layout, Op, Picked, Problem, Registry};
use crate::matmul;
use mma::{MMAS, Mma};
use split::{ROWS, Split};
use wgmma::{WGMMAS, Wgmma};

/// What computes a product with a weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Run {
    /// Level 4, whichever of its kernels it chooses.
    Level4,
    /// Level 4's tile at this place of its list.
    Tile(usize),
    /// Level 4's kernel for a few rows.
    Decode,
    /// A few rows, K split over the warps of a block.
    Split(Split),
    /// A tile on tensor cores; of f32 each product in three of TF32.
    Mma(Mma),
    /// A tile on Hopper's tensor cores.
    Wgmma(Wgmma),
    /// A tile of `matmul` on w as a transposed view.
    Small(matmul::level5::Tile),
    /// candle's product, which is cuBLAS's, and what follows it.
    Candle,
    /// cuBLASLt's product with the bias, and what follows it.
    CublasLt,
    /// Level 4's panels on a CPU, by so many threads.
    Panels(Threads),
}

/// All that compute products with a weight, level 4 first.
pub static REGISTRY: Registry<Run> = Registry {
    entries: &[
        Entry {
            name: "linear_level4",
            can: |p, _| is_ours(p),
            run: Run::Level4,
        },
        panels("linear_level5_one_thread", Threads::One, is_shared),
        panels("linear_level5_threads", Threads::All, is_not_by_all),
        Entry {
            name: "linear_level4_decode",
            can: |p, facts| is_ours(p) && facts.at_least((7, 5)) && p.m <= FEW_ROWS,
            run: Run::Decode,
        },
        split("linear_level5_split_1", Split { columns: 1 }),
        split("linear_level5_split_4", Split { columns: 4 }),
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
            can: |p, facts| is_ours(p) && is_library(facts) && p.m * p.n * p.k > 0,
            run: Run::Candle,
        },
        Entry {
            name: "cublaslt",
            can: |p, facts| cfg!(feature = "cuda") && is_library(facts) && in_whole_chunks(p),
            run: Run::CublasLt,
        },
    ],
};

fn is_ours(p: &Problem) -> bool {
    matches!(p.dtype, DType::F32 | DType::BF16)
}

/// On a CPU the weight is in panels, of which only our own product makes something.
fn is_library(facts: &Facts) -> bool {
    facts.is_gpu() && !facts.simulated
}

/// Another number of threads than level 4 takes.
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

/// Multiply-adds beyond which one thread is no choice: beside them waking the others is nothing.
const ALONE: usize = 32 * super::cpu::WORTH;

fn is_shared(p: &Problem, facts: &Facts) -> bool {
    is_ours(p) && !facts.is_gpu() && level4_threads(p, facts) > 1 && p.m * p.n * p.k <= ALONE
}

fn is_not_by_all(p: &Problem, facts: &Facts) -> bool {
    is_ours(p) && !facts.is_gpu() && level4_threads(p, facts) < facts.units
}

/// That level 4 takes on a CPU.
fn level4_threads(p: &Problem, facts: &Facts) -> usize {
    super::cpu::threads(p.m * p.n * p.k).min(facts.units)
}

/// Bytes that libraries and TMA take at once.
const CHUNK: usize = 16;

/// Rows of whole chunks: of others cuBLASLt may have no kernel.
fn in_whole_chunks(p: &Problem) -> bool {
    let whole = |size: usize| size > 0 && (size * p.dtype.size_in_bytes()).is_multiple_of(CHUNK);
    is_ours(p) && p.m > 0 && whole(p.n) && whole(p.k)
}

const fn split(name: &'static str, split: Split) -> Entry<Run> {
    Entry {
        name,
        can: |p, facts| is_ours(p) && facts.at_least((7, 5)) && p.m <= ROWS,
        run: Run::Split(split),
    }
}

const fn tile_f32(name: &'static str, place: usize) -> Entry<Run> {
    Entry {
        name,
        can: |p, facts| p.dtype == DType::F32 && facts.at_least((7, 5)),
        run: Run::Tile(place),
    }
}

const fn tile_bf16(name: &'static str, place: usize) -> Entry<Run> {
    Entry {
        name,
        can: |p, facts| p.dtype == DType::BF16 && facts.has(Feature::Bf16),
        run: Run::Tile(place),
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
            let hopper = facts.has(Feature::WarpGroupProducts) && !facts.simulated;
            hopper && p.dtype == DType::BF16 && in_whole_chunks(p)
        },
        run: Run::Wgmma(wgmma),
    }
}

/// Gated products would be two.
const fn small(tile: matmul::level5::Tile) -> Entry<Run> {
    Entry {
        name: tile.entry,
        can: |p, facts| p.op == Op::Linear && matmul::level5::can(p, facts),
        run: Run::Small(tile),
    }
}

/// x·wᵀ + b: x (…, K), w (N, K), b (N) → (…, N)
///
/// # Errors
/// When shapes, formats or devices do not agree.
pub fn linear(x: &Tensor, w: &Packed, b: Option<&Tensor>) -> Result<Tensor> {
    Ok(linear_with_info(x, w, b)?.0)
}

/// [`linear`], with the entry that ran and why.
///
/// # Errors
/// When shapes, formats or devices do not agree.
pub fn linear_with_info(
    x: &Tensor,
    w: &Packed,
    b: Option<&Tensor>,
) -> Result<(Tensor, Picked<'static, Run>)> {
    Call::linear(x, w, b)?.picked()
}

/// gelu(x·wᵀ + b): x (…, K), w (N, K), b (N) → (…, N)
///
/// # Errors
/// When shapes, formats or devices do not agree.
pub fn linear_gelu(x: &Tensor, w: &Packed, b: &Tensor) -> Result<Tensor> {
    Ok(Call::gelu(x, w, b)?.picked()?.0)
}

/// silu(x·Wgᵀ) ⊙ (x·Wuᵀ): x (…, K), w from [`Packed::gate_up`] of (2F, K) → (…, F)
///
/// # Errors
/// When shapes, formats or devices do not agree.
pub fn linear_swiglu(x: &Tensor, w: &Packed) -> Result<Tensor> {
    Ok(Call::swiglu(x, w)?.picked()?.0)
}

/// A product that has been looked at.
#[derive(Debug)]
pub struct Call<'a> {
    kind: Kind,
    x: &'a Tensor,
    w: &'a Packed,
    b: Option<&'a Tensor>,
    shape: Shape,
    /// What the registry is asked.
    pub problem: Problem,
}

impl<'a> Call<'a> {
    /// As [`linear`].
    ///
    /// # Errors
    /// When shapes or formats do not agree.
    pub fn linear(x: &'a Tensor, w: &'a Packed, b: Option<&'a Tensor>) -> Result<Self> {
        Self::new((Kind::Linear, Op::Linear), x, w, w.dims, b)
    }

    /// As [`linear_gelu`].
    ///
    /// # Errors
    /// When shapes or formats do not agree.
    pub fn gelu(x: &'a Tensor, w: &'a Packed, b: &'a Tensor) -> Result<Self> {
        Self::new((Kind::Gelu, Op::LinearGelu), x, w, w.dims, Some(b))
    }

    /// As [`linear_swiglu`].
    ///
    /// # Errors
    /// When shapes or formats do not agree.
    pub fn swiglu(x: &'a Tensor, w: &'a Packed) -> Result<Self> {
        let f = half("linear_swiglu_level5", w.dims.0)?;
        Self::new((Kind::SwiGlu, Op::LinearSwiglu), x, w, (f, w.dims.1), None)
    }

    fn new(
        (kind, op): (Kind, Op),
        x: &'a Tensor,
        w: &'a Packed,
        dims: (usize, usize),
        b: Option<&'a Tensor>,
    ) -> Result<Self> {
        let shape = super::check("linear_level5", x, dims, w.dtype, b)?;
        let Shape { m, n, k } = shape;
        let problem = Problem {
            op,
            batch: 1,
            m,
            n,
            k,
            dtype: w.dtype,
            layout: [Layout::Rows, Layout::Columns],
        };
        Ok(Self {
            kind,
            x,
            w,
            b,
            shape,
            problem,
        })
    }

    /// By the entry that the registry picks, and why it.
    ///
    /// # Errors
    /// When x and w are on different devices, or the driver does not answer.
    pub fn picked(&self) -> Result<(Tensor, Picked<'static, Run>)> {
        let picked = REGISTRY.pick(&self.problem, Facts::of(self.x.device())?)?;
        let _span = picked.span();
        Ok((self.run(picked.entry.run)?, picked))
    }
}
