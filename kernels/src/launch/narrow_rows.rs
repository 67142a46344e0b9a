//! Launches of kernels for rows that fit in one warp: the host side of `common/narrow_row.cuh`.

use super::Launch;
use super::alignment::CHUNK;

/// Threads per block: `NARROW_THREADS`.
const THREADS: usize = 128;

/// Lanes per row and chunks per lane of the kernels, in ascending order.
pub const NARROW_VARIANTS: [(usize, usize); 5] = [(16, 1), (32, 1), (32, 2), (32, 4), (32, 8)];

/// Returns the index in [`NARROW_VARIANTS`] of the smallest kernel for rows of `columns` elements of `size`
/// bytes. `None` if rows are too long for all, or not a multiple of a chunk.
pub fn narrow_variant(columns: usize, size: usize) -> Option<usize> {
    let bytes = columns * size;
    let holds = |&(lanes, chunks): &(usize, usize)| bytes <= lanes * chunks * CHUNK;
    let whole = bytes > 0 && bytes.is_multiple_of(CHUNK);
    NARROW_VARIANTS.iter().position(holds).filter(|_| whole)
}

impl Launch<'_> {
    /// Sets grid and block for `rows` rows and the kernel of a variant (`narrow_variant`).
    pub fn narrow_rows(self, rows: usize, variant: usize) -> Self {
        let (lanes_per_row, _) = NARROW_VARIANTS[variant];
        self.grid((rows * lanes_per_row).div_ceil(THREADS), 1, 1)
            .block(THREADS, 1, 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_gets_the_smallest_kernel_that_fits() {
        let variant = |columns, size| narrow_variant(columns, size).map(|i| NARROW_VARIANTS[i]);
        assert_eq!(variant(128, 2), Some((16, 1)));
        assert_eq!(variant(136, 2), Some((32, 1)));
        assert_eq!(variant(128, 4), Some((32, 1)));
        assert_eq!(variant(512, 4), Some((32, 4)));
        assert_eq!(variant(1024, 4), Some((32, 8)));
        assert_eq!(variant(1028, 4), None, "longer");
        assert_eq!(variant(511, 4), None, "no multiple of 16 bytes");
        assert_eq!(variant(0, 4), None);
    }
}
