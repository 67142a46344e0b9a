//! The trained models: every level, device and dtype against level 1 on the CPU in f32.

use candle_core::{DType, Device, Tensor};
use models::checkpoint::Checkpoint;
use models::config::ConfigFile;
use models::gnn::GraphBatch;
use models::lm::Logits;
use models::{GraphTransformer, LanguageModel, Ops, Result, VisionTransformer, gnn, lm, vit};
use rand::RngExt;
use tests::inputs::{rng, uniform};
use tests::{devices, difference, levels, root, watchable};

/// The weights in the repository, as `dtype` on `device`, and their configuration.
pub fn open(
    model: &str,
    dtype: DType,
    device: &Device,
) -> Result<(candle_nn::VarBuilder<'static>, ConfigFile)> {
    let folder = root().join("models/tiny").join(model);
    let config = ConfigFile::read(&folder.join("config.json"))?;
    Ok((
        Checkpoint::open(&folder)?.into_weights(dtype, device),
        config,
    ))
}

/// Holds `logits` at every level, device and dtype to those of level 1 on the CPU in f32.
fn check(logits: impl Fn(&dyn Ops, DType, &Device) -> Result<Tensor>) -> Result<()> {
    let expected = logits(levels()[0].as_ref(), DType::F32, &Device::Cpu)?;
    for device in devices() {
        for dtype in [DType::F32, DType::BF16] {
            let tolerance = match (dtype, device.is_cpu()) {
                (DType::F32, true) => 1e-5,
                (DType::F32, false) => 1e-3,
                _ => 2e-2,
            };
            for ops in levels() {
                if !watchable(ops.level(), dtype, &device) {
                    continue;
                }
                let apart = difference(&logits(ops.as_ref(), dtype, &device)?, &expected)?;
                let (level, place) = (ops.level(), device.location());
                eprintln!("level {level}, {place:?}, {dtype:?}: {apart:.1e}");
                assert!(
                    apart <= tolerance,
                    "level {level}, {place:?}, {dtype:?}: {apart}"
                );
            }
        }
    }
    Ok(())
}

#[test]
fn lm() -> Result<()> {
    check(|ops, dtype, device| {
        let (weights, config) = open("lm", dtype, device)?;
        let config = lm::Config::from_file(&config)?;
        let model = LanguageModel::load(weights, &config)?;
        let mut rng = rng(7);
        let ids: Vec<u32> = (0..66)
            .map(|_| rng.random_range(0..config.vocab_size as u32))
            .collect();
        let ids = Tensor::from_vec(ids, (2, 33), device)?;
        let mut caches = model.new_caches(ops, 2, 33)?;
        Ok(model.forward(ops, &ids, &mut caches, Logits::All)?)
    })
}

#[test]
fn vit() -> Result<()> {
    check(|ops, dtype, device| {
        let (weights, config) = open("vit", dtype, device)?;
        let config = vit::Config::from_file(&config)?;
        let side = config.image_size;
        let pixels = uniform(&mut rng(8), 3, 3 * side * side);
        let pixels = Tensor::from_vec(pixels, (3, 3, side, side), device)?.to_dtype(dtype)?;
        Ok(VisionTransformer::load(weights, &config)?.forward(ops, &pixels)?)
    })
}

#[test]
fn gnn() -> Result<()> {
    check(|ops, dtype, device| {
        let (weights, config) = open("gnn", dtype, device)?;
        let config = gnn::Config::from_file(&config)?;
        let mut rng = rng(9);
        let graphs: Vec<_> = (0..4).map(|f| data::families::draw(f, &mut rng)).collect();
        let graphs = GraphBatch::of(&graphs, &config, dtype, device)?;
        Ok(GraphTransformer::load(weights, &config)?.forward(ops, &graphs)?)
    })
}
