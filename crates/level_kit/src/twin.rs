//! Rust loops over rows.

use candle_core::{DType, Error, Result, Tensor};
use rayon::prelude::*;

/// Returns the elements of a tensor on a CPU as f32, in order.
///
/// # Errors
/// The tensor is on a GPU, or has a dtype that is no number.
pub fn values(x: &Tensor) -> Result<Vec<f32>> {
    x.flatten_all()?.to_dtype(DType::F32)?.to_vec1()
}

/// Computes each row of y from the row of x with the same number, in parallel: `f(i, row of x, row of y)`.
/// x (…, K) → y (…, `columns`), of the dtype of x; the loops compute in f32.
///
/// # Errors
/// x has no dimension, or is on a GPU.
pub fn map_rows(
    x: &Tensor,
    columns: usize,
    f: impl Fn(usize, &[f32], &mut [f32]) + Sync,
) -> Result<Tensor> {
    let Some((&k, leading)) = x.dims().split_last() else {
        return Err(Error::Msg("map_rows: expected rows, found a scalar".into()));
    };
    let rows: usize = leading.iter().product();
    let from = values(x)?;
    let mut y = vec![0f32; rows * columns];
    if k > 0 && columns > 0 {
        let pairs = y.par_chunks_mut(columns).zip(from.par_chunks(k));
        pairs.enumerate().for_each(|(i, (y, x))| f(i, x, y));
    }
    let shape = [leading, &[columns]].concat();
    Tensor::from_vec(y, shape, x.device())?.to_dtype(x.dtype())
}

#[cfg(test)]
mod tests {
    use candle_core::Device;

    use super::*;

    #[test]
    fn each_row_is_mapped() -> Result<()> {
        let x = Tensor::new(&[[[1f32, 2.], [3., 4.], [5., 6.]]], &Device::Cpu)?;
        let y = map_rows(&x, 1, |i, x, y| y[0] = i as f32 + x[0] * x[1])?;
        assert_eq!(y.dims(), [1, 3, 1]);
        assert_eq!(values(&y)?, [2., 13., 32.]);
        let halves = map_rows(&x.to_dtype(DType::BF16)?, 2, |_, x, y| y.copy_from_slice(x))?;
        assert_eq!(halves.dtype(), DType::BF16);
        assert_eq!(
            map_rows(&x.narrow(1, 0, 0)?, 4, |_, _, _| ())?.dims(),
            [1, 0, 4]
        );
        assert!(map_rows(&Tensor::new(1f32, &Device::Cpu)?, 1, |_, _, _| ()).is_err());
        Ok(())
    }
}
