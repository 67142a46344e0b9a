//! Level 3 on a CPU: the epilogue runs while the accumulators are in the cache.
//!
//! Compared with level 2, which writes x·wᵀ to memory, reads and writes it again for the bias, and again for
//! the activation or the residual. Here gemm multiplies one rectangle of y at a time, into sums that stay in
//! the core's L2 cache; the epilogue reads them there and writes y once. This saves 2·M·N elements of memory
//! traffic for each op of the epilogue, and for SwiGLU the copy of the gate. Second, gemm packs w before it
//! multiplies, on one thread; split into rectangles, each thread packs its part. For a few rows of x, packing
//! would take longer than the matmul, so each sum is a plain loop over two rows in place. gemm has such a
//! loop for one row of x in f32; here all threads run it.
//!
//! In bf16, more than 4 rows first copy the rectangle's rows of x and w to f32, on every call.
//!
//! To be faster: pack w once for all calls, and keep accumulators in registers until the epilogue: level 4.

use std::borrow::Cow;
use std::mem::MaybeUninit;

use candle_core::{CpuStorageRef, DType, Device, Result, Tensor};
use gemm::{Parallelism, gemm};
use pulp::{Arch, Simd, WithSimd};

use super::{Rectangle, rectangles, threads};
use crate::cpu::{Slice, math, parallel};
use crate::element::Element;
use crate::output;

/// x·wᵀ + b + residual
pub fn linear<T: Element>(
    x: &Tensor,
    w: &Tensor,
    b: Option<&Tensor>,
    residual: Option<&Tensor>,
) -> Result<Tensor> {
    let b = b.map(Slice::<T>::new).transpose()?;
    let residual = residual.map(Slice::<T>::new).transpose()?;
    let epilogue = match (b.as_deref(), residual.as_deref()) {
        (None, None) => Epilogue::Plain,
        (Some(b), None) => Epilogue::Bias(b),
        (b, Some(residual)) => Epilogue::Residual { b, residual },
    };
    product(x, w, w.dim(0)?, epilogue)
}

/// gelu(x·wᵀ + b)
pub fn linear_gelu<T: Element>(x: &Tensor, w: &Tensor, b: &Tensor) -> Result<Tensor> {
    let b = Slice::<T>::new(b)?;
    product(x, w, w.dim(0)?, Epilogue::Gelu(&b))
}

/// silu(x·Wgᵀ) ⊙ (x·Wuᵀ)
pub fn linear_swiglu<T: Element>(x: &Tensor, w: &Tensor) -> Result<Tensor> {
    product::<T>(x, w, w.dim(0)? / 2, Epilogue::SwiGlu)
}

