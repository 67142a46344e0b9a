//! The trained models with every kernel's PTX simulated: the answer of the level's own loops on the CPU, and no
//! access out of bounds, misaligned or uninitialised, no race, no barrier that not all reach.

use candle_core::{DType, Device, Result, Tensor};
use kernels::launch::simulated;
use models::gnn::GraphBatch;
use models::lm::Logits;
use models::{GraphTransformer, LanguageModel, Ops, VisionTransformer, gnn, lm, vit};
use tests::goldens::Golden;
use tests::inputs::{rng, uniform};
use tests::{difference, levels};

use crate::tiny::open;

/// Holds `logits`, simulated, to themselves on the CPU, at every level with kernels in PTX.
fn check(logits: impl Fn(&dyn Ops, DType) -> models::Result<Tensor>) -> Result<()> {
    for (dtype, tolerance) in [(DType::F32, 1e-5), (DType::BF16, 2e-2)] {
        for ops in levels().iter().filter(|ops| ops.level() >= 3) {
            let what = format!("level {}, {dtype:?}", ops.level());
            let expected = logits(ops.as_ref(), dtype)?;
            let (found, reports) = simulated(Default::default(), || logits(ops.as_ref(), dtype));
            let apart = difference(&found?, &expected)?;
            eprintln!("{what}: {} launches, {apart:.1e}", reports.len());
            assert!(apart <= tolerance, "{what}: {apart}");
            assert!(!reports.is_empty(), "{what}");
            for report in &reports {
                assert!(
                    report.is_clean(),
                    "{what}: {}: {:?}",
                    report.entry,
                    report.findings
                );
            }
        }
    }
    Ok(())
}

/// A prompt, and a token after it out of the cache.
#[test]
fn lm() -> Result<()> {
    check(|ops, dtype| {
        let (weights, config) = open("lm", dtype, &Device::Cpu)?;
        let model = LanguageModel::load(weights, &lm::Config::from_file(&config)?)?;
        let mut caches = model.new_caches(ops, 1, 6)?;
        let ids = Tensor::new(&[[5u32, 900, 31, 7, 2]], &Device::Cpu)?;
        let prompt = model.forward(ops, &ids, &mut caches, Logits::All)?;
        let next = Tensor::new(&[[77u32]], &Device::Cpu)?;
        let next = model.forward(ops, &next, &mut caches, Logits::All)?;
        Ok(Tensor::cat(&[prompt, next], 1)?)
    })
}

/// The same with biases on queries, keys and values, and with scaled rotary angles.
#[test]
fn lm_qwen2_and_llama3() -> Result<()> {
    for name in ["lm-qwen2", "lm-llama3"] {
        let golden = Golden::open(name)?;
        let ids = golden.tensor("input_ids", &Device::Cpu)?;
        let ids = ids.narrow(1, 0, 6)?.to_dtype(DType::U32)?; // (2, 6)
        check(|ops, dtype| {
            let model = golden.lm(dtype, &Device::Cpu)?;
            let mut caches = model.new_caches(ops, 2, 6)?;
            let mut read = |start, len| {
                let ids = ids.narrow(1, start, len)?.contiguous()?;
                model.forward(ops, &ids, &mut caches, Logits::All)
            };
            Ok(Tensor::cat(&[read(0, 5)?, read(5, 1)?], 1)?)
        })?;
    }
    Ok(())
}

#[test]
fn vit() -> Result<()> {
    check(|ops, dtype| {
        let (weights, config) = open("vit", dtype, &Device::Cpu)?;
        let config = vit::Config::from_file(&config)?;
        let side = config.image_size;
        let pixels = uniform(&mut rng(8), 3, side * side);
        let pixels = Tensor::from_vec(pixels, (1, 3, side, side), &Device::Cpu)?;
        let model = VisionTransformer::load(weights, &config)?;
        Ok(model.forward(ops, &pixels.to_dtype(dtype)?)?)
    })
}

#[test]
fn gnn() -> Result<()> {
    check(|ops, dtype| {
        let (weights, config) = open("gnn", dtype, &Device::Cpu)?;
        let config = gnn::Config::from_file(&config)?;
        let graph = data::families::draw(0, &mut rng(9));
        let graphs = GraphBatch::of(&[graph], &config, dtype, &Device::Cpu)?;
        Ok(GraphTransformer::load(weights, &config)?.forward(ops, &graphs)?)
    })
}
