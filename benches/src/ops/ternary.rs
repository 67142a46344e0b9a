//! A matmul with ternary weights, which no model has yet: the same weights at two bits, next to f32 or bf16.

use candle_core::Result;
use kernels::ternary_linear::{Ternary, level4};

use super::{Bench, Contenders, Work};

timed! {
    ternary_linear: Matmuls, None, ternary_linear;
}

/// N = K = 4096: a token, and a batch of them.
fn ternary_linear(bench: &mut impl Bench) -> Result<()> {
    let side = 4096;
    let w = Ternary::quantize(&bench.tensor("w", &[side, side])?)?;
    let rows = w.dequantize()?.to_dtype(bench.dtype())?; // (N, K)
    let full = rows.t()?;
    for m in [1, 32] {
        let x = bench.tensor("x", &[m, side])?;
        let shape = format!("{m}x{side}x{side}");
        let work = Work::Flops(2 * m * side * side);
        let op = "ternary_linear";
        let product = || x.matmul(&full);
        bench.given(op, &shape, &[("x", &x), ("w", &rows)], product)?;
        let all: Contenders = vec![
            ("level2", Box::new(product)),
            ("lut", Box::new(|| level4::lut(&x, &w))),
            ("dp4a", Box::new(|| level4::dp4a(&x, &w))),
        ];
        bench.times(op, &shape, work, all)?;
    }
    Ok(())
}
