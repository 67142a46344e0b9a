//! Blocks of keys and values in f32, from a cache or from views.

use half::bf16;
use half::slice::HalfFloatSliceExt;
use pulp::{Simd, bytemuck};

use super::super::HeadRows;
use super::super::slots::{BLOCK, Keys};
use super::tile::Elements;
use crate::element::Element;

/// A dtype that tiles can read.
pub trait Stored: Element {
    /// Returns the slice itself if it is f32.
    fn as_f32(x: &[Self]) -> Option<&[f32]>;

    /// Loads N registers of neighbouring elements, in a lane order that [`Stored::store`] reverses; missing
    /// elements at the end are 0.
    fn load<S: Simd, const N: usize>(simd: S, x: &[Self]) -> [S::f32s; N];

    /// Stores sums over [`Stored::load`]'s lanes, in the order of the elements.
    fn store<S: Simd, const N: usize>(simd: S, sums: [S::f32s; N], y: &mut [f32]);
}

impl Stored for f32 {
    #[inline(always)]
    fn as_f32(x: &[Self]) -> Option<&[f32]> {
        Some(x)
    }

    #[inline(always)]
    fn load<S: Simd, const N: usize>(simd: S, x: &[Self]) -> [S::f32s; N] {
        let (all, rest) = S::as_simd_f32s(x);
        if let Some(all) = all.first_chunk() {
            return *all;
        }
        let mut registers = [simd.splat_f32s(0.); N];
        registers[..all.len()].copy_from_slice(all);
        registers[all.len()] = simd.partial_load_f32s(rest);
        registers
    }

    #[inline(always)]
    fn store<S: Simd, const N: usize>(_: S, sums: [S::f32s; N], y: &mut [f32]) {
        S::as_mut_simd_f32s(y).0[..N].copy_from_slice(&sums);
    }
}

/// A 32-bit lane holds two bf16: a shift makes an f32 of the first, a mask of the second. So a register
/// becomes two, of the even and of the odd elements, and results take at least two registers.
impl Stored for bf16 {
    #[inline(always)]
    fn as_f32(_: &[Self]) -> Option<&[f32]> {
        None
    }

    #[inline(always)]
    fn load<S: Simd, const N: usize>(simd: S, x: &[Self]) -> [S::f32s; N] {
        let mut room = [0; 64];
        let mut x: &[u16] = x.reinterpret_cast();
        if x.len() < N * S::F32_LANES {
            room[..x.len()].copy_from_slice(x);
            x = &room;
        }
        let mut registers = [simd.splat_f32s(0.); N];
        if in_pairs::<S, N>() {
            let (words, _) = S::as_simd_u16s(x);
            for (pair, words) in registers.chunks_exact_mut(2).zip(words) {
                let words: S::u32s = bytemuck::cast(*words);
                let even = simd.wrapping_dyn_shl_u32s(words, simd.splat_u32s(16));
                let odd = simd.and_u32s(words, simd.splat_u32s(0xffff_0000));
                pair[0] = simd.transmute_f32s_u32s(even);
                pair[1] = simd.transmute_f32s_u32s(odd);
            }
        } else {
            let lanes: &mut [f32] = bytemuck::cast_slice_mut(&mut registers);
            for (lane, x) in lanes.iter_mut().zip(x) {
                *lane = bf16::from_bits(*x).widen();
            }
        }
        registers
    }

    #[inline(always)]
    fn store<S: Simd, const N: usize>(_: S, sums: [S::f32s; N], y: &mut [f32]) {
        let lanes: &[f32] = bytemuck::cast_slice(&sums);
        if in_pairs::<S, N>() {
            let pairs = lanes.chunks_exact(2 * S::F32_LANES);
            for (y, pair) in y.chunks_exact_mut(2 * S::F32_LANES).zip(pairs) {
                let (even, odd) = pair.split_at(S::F32_LANES);
                for (y, (even, odd)) in y.chunks_exact_mut(2).zip(even.iter().zip(odd)) {
                    (y[0], y[1]) = (*even, *odd);
                }
            }
        } else {
            y[..lanes.len()].copy_from_slice(lanes);
        }
    }
}

