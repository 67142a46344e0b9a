//! How many threads take a row that they hold in registers: the host's side of `common/row.cuh`.

use super::Launch;

/// Bytes of a row that a thread holds: four pieces of 16.
const HELD: usize = 64;

/// Columns that a block holds at the most; a longer row goes through memory, and so does one that does not
/// lie on 16 bytes.
const COLUMNS: usize = 16384;

/// Threads of a block where a row takes no more.
const THREADS: usize = 256;

/// Blocks before any has a second row: about as many as a large GPU has multiprocessors, which would be idle otherwise.
const SPREAD: usize = 128;

/// Rows of a block whose rows take `threads` threads each: few rows are spread over many blocks.
pub fn rows_a_block(rows: usize, threads: usize) -> usize {
    (THREADS / threads).min(rows.div_ceil(SPREAD)).max(1)
}

impl Launch<'_> {
    /// Grid and block for `rows` rows of `columns` elements of `size` bytes: a warp or several a row, as many
    /// rows a block as there is room for.
    pub fn held_rows(self, rows: usize, columns: usize, size: usize) -> Self {
        let threads = if (columns * size).is_multiple_of(16) {
            // As few warps as can hold a row: one up to 512 columns of f32 or 1024 of bf16.
            let warps = (columns * size).div_ceil(HELD * 32).next_power_of_two();
            (32 * warps).min(COLUMNS * size / HELD)
        } else {
            columns.next_power_of_two().clamp(32, THREADS)
        };
        let rows_a_block = rows_a_block(rows, threads);
        self.grid(rows.div_ceil(rows_a_block), 1, 1)
            .block(threads, rows_a_block, 1)
    }
}
