//! The blocks of the vision transformer `s16` in one launch: replays and passes in between share their buffers.

use candle_core::{DType, Device, Tensor};
use kernels::dispatch::{Facts, Feature};
use kernels::launch::noted;
use models::random::RandomWeights;
use models::{VisionTransformer, presets, vit};
use replay::Replay;
use tests::difference;
use tests::inputs::{fresh_rng, uniform};

use crate::{gpu, values, watched};

const BLOCKS: usize = 3;

/// `s16` with fewer blocks.
fn model(dtype: DType, device: &Device) -> models::Result<VisionTransformer> {
    let config = vit::Config {
        num_hidden_layers: BLOCKS,
        ..presets::vit("s16").expect("a preset")
    };
    let weights = RandomWeights::weights(5, dtype, device);
    Ok(VisionTransformer::load(weights, &config)?)
}

/// Runs `f` and counts the launches of the encoder pass.
fn counted<T>(f: impl FnOnce() -> T) -> (T, usize) {
    let (value, launches) = noted(f);
    let of_pass = launches.iter().filter(|l| l.kernel.starts_with("encoder_"));
    (value, of_pass.count())
}

#[test]
#[cfg_attr(
    not(feature = "cuda"),
    ignore = "needs a GPU: build with --features cuda"
)]
fn an_encoder_pass_is_replayed_bit_by_bit() -> models::Result<()> {
    let device = gpu()?;
    let facts = Facts::of(&device)?;
    if !facts.has(Feature::Wgmma) {
        let why = format!("needs wgmma, found {}", facts.name);
        tests::skip("the encoder pass in a graph", &why);
        return Ok(());
    }
    if !tests::watchable(5, DType::BF16, &device) {
        return Ok(());
    }
    let [first, ops] = [1, 5].map(|level| levels::level(level).expect("a level"));
    let (model, in_f32) = (model(DType::BF16, &device)?, model(DType::F32, &device)?);
    let mut rng = fresh_rng();
    let mut replay = Replay::default();
    for round in 0..watched(50) {
        let pixels = uniform(&mut rng, 1, 3 * 224 * 224);
        let pixels = Tensor::from_vec(pixels, (1, 3, 224, 224), &device)?;
        let pixels = pixels.to_dtype(DType::BF16)?;
        // The recording comes first: the run before it makes the weights.
        let found = replay.run(&device, &[&pixels], |x| model.forward(&*ops, &x[0]))?;
        let found = values(&found)?;
        let (expected, launches) = counted(|| model.forward(&*ops, &pixels));
        assert_eq!(launches, 1);
        assert_eq!(found, values(&expected?)?, "round {round}");
        if round > 0 {
            continue;
        }
        // Two images are computed op by op, and so is f32. All are as close to level 1 in f32.
        let f32 = pixels.to_dtype(DType::F32)?;
        let exact = in_f32.forward(&*first, &f32)?;
        let two = Tensor::cat(&[&pixels, &pixels], 0)?;
        let (two, launches) = counted(|| model.forward(&*ops, &two));
        assert_eq!(launches, 0);
        let (f32, launches) = counted(|| in_f32.forward(&*ops, &f32));
        assert_eq!(launches, 0);
        assert!(difference(&f32?, &exact)? < 1e-3);
        let found = Tensor::from_vec(found, exact.dims(), &device)?;
        let by_ops = difference(&two?.narrow(0, 1, 1)?, &exact)?;
        let by_pass = difference(&found, &exact)?;
        assert!(
            by_pass < 2. * by_ops && by_pass < 0.05,
            "{by_pass}, {by_ops}"
        );
    }
    Ok(())
}
