//! The same answer as transformers and PyTorch Geometric, at every level, on every device.

use candle_core::{DType, Device, Tensor};
use models::lm::Logits;
use models::{LanguageModel, Ops, Result, Sampling};
use tests::goldens::Golden;
use tests::{devices, difference, levels, watchable};

/// Relative to the largest logit. A tanh in place of erf in GELU shows as 1e-4 and more.
fn tolerance(device: &Device) -> f32 {
    if device.is_cpu() { 1e-5 } else { 1e-3 }
}

/// Runs `forward` at every level and device in f32 and holds its logits to the golden's.
fn check(name: &str, forward: impl Fn(&Golden, &dyn Ops, &Device) -> Result<Tensor>) -> Result<()> {
    let golden = Golden::open(name)?;
    let expected = golden.tensor("logits", &Device::Cpu)?;
    for device in devices() {
        for ops in levels() {
            let apart = difference(&forward(&golden, ops.as_ref(), &device)?, &expected)?;
            let (level, place) = (ops.level(), device.location());
            eprintln!("{name}, level {level}, {place:?}: {apart:.1e}");
            assert!(
                apart <= tolerance(&device),
                "{name}, level {level}, {place:?}: {apart}"
            );
        }
    }
    Ok(())
}

fn lm(name: &str) -> Result<()> {
    check(name, |golden, ops, device| {
        let model = golden.lm(DType::F32, device)?;
        let ids = golden.tensor("input_ids", device)?.to_dtype(DType::U32)?;
        let (batch, t) = ids.dims2()?;
        let mut caches = model.new_caches(ops, batch, t)?;
        Ok(model.forward(ops, &ids, &mut caches, Logits::All)?)
    })
}

fn vit(name: &str) -> Result<()> {
    check(name, |golden, ops, device| {
        let pixels = golden.tensor("pixel_values", device)?;
        Ok(golden.vit(DType::F32, device)?.forward(ops, &pixels)?)
    })
}

fn gnn(name: &str) -> Result<()> {
    check(name, |golden, ops, device| {
        let graphs = golden.graphs(DType::F32, device)?;
        Ok(golden.gnn(DType::F32, device)?.forward(ops, &graphs)?)
    })
}

#[test]
fn lm_tied_head_grouped_queries() -> Result<()> {
    lm("lm-tied-gqa")
}

#[test]
fn lm_untied_head_all_heads_sharded() -> Result<()> {
    lm("lm-untied-full")
}

#[test]
fn lm_rope_theta_and_head_dim() -> Result<()> {
    lm("lm-theta")
}

#[test]
fn lm_one_key_head() -> Result<()> {
    lm("lm-mqa")
}

#[test]
fn lm_llama3_rope_scaling() -> Result<()> {
    lm("lm-llama3")
}

#[test]
fn lm_qwen2_biases() -> Result<()> {
    lm("lm-qwen2")
}

/// The same architectures in bf16, whose 8 bits of precision leave a few percent of the largest logit.
#[test]
fn lm_llama3_and_qwen2_in_bf16() -> Result<()> {
    for name in ["lm-llama3", "lm-qwen2"] {
        let golden = Golden::open(name)?;
        let expected = golden.tensor("logits", &Device::Cpu)?;
        for device in devices() {
            let model = golden.lm(DType::BF16, &device)?;
            let ids = golden.tensor("input_ids", &device)?.to_dtype(DType::U32)?;
            for ops in levels() {
                let (level, place) = (ops.level(), device.location());
                if !watchable(level, DType::BF16, &device) {
                    continue;
                }
                let (batch, t) = ids.dims2()?;
                let mut caches = model.new_caches(ops.as_ref(), batch, t)?;
                let logits = model.forward(ops.as_ref(), &ids, &mut caches, Logits::All)?;
                let apart = difference(&logits, &expected)?;
                eprintln!("{name} in bf16, level {level}, {place:?}: {apart:.1e}");
                assert!(apart <= 5e-2, "{name}, level {level}, {place:?}: {apart}");
            }
        }
    }
    Ok(())
}

#[test]
fn vit_patch_4_seven_labels() -> Result<()> {
    vit("vit-patch4")
}

#[test]
fn vit_patch_8_one_label() -> Result<()> {
    vit("vit-patch8")
}

#[test]
fn gnn_unsorted_edges_several_graphs() -> Result<()> {
    gnn("gnn-plain")
}

#[test]
fn gnn_repeated_edges_isolated_nodes() -> Result<()> {
    gnn("gnn-awkward")
}

#[test]
fn gnn_without_edges() -> Result<()> {
    gnn("gnn-noedges")
}

/// `n` greedy tokens after `ids` (1, T), each from the cache.
fn generate(model: &LanguageModel, ops: &dyn Ops, ids: &Tensor, n: usize) -> Result<Vec<u32>> {
    let mut tokens = ids.flatten_all()?.to_vec1::<u32>()?;
    let mut caches = model.new_caches(ops, 1, tokens.len() + n)?;
    let mut next = ids.clone();
    for _ in 0..n {
        let logits = model.forward(ops, &next, &mut caches, Logits::Last)?;
        let token = ops.next_token(&logits.flatten_all()?, &mut Sampling::greedy())?;
        tokens.push(token);
        next = Tensor::new(&[[token]], ids.device())?;
    }
    Ok(tokens)
}

#[test]
fn greedy_tokens() -> Result<()> {
    for name in [
        "lm-tied-gqa",
        "lm-untied-full",
        "lm-theta",
        "lm-mqa",
        "lm-llama3",
        "lm-qwen2",
    ] {
        let golden = Golden::open(name)?;
        let expected = golden
            .tensor("tokens", &Device::Cpu)?
            .flatten_all()?
            .to_vec1::<i64>()?;
        for device in devices() {
            let model = golden.lm(DType::F32, &device)?;
            let ids = golden
                .tensor("input_ids", &device)?
                .narrow(0, 0, 1)?
                .to_dtype(DType::U32)?;
            for ops in levels() {
                let n = expected.len() - ids.dim(1)?;
                let tokens = generate(&model, ops.as_ref(), &ids, n)?;
                let tokens: Vec<i64> = tokens.into_iter().map(i64::from).collect();
                assert_eq!(tokens, expected, "{name}, level {}", ops.level());
            }
        }
    }
    Ok(())
}
