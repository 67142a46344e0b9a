//! Normalisation and elementwise ops: memory is the limit.

use candle_core::Result;
use kernels::{layer_norm as layer, rms_norm as rms};

use super::{Bench, Case, Work, mixed_rows, with_large};

timed! {
    rms_norm: Rows, Some("128x512"), rms_norm;
    layer_norm: Rows, Some("197x384"), layer_norm;
}

/// Rows and channels too large for the caches of a GPU.
const LARGE: [[usize; 2]; 2] = [[4096, 4096], [16384, 8192]];

/// x is read and the norm written: twice rows × C.
fn traffic(bench: &impl Bench, rows: usize, c: usize) -> Work {
    Work::Bytes(2 * rows * c * bench.dtype().size_in_bytes())
}

/// RMSNorm of `lm.readme`: decode and prefill, and of two larger tensors.
fn rms_norm(bench: &mut impl Bench) -> Result<()> {
    let shapes = [[1, 512], [128, 512], [1024, 1024], [4096, 2048]];
    for [t, c] in with_large(bench, &shapes, &LARGE) {
        let x = mixed_rows(bench, "x", t, c)?.unsqueeze(0)?;
        let w = bench.tensor("norm.weight", &[c])?;
        let case = Case {
            op: "rms_norm",
            shape: &format!("{t}x{c}"),
            work: traffic(bench, t, c),
            cost: rms::cost(t, c, bench.dtype()),
        };
        bench.function(case, &[("x", &x), ("w", &w)], |level| {
            let (x, w) = (x.clone(), w.clone());
            Ok(move || (level.rms_norm)(&x, &w, 1e-5))
        })?;
    }
    Ok(())
}

/// LayerNorm of `vit.s16` and `gnn.base`, and of two larger tensors.
fn layer_norm(bench: &mut impl Bench) -> Result<()> {
    let shapes = [[197, 384], [4096, 128], [1024, 1024], [4096, 2048]];
    for [t, c] in with_large(bench, &shapes, &LARGE) {
        let x = mixed_rows(bench, "x", t, c)?.unsqueeze(0)?;
        let w = bench.tensor("norm.weight", &[c])?;
        let b = bench.tensor("norm.bias", &[c])?;
        let case = Case {
            op: "layer_norm",
            shape: &format!("{t}x{c}"),
            work: traffic(bench, t, c),
            cost: layer::cost(t, c, bench.dtype()),
        };
        bench.function(case, &[("x", &x), ("w", &w), ("b", &b)], |level| {
            let (x, w, b) = (x.clone(), w.clone(), b.clone());
            Ok(move || (level.layer_norm)(&x, &w, &b, 1e-5))
        })?;
    }
    Ok(())
}
