// SwiGLU (Shazeer 2020), the feed-forward part of the language model before its down-projection:
//
//   silu(x · Wgᵀ) ⊙ (x · Wuᵀ),   silu(z) = z / (1 + e⁻ᶻ)
//
// x (T, C), w (2·F, C) with the rows of the gate Wg first  →  (T, F)

use exercise::candle_core::{Result, Tensor};

pub fn swiglu(x: &Tensor, w: &Tensor) -> Result<Tensor> {
    // REGION: swiglu
    let f = w.dim(0)? / 2;
    let y = x.matmul(&w.t()?)?; // (T, 2·F)
    let gate = y.narrow(1, 0, f)?;
    let up = y.narrow(1, f, f)?;
    gate.silu()? * up
    // END
}
