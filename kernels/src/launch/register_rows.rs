//! Launches of level 4's row kernels: the host side of `common/row.cuh`.

use super::Launch;
use super::alignment::CHUNK;

/// Bytes of a row in one thread's registers: `CHUNKS_PER_THREAD` of `row.cuh`, four chunks.
const BYTES_PER_THREAD: usize = 4 * CHUNK;

/// Maximum number of columns in a block's registers: 1024 threads of f32, or 512 of bf16.
const MAX_COLUMNS: usize = 16384;

/// Threads per block, unless one row needs more.
const THREADS: usize = 256;

/// Blocks from which on a block gets more than one row. About the number of SMs of a large GPU: with fewer blocks, some
/// SMs would be idle.
const MIN_BLOCKS: usize = 128;

/// Returns the rows per block if a row takes `threads` threads. Few rows are spread over many blocks.
pub fn rows_per_block(rows: usize, threads: usize) -> usize {
    (THREADS / threads).min(rows.div_ceil(MIN_BLOCKS)).max(1)
}

/// Whether a block's registers hold a row of `columns` elements of `size` bytes: whole chunks, at most
/// `MAX_COLUMNS` columns.
pub fn fits_in_registers(columns: usize, size: usize) -> bool {
    (columns * size).is_multiple_of(CHUNK) && columns <= MAX_COLUMNS
}

/// Returns the threads for a row of whole chunks: the fewest warps that hold it, one up to 512 columns of f32
/// or 1024 of bf16. The number is a power of two.
fn register_threads(columns: usize, size: usize) -> usize {
    let warps = (columns * size).div_ceil(32 * BYTES_PER_THREAD);
    (32 * warps.next_power_of_two()).min(MAX_COLUMNS * size / BYTES_PER_THREAD)
}

impl Launch<'_> {
    /// Sets grid and block for `rows` rows of `columns` elements of `size` bytes that fit in registers
    /// (`fits_in_registers`): one or several warps per row, and as many rows per block as fit.
    pub fn rows_in_registers(self, rows: usize, columns: usize, size: usize) -> Self {
        self.rows(rows, register_threads(columns, size))
    }

    /// Sets grid and block for rows of any length, which a kernel reads from memory element by element.
    pub fn rows_from_memory(self, rows: usize, columns: usize, size: usize) -> Self {
        let threads = if (columns * size).is_multiple_of(CHUNK) {
            register_threads(columns, size)
        } else {
            columns.next_power_of_two().clamp(32, THREADS)
        };
        self.rows(rows, threads)
    }

    fn rows(self, rows: usize, threads: usize) -> Self {
        let rows_per_block = rows_per_block(rows, threads);
        self.grid(rows.div_ceil(rows_per_block), 1, 1)
            .block(threads, rows_per_block, 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::KernelFile;

    #[test]
    fn sizes_are_those_of_the_kernels() {
        for op in ["rms_norm", "layer_norm", "softmax"] {
            let file = KernelFile::read(&format!("{op}/level4"), "sm_75");
            let chunks = file.constant("CHUNKS_PER_THREAD");
            assert_eq!(chunks * CHUNK, BYTES_PER_THREAD);
            let threads = format!("{MAX_COLUMNS} / (CHUNKS_PER_THREAD * PER_16_BYTES<T>)");
            assert_eq!(file.expression("MAX_ROW_THREADS"), threads);
            for (dtype, size) in [("f32", 4), ("bf16", 2)] {
                let entry = format!("{op}_{dtype}_level4");
                let threads = register_threads(MAX_COLUMNS, size);
                assert_eq!(file.max_threads(&entry), threads, "{entry}");
            }
        }
    }

    #[test]
    fn rows_of_whole_chunks_fit_in_registers() {
        assert!(fits_in_registers(512, 4));
        assert!(fits_in_registers(16384, 4) && fits_in_registers(16384, 2));
        assert!(!fits_in_registers(16388, 4), "longer");
        assert!(!fits_in_registers(511, 4), "no multiple of 16 bytes");
        assert!(fits_in_registers(8, 2) && !fits_in_registers(4, 2));
    }

    #[test]
    fn a_row_gets_the_fewest_warps_that_hold_it() {
        for (columns, size, threads) in [
            (4, 4, 32),
            (512, 4, 32),
            (516, 4, 64),
            (1024, 2, 32),
            (16384, 4, 1024),
            (16384, 2, 512),
            (20000, 4, 1024),
        ] {
            assert_eq!(register_threads(columns, size), threads, "{columns}");
        }
    }
}
