// q, k and v of attention from one matmul instead of three.
//
//   x (T, C), w (3·C, C) with the rows of q, then those of k, then those of v → q, k, v (T, C)

use exercise::candle_core::{Result, Tensor};

/// Level 1: one matmul for each.
pub fn three_products(x: &Tensor, w: &Tensor) -> Result<[Tensor; 3]> {
    let c = x.dim(1)?;
    let project = |part: usize| x.matmul(&w.narrow(0, part * c, c)?.t()?);
    Ok([project(0)?, project(1)?, project(2)?])
}

/// Level 2: one matmul, and three views of its result.
pub fn one_product(x: &Tensor, w: &Tensor) -> Result<[Tensor; 3]> {
    // REGION: product
    //|     // One matmul x · wᵀ (T, 3·C), then three views of it: `narrow` copies nothing.
    //|     three_products(x, w)
    let c = x.dim(1)?;
    let qkv = x.matmul(&w.t()?)?; // (T, 3·C)
    let part = |part: usize| qkv.narrow(1, part * c, c);
    Ok([part(0)?, part(1)?, part(2)?])
    // END
}
