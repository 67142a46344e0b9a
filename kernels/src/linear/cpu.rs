//! Both levels' ideas on a CPU, and their common part: y is split into rectangles, one per task.
//!
//! - Level 3 (`cpu/level3.rs`): the library multiplies a rectangle, and the epilogue runs on it while it is
//!   in the cache.
//! - Level 4 (`cpu/level4.rs`): a hand-written matmul. `cpu/panels.rs` packs the weight in reading order,
//!   `cpu/tile.rs` multiplies in registers, `cpu/block.rs` blocks the work for caches and threads.

pub(crate) mod block;
pub(crate) mod level3;
pub(crate) mod level4;
pub(crate) mod panels;
mod tile;

#[cfg(test)]
mod tests;

/// Multiply-adds per thread; waking a thread takes as long as this many.
pub(crate) const WORTH: usize = 1 << 17;

/// Returns the threads for `work` multiply-adds.
pub(crate) fn threads(work: usize) -> usize {
    (work / WORTH).clamp(1, rayon::current_num_threads())
}

/// A rectangle of y (M, N), written by one task.
pub(crate) struct Rectangle<'a, T> {
    /// Index of its first row in y.
    pub row: usize,
    /// Index of its first column in y.
    pub column: usize,
    /// Its part of each row.
    pub rows: Vec<&'a mut [T]>,
}

/// Splits y (M, N) into rectangles of `rows` by `columns`, smaller at the right and lower edge.
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
