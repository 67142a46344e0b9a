//! The implementations of level 5, and where each can run.

use candle_core::DType;

use super::Run;
use super::tile::{BlockTile, TILES, can};
use crate::cpu::parallel::Threads;
use crate::dispatch::{Entry, Facts, Layout, Problem, Registry};
use crate::matmul::cpu;

/// All implementations. candle's is the first, and gemm's where candle would call gemm on one thread: without a
/// measurement nothing else is known to be faster.
pub static REGISTRY: Registry<Run> = Registry {
    entries: &[
        Entry {
            name: "candle",
            can: candle,
            run: Run::Candle,
        },
        on_cpu("gemm_one_thread", Run::Gemm(Threads::One)),
        by_threads("gemm_threads", Run::Gemm(Threads::All)),
        on_cpu("matmul_level5_cpu", Run::Cpu(Threads::One)),
        by_threads("matmul_level5_cpu_threads", Run::Cpu(Threads::All)),
        Entry {
            name: "matmul_level5_gemv",
            can: is_few,
            run: Run::Gemv(Threads::One),
        },
        Entry {
            name: "matmul_level5_gemv_threads",
            can: |p, facts| is_few(p, facts) && p.batch * p.k * p.n.max(p.m) > ONE_READS,
            run: Run::Gemv(Threads::All),
        },
        Entry {
            name: "matmul_level5_scalar",
            can: |p, facts| is_on_cpu(p, facts) && p.batch * p.m * p.n * p.k <= SCALAR,
            run: Run::Scalar,
        },
        tile(TILES[0]),
        tile(TILES[1]),
        tile(TILES[2]),
        tile(TILES[3]),
        tile(TILES[4]),
        tile(TILES[5]),
        tile(TILES[6]),
        tile(TILES[7]),
        tile(TILES[8]),
    ],
};

/// Multiply-adds up to which gemm takes one thread even if candle calls it; a direct call costs less.
const ONE_THREAD: usize = 48 * 48 * 256;

/// Whether candle's matmul may be the fastest: on a GPU for contiguous or transposed matrices, on a CPU where gemm may
/// take several threads. Never for empty matrices, which cuBLAS refuses.
fn candle(p: &Problem, facts: &Facts) -> bool {
    let pays = if facts.is_gpu() {
        !p.layout.contains(&Layout::Strided)
    } else {
        p.dtype != DType::F32 || p.m * p.n * p.k > ONE_THREAD
    };
    !facts.simulated && pays && p.batch * p.m * p.n * p.k > 0
}

fn is_on_cpu(p: &Problem, facts: &Facts) -> bool {
    p.dtype == DType::F32 && !facts.is_gpu()
}

const fn on_cpu(name: &'static str, run: Run) -> Entry<Run> {
    Entry {
        name,
        can: is_on_cpu,
        run,
    }
}

/// Multiply-adds up to which several threads are never the fastest in a model: they read the operands from each other's
/// caches, which a matmul that is timed alone does not show.
const ALONE: usize = 64 * 64 * 64;

const fn by_threads(name: &'static str, run: Run) -> Entry<Run> {
    Entry {
        name,
        can: |p, facts| is_on_cpu(p, facts) && p.batch * p.m * p.n * p.k > ALONE,
        run,
    }
}

/// Whether A has few rows or B one column, so that the other matrix is read once.
fn is_few(p: &Problem, facts: &Facts) -> bool {
    is_on_cpu(p, facts) && (p.m <= cpu::FEW || p.n == 1)
}

/// Elements of that matrix up to which one thread is faster than several, which have to wait for each other.
const ONE_READS: usize = 1 << 16;

/// Multiply-adds up to which a loop over elements takes less time than the preparation of SIMD vectors.
const SCALAR: usize = 4 * 4 * 4;

const fn tile(tile: BlockTile) -> Entry<Run> {
    Entry {
        name: tile.entry,
        can,
        run: Run::Tile(tile),
    }
}
