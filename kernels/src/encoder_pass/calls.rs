//! Calls of the moments: the kernels of Hopper's tensor cores are not simulated.

use candle_core::DType;

use super::level5::moments;
use crate::calls::List;

pub fn add(list: &mut List) {
    for [rows, columns] in [[3, 64], [9, 384]] {
        let shape = format!("{rows}×{columns}");
        list.kernel("encoder_moments", 5, &[DType::BF16], &shape, move |i| {
            moments(&i.tensor(&[rows, columns])?)
        });
    }
}