/// The epilogue on the sums.
#[derive(Clone, Copy)]
enum Epilogue<'a, T> {
    Plain,
    Bias(&'a [T]),
    /// Added after the bias, if there is one; as many elements as y.
    Residual {
        b: Option<&'a [T]>,
        residual: &'a [T],
    },
    Gelu(&'a [T]),
    SwiGlu,
}

/// y = epilogue(x·wᵀ), y (…, N)
fn product<T: Element>(x: &Tensor, w: &Tensor, n: usize, epilogue: Epilogue<T>) -> Result<Tensor> {
    let k = w.dim(1)?;
    let mut dims = x.dims().to_vec();
    if let Some(last) = dims.last_mut() {
        *last = n;
    }
    let mut y = output::uninit::<T>(dims.iter().product());
    let (x, w) = (Slice::<T>::new(x)?, Slice::<T>::new(w)?);
    let (x, w) = (&*x, &*w);
    if !y.is_empty() {
        let block = block(y.len() / n, n, k);
        parallel::for_each(rectangles(&mut y, n, block), |y| {
            let (rows, columns) = (y.rows.len(), y.rows[0].len());
            let x = &x[y.row * k..][..rows * k];
            let sums = |row: usize| {
                let w = &w[row * k..][..columns * k];
                sums(x, w, (rows, columns, k))
            };
            let first = sums(y.column);
            let second = match epilogue {
                Epilogue::SwiGlu => sums(n + y.column),
                _ => Vec::new(),
            };
            Arch::new().dispatch(Finish {
                n,
                y,
                sums: [&first, &second],
                epilogue,
            });
        });
    }
    // SAFETY: the rectangles are all of y, and `Finish` writes each of its rows.
    let y = unsafe { y.assume_init() }.into_vec();
    Tensor::from_vec(y, dims, &Device::Cpu)
}

/// Sums per block, which stay in the L2 cache until the epilogue has run.
const BLOCK: usize = 1 << 16;

/// Returns rows and columns per block. gemm packs the part of w for a block's columns: few columns, and many
/// rows that share the packed copy.
fn block(m: usize, n: usize, k: usize) -> (usize, usize) {
    let rows = m.min(1024);
    let share = (n * m.div_ceil(rows)).div_ceil(threads(m * n * k)).min(n);
    let columns = share.div_ceil(share.div_ceil(BLOCK / rows));
    (rows, columns.next_multiple_of(64).min(n))
}

/// Maximum rows of x for which packing w would take longer than the matmul: gemm's packing for more than one
/// row, or our conversion of a w that is not f32.
const FEW: usize = 4;

/// Returns x·wᵀ (M, N), computed on this thread: x (M, K), w (N, K).
fn sums<T: Element>(x: &[T], w: &[T], (m, n, k): (usize, usize, usize)) -> Vec<f32> {
    let copied = m > 1 || T::DTYPE != DType::F32;
    if m > FEW || k == 0 || !copied {
        return multiply(&widened(x), &widened(w), (m, n, k));
    }
    let mut sums = output::uninit::<f32>(m * n);
    let few = Dots {
        x,
        w,
        k,
        sums: &mut sums,
    };
    Arch::new().dispatch(few);
    // SAFETY: `Dots` writes the sum of each row of x and of w.
    unsafe { sums.assume_init() }.into_vec()
}

/// Returns x·wᵀ (M, N), computed on this thread by gemm: x (M, K), w (N, K).
pub fn multiply(x: &[f32], w: &[f32], (m, n, k): (usize, usize, usize)) -> Vec<f32> {
    assert_eq!((x.len(), w.len()), (m * k, n * k));
    let mut sums = output::uninit::<f32>(m * n);
    // SAFETY: x, w and sums are row-major matrices of m·k, n·k and m·n elements; the strides below, from a
    // column to the next and from a row to the next, stay inside. sums is of its own, and not read.
    unsafe {
        gemm(
            m,
            n,
            k,
            sums.as_mut_ptr().cast::<f32>(),
            1,
            n as isize,
            false,
            x.as_ptr(),
            1,
            k as isize,
            w.as_ptr(),
            k as isize,
            1,
            0.,
            1.,
            false,
            false,
            false,
            Parallelism::None,
        );
    }
    // SAFETY: gemm has written all of it, zeros where K is 0.
    unsafe { sums.assume_init() }.into_vec()
}

/// Returns the elements in f32: in place, or a copy.
pub fn widened<T: Element>(x: &[T]) -> Cow<'_, [f32]> {
    match T::cpu_storage_ref(x) {
        CpuStorageRef::F32(x) => Cow::Borrowed(x),
        _ => x.iter().map(|x| x.widen()).collect(),
    }
}

/// Writes a rectangle of y from its sums, for SwiGLU from those of the gate and the up-projection.
struct Finish<'a, T> {
    /// Columns of y.
    n: usize,
    y: Rectangle<'a, MaybeUninit<T>>,
    sums: [&'a [f32]; 2],
    epilogue: Epilogue<'a, T>,
}

impl<T: Element> WithSimd for Finish<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let columns = self.y.rows[0].len();
        for (i, y) in self.y.rows.into_iter().enumerate() {
            let row = i * columns..(i + 1) * columns;
            let second = self.sums[1].get(row.clone()).unwrap_or_default();
            let sums = [&self.sums[0][row], second];
            let row = self.y.row + i;
            self.epilogue.write(row * self.n, self.y.column, sums, y);
        }
    }
}

