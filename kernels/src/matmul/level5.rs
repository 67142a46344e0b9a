//! Level 5: small tiles on a GPU, and on a CPU loops that read the operands through their strides. The registry chooses
//! among them, and [`Call::run`] is the one place that sends a call to the CPU's loops or to a launch.

use std::mem::MaybeUninit;

use candle_core::{DType, Device, Result, Tensor};

use super::View;
use super::cpu::{self, Operand};
use crate::cpu::Slice;
use crate::cpu::parallel::Threads;
use crate::dispatch::{Entry, Facts, Layout, Op, Picked, Problem, Registry};
use crate::error::mismatch;
use crate::launch::{Launch, MOST_BLOCKS, Module, module};
use crate::output;

static MODULE: Module = module!("matmul/level5", sm_75);

/// An implementation of A·B + b.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Run {
    /// candle's own matmul: cuBLAS on a GPU, gemm on a CPU.
    Candle,
    /// gemm on a CPU, by so many threads, which do not wait for each other.
    Gemm(Threads),
    /// Loops that read the operands through their strides, on a CPU, by so many threads.
    Cpu(Threads),
    /// The same for a few rows or one column.
    Gemv(Threads),
    /// Element by element, on a CPU.
    Scalar,
    /// A kernel of `level5.cu`.
    Tile(Tile),
}

/// A kernel of `level5.cu`: its entry, its tile and its threads. A test compares them with the `.cu` and the PTX.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tile {
    /// Entry.
    pub entry: &'static str,
    /// BM: rows of C.
    m: usize,
    /// BN: columns of C.
    n: usize,
    /// THREADS of one matrix.
    threads: usize,
    /// MATRICES of a block.
    matrices: usize,
}

impl Tile {
    const fn new(
        entry: &'static str,
        (m, n): (usize, usize),
        threads: usize,
        matrices: usize,
    ) -> Self {
        Self {
            entry,
            m,
            n,
            threads,
            matrices,
        }
    }
}

/// All tiles of `level5.cu`. The first seven are for a single matrix, too.
pub(crate) const TILES: [Tile; 9] = [
    Tile::new("matmul_f32_level5_16x16_k32", (16, 16), 256, 1),
    Tile::new("matmul_f32_level5_16x16_k64", (16, 16), 256, 1),
    Tile::new("matmul_f32_level5_16x16_k128", (16, 16), 256, 1),
    Tile::new("matmul_f32_level5_16x16_k256", (16, 16), 512, 1),
    Tile::new("matmul_f32_level5_32x16_k128", (32, 16), 512, 1),
    Tile::new("matmul_f32_level5_32x32_k64", (32, 32), 256, 1),
    Tile::new("matmul_f32_level5_32x32_k32", (32, 32), 64, 1),
    Tile::new("matmul_f32_level5_64x64_k16", (64, 64), 128, 1),
    Tile::new("matmul_f32_level5_warp_16x16", (16, 16), 32, 4),
];

/// All that compute products, candle's first, and gemm's where candle would ask it for no more: without a measurement
/// nothing else is known to be faster.
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

/// Multiply-adds up to which gemm takes one thread, whoever asks: asked directly it costs less.
const ONE_THREAD: usize = 48 * 48 * 256;

/// Not of nothing, which cuBLAS refuses; on a GPU whole matrices alone, and on a CPU what gemm may share among
/// threads.
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

/// Multiply-adds up to which threads are no choice: the caches of each other, from which they take the operands and
/// the result, are too far away, which a product that is timed alone does not show.
const ALONE: usize = 64 * 64 * 64;

const fn by_threads(name: &'static str, run: Run) -> Entry<Run> {
    Entry {
        name,
        can: |p, facts| is_on_cpu(p, facts) && p.batch * p.m * p.n * p.k > ALONE,
        run,
    }
}

/// Products whose matrix is read once, by vectors from left or right.
fn is_few(p: &Problem, facts: &Facts) -> bool {
    is_on_cpu(p, facts) && (p.m <= cpu::FEW || p.n == 1)
}

