//! Weights in the order in which the micro-kernel reads them.
//!
//! w (N, K) lies row after row, so that one step along K of many columns of y is an element from each
//! of as many rows: a gather. gemm copies w into a better order on every call. A weight is the same in every
//! call: it is put into that order once, when the model is loaded.
//!
//! A panel holds as many rows of w as two vectors have lanes, k after k: one step along K is two vectors from
//! consecutive addresses, and a row of y needs as many additions as a whole panel has steps. The last panel
//! is filled up with zeros. In bf16 a step is one vector of pairs, half as many bytes.

use candle_core::{Result, Tensor};
use half::bf16;
use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use crate::cpu::Slice;
use crate::element::{Element, dispatch};
use crate::error::mismatch;

/// Words of a cache line: a vector across two of them would be two loads.
const LINE: usize = 16;

/// A weight in panels.
#[derive(Debug)]
pub struct Panels {
    /// The panels, one after the other, from `start` on: f32, or pairs of bf16.
    words: Vec<u32>,
    /// Where the first cache line begins.
    start: usize,
    /// Of a panel.
    words_per_panel: usize,
    order: Order,
    /// Columns of y.
    pub n: usize,
    /// Columns of x.
    pub k: usize,
    /// Columns of y that a panel makes.
    pub width: usize,
}

/// Which rows of w are the two vectors of a panel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Neighbours: two vectors of y.
    Plain,
    /// The same rows of the gate's and of the up-projection's half: what is multiplied with each other
    /// in the end is in the same lane. One vector of y.
    GateUp,
}

impl Panels {
    /// Of w (N, K).
    ///
    /// # Errors
    /// When w is not a matrix of f32 or bf16 on the CPU.
    pub fn new(w: &Tensor) -> Result<Self> {
        dispatch!("linear_level4", w.dtype(), Self::of(w, Order::Plain))
    }

    /// Of w (2F, K), the gate's rows above the up-projection's.
    ///
    /// # Errors
    /// When w is not a matrix of f32 or bf16 on the CPU.
    pub fn gate_up(w: &Tensor) -> Result<Self> {
        dispatch!(
            "linear_swiglu_level4",
            w.dtype(),
            Self::of(w, Order::GateUp)
        )
    }

    /// # Errors
    /// When the panels are in another order than `kernel` needs.
    pub fn check(&self, kernel: &str, order: Order) -> Result<()> {
        if self.order != order {
            let expected = format!("panels in the order {order:?}");
            return Err(mismatch(kernel, expected, format!("{:?}", self.order)));
        }
        Ok(())
    }

    /// Number of panels.
    pub fn len(&self) -> usize {
        self.n.div_ceil(self.width)
    }

    /// The words of a panel.
    #[inline(always)]
    pub fn get(&self, panel: usize) -> &[u32] {
        &self.words[self.start + panel * self.words_per_panel..][..self.words_per_panel]
    }

    fn of<T: Stored>(w: &Tensor, order: Order) -> Result<Self> {
        let w = w.contiguous()?;
        let (rows, k) = w.dims2()?;
        let lanes = Arch::new().dispatch(Lanes);
        let (n, width) = match order {
            Order::Plain => (rows, 2 * lanes),
            Order::GateUp => (rows / 2, lanes),
        };
        let words_per_panel = k * lanes * T::VECTORS;
        let mut words = vec![0; n.div_ceil(width) * words_per_panel + LINE];
        // Where the allocator put them is not known before.
        let start = words.as_ptr().align_offset(4 * LINE).min(LINE);
        let w = Slice::<T>::new(&w)?;
        let w = &*w;
        let panels = words[start..].par_chunks_exact_mut(words_per_panel.max(1));
        panels.enumerate().for_each(|(i, panel)| {
            for (v, lane) in (0..2 * lanes).map(|c| (c / lanes, c % lanes)) {
                let (column, row) = match order {
                    Order::Plain => (i * width + v * lanes + lane, 0),
                    Order::GateUp => (i * width + lane, v * n),
                };
                if column < n {
                    let steps = panel.chunks_exact_mut(lanes * T::VECTORS);
                    let w = &w[(row + column) * k..][..k];
                    steps
                        .zip(w)
                        .for_each(|(step, x)| x.put(step, lanes, v, lane));
                }
            }
        });
        Ok(Self {
            words,
            start,
            words_per_panel,
            order,
            n,
            k,
            width,
        })
    }
}

/// How many f32 this CPU's vectors hold.
struct Lanes;

impl WithSimd for Lanes {
    type Output = usize;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> usize {
        S::F32_LANES
    }
}

/// How a number format lies in a panel.
pub trait Stored: Element {
    /// Vectors of words of a step along K.
    const VECTORS: usize;
    /// Those vectors.
    type Step<S: Simd>: Copy;
    /// The steps of a panel.
    fn steps<S: Simd>(panel: &[u32]) -> &[Self::Step<S>];
    /// The two vectors of a step, in f32.
    fn lanes<S: Simd>(simd: S, step: Self::Step<S>) -> [S::f32s; 2];
    /// Writes one lane of vector `v` of a step.
    fn put(self, step: &mut [u32], lanes: usize, v: usize, lane: usize);
}

impl Stored for f32 {
    const VECTORS: usize = 2;
    type Step<S: Simd> = [S::u32s; 2];

    #[inline(always)]
    fn steps<S: Simd>(panel: &[u32]) -> &[Self::Step<S>] {
        S::as_simd_u32s(panel).0.as_chunks().0
    }

    #[inline(always)]
    fn lanes<S: Simd>(simd: S, [first, second]: Self::Step<S>) -> [S::f32s; 2] {
        [
            simd.transmute_f32s_u32s(first),
            simd.transmute_f32s_u32s(second),
        ]
    }

    fn put(self, step: &mut [u32], lanes: usize, v: usize, lane: usize) {
        step[v * lanes + lane] = self.to_bits();
    }
}

/// A word holds a lane of the first vector in its lower half and of the second in its upper half: a
/// shift and a mask make f32 of both.
impl Stored for bf16 {
    const VECTORS: usize = 1;
    type Step<S: Simd> = S::u32s;

    #[inline(always)]
    fn steps<S: Simd>(panel: &[u32]) -> &[Self::Step<S>] {
        S::as_simd_u32s(panel).0
    }

    #[inline(always)]
    fn lanes<S: Simd>(simd: S, pairs: Self::Step<S>) -> [S::f32s; 2] {
        let first = simd.wrapping_dyn_shl_u32s(pairs, simd.splat_u32s(16));
        let second = simd.and_u32s(pairs, simd.splat_u32s(0xffff_0000));
        [
            simd.transmute_f32s_u32s(first),
            simd.transmute_f32s_u32s(second),
        ]
    }

    fn put(self, step: &mut [u32], _: usize, v: usize, lane: usize) {
        step[lane] |= u32::from(self.to_bits()) << (16 * v);
    }
}