impl<T: Element> Epilogue<'_, T> {
    /// Writes a part of y's row that begins at element `start`, from `column` on.
    #[inline(always)]
    fn write(self, start: usize, column: usize, [sums, up]: [&[f32]; 2], y: &mut [MaybeUninit<T>]) {
        let columns = column..column + y.len();
        let y = y.iter_mut().zip(sums);
        match self {
            Self::Plain => {
                for (y, &sum) in y {
                    y.write(T::narrow(sum));
                }
            }
            Self::Bias(b) => {
                for ((y, sum), b) in y.zip(&b[columns]) {
                    y.write(T::narrow(sum + b.widen()));
                }
            }
            Self::Residual { b, residual } => {
                let y = y.zip(&residual[start..][columns.clone()]);
                match b {
                    Some(b) => {
                        for (((y, sum), r), b) in y.zip(&b[columns]) {
                            y.write(T::narrow(sum + b.widen() + r.widen()));
                        }
                    }
                    None => {
                        for ((y, sum), r) in y {
                            y.write(T::narrow(sum + r.widen()));
                        }
                    }
                }
            }
            Self::Gelu(b) => {
                for ((y, sum), b) in y.zip(&b[columns]) {
                    y.write(T::narrow(math::gelu(sum + b.widen())));
                }
            }
            Self::SwiGlu => {
                for ((y, &gate), up) in y.zip(up) {
                    y.write(T::narrow(math::silu(gate) * up));
                }
            }
        }
    }
}

/// Computes sums (M, N) = x (M, K) · w (N, K)ᵀ for a few rows of x: w is read once, in place.
struct Dots<'a, T> {
    x: &'a [T],
    w: &'a [T],
    k: usize,
    sums: &'a mut [MaybeUninit<f32>],
}

impl<T: Element> WithSimd for Dots<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { x, w, k, sums } = self;
        let n = w.len() / k;
        for j in (0..n).step_by(ROWS) {
            // The last row stands in for missing ones.
            let w: [&[T]; ROWS] = std::array::from_fn(|r| &w[(j + r).min(n - 1) * k..][..k]);
            for (x, sums) in x.chunks(k).zip(sums.chunks_mut(n)) {
                for (sum, dot) in sums[j..].iter_mut().zip(dots::<S, T>(x, w)) {
                    sum.write(dot);
                }
            }
        }
    }
}

/// Rows of w at a time: the final additions of a sum depend on each other, and those of several rows overlap.
const ROWS: usize = 8;

/// Partial sums of a row, which the compiler vectorises.
const PARTS: usize = 16;

/// Returns Σₖ x\[k\]·w\[r\]\[k\] for each r; all rows are as long as x.
#[inline(always)]
fn dots<S: Simd, T: Element>(x: &[T], w: [&[T]; ROWS]) -> [f32; ROWS] {
    let mut parts = [[0f32; PARTS]; ROWS];
    let (chunks, rest) = x.as_chunks::<PARTS>();
    let w_chunks = w.map(|w| &w.as_chunks::<PARTS>().0[..chunks.len()]);
    for (i, x) in chunks.iter().enumerate() {
        for r in 0..ROWS {
            for p in 0..PARTS {
                let (x, w) = (x[p].widen(), w_chunks[r][i][p].widen());
                parts[r][p] = mul_add::<S>(x, w, parts[r][p]);
            }
        }
    }
    let quarters = parts
        .map(|s| std::array::from_fn::<f32, 4, _>(|p| (s[p] + s[4 + p]) + (s[8 + p] + s[12 + p])));
    let mut dots = quarters.map(|s| (s[0] + s[1]) + (s[2] + s[3]));
    for (k, x) in (chunks.len() * PARTS..).zip(rest) {
        for r in 0..ROWS {
            dots[r] = mul_add::<S>(x.widen(), w[r][k].widen(), dots[r]);
        }
    }
    dots
}

/// Returns a·b + c. `f32::mul_add` is one instruction, or on a CPU without it a slow function call.
#[inline(always)]
fn mul_add<S: Simd>(a: f32, b: f32, c: f32) -> f32 {
    if S::IS_SCALAR {
        a * b + c
    } else {
        a.mul_add(b, c)
    }
}
