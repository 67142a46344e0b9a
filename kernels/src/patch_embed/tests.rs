//! All levels against the oracle, on every device.

use candle_core::{DType, Device, Result, Tensor};
use operands::Linear;
use rand_chacha::ChaCha8Rng;

use super::{check, level3, level4, operands};
use crate::linear::tile::tiles;
use crate::output::poisoned;
use crate::testing::{Expected, assert_close, devices, gpu, pairwise, rng, tolerance, uniform};

type Kernel = fn(&Tensor, &Linear, &Tensor, &Tensor) -> Result<Tensor>;

const KERNELS: [(&str, Kernel); 2] = [
    ("level 3", level3::patch_embed),
    ("level 4", level4::patch_embed),
];

/// Number of images, rows and columns of patches, patch size, and channels per token.
#[derive(Debug, Clone, Copy)]
struct Case {
    batch: usize,
    grid: (usize, usize),
    patch: usize,
    c: usize,
}

/// The convolution as a sum over the pixels of each patch.
fn oracle(case: Case, pixels: &[f64], w: &[f64], added: [&[f64]; 3]) -> Expected {
    let Case {
        batch,
        grid: (rows, columns),
        patch: p,
        c,
    } = case;
    let [b, class, positions] = added;
    let (height, width) = (rows * p, columns * p);
    let (mut values, mut scales) = (Vec::new(), Vec::new());
    for image in 0..batch {
        for j in 0..c {
            values.push(class[j] + positions[j]);
            scales.push(class[j].abs() + positions[j].abs());
        }
        for (patch, j) in (0..rows * columns).flat_map(|patch| (0..c).map(move |j| (patch, j))) {
            let position = positions[(1 + patch) * c + j];
            let (mut value, mut scale) = (b[j] + position, b[j].abs() + position.abs());
            let (top, left) = (patch / columns * p, patch % columns * p);
            for i in 0..3 * p * p {
                let (colour, y, x) = (i / (p * p), i / p % p, i % p);
                let pixel = pixels[((image * 3 + colour) * height + top + y) * width + left + x];
                value += pixel * w[j * 3 * p * p + i];
                scale += (pixel * w[j * 3 * p * p + i]).abs();
            }
            values.push(value);
            scales.push(scale);
        }
    }
    Expected { values, scales }
}

/// Random operands and their result.
struct Inputs {
    pixels: Tensor,
    patch: Linear,
    class: Tensor,
    positions: Tensor,
    expected: Expected,
}

impl Inputs {
    fn new(rng: &mut ChaCha8Rng, case: Case, dtype: DType, device: &Device) -> Result<Self> {
        let Case {
            batch,
            grid: (rows, columns),
            patch: p,
            c,
        } = case;
        let mut uniform = |shape: &[usize]| uniform(rng, shape, dtype, device);
        let (pixels, pixels64) = uniform(&[batch, 3, rows * p, columns * p])?;
        let (w, w64) = uniform(&[c, 3, p, p])?;
        let (b, b64) = uniform(&[c])?;
        let (class, class64) = uniform(&[1, 1, c])?;
        let (positions, positions64) = uniform(&[1, 1 + rows * columns, c])?;
        let expected = oracle(case, &pixels64, &w64, [&b64, &class64, &positions64]);
        Ok(Self {
            pixels,
            patch: Linear::new(w, Some(b)),
            class,
            positions,
            expected,
        })
    }
}

fn compare(rng: &mut ChaCha8Rng, case: Case, dtype: DType, device: &Device) -> Result<()> {
    let Inputs {
        pixels,
        patch,
        class,
        positions,
        expected,
    } = &Inputs::new(rng, case, dtype, device)?;
    for (level, kernel) in KERNELS {
        let what = format!("{level} {device:?} {dtype:?} {case:?}");
        let y = poisoned(|| kernel(pixels, patch, class, positions))?;
        assert_eq!(y.dims(), [case.batch, positions.dim(1)?, case.c]);
        assert_close(&what, &y, expected, tolerance(dtype, 1e-4))?;
    }
    Ok(())
}

