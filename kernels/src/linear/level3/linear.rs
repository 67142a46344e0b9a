//! A tile per block: the launch of `linear.ptx`, which `linear.cu` has in CUDA C++.

use candle_core::{Result, Tensor};

use crate::element::by_dtype;
use crate::launch::{Launch, Module, module};
use crate::linear::{Shape, output_like};

static F32: Module = module!("linear/level3/linear");
static BF16: Module = module!("linear/level3/linear_bf16");

/// `operands` are those after x, in the order of the parameters.
pub(super) fn launch(x: &Tensor, operands: &[Option<&Tensor>], shape: Shape) -> Result<Tensor> {
    let kernel = by_dtype(
        "linear_level3",
        x.dtype(),
        (&F32, "linear_f32_level3"),
        (&BF16, "linear_bf16_level3"),
    )?;
    launch_tile(kernel, x, operands, shape)
}

/// Rows and columns of y that a block computes, and its threads each way.
const TILE: usize = 32;

/// A launch with the tiles of `linear.ptx`. `operands` are those after x, in the order of the parameters.
pub(super) fn launch_tile(
    (module, entry): (&'static Module, &'static str),
    x: &Tensor,
    operands: &[Option<&Tensor>],
    Shape { m, n, k }: Shape,
) -> Result<Tensor> {
    let y = output_like(x, n)?;
    let mut launch = Launch::new(module, entry)
        .grid(n.div_ceil(TILE) * m.div_ceil(TILE), 1, 1)
        .block(TILE, TILE / 4, 1)
        .read(x);
    for operand in operands {
        launch = launch.read_or_null(*operand);
    }
    launch
        .write(&y)
        .u32(m)
        .u32(n)
        .u32(k)
        .u32(k * x.dtype().size_in_bytes())
        .launch()?;
    Ok(y)
}

#[cfg(test)]
mod tests {
    use candle_core::{DType, Device};
    use simt::Options;

    use super::*;
    use crate::launch::simulated;
    use crate::testing::{bits, rng, uniform};

    /// `linear.cu`, which no level launches.
    static READING_VERSION: Module = module!("linear/level3/linear", sm_75);

    #[test]
    fn the_reading_version_equals_the_ptx_bit_by_bit() -> Result<()> {
        let mut rng = rng();
        for (m, n, k) in [
            (1, 1, 1),
            (3, 40, 7),
            (33, 31, 65),
            (40, 70, 32),
            (64, 32, 100),
        ] {
            let mut random = |dims: &[usize]| -> Result<Tensor> {
                Ok(uniform(&mut rng, dims, DType::F32, &Device::Cpu)?.0)
            };
            let (x, w) = (random(&[m, k])?, random(&[n, k])?);
            let (b, residual) = (random(&[n])?, random(&[m, n])?);
            for (b, residual) in [(Some(&b), Some(&residual)), (Some(&b), None), (None, None)] {
                let operands = [Some(&w), b, residual];
                let ([cuda, ptx], reports) = simulated(Options::default(), || {
                    [&READING_VERSION, &F32].map(|module| {
                        let kernel = (module, "linear_f32_level3");
                        launch_tile(kernel, &x, &operands, Shape { m, n, k })
                    })
                });
                assert_eq!(bits(&cuda?)?, bits(&ptx?)?, "{m} × {n} × {k}");
                assert!(reports.len() == 2 && reports.iter().all(|r| r.is_clean()));
            }
        }
        Ok(())
    }
}
