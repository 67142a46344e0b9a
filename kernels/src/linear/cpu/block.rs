//! Blocking around the micro-kernel: blocks of y fit the caches, with at least one per thread.

use std::borrow::Cow;
use std::mem::MaybeUninit;
use std::ops::Range;

use candle_core::CpuStorageRef;
use pulp::{Arch, Simd, WithSimd};

use super::panels::{Panels, Stored};
use super::tile::{Accumulators, MAX_ROWS, Strip, max_rows, tile};
use super::{Rectangle, rectangles, threads};
use crate::cpu::parallel::{self, Threads};
use crate::element::Element;
use crate::output;

/// Computes y = epilogue(x·wᵀ), y (M, N); `x` returns the requested rows of x. Uses the given number of
/// threads, or as many as the work is worth.
pub fn product<'x, T: Stored>(
    x: impl Fn(Range<usize>) -> InputRows<'x> + Send + Sync,
    w: &Panels,
    epilogue: &impl Epilogue<T>,
    y: &mut [MaybeUninit<T>],
    by: Option<Threads>,
) {
    if y.is_empty() {
        return;
    }
    let m = y.len() / w.n;
    let threads = by.map_or_else(|| threads(m * w.n * w.k), Threads::count);
    let (rows, panels) = plan(m, w, threads);
    let blocks = rectangles(y, w.n, (rows, panels * w.width));
    parallel::for_each(blocks, |y| {
        let x = x(y.row..y.row + y.rows.len());
        Arch::new().dispatch(Block { x, w, epilogue, y });
    });
}

/// Transforms the accumulators of a tile's row and writes them.
pub trait Epilogue<T>: Sync {
    /// Data of a panel's columns, shared by all rows.
    type Columns<S: Simd>: Copy;

    /// Loads the data of the panel whose first column in y is `column`.
    fn columns<S: Simd>(&self, simd: S, column: usize) -> Self::Columns<S>;

    /// Writes y, a part of row `row` as long as the panel is wide, or shorter at the right edge.
    fn finish<S: Simd>(
        &self,
        simd: S,
        row: usize,
        columns: Self::Columns<S>,
        sums: [S::f32s; 2],
        y: &mut [MaybeUninit<T>],
    );
}

/// f32 elements in half of an L2 cache.
const HALF: usize = 1 << 18;

/// Returns the rows and panels per block.
///
/// A w that fits the cache stays there, while rows of x and y stream by, a few at a time. A larger w streams,
/// and as many rows of x as fit stay. Threads divide the columns of y if there are more of them than rows,
/// otherwise the rows, so that few operands are read by several threads.
fn plan(m: usize, w: &Panels, threads: usize) -> (usize, usize) {
    let rows = if w.n * w.k <= HALF {
        HALF / 4 / (w.n + w.k)
    } else {
        HALF / w.k
    };
    let mut blocks = m.div_ceil(rows.max(MAX_ROWS));
    let parts = if w.n >= m { threads.min(w.len()) } else { 1 };
    if blocks * parts < 8 * threads && !(blocks * parts).is_multiple_of(threads) {
        blocks = blocks.next_multiple_of(threads);
    }
    (m.div_ceil(blocks), w.len().div_ceil(parts))
}

/// Rows of x in f32.
pub struct InputRows<'a> {
    /// Row after row.
    pub x: Cow<'a, [f32]>,
    /// Distance between rows.
    pub stride: usize,
}

/// Stride in elements at which addresses share an L1 set, which holds fewer lines than a tile has rows.
const SAME_SET: usize = 1024;

/// Elements per cache line.
const LINE: usize = 16;

impl<'a> InputRows<'a> {
    /// Rows of x (rows, K) in place, or a copy if the dtype differs or the rows would evict each other from
    /// the cache.
    pub fn new<T: Element>(x: &'a [T], k: usize) -> Self {
        match T::cpu_storage_ref(x) {
            CpuStorageRef::F32(x) if !k.is_multiple_of(SAME_SET) => Self {
                x: Cow::Borrowed(x),
                stride: k,
            },
            _ if k == 0 => Self {
                x: Cow::Borrowed(&[]),
                stride: 0,
            },
            _ => Self::copy(x.len() / k, k, |row, to| {
                for (to, x) in to.iter_mut().zip(&x[row * k..]) {
                    to.write(x.widen());
                }
            }),
        }
    }

    /// Copies rows; `write` writes each row of K elements.
    pub fn copy(rows: usize, k: usize, write: impl Fn(usize, &mut [MaybeUninit<f32>])) -> Self {
        let stride = k + LINE;
        let mut x = output::uninit::<f32>(rows * stride);
        for (row, to) in x.chunks_mut(stride).enumerate() {
            let (to, padding) = to.split_at_mut(k);
            write(row, to);
            padding.fill(MaybeUninit::new(0.));
        }
        Self {
            // SAFETY: `write` writes K elements of each row, and the padding is zeros.
            x: Cow::Owned(unsafe { x.assume_init() }.into_vec()),
            stride,
        }
    }
}

/// A rectangle of y and its operands.
struct Block<'a, T, E> {
    x: InputRows<'a>,
    w: &'a Panels,
    epilogue: &'a E,
    y: Rectangle<'a, MaybeUninit<T>>,
}

impl<T: Stored, E: Epilogue<T>> WithSimd for Block<'_, T, E> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { x, w, epilogue, y } = self;
        let (row, column, mut y) = (y.row, y.column, y.rows);
        let mut sums: Accumulators<S> = [[simd.splat_f32s(0.); 2]; MAX_ROWS];
        for from in (0..y[0].len()).step_by(w.width) {
            let to = y[0].len().min(from + w.width);
            let panel = T::steps::<S>(w.get((column + from) / w.width));
            let columns = epilogue.columns(simd, column + from);
            for (t, y) in y.chunks_mut(max_rows::<S>()).enumerate() {
                let first = t * max_rows::<S>();
                let x = Strip {
                    x: &x.x[first * x.stride..],
                    stride: x.stride,
                    rows: y.len(),
                };
                tile::<S, T>(simd, x, panel, &mut sums);
                for (i, (y, &sums)) in y.iter_mut().zip(&sums).enumerate() {
                    epilogue.finish(simd, row + first + i, columns, sums, &mut y[from..to]);
                }
            }
        }
    }
}
