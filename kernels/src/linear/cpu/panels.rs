//! Weights packed as the micro-kernel reads them.
//!
//! w (N, K) is row-major, so one step along K for many columns of y would gather an element from each of as
//! many rows. gemm packs w on every call. A weight is the same in every call: this code packs it once, when
//! the model is loaded.
//!
//! A panel has as many rows of w as two vectors have lanes, k by k: one step along K is two vectors from
//! consecutive addresses, and a dot product needs no sum across lanes. The last panel is zero-padded. In bf16
//! a step is one vector of pairs, half as many bytes.

use candle_core::{Result, Tensor};
use half::bf16;
use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use crate::cpu::Slice;
use crate::element::{Element, by_element};
use crate::error::mismatch;

/// Words per cache line; a vector across two lines would take two loads.
const LINE: usize = 16;

/// A weight in panels.
#[derive(Debug)]
pub struct Panels {
    /// The panels from `start` on: f32, or pairs of bf16.
    words: Vec<u32>,
    /// Index of the first word on a cache line.
    start: usize,
    /// Words per panel.
    words_per_panel: usize,
    order: Order,
    /// Columns of y.
    pub n: usize,
    /// Columns of x.
    pub k: usize,
    /// Columns of y per panel.
    pub width: usize,
}

/// The rows of w in the two vectors of a panel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Neighbouring rows, for two vectors of y.
    Plain,
    /// The same rows of the gate's and the up-projection's half, so that factors of SwiGLU are in the same
    /// lane. One vector of y.
    GateUp,
}

impl Panels {
    /// Packs w (N, K).
    ///
    /// # Errors
    /// If w is not a matrix of f32 or bf16 on the CPU.
    pub fn new(w: &Tensor) -> Result<Self> {
        by_element!("linear_level4", w.dtype(), Self::of(w, Order::Plain))
    }

    /// Packs w (2F, K), with the gate's rows before the up-projection's.
    ///
    /// # Errors
    /// If w is not a matrix of f32 or bf16 on the CPU.
    pub fn gate_up(w: &Tensor) -> Result<Self> {
        by_element!(
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

    /// Returns the words of a panel.
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
        // The allocator decides the alignment.
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

/// Returns the f32 lanes of this CPU's vectors.
struct Lanes;

impl WithSimd for Lanes {
    type Output = usize;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> usize {
        S::F32_LANES
    }
}

/// Storage of a dtype in a panel.
pub trait Stored: Element {
    /// Vectors of words per step along K.
    const VECTORS: usize;
    /// The vectors of a step.
    type Step<S: Simd>: Copy;
    /// Returns the steps of a panel.
    fn steps<S: Simd>(panel: &[u32]) -> &[Self::Step<S>];
    /// Returns the two vectors of a step in f32.
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

/// The lower half of a word is a lane of the first vector, the upper half one of the second: a shift and a
/// mask make f32 of both.
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
