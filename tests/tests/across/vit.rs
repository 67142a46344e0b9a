//! Properties of the vision transformer, at every level, on every device.

use candle_core::{DType, Tensor};
use models::Result;
use tests::inputs::{rng, uniform, vision_transformer};
use tests::{devices, difference, levels};

#[test]
fn a_batch_is_its_pictures() -> Result<()> {
    for device in devices() {
        let model = vision_transformer(1, &device)?;
        let pixels = Tensor::from_vec(
            uniform(&mut rng(2), 3, 3 * 15 * 15),
            (3, 3, 15, 15),
            &device,
        )?;
        for ops in levels() {
            let together = model.forward(ops.as_ref(), &pixels)?;
            for i in 0..3 {
                let alone = model.forward(ops.as_ref(), &pixels.narrow(0, i, 1)?.contiguous()?)?;
                let apart = difference(&together.narrow(0, i, 1)?, &alone)?;
                assert!(apart <= 1e-4, "level {}: {apart}", ops.level());
            }
        }
    }
    Ok(())
}

#[test]
fn every_patch_and_its_place_matter() -> Result<()> {
    for device in devices() {
        let model = vision_transformer(1, &device)?;
        let pixels = uniform(&mut rng(2), 1, 3 * 15 * 15);
        let run = |ops: &dyn models::Ops, pixels: &[f32]| {
            model.forward(ops, &Tensor::from_slice(pixels, (1, 3, 15, 15), &device)?)
        };
        for ops in levels() {
            let before = run(ops.as_ref(), &pixels)?;
            for patch in 0..9 {
                let mut changed = pixels.clone();
                let (row, column) = (patch / 3 * 5, patch % 3 * 5);
                changed[row * 15 + column] += 1.;
                let apart = difference(&run(ops.as_ref(), &changed)?, &before)?;
                assert!(
                    apart > 1e-4,
                    "level {}, patch {patch}: {apart}",
                    ops.level()
                );
            }
            let mut flipped = pixels.clone();
            flipped.chunks_mut(15).for_each(<[f32]>::reverse);
            let apart = difference(&run(ops.as_ref(), &flipped)?, &before)?;
            assert!(
                apart > 1e-3,
                "level {}: a mirrored picture: {apart}",
                ops.level()
            );
        }
    }
    Ok(())
}

#[test]
fn class_attention_is_the_same_at_every_level_and_at_most_one() -> Result<()> {
    for device in devices() {
        let model = vision_transformer(1, &device)?;
        let pixels = Tensor::from_vec(
            uniform(&mut rng(2), 2, 3 * 15 * 15),
            (2, 3, 15, 15),
            &device,
        )?;
        let mut first = None;
        for ops in levels() {
            let weights = model.class_attention(ops.as_ref(), &pixels)?; // (2, 9)
            assert_eq!((weights.dims(), weights.dtype()), (&[2, 9][..], DType::F32));
            let sums = weights.sum(1)?.to_vec1::<f32>()?;
            assert!(sums.iter().all(|s| (0.0..=1.0).contains(s)), "{sums:?}");
            let apart = difference(&weights, first.get_or_insert(weights.clone()))?;
            assert!(apart <= 1e-4, "level {}: {apart}", ops.level());
        }
    }
    Ok(())
}