/// Elements of that matrix which one thread reads sooner than two that have to agree on it.
const ONE_READS: usize = 1 << 16;

/// Multiply-adds that take less time one by one than it takes to prepare for vectors.
const SCALAR: usize = 4 * 4 * 4;

/// Where a tile of `level5.cu` can run.
pub(crate) fn can(p: &Problem, facts: &Facts) -> bool {
    p.dtype == DType::F32
        && facts.at_least((7, 5))
        && p.m.div_ceil(16) <= MOST_BLOCKS[1] as usize
        && p.batch <= MOST_BLOCKS[2] as usize
}

const fn tile(tile: Tile) -> Entry<Run> {
    Entry {
        name: tile.entry,
        can,
        run: Run::Tile(tile),
    }
}

/// A·B + b: A (…, M, K), B (…, K, N), b (N) or none → (…, M, N), by the entry that the registry picks.
///
/// # Errors
/// Those of [`Call::new`], and when the driver does not answer.
pub fn matmul(a: &Tensor, b: &Tensor, bias: Option<&Tensor>) -> Result<Tensor> {
    let call = Call::new(a, b, bias)?;
    let picked = call.pick()?;
    let _span = picked.span();
    call.run(picked.entry.run)
}

/// The same, with the entry that ran and why.
///
/// # Errors
/// Those of [`Call::new`], and when the driver does not answer.
pub fn matmul_with_info(
    a: &Tensor,
    b: &Tensor,
    bias: Option<&Tensor>,
) -> Result<(Tensor, Picked<'static, Run>)> {
    let call = Call::new(a, b, bias)?;
    let picked = call.pick()?;
    let _span = picked.span();
    Ok((call.run(picked.entry.run)?, picked))
}

/// A call of [`matmul`] whose operands have been checked.
#[derive(Debug)]
pub struct Call<'a> {
    a: &'a Tensor,
    b: &'a Tensor,
    bias: Option<&'a Tensor>,
    views: [View; 2],
    /// Dimensions of the batch.
    outer: &'a [usize],
    /// The problem that the registry decides on.
    pub problem: Problem,
}

impl<'a> Call<'a> {
    /// A·B + b: A (…, M, K), B (…, K, N), b (N) or none.
    ///
    /// # Errors
    /// When shapes, formats or devices do not agree, or the batch dimensions of a view do not lie at one
    /// distance from each other.
    #[inline(always)]
    pub fn new(a: &'a Tensor, b: &'a Tensor, bias: Option<&'a Tensor>) -> Result<Self> {
        let kernel = "matmul_level5";
        let views = [View::of(kernel, a)?, View::of(kernel, b)?];
        crate::element::same_dtype(kernel, &[a, b, bias.unwrap_or(a)])?;
        let ((m, k), (rows, n)) = (views[0].dims, views[1].dims);
        let (outer, other) = (&a.dims()[..a.rank() - 2], &b.dims()[..b.rank() - 2]);
        if k != rows || outer != other {
            let expected = format!("B {outer:?} of {k} rows for A {:?}", a.dims());
            return Err(mismatch(kernel, expected, format!("{:?}", b.dims())));
        }
        if let Some(bias) = bias.filter(|bias| bias.dims() != [n]) {
            return Err(mismatch(
                kernel,
                format!("b ({n})"),
                format!("{:?}", bias.dims()),
            ));
        }
        Ok(Self {
            a,
            b,
            bias,
            views,
            outer,
            problem: Problem {
                op: Op::Matmul,
                batch: views[0].len,
                m,
                n,
                k,
                dtype: a.dtype(),
                layout: [Layout::of(a), Layout::of(b)],
            },
        })
    }