#[test]
fn kernels_equal_the_oracle() -> Result<()> {
    let mut rng = rng();
    let axes: [&[usize]; 6] = [
        &[1, 2, 5],
        &[1, 3, 14],
        &[1, 4, 14],
        &[1, 2, 3, 4, 5, 8, 14, 16],
        &[1, 7, 64, 65, 130],
        &[0, 1],
    ];
    for device in devices() {
        for shape in pairwise(&axes) {
            let [batch, rows, columns, patch, c, dtype] = shape[..] else {
                unreachable!()
            };
            // Few images if they are large.
            let batch = if rows * columns * patch * patch * c > 1 << 21 {
                1
            } else {
                batch
            };
            let case = Case {
                batch,
                grid: (rows, columns),
                patch,
                c,
            };
            compare(&mut rng, case, [DType::F32, DType::BF16][dtype], &device)?;
        }
    }
    Ok(())
}

/// Each tile, not only the one for the size; rows of patches are whole chunks of 16 bytes, or not.
#[test]
#[cfg_attr(
    not(feature = "cuda"),
    ignore = "needs a GPU: build with --features cuda"
)]
fn every_tile_on_a_gpu_equals_the_oracle() -> Result<()> {
    let device = gpu()?;
    let mut rng = rng();
    for dtype in [DType::F32, DType::BF16] {
        for tile in 0..tiles("patch_embed_level4", dtype)?.len() {
            for (patch, c) in [(16, 136), (8, 33), (5, 70)] {
                let case = Case {
                    batch: 2,
                    grid: (7, 11),
                    patch,
                    c,
                };
                let inputs = Inputs::new(&mut rng, case, dtype, &device)?;
                let (pixels, class) = (&inputs.pixels, &inputs.class);
                let (w, added) = operands("test", &inputs.patch, class, &inputs.positions)?;
                let shape = check("test", pixels, w.tensor(), added)?;
                let y = poisoned(|| level4::launch(pixels, w.tensor(), added, shape, tile))?;
                let what = format!("tile {tile} {dtype:?} {case:?}");
                assert_close(&what, &y, &inputs.expected, tolerance(dtype, 1e-4))?;
            }
        }
    }
    Ok(())
}

#[test]
fn an_empty_batch_launches_nothing() -> Result<()> {
    for device in devices() {
        let case = Case {
            batch: 0,
            grid: (2, 2),
            patch: 4,
            c: 8,
        };
        compare(&mut rng(), case, DType::F32, &device)?;
    }
    Ok(())
}

#[test]
fn operands_that_do_not_fit_are_errors() -> Result<()> {
    let zeros = |dims: &[usize]| Tensor::zeros(dims, DType::F32, &Device::Cpu);
    let (pixels, w) = (zeros(&[1, 3, 8, 12])?, zeros(&[6, 3, 4, 4])?);
    let (b, class, positions) = (zeros(&[6])?, zeros(&[1, 1, 6])?, zeros(&[1, 7, 6])?);
    let with = |w: &Tensor, b: &Tensor| Linear::new(w.clone(), Some(b.clone()));
    let patch = with(&w, &b);
    for (_, kernel) in KERNELS {
        assert!(kernel(&pixels, &patch, &class, &positions).is_ok());
        assert!(kernel(&zeros(&[1, 3, 8, 13])?, &patch, &class, &positions).is_err());
        assert!(kernel(&zeros(&[1, 1, 8, 12])?, &patch, &class, &positions).is_err());
        assert!(kernel(&pixels, &with(&w, &class), &class, &positions).is_err());
        assert!(kernel(&pixels, &patch, &class, &zeros(&[1, 6, 6])?).is_err());
        let bf16 = w.to_dtype(DType::BF16)?;
        for w in [
            zeros(&[6, 3, 4, 3])?,
            zeros(&[6, 3, 4, 5])?,
            zeros(&[6, 48])?,
            bf16,
        ] {
            assert!(kernel(&pixels, &with(&w, &b), &class, &positions).is_err());
        }
        let error = kernel(&pixels, &Linear::new(w.clone(), None), &class, &positions);
        let error = error.unwrap_err().to_string();
        assert!(error.contains("a projection with a bias"), "{error}");
    }
    Ok(())
}
