//! Level 4 on a CPU: activations as 8-bit integers, sums in 16-bit lanes. The twin of dp4a.
//!
//! Compared with a matmul on the dequantised matrix: a sixteenth of the bytes, and twice as many lanes per
//! register. A 16-bit lane of weights has eight codes; a shift and a mask extract one of them in all lanes at
//! once. Its activations are in a vector, because they were interleaved when they were rounded. Codes are t +
//! 1, so no sign is needed: Σ q·t = Σ q·(t + 1) − Σ q, and Σ q is known. To be faster, the CPU's 8-bit dot
//! products (VNNI, AMX, SDOT) can replace shift, mask, product and 16-bit sum; not every CPU has them.

use candle_core::{Result, Tensor};
use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use super::{WeightRows, product};
use crate::cpu::Slice;
use crate::element::Element;
use crate::ternary_linear::packed::ROW_ALIGN;
use crate::ternary_linear::{Sizes, Ternary};

/// 16-bit lanes per vector of weights.
const LANES: usize = ROW_ALIGN / 2;

/// Codes per lane.
const CODES: usize = 8;

/// Activations for one vector of weights: activation 8·lane + code at [code][lane]. 8-bit values, stored in
/// 16 bits for the products.
type Block = [[i16; LANES]; CODES];

/// Blocks whose sums fit in 16 bits: 16 times 8 products of up to 2·127 are 32512.
const BLOCKS: usize = 16;

/// Rows of weights that share a vector of activations in a register.
const TN: usize = 4;

/// Multiply-adds from which a second thread pays.
const PARALLEL: usize = 1 << 19;

/// Computes y (…, N).
pub fn dp4a<T: Element>(x: &Tensor, w: &Ternary, sizes: &Sizes) -> Result<Tensor> {
    let x = Slice::<T>::new(x)?;
    let threads = sizes.m * sizes.n * sizes.k >= PARALLEL;
    let quantize = |x| Arch::new().dispatch(Quantize(x));
    let x: Vec<Quantized> = if threads && sizes.m > 1 {
        x.par_chunks_exact(sizes.k).map(quantize).collect()
    } else {
        x.chunks_exact(sizes.k).map(quantize).collect()
    };
    product::<T>(sizes, w, threads, |rows, y| {
        Arch::new().dispatch(Task { x: &x, rows, y });
    })
}

/// A row of x in 8 bits.
struct Quantized {
    /// 0 beyond K
    q: Vec<Block>,
    /// Σ q
    sum: i32,
    /// q = x·scale
    scale: f32,
}

/// Rounds a row of x.
struct Quantize<'a, T>(&'a [T]);

impl<T: Element> WithSimd for Quantize<'_, T> {
    type Output = Quantized;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Quantized {
        let scale = scale(self.0);
        let (mut q, mut sum) = (Vec::with_capacity(self.0.len() / (LANES * CODES) + 1), 0);
        for x in self.0.chunks(LANES * CODES) {
            let mut block = [[0; LANES]; CODES];
            for (i, x) in x.iter().enumerate() {
                let rounded = (x.widen() * scale).round_ties_even() as i16;
                block[i % CODES][i / CODES] = rounded;
                sum += i32::from(rounded);
            }
            q.push(block);
        }
        Quantized { q, sum, scale }
    }
}

/// Returns 127/max(max|x|, 1e-5), or NaN if x has one.
#[inline(always)]
fn scale<T: Element>(x: &[T]) -> f32 {
    // Without signs, the bits of f32 are ordered like their values, with NaN above infinity; so unlike a
    // float maximum, an integer maximum keeps NaN.
    let bits = |x: &T| x.widen().abs().to_bits();
    let max = f32::from_bits(x.iter().map(bits).fold(0, u32::max));
    127. / if max < 1e-5 { 1e-5 } else { max }
}

/// Computes yᵀ (rows, M) of some rows, compiled for the vectors of this CPU.
struct Task<'a> {
    x: &'a [Quantized],
    rows: &'a WeightRows<'a>,
    y: &'a mut [f32],
}

impl WithSimd for Task<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let (x, stride) = (self.x, self.rows.stride);
        let tiles = self
            .y
            .chunks_mut(TN * x.len())
            .zip(self.rows.scales.chunks(TN));
        for ((y, scales), codes) in tiles.zip(self.rows.codes.chunks(TN * stride)) {
            if scales.len() == TN {
                tile::<TN>(x, codes, scales, y);
            } else {
                let rows = codes.chunks_exact(stride).zip(y.chunks_mut(x.len()));
                for ((codes, y), scale) in rows.zip(scales) {
                    tile::<1>(x, codes, std::slice::from_ref(scale), y);
                }
            }
        }
    }
}

/// Multiplies `ROWS` rows of weights with all rows of x.
#[inline(always)]
fn tile<const ROWS: usize>(x: &[Quantized], codes: &[u8], scales: &[f32], y: &mut [f32]) {
    for (m, x) in x.iter().enumerate() {
        let sums = dots::<ROWS>(&x.q, codes);
        for (n, sum) in sums.into_iter().enumerate() {
            y[n * (y.len() / ROWS) + m] = (sum - x.sum) as f32 * (scales[n] / x.scale);
        }
    }
}

/// Returns Σ q·(t + 1) for each of `ROWS` rows.
#[inline(always)]
fn dots<const ROWS: usize>(q: &[Block], codes: &[u8]) -> [i32; ROWS] {
    let (blocks, _) = codes.as_chunks::<ROW_ALIGN>();
    let stride = blocks.len() / ROWS;
    let mut sums = [0; ROWS];
    for (i, q) in q.chunks(BLOCKS).enumerate() {
        let mut lanes = [[0; LANES]; ROWS];
        for (j, q) in q.iter().enumerate() {
            for (row, lanes) in lanes.iter_mut().enumerate() {
                multiply(lanes, q, &blocks[row * stride + i * BLOCKS + j]);
            }
        }
        for (sum, lanes) in sums.iter_mut().zip(lanes) {
            *sum += lanes.into_iter().map(i32::from).sum::<i32>();
        }
    }
    sums
}

/// Adds the products of a block to the lanes. Nothing overflows; `wrapping` avoids a debug build's checks,
/// which would prevent vectorisation.
#[inline(always)]
fn multiply(sums: &mut [i16; LANES], q: &Block, codes: &[u8; ROW_ALIGN]) {
    for lane in 0..LANES {
        let word = u16::from_le_bytes([codes[2 * lane], codes[2 * lane + 1]]);
        for (code, q) in q.iter().enumerate() {
            let weight = (word >> (2 * code) & 3) as i16;
            sums[lane] = sums[lane].wrapping_add(weight.wrapping_mul(q[lane]));
        }
    }
}