    /// Which entry is for it, and why.
    ///
    /// # Errors
    /// When the driver does not answer, or no entry can.
    #[inline]
    pub fn pick(&self) -> Result<Picked<'static, Run>> {
        REGISTRY.pick(&self.problem, Facts::of(self.a.device())?)
    }

    /// Computes it: (…, M, N).
    ///
    /// # Errors
    /// When `run` cannot, or a view spans more elements than 32 bits count.
    pub fn run(&self, run: Run) -> Result<Tensor> {
        match run {
            Run::Candle => self.candle(),
            Run::Gemm(threads) => self.cpu(|a, b, bias, c| cpu::gemm(a, b, bias, c, threads)),
            Run::Cpu(threads) => self.cpu(|a, b, bias, c| cpu::matmul(a, b, bias, c, threads)),
            Run::Gemv(threads) => self.cpu(|a, b, bias, c| cpu::gemv(a, b, bias, c, threads)),
            Run::Scalar => self.cpu(cpu::scalar),
            Run::Tile(tile) => self.launch(tile),
        }
    }

    /// (…, M, N)
    fn dims(&self) -> Vec<usize> {
        [self.outer, &[self.problem.m, self.problem.n]].concat()
    }

    fn candle(&self) -> Result<Tensor> {
        let c = self.a.matmul(self.b)?;
        match self.bias {
            Some(bias) => c.broadcast_add(bias),
            None => Ok(c),
        }
    }

    fn cpu(
        &self,
        product: impl FnOnce(Operand, Operand, Option<&[f32]>, &mut [MaybeUninit<f32>]),
    ) -> Result<Tensor> {
        let Problem { batch, m, n, .. } = self.problem;
        let [a, b] = [self.a, self.b].map(Slice::<f32>::strided);
        let (a, b) = (a?, b?);
        let bias = self.bias.map(Slice::<f32>::new).transpose()?;
        let mut c = output::uninit::<f32>(batch * m * n);
        let operand = |x, view| Operand { x, view };
        product(
            operand(&a, self.views[0]),
            operand(&b, self.views[1]),
            bias.as_deref(),
            &mut c,
        );
        // SAFETY: `product` is C = A·B + b, which writes all of C, zeros or b where K is 0.
        let c = unsafe { c.assume_init() }.into_vec();
        Tensor::from_vec(c, self.dims(), &Device::Cpu)
    }

    /// On a GPU.
    fn launch(&self, tile: Tile) -> Result<Tensor> {
        let Problem { batch, m, n, k, .. } = self.problem;
        let c = output::tensor(self.dims(), DType::F32, self.a.device())?;
        if c.elem_count() == 0 {
            return Ok(c);
        }
        let mut launch = Launch::new(&MODULE, tile.entry)
            .grid(
                n.div_ceil(tile.n),
                m.div_ceil(tile.m),
                batch.div_ceil(tile.matrices),
            )
            .block(tile.threads, tile.matrices, 1)
            .view(self.a)
            .view(self.b)
            .read_or_null(self.bias)
            .write(&c);
        for size in [batch, m, n, k] {
            launch = launch.u32(size);
        }
        for view in self.views {
            if view.extent() > u32::MAX as usize {
                let found = format!("{} elements", view.extent());
                return Err(mismatch(tile.entry, "matrices below 2³² elements", found));
            }
            launch = launch.u32(view.batch).u32(view.row).u32(view.column);
        }
        launch.launch()?;
        Ok(c)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linear::tile::tests::template_of;
    use crate::testing::directive;

    #[test]
    fn tiles_are_those_of_the_kernel() {
        for tile in TILES {
            // Small<BM, BN, BK, TM, TN, SLICES, MATRICES = 1>
            let template = template_of(include_str!("level5.cu"), tile.entry);
            let number = |i: usize| template.get(i).map_or(1, |n| n.parse().expect("a number"));
            let found = [tile.m, tile.n, tile.matrices];
            assert_eq!(found, [1, 2, 7].map(number), "{}", tile.entry);
            let threads = directive(MODULE.texts()[0], tile.entry, ".maxntid");
            assert_eq!(tile.threads * tile.matrices, threads, "{}", tile.entry);
        }
    }
}