const fn in_pairs<S: Simd, const N: usize>() -> bool {
    N.is_multiple_of(2) && S::U16_LANES == 2 * S::F32_LANES
}

/// Keys and values of an op.
#[derive(Clone, Copy)]
pub enum Source<'a, T> {
    /// k and v (B, T, Hkv, D).
    Views(HeadRows<'a, T>, HeadRows<'a, T>),
    /// Keys and values of a cache.
    Cached(&'a Keys<T>, HeadRows<'a, T>),
}

/// Keys or values of a block: channel c of key j is `data[j·key + c·channel]`.
#[derive(Clone, Copy)]
pub struct Panel<'a> {
    pub data: &'a [f32],
    pub key: usize,
    pub channel: usize,
}

impl<'a> Panel<'a> {
    /// Returns the rows by key.
    pub fn by_key(self) -> Elements<'a> {
        Elements {
            data: self.data,
            row: self.key,
            step: self.channel,
        }
    }

    /// Returns the rows by channel.
    pub fn by_channel(self) -> Elements<'a> {
        Elements {
            data: self.data,
            row: self.channel,
            step: self.key,
        }
    }
}

/// Buffers for a block of keys and one of values.
#[derive(Default)]
pub struct Room {
    keys: Vec<f32>,
    values: Vec<f32>,
}

impl<T: Stored> Source<'_, T> {
    /// Returns the keys and values `first..first + count` of a head; `first` starts a block.
    #[inline(always)]
    pub fn block<'a>(
        &'a self,
        (batch, head): (usize, usize),
        (first, count): (usize, usize),
        room: &'a mut Room,
    ) -> (Panel<'a>, Panel<'a>) {
        let at = (batch, first, head);
        match self {
            Self::Views(k, v) => (
                rows(*k, at, count, &mut room.keys),
                rows(*v, at, count, &mut room.values),
            ),
            Self::Cached(k, v) => (
                keys(k.block(batch, head, first / BLOCK), &mut room.keys),
                rows(*v, at, count, &mut room.values),
            ),
        }
    }
}

/// Returns a block of a cache's keys, (D, 64).
#[inline(always)]
fn keys<'a, T: Stored>(block: &'a [T], room: &'a mut Vec<f32>) -> Panel<'a> {
    let shape = (block.len() / BLOCK, BLOCK);
    let (data, channel) = widened(block, shape, BLOCK, room);
    Panel {
        data,
        key: 1,
        channel,
    }
}

/// Returns `count` rows from (batch, token, head) on.
#[inline(always)]
fn rows<'a, T: Stored>(
    x: HeadRows<'a, T>,
    (batch, token, head): (usize, usize, usize),
    count: usize,
    room: &'a mut Vec<f32>,
) -> Panel<'a> {
    let (data, stride) = x.from(batch, token, head);
    let (data, key) = widened(data, (count, x.head_dim), stride, room);
    Panel {
        data,
        key,
        channel: 1,
    }
}

/// Returns rows of `width` elements, `stride` apart, as f32 with their new distance: in `room`, unless they
/// are contiguous f32 already.
#[inline(always)]
fn widened<'a, T: Stored>(
    x: &'a [T],
    (rows, width): (usize, usize),
    stride: usize,
    room: &'a mut Vec<f32>,
) -> (&'a [f32], usize) {
    if let Some(x) = T::as_f32(x).filter(|_| stride == width) {
        return (x, stride);
    }
    room.resize(room.len().max(rows * width), 0.);
    for (i, y) in room.chunks_exact_mut(width).take(rows).enumerate() {
        for (y, x) in y.iter_mut().zip(&x[i * stride..]) {
            *y = x.widen();
        }
    }
    (room, width)
}
