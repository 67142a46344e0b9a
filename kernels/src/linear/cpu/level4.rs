//! Level 4 on a CPU: a hand-written matmul with explicit lanes, on weights packed at load.
//!
//! Compared with level 3: gemm packs w on every call, which for a few rows of x takes longer than the matmul,
//! and its sums go through memory before the epilogue. Here w is packed when it is loaded, and the epilogue
//! takes a tile's accumulators from registers. Each call saves a read and a write of N·K elements, and of
//! M·N. For one row of x, w is read once and the matmul is memory-bound, so it only saves the sums across
//! lanes at the end of each dot product. In bf16, w stays packed in bf16, with half as many bytes to read.
//!
//! To be faster: for many rows, only other instructions (see `tile.rs`); for one row, fewer bytes of w.

use std::mem::MaybeUninit;
use std::ops::Range;

use candle_core::{Device, Result, Tensor};
use pulp::Simd;

use super::block::{Epilogue, InputRows, product};
pub use super::panels::Panels;
use super::panels::{Order, Stored};
use crate::cpu::Slice;
use crate::cpu::lanes::{load, write};
use crate::cpu::math::{gelu_f32s, silu_f32s};
use crate::cpu::parallel::Threads;
use crate::element::Element;
use crate::output;

/// x·wᵀ + b + residual
pub fn linear<T: Stored>(
    x: &Tensor,
    w: &Panels,
    b: Option<&Tensor>,
    residual: Option<&Tensor>,
    threads: Option<Threads>,
) -> Result<Tensor> {
    w.check("linear_level4", Order::Plain)?;
    let b = b.map(Slice::<T>::new).transpose()?;
    let bias = Bias(b.as_deref().unwrap_or_default());
    let Some(residual) = residual else {
        return with(x, w, &bias, threads);
    };
    let residual = &*Slice::<T>::new(residual)?;
    let n = w.n;
    with(x, w, &Residual { bias, residual, n }, threads)
}

/// gelu(x·wᵀ + b)
pub fn linear_gelu<T: Stored>(
    x: &Tensor,
    w: &Panels,
    b: &Tensor,
    threads: Option<Threads>,
) -> Result<Tensor> {
    w.check("linear_gelu_level4", Order::Plain)?;
    with(x, w, &Gelu(&Slice::<T>::new(b)?), threads)
}

/// silu(x·Wgᵀ) ⊙ (x·Wuᵀ)
pub fn linear_swiglu<T: Stored>(
    x: &Tensor,
    w: &Panels,
    threads: Option<Threads>,
) -> Result<Tensor> {
    w.check("linear_swiglu_level4", Order::GateUp)?;
    with::<T>(x, w, &SwiGlu, threads)
}

fn with<T: Stored>(
    x: &Tensor,
    w: &Panels,
    epilogue: &impl Epilogue<T>,
    threads: Option<Threads>,
) -> Result<Tensor> {
    let mut dims = x.dims().to_vec();
    if let Some(last) = dims.last_mut() {
        *last = w.n;
    }
    let mut y = output::uninit::<T>(dims.iter().product());
    let x = Slice::<T>::new(x)?;
    let x = &*x;
    let rows = |rows: Range<usize>| InputRows::new(&x[rows.start * w.k..rows.end * w.k], w.k);
    product(rows, w, epilogue, &mut y, threads);
    // SAFETY: the blocks of `product` are all of y, and the epilogue writes each row of each panel.
    let y = unsafe { y.assume_init() }.into_vec();
    Tensor::from_vec(y, dims, &Device::Cpu)
}

/// The bias; empty without one.
struct Bias<'a, T>(&'a [T]);

impl<T: Element> Epilogue<T> for Bias<'_, T> {
    type Columns<S: Simd> = [S::f32s; 2];

    #[inline(always)]
    fn columns<S: Simd>(&self, simd: S, column: usize) -> [S::f32s; 2] {
        load_two(simd, self.0.get(column..).unwrap_or_default())
    }

    #[inline(always)]
    fn finish<S: Simd>(
        &self,
        simd: S,
        _: usize,
        b: [S::f32s; 2],
        sums: [S::f32s; 2],
        y: &mut [MaybeUninit<T>],
    ) {
        write_two(simd, y, add_two(simd, sums, b));
    }
}

/// The bias, then the residual: row after row of N elements.
struct Residual<'a, T> {
    bias: Bias<'a, T>,
    residual: &'a [T],
    n: usize,
}

impl<T: Element> Epilogue<T> for Residual<'_, T> {
    /// The first column, and b there.
    type Columns<S: Simd> = (usize, [S::f32s; 2]);

    #[inline(always)]
    fn columns<S: Simd>(&self, simd: S, column: usize) -> Self::Columns<S> {
        (column, self.bias.columns(simd, column))
    }

    #[inline(always)]
    fn finish<S: Simd>(
        &self,
        simd: S,
        row: usize,
        (column, b): Self::Columns<S>,
        sums: [S::f32s; 2],
        y: &mut [MaybeUninit<T>],
    ) {
        let residual = &self.residual[row * self.n + column..][..y.len()];
        let sums = add_two(simd, add_two(simd, sums, b), load_two(simd, residual));
        write_two(simd, y, sums);
    }
}

struct Gelu<'a, T>(&'a [T]);

impl<T: Element> Epilogue<T> for Gelu<'_, T> {
    type Columns<S: Simd> = [S::f32s; 2];

    #[inline(always)]
    fn columns<S: Simd>(&self, simd: S, column: usize) -> [S::f32s; 2] {
        load_two(simd, &self.0[column..])
    }

    #[inline(always)]
    fn finish<S: Simd>(
        &self,
        simd: S,
        _: usize,
        b: [S::f32s; 2],
        sums: [S::f32s; 2],
        y: &mut [MaybeUninit<T>],
    ) {
        let [first, second] = add_two(simd, sums, b);
        write_two(simd, y, [gelu_f32s(simd, first), gelu_f32s(simd, second)]);
    }
}

struct SwiGlu;

impl<T: Element> Epilogue<T> for SwiGlu {
    type Columns<S: Simd> = ();

    #[inline(always)]
    fn columns<S: Simd>(&self, _: S, _: usize) {}

    #[inline(always)]
    fn finish<S: Simd>(
        &self,
        simd: S,
        _: usize,
        (): (),
        sums: [S::f32s; 2],
        y: &mut [MaybeUninit<T>],
    ) {
        write(simd, y, simd.mul_f32s(silu_f32s(simd, sums[0]), sums[1]));
    }
}

/// Returns a + b.
#[inline(always)]
pub fn add_two<S: Simd>(simd: S, a: [S::f32s; 2], b: [S::f32s; 2]) -> [S::f32s; 2] {
    [simd.add_f32s(a[0], b[0]), simd.add_f32s(a[1], b[1])]
}

/// Loads as many elements as two vectors hold; zeros if there are fewer.
#[inline(always)]
pub fn load_two<S: Simd, T: Element>(simd: S, x: &[T]) -> [S::f32s; 2] {
    let (first, second) = x.split_at(S::F32_LANES.min(x.len()));
    [load(simd, first), load(simd, second)]
}

/// Writes as many elements as fit into y.
#[inline(always)]
pub fn write_two<S: Simd, T: Element>(simd: S, y: &mut [MaybeUninit<T>], lanes: [S::f32s; 2]) {
    let (first, second) = y.split_at_mut(S::F32_LANES.min(y.len()));
    write(simd, first, lanes[0]);
    write(simd, second, lanes[1]);
}
