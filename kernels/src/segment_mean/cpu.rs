//! Both levels on a CPU: a graph and a block of channels at a time, with accumulators in registers.
//!
//! Level 3 compared with level 2: one pass over x. Level 2 copies it to f32, adds it up row by row in memory,
//! and divides in another pass, all on one thread. Here a block's sums stay in registers, and blocks are
//! divided among the threads, even for a single graph.
//!
//! Level 4 compared with level 3: explicit registers, twice as many, so that 128 channels of a node are read
//! at once. Both do one addition per four bytes, so outside the caches both are memory-bound, and lanes gain
//! nothing.
//!
//! To be faster, it must be part of the op that makes x, and never read x from memory.

use std::mem::MaybeUninit;
use std::ops::Range;

use candle_core::{Device, Result, Tensor};
use pulp::{Arch, Simd, WithSimd};

use super::Size;
use crate::cpu::lanes::{load, write};
use crate::cpu::loops::widest;
use crate::cpu::{Slice, parallel};
use crate::element::Element;
use crate::error::mismatch;
use crate::output;

/// Channels per block at levels 3 and 4.
const BLOCK: [usize; 2] = [64, 128];

/// Accumulator registers of level 4: eight of AVX-512 hold 128 channels.
const TILE: usize = 8;

pub(super) fn level3<T: Element>(x: &Tensor, offsets: &Tensor, size: Size) -> Result<Tensor> {
    run(x, offsets, size, BLOCK[0], |part: Part<T>, y| {
        widest(
            #[inline(always)]
            || match y.len() {
                // A separate branch gives the compiler a constant length.
                64 => part.mean(y, 64),
                len => part.mean(y, len),
            },
        )
    })
}

pub(super) fn level4<T: Element>(x: &Tensor, offsets: &Tensor, size: Size) -> Result<Tensor> {
    run(x, offsets, size, BLOCK[1], |part: Part<T>, y| {
        Arch::new().dispatch(Lanes(part, y))
    })
}

/// Nodes of a graph, from one channel on.
#[derive(Clone, Copy)]
struct Part<'a, T> {
    x: &'a [T],      // (nodes, C)
    channels: usize, // C
    first: usize,
}

impl<T: Element> Part<'_, T> {
    /// Returns 1/nodes, or 0 without nodes.
    #[inline(always)]
    fn share(self) -> f32 {
        match self.nodes().len() {
            0 => 0.,
            nodes => 1. / nodes as f32,
        }
    }

    /// Returns the graph's nodes.
    #[inline(always)]
    fn nodes(&self) -> Range<usize> {
        0..self.x.len() / self.channels
    }

    /// Returns `len` channels of a node, from `at` on.
    #[inline(always)]
    fn row(&self, node: usize, at: usize, len: usize) -> &[T] {
        let at = node * self.channels + self.first + at;
        &self.x[at..][..len]
    }

    #[inline(always)]
    fn mean(self, y: &mut [MaybeUninit<T>], len: usize) {
        let mut sums = [0.; BLOCK[0]];
        for node in self.nodes() {
            for (sum, x) in sums.iter_mut().zip(self.row(node, 0, len)) {
                *sum += x.widen();
            }
        }
        let share = self.share();
        for (y, sum) in y.iter_mut().zip(sums) {
            y.write(T::narrow(sum * share));
        }
    }
}

struct Lanes<'a, T>(Part<'a, T>, &'a mut [MaybeUninit<T>]);

impl<T: Element> WithSimd for Lanes<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Lanes(part, y) = self;
        let mut at = 0;
        while at < y.len() {
            let registers = match (y.len() - at) / S::F32_LANES {
                TILE.. => TILE,
                2.. => 2,
                _ => 1,
            };
            let end = y.len().min(at + registers * S::F32_LANES);
            match registers {
                TILE => mean_tile::<S, T, TILE>(simd, part, at, &mut y[at..end]),
                2 => mean_tile::<S, T, 2>(simd, part, at, &mut y[at..end]),
                _ => mean_tile::<S, T, 1>(simd, part, at, &mut y[at..end]),
            }
            at = end;
        }
    }
}

/// Computes as many channels as `N` registers have lanes; the last register may be partial.
#[inline(always)]
fn mean_tile<S: Simd, T: Element, const N: usize>(
    simd: S,
    part: Part<T>,
    at: usize,
    y: &mut [MaybeUninit<T>],
) {
    // Only a single register may have unused lanes.
    let len = if N > 1 { N * S::F32_LANES } else { y.len() };
    let mut sums = [simd.splat_f32s(0.); N];
    for node in part.nodes() {
        let x = part.row(node, at, len);
        for (n, sum) in sums.iter_mut().enumerate() {
            *sum = simd.add_f32s(*sum, load(simd, &x[n * S::F32_LANES..]));
        }
    }
    let share = simd.splat_f32s(part.share());
    for (y, sum) in y.chunks_mut(S::F32_LANES).zip(sums) {
        write(simd, y, simd.mul_f32s(sum, share));
    }
}

/// Calls `kernel` with each graph and block of channels, and their elements of y.
fn run<T: Element>(
    x: &Tensor,
    offsets: &Tensor,
    size: Size,
    block: usize,
    kernel: impl Fn(Part<T>, &mut [MaybeUninit<T>]) + Send + Sync,
) -> Result<Tensor> {
    let x = &*Slice::<T>::new(x)?;
    let offsets = Slice::<u32>::new(offsets)?;
    check_offsets(&offsets, size.nodes)?;
    let channels = size.channels;
    let mut y = output::uninit::<T>(size.graphs * channels);
    let part = |graph: usize, block_index: usize| {
        let nodes = offsets[graph] as usize * channels..offsets[graph + 1] as usize * channels;
        Part {
            x: &x[nodes],
            channels,
            first: block_index * block,
        }
    };
    let graphs = y.chunks_mut(channels.max(1)).enumerate();
    let mut parts: Vec<_> = graphs
        .flat_map(|(g, y)| y.chunks_mut(block).enumerate().map(move |(b, y)| (g, b, y)))
        .collect();
    // Average number of elements per part.
    let elements = size.nodes * channels / parts.len().max(1);
    let share = parallel::rows_per_task(parts.len(), elements);
    parallel::for_each(parts.chunks_mut(share), |parts| {
        for (g, b, y) in parts {
            kernel(part(*g, *b), y);
        }
    });
    // SAFETY: the parts are all channels of all graphs, and the kernel writes each, zeros where a graph has
    // no nodes.
    let y = unsafe { y.assume_init() }.into_vec();
    Tensor::from_vec(y, (size.graphs, channels), &Device::Cpu)
}

/// Checks that offsets ascend and end with the number of nodes.
fn check_offsets(offsets: &[u32], nodes: usize) -> Result<()> {
    let ends = (offsets[0] as usize, offsets[offsets.len() - 1] as usize);
    if ends != (0, nodes) || !offsets.is_sorted() {
        let expected = format!("offsets rising from 0 to {nodes}");
        return Err(mismatch("segment_mean", expected, format!("{ends:?}")));
    }
    Ok(())
}
