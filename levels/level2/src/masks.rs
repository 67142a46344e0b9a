//! Causal masks, made once.

use std::sync::Mutex;

use candle_core::{Device, Result, Tensor};

/// Causal masks, square: a prefill takes the rows and columns that it needs of one. Every layer of a forward pass needs the
/// same.
///
/// On a CPU there is one, of the last length. On a GPU a recorded pass reads its mask where it was, so none is freed. Their sizes
/// are powers of two, so that the smaller ones of a dtype together hold a third as many numbers as its largest.
#[derive(Default)]
pub struct MaskMemo(Mutex<Vec<Tensor>>);

impl MaskMemo {
    /// 0 where position j is at or before position i, −∞ after it: (T, S), the last T of S
    /// positions. `None` for a single token, which sees everything.
    pub fn get(&self, t: usize, s: usize, like: &Tensor) -> Result<Option<Tensor>> {
        if t == 1 {
            return Ok(None);
        }
        let (device, dtype) = (like.device(), like.dtype());
        let n = if device.is_cpu() {
            s // no gaps between its rows: candle adds such a one faster
        } else {
            s.next_power_of_two()
        };
        // A poisoned lock holds whole masks: they are fine.
        let mut masks = self.0.lock().unwrap_or_else(|e| e.into_inner());
        let is_it = |mask: &Tensor| {
            mask.dims()[0] == n && mask.dtype() == dtype && mask.device().same_device(device)
        };
        let mask = match masks.iter().find(|mask| is_it(mask)) {
            Some(mask) => mask.clone(),
            None => {
                let mask = causal_mask(n, device)?.to_dtype(dtype)?;
                masks.retain(|mask| !mask.device().is_cpu());
                masks.push(mask.clone());
                mask
            }
        };
        mask.narrow(0, s - t, t)?.narrow(1, 0, s).map(Some)
    }
}

/// 0 where j ≤ i, −∞ after it: (N, N)
fn causal_mask(n: usize, device: &Device) -> Result<Tensor> {
    let row = |i: usize| (0..n).map(move |j| if j > i { f32::NEG_INFINITY } else { 0. });
    let mask: Vec<f32> = (0..n).flat_map(row).collect();
    Tensor::from_vec(mask, (n, n), device)
}

#[cfg(test)]
mod tests {
    use candle_core::DType;

    use super::*;

    #[test]
    fn a_mask_is_the_last_rows_of_as_many_positions() -> Result<()> {
        let memo = MaskMemo::default();
        for dtype in [DType::F32, DType::BF16] {
            let like = Tensor::zeros(1, dtype, &Device::Cpu)?;
            assert!(memo.get(1, 5, &like)?.is_none());
            for (t, s) in [(2, 2), (3, 7), (7, 7), (2, 7), (2, 130)] {
                let mask = memo.get(t, s, &like)?.expect("a mask");
                assert_eq!((mask.dims(), mask.dtype()), (&[t, s][..], dtype));
                for (i, row) in mask
                    .to_dtype(DType::F32)?
                    .to_vec2::<f32>()?
                    .iter()
                    .enumerate()
                {
                    let expected = |j| if j > s - t + i { f32::NEG_INFINITY } else { 0. };
                    let expected: Vec<f32> = (0..s).map(expected).collect();
                    assert_eq!(*row, expected, "row {i} of {t}, {s}");
                }
            }
        }
        assert_eq!(memo.0.lock().unwrap().len(), 1);
        Ok(())
    }
}
