//! The two ideas on a CPU, and what they share: y is cut into rectangles, one a task.
//!
//! - Level 3 (`cpu/level3.rs`): the library multiplies a rectangle, and what follows the product is done to
//!   it before it has left the cache.
//! - Level 4 (`cpu/level4.rs`): a product of our own. `cpu/panels.rs` puts the weight in the order in which
//!   it is read, `cpu/tile.rs` multiplies in registers, `cpu/block.rs` cuts the work to the caches and the
//!   threads.

pub(crate) mod block;
pub(crate) mod level3;
pub(crate) mod level4;
pub(crate) mod panels;
mod tile;

#[cfg(test)]
mod tests;

/// Multiply-adds that are worth a thread: waking one takes as long as this many.
pub(crate) const WORTH: usize = 1 << 17;

/// Threads for as many multiply-adds.
pub(crate) fn threads(work: usize) -> usize {
    (work / WORTH).clamp(1, rayon::current_num_threads())
}

/// A rectangle of y (M, N): what one task writes.
pub(crate) struct Rectangle<'a, T> {
    /// Its first row in y.
    pub row: usize,
    /// Its first column in y.
    pub column: usize,
    /// Its part of each of its rows.
    pub rows: Vec<&'a mut [T]>,
}

/// Cuts y (M, N) into rectangles of `rows` by `columns`, smaller at its right and lower edge.
pub(crate) fn rectangles<T>(
    y: &mut [T],
    n: usize,
    (rows, columns): (usize, usize),
) -> impl Iterator<Item = Rectangle<'_, T>> {
    y.chunks_mut(rows * n).enumerate().flat_map(move |(i, y)| {
        let height = y.len() / n;
        let empty = |column| Rectangle {
            row: i * rows,
            column,
            rows: Vec::with_capacity(height),
        };
        let mut across: Vec<_> = (0..n).step_by(columns).map(empty).collect();
        for row in y.chunks_mut(n) {
            for (rectangle, part) in across.iter_mut().zip(row.chunks_mut(columns)) {
                rectangle.rows.push(part);
            }
        }
        across
    })
}
