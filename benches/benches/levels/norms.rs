//! Normalisation with the addition before it: memory is the limit.

use candle_core::Result;

use crate::harness::{Harness, Work};

/// x and the residual are read, the sum and the norm written: four times rows × C in f32.
fn traffic(rows: usize, c: usize) -> Work {
    Work::Bytes(4 * rows * c * size_of::<f32>())
}

/// RMSNorm of `lm.readme`: decode and prefill, and of a tensor that no cache holds.
pub fn add_rms_norm(harness: &mut Harness) -> Result<()> {
    for [t, c] in [[1, 512], [128, 512], [4096, 2048]] {
        let x = harness.tensor("x", &[1, t, c])?;
        let residual = harness.tensor("residual", &[1, t, c])?;
        let w = harness.tensor("norm.weight", &[c])?;
        let shape = format!("{t}x{c}");
        harness.op("add_rms_norm", &shape, traffic(t, c), |level| {
            let (x, residual, w) = (x.clone(), residual.clone(), w.clone());
            Ok(move || Ok(level.add_rms_norm(&x, Some(&residual), &w, 1e-5)?.1))
        })?;
    }
    Ok(())
}

/// LayerNorm of `vit.s16` and `gnn.base`, and of a tensor that no cache holds.
pub fn add_layer_norm(harness: &mut Harness) -> Result<()> {
    for [t, c] in [[197, 384], [4096, 128], [4096, 2048]] {
        let x = harness.tensor("x", &[1, t, c])?;
        let residual = harness.tensor("residual", &[1, t, c])?;
        let w = harness.tensor("norm.weight", &[c])?;
        let b = harness.tensor("norm.bias", &[c])?;
        let shape = format!("{t}x{c}");
        harness.op("add_layer_norm", &shape, traffic(t, c), |level| {
            let (x, residual) = (x.clone(), residual.clone());
            let (w, b) = (w.clone(), b.clone());
            Ok(move || Ok(level.add_layer_norm(&x, Some(&residual), &w, &b, 1e-5)?.1))
        })?;
    }
    Ok(())
}
