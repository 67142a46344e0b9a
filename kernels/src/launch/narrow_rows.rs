//! Rows of which the lanes of one warp hold all: the host's side of `common/narrow_row.cuh`.

use candle_core::{Result, Tensor};

use super::Launch;

/// Bytes of a piece of a row, and what an operand's first element lies on.
const PIECE: usize = 16;

/// Threads of a block: `NARROW_THREADS`.
const THREADS: usize = 128;

/// Lanes a row, and pieces a lane: what there are kernels of, the smallest first.
pub const NARROW: [(usize, usize); 5] = [(16, 1), (32, 1), (32, 2), (32, 4), (32, 8)];

/// The place in [`NARROW`] of the smallest that holds rows of `columns` elements of `size` bytes; none where they are longer,
/// or no multiple of a piece.
pub fn narrow(columns: usize, size: usize) -> Option<usize> {
    let bytes = columns * size;
    let holds = |&(lanes, pieces): &(usize, usize)| bytes <= lanes * pieces * PIECE;
    let whole = bytes > 0 && bytes.is_multiple_of(PIECE);
    NARROW.iter().position(holds).filter(|_| whole)
}

/// `x`, or where it begins beside a multiple of 16 bytes of its memory, a copy in memory of its own, which begins on one.
/// (`Tensor::copy` would copy all of the memory, and begin as far behind its beginning.)
pub fn on_16_bytes(x: &Tensor) -> Result<Tensor> {
    let start = x.layout().start_offset() * x.dtype().size_in_bytes();
    match start.is_multiple_of(PIECE) {
        true => Ok(x.clone()),
        false => x.force_contiguous(),
    }
}

impl Launch<'_> {
    /// Grid and block for `rows` rows of so many lanes each.
    pub fn narrow_rows(self, rows: usize, lanes: usize) -> Self {
        self.grid((rows * lanes).div_ceil(THREADS), 1, 1)
            .block(THREADS, 1, 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_the_smallest_kernel_that_holds_it() {
        let held = |columns, size| narrow(columns, size).map(|i| NARROW[i]);
        assert_eq!(held(128, 2), Some((16, 1)));
        assert_eq!(held(136, 2), Some((32, 1)));
        assert_eq!(held(128, 4), Some((32, 1)));
        assert_eq!(held(512, 4), Some((32, 4)));
        assert_eq!(held(1024, 4), Some((32, 8)));
        assert_eq!(held(1028, 4), None, "longer");
        assert_eq!(held(511, 4), None, "no multiple of 16 bytes");
        assert_eq!(held(0, 4), None);
    }
}
