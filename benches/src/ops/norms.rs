//! Normalisation with the addition before it: memory is the limit.

use candle_core::Result;

use super::{Bench, Work, mixed_rows, with_large};

/// Rows and channels, of which nothing stays in a cache of a GPU.
const LARGE: [[usize; 2]; 2] = [[4096, 4096], [16384, 8192]];

/// x and the residual are read, the sum and the norm written: four times rows × C.
fn traffic(bench: &impl Bench, rows: usize, c: usize) -> Work {
    Work::Bytes(4 * rows * c * bench.dtype().size_in_bytes())
}

/// RMSNorm of `lm.readme`: decode and prefill, and of two larger tensors.
pub fn add_rms_norm(bench: &mut impl Bench) -> Result<()> {
    let shapes = [[1, 512], [128, 512], [1024, 1024], [4096, 2048]];
    for [t, c] in with_large(bench, &shapes, &LARGE) {
        let x = mixed_rows(bench, "x", t, c)?.unsqueeze(0)?;
        let residual = mixed_rows(bench, "residual", t, c)?.unsqueeze(0)?;
        let w = bench.tensor("norm.weight", &[c])?;
        let shape = format!("{t}x{c}");
        let work = traffic(bench, t, c);
        let operands = [("x", &x), ("residual", &residual), ("w", &w)];
        bench.op("add_rms_norm", &shape, work, &operands, |level| {
            let (x, residual, w) = (x.clone(), residual.clone(), w.clone());
            Ok(move || Ok(level.add_rms_norm(&x, Some(&residual), &w, 1e-5)?.1))
        })?;
    }
    Ok(())
}

/// LayerNorm of `vit.s16` and `gnn.base`, and of two larger tensors.
pub fn add_layer_norm(bench: &mut impl Bench) -> Result<()> {
    let shapes = [[197, 384], [4096, 128], [1024, 1024], [4096, 2048]];
    for [t, c] in with_large(bench, &shapes, &LARGE) {
        let x = mixed_rows(bench, "x", t, c)?.unsqueeze(0)?;
        let residual = mixed_rows(bench, "residual", t, c)?.unsqueeze(0)?;
        let w = bench.tensor("norm.weight", &[c])?;
        let b = bench.tensor("norm.bias", &[c])?;
        let shape = format!("{t}x{c}");
        let work = traffic(bench, t, c);
        let operands = [("x", &x), ("residual", &residual), ("w", &w), ("b", &b)];
        bench.op("add_layer_norm", &shape, work, &operands, |level| {
            let (x, residual) = (x.clone(), residual.clone());
            let (w, b) = (w.clone(), b.clone());
            Ok(move || Ok(level.add_layer_norm(&x, Some(&residual), &w, &b, 1e-5)?.1))
        })?;
    }
    Ok(())
}
