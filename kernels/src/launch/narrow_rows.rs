//! Launches of kernels for rows that fit in one warp: the host side of `common/narrow_row.cuh`.

use super::Launch;
use super::alignment::CHUNK;

/// Threads of a block: `NARROW_ROW_THREADS`.
const THREADS: usize = 128;

/// Lanes per row and chunks per lane of the kernels, the smallest first.
pub const NARROW_ROW_VARIANTS: [(usize, usize); 5] = [(16, 1), (32, 1), (32, 2), (32, 4), (32, 8)];

/// The index in [`NARROW_ROW_VARIANTS`] of the smallest kernel that holds rows of `columns` elements of `size` bytes.
/// `None` if they are longer than the largest holds, or no multiple of a chunk.
pub fn narrow_row_variant(columns: usize, size: usize) -> Option<usize> {
    let bytes = columns * size;
    let holds = |&(lanes, chunks): &(usize, usize)| bytes <= lanes * chunks * CHUNK;
    let whole = bytes > 0 && bytes.is_multiple_of(CHUNK);
    NARROW_ROW_VARIANTS.iter().position(holds).filter(|_| whole)
}

impl Launch<'_> {
    /// Grid and block for `rows` rows and the kernel of a variant (`narrow_row_variant`).
    pub fn narrow_rows(self, rows: usize, variant: usize) -> Self {
        let (lanes_per_row, _) = NARROW_ROW_VARIANTS[variant];
        self.grid((rows * lanes_per_row).div_ceil(THREADS), 1, 1)
            .block(THREADS, 1, 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::KernelFile;

    #[test]
    fn sizes_are_those_of_the_kernels() {
        for op in ["rms_norm", "layer_norm"] {
            let file = KernelFile::read(&format!("{op}/level5"), "sm_75");
            assert_eq!(file.constant("NARROW_ROW_THREADS"), THREADS);
            for (lanes, chunks) in NARROW_ROW_VARIANTS {
                for (dtype, of_cuda) in [("f32", "float"), ("bf16", "bf16")] {
                    let entry = format!("{op}_{dtype}_level5_{lanes}x{chunks}");
                    let line = format!("KERNEL({entry}, {of_cuda}, {lanes}, {chunks})");
                    assert!(file.has_line(&line), "{line}");
                    assert_eq!(file.max_threads(&entry), THREADS, "{entry}");
                }
            }
        }
    }

    #[test]
    fn a_row_has_the_smallest_kernel_that_holds_it() {
        let variant =
            |columns, size| narrow_row_variant(columns, size).map(|i| NARROW_ROW_VARIANTS[i]);
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
