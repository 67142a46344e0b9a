//! The keys and values of a cache on a CPU.

use super::super::params::Strides;
use super::HeadRows;
use crate::element::Element;

/// Keys per block: four of the widest registers.
pub(crate) const BLOCK: usize = 64;

/// Returns zeros, which the system allocates page by page at first access. Lanes beyond the last key are read
/// and dropped; in tests they are NaN to detect a use.
fn unwritten<T: Element>(len: usize) -> Vec<T> {
    vec![if cfg!(test) { T::NAN } else { T::zero() }; len]
}

/// Keys and values, as a separate stream per sequence and head.
pub(crate) struct Slots<T> {
    pub keys: Keys<T>,
    values: Vec<T>,
}

impl<T: Element> Slots<T> {
    pub fn new(batch: usize, capacity: usize, kv_heads: usize, head_dim: usize) -> Self {
        let keys = Keys::new(batch, capacity, kv_heads, head_dim);
        let values = unwritten(keys.data.len());
        Self { keys, values }
    }

    /// Iterates over the streams of keys and values, sequence by sequence and head by head.
    pub fn streams(&mut self) -> impl Iterator<Item = (KeyStream<'_, T>, &mut [T])> {
        let len = self.keys.stream();
        let values = self.values.chunks_exact_mut(len.max(1));
        self.keys.streams().zip(values)
    }

    /// Returns the values, (B, Hkv, positions, D).
    pub fn values(&self) -> HeadRows<'_, T> {
        let stream = self.keys.stream();
        HeadRows {
            data: &self.values,
            strides: Strides {
                batch: self.keys.heads * stream,
                token: self.keys.head_dim,
                head: stream,
            },
            head_dim: self.keys.head_dim,
        }
    }
}

#[cfg(test)]
impl<T: Element> Slots<T> {
    /// Copies keys and values, both (B, Hkv, capacity, D).
    pub fn rows(&self, capacity: usize) -> (Vec<T>, Vec<T>) {
        let (d, values) = (self.keys.head_dim, self.values());
        let streams = self.keys.data.len() / self.keys.stream().max(1);
        let mut rows = (vec![], vec![]);
        for stream in 0..streams {
            let (batch, head) = (stream / self.keys.heads, stream % self.keys.heads);
            for position in 0..capacity {
                let block = self.keys.block(batch, head, position / BLOCK);
                let key = |c: usize| block[c * BLOCK + position % BLOCK];
                rows.0.extend((0..d).map(key));
                rows.1.extend_from_slice(values.get(batch, position, head));
            }
        }
        rows
    }
}

/// Keys in blocks of 64, each transposed: (B, Hkv, positions/64, D, 64).
///
/// A register holds one channel of neighbouring keys, so their dot products with a query are summed in
/// separate lanes, and nothing is summed across lanes.
pub(crate) struct Keys<T> {
    data: Vec<T>,
    heads: usize,
    head_dim: usize,
    blocks: usize,
}

/// The blocks of one sequence and head, for writing.
pub(crate) struct KeyStream<'a, T> {
    data: &'a mut [T],
    head_dim: usize,
}

impl<T: Element> Keys<T> {
    pub fn new(batch: usize, capacity: usize, heads: usize, head_dim: usize) -> Self {
        let blocks = capacity.div_ceil(BLOCK);
        Self {
            data: unwritten(batch * heads * blocks * BLOCK * head_dim),
            heads,
            head_dim,
            blocks,
        }
    }

    /// Iterates over the streams, sequence by sequence and head by head.
    pub fn streams(&mut self) -> impl Iterator<Item = KeyStream<'_, T>> {
        let (stream, head_dim) = (self.stream(), self.head_dim);
        let streams = self.data.chunks_exact_mut(stream.max(1));
        streams.map(move |data| KeyStream { data, head_dim })
    }

    /// Returns the keys `64·i..64·i + 64`, (D, 64).
    #[inline(always)]
    pub fn block(&self, batch: usize, head: usize, i: usize) -> &[T] {
        let at = (batch * self.heads + head) * self.blocks + i;
        &self.data[at * BLOCK * self.head_dim..][..BLOCK * self.head_dim]
    }

    fn stream(&self) -> usize {
        self.blocks * BLOCK * self.head_dim
    }
}

impl<T: Element> KeyStream<'_, T> {
    /// Writes the key of a position.
    #[inline(always)]
    pub fn write(&mut self, position: usize, key: &[T]) {
        let (block, lane) = (position / BLOCK, position % BLOCK);
        let block = &mut self.data[block * BLOCK * self.head_dim..][..BLOCK * self.head_dim];
        for (channel, x) in block.chunks_exact_mut(BLOCK).zip(key) {
            channel[lane] = *x;
        }
    }
}
