//! Both levels on a CPU: `copy_from_slice` copies a row by `memcpy`, which already uses the widest registers,
//! so level 4 adds nothing.
//!
//! Compared with candle's `index_select`: rows are copied in parallel, not on one thread.

use candle_core::{Result, Tensor};

use crate::cpu::{Slice, parallel};
use crate::element::Element;
use crate::error::mismatch;
use crate::output;

/// Gathers the rows of w by ids into a tensor of `shape`.
pub fn gather<T: Element>(
    kernel: &str,
    ids: &Tensor,
    w: &Tensor,
    shape: Vec<usize>,
) -> Result<Tensor> {
    let (vocab, c) = w.dims2()?;
    let ids: Vec<u32> = ids.flatten_all()?.to_vec1()?;
    let from = Slice::<T>::new(w)?;
    if let Some(id) = ids.iter().find(|&&id| id as usize >= vocab) {
        let expected = format!("ids below {vocab}, the rows of w");
        return Err(mismatch(kernel, expected, id));
    }
    let mut y = output::uninit::<T>(ids.len() * c);
    let rows = parallel::rows_per_task(ids.len(), c);
    let pieces = ids.chunks(rows).zip(y.chunks_mut(rows * c.max(1)));
    parallel::for_each(pieces, |(ids, y)| {
        for (&id, y) in ids.iter().zip(y.chunks_mut(c)) {
            y.write_copy_of_slice(&from[id as usize * c..][..c]);
        }
    });
    // SAFETY: each id has a row of y, and its row of w is copied there.
    let y = unsafe { y.assume_init() }.into_vec();
    Tensor::from_vec(y, shape, w.device())
}
