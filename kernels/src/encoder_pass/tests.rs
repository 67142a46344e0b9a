//! The pass against an oracle in f64 and the ops of level 4, and what it refuses.

mod prepared;

use std::sync::OnceLock;

use candle_core::{D, DType, Device, Result, Tensor};
use operands::{EncoderBlock, EncoderPass, Linear, Norm};
use rand_chacha::ChaCha8Rng;

use super::level5::{C, F, HEADS, LAYER_TILES, TOKENS, Weights, can, encoder_pass, prepare};
use crate::cuda_graph;
use crate::dispatch::{Facts, Feature};
use crate::launch::noted;
use crate::level4;
use crate::output::poisoned;
use crate::testing::{
    affine_bf16, behind, devices, first_if_sanitized, gpu, host, is_sanitized, relative_error, rng,
    skip,
};

const EPS: f64 = 1e-6;

/// The smallest number of blocks that the kernel takes.
const BLOCKS: usize = 3;

/// The weights of a block.
#[derive(Clone)]
struct Layers {
    norm_before: Norm,
    qkv: Linear,
    out: Linear,
    norm_after: Norm,
    up: Linear,
    down: Linear,
}

/// Gains around 1, and biases around 0.
fn random_norm(rng: &mut ChaCha8Rng, device: &Device) -> Result<Norm> {
    Ok(Norm::Layer {
        weight: affine_bf16(rng, &[C], (1., 0.3))?.to_device(device)?,
        bias: affine_bf16(rng, &[C], (0., 0.3))?.to_device(device)?,
        eps: EPS,
    })
}

/// Results have the size of the inputs.
fn random_linear(rng: &mut ChaCha8Rng, n: usize, k: usize, device: &Device) -> Result<Linear> {
    let w = affine_bf16(rng, &[n, k], (0., (3. / k as f64).sqrt()))?;
    let b = affine_bf16(rng, &[n], (0., 0.3))?;
    Ok(Linear::new(
        w.to_device(device)?,
        Some(b.to_device(device)?),
    ))
}

impl Layers {
    fn random(rng: &mut ChaCha8Rng, device: &Device) -> Result<Self> {
        Ok(Self {
            norm_before: random_norm(rng, device)?,
            qkv: random_linear(rng, 3 * C, C, device)?,
            out: random_linear(rng, C, C, device)?,
            norm_after: random_norm(rng, device)?,
            up: random_linear(rng, F, C, device)?,
            down: random_linear(rng, C, F, device)?,
        })
    }

    fn borrow(&self) -> EncoderBlock<'_> {
        EncoderBlock {
            norm_before: &self.norm_before,
            qkv: &self.qkv,
            out: &self.out,
            norm_after: &self.norm_after,
            up: &self.up,
            down: &self.down,
        }
    }
}

fn model(rng: &mut ChaCha8Rng, blocks: usize, device: &Device) -> Result<Vec<Layers>> {
    (0..blocks).map(|_| Layers::random(rng, device)).collect()
}

/// Prepared weights, once they are made.
type Prepared = OnceLock<Box<dyn std::any::Any + Send + Sync>>;

fn pass<'a>(x: &'a Tensor, layers: &'a [Layers], prepared: &'a Prepared) -> EncoderPass<'a> {
    EncoderPass {
        x,
        blocks: layers.iter().map(Layers::borrow).collect(),
        num_heads: HEADS,
        prepared,
    }
}

/// The block op by op, at level 4.
fn op_by_op(x: &Tensor, layers: &Layers) -> Result<Tensor> {
    let norm = |x: &Tensor, norm: &Norm| match norm {
        Norm::Layer { weight, bias, eps } => level4::layer_norm(x, weight, bias, *eps),
        Norm::Rms { .. } => candle_core::bail!("expected LayerNorm"),
    };
    let qkv = level4::linear(&norm(x, &layers.norm_before)?, &layers.qkv)?;
    let heads = qkv.reshape((1, TOKENS, 3 * HEADS, C / HEADS))?;
    let part = |i: usize| heads.narrow(2, i * HEADS, HEADS);
    let h = level4::attention(&part(0)?, &part(1)?, &part(2)?)?;
    let x = level4::linear_residual(&h, &layers.out, x)?;
    let h = level4::linear_gelu(&norm(&x, &layers.norm_after)?, &layers.up)?;
    level4::linear_residual(&h, &layers.down, &x)
}

fn f64(x: &Tensor) -> Result<Tensor> {
    x.to_device(&Device::Cpu)?.to_dtype(DType::F64)
}

/// LayerNorm of rows without gain and bias, in f64.
fn normalised(x: &Tensor) -> Result<Tensor> {
    let centred = x.broadcast_sub(&x.mean_keepdim(D::Minus1)?)?;
    let variance = centred.sqr()?.mean_keepdim(D::Minus1)?;
    centred.broadcast_div(&(variance + EPS)?.sqrt()?)
}

/// The block in f64 by candle on the CPU: x (T, C) → (T, C)
fn oracle(x: &Tensor, layers: &Layers) -> Result<Tensor> {
    let linear = |x: &Tensor, Linear { weight, bias }: &Linear| {
        let y = x.matmul(&f64(weight.tensor())?.t()?)?;
        bias.iter().try_fold(y, |y, b| y.broadcast_add(&f64(b)?))
    };
    let norm = |x: &Tensor, norm: &Norm| match norm {
        Norm::Layer { weight, bias, .. } => normalised(x)?
            .broadcast_mul(&f64(weight)?)?
            .broadcast_add(&f64(bias)?),
        Norm::Rms { .. } => candle_core::bail!("expected LayerNorm"),
    };
    let d = C / HEADS;
    let qkv = linear(&norm(x, &layers.norm_before)?, &layers.qkv)?;
    let qkv = qkv.reshape((TOKENS, 3, HEADS, d))?.permute((1, 2, 0, 3))?; // (3, H, T, D)
    let part = |i: usize| qkv.get(i)?.contiguous();
    let scores = (part(0)?.matmul(&part(1)?.t()?.contiguous()?)? / (d as f64).sqrt())?; // (H, T, T)
    let p = scores
        .broadcast_sub(&scores.max_keepdim(D::Minus1)?)?
        .exp()?;
    let p = p.broadcast_div(&p.sum_keepdim(D::Minus1)?)?;
    let h = p
        .matmul(&part(2)?)?
        .permute((1, 0, 2))?
        .reshape((TOKENS, C))?;
    let x = (x + linear(&h, &layers.out)?)?;
    let h = linear(&norm(&x, &layers.norm_after)?, &layers.up)?.gelu_erf()?;
    &x + linear(&h, &layers.down)?
}

/// A GPU that has the kernels.
fn hopper(what: &str) -> Result<Option<Device>> {
    let device = gpu()?;
    let facts = Facts::of(&device)?;
    if facts.has(Feature::Wgmma) {
        return Ok(Some(device));
    }
    skip(what, &format!("needs wgmma, found {}", facts.name));
    Ok(None)
}

/// The largest difference of two vectors; a NaN is a difference without bound.
fn largest(found: &[f64], expected: &[f64]) -> f64 {
    let apart = found.iter().zip(expected).map(|(a, b)| (a - b).abs());
    apart.fold(0., |most, x| if x > most || x.is_nan() { x } else { most })
}

#[test]
#[cfg_attr(
    not(feature = "cuda"),
    ignore = "needs a GPU: build with --features cuda"
)]
fn a_pass_is_as_close_to_the_oracle_as_its_ops() -> Result<()> {
    let Some(device) = hopper("the encoder pass against an oracle")? else {
        return Ok(());
    };
    let mut rng = rng();
    // Blocks, and how far the mean of a row is from 0.
    for &(blocks, shift) in first_if_sanitized(&[(BLOCKS, 3.), (BLOCKS, 0.), (12, 0.5)]) {
        let what = format!("{blocks} blocks, mean {shift}");
        let layers = model(&mut rng, blocks, &device)?;
        let x = affine_bf16(&mut rng, &[1, TOKENS, C], (shift, 1.5))?.to_device(&device)?;
        let mut exact = f64(&x)?.squeeze(0)?;
        let mut ops = x.clone();
        for layers in &layers {
            (exact, ops) = (oracle(&exact, layers)?, op_by_op(&ops, layers)?);
        }
        let exact = exact.flatten_all()?.to_vec1::<f64>()?;
        let ops = host(&ops)?;
        let prepared = Prepared::new();
        let (y, launches) = noted(|| poisoned(|| encoder_pass(&pass(&x, &layers, &prepared))));
        let y = y?.expect("a pass that the kernels compute");
        assert_eq!((y.dims(), y.dtype()), (x.dims(), DType::BF16));
        let y = host(&y)?;
        let off = [&y, &ops].map(|y| relative_error(y, exact.iter().copied()));
        assert!(off[0] <= 1.5 * off[1] && off[0] < 0.02, "{what}: {off:?}");
        let most = [&y, &ops].map(|y| largest(y, &exact));
        assert!(most[0] <= 2.5 * most[1], "{what}: {most:?}");

        let names: Vec<&str> = launches.iter().map(|launch| &*launch.kernel).collect();
        assert_eq!(names, ["encoder_pass_bf16_level5"], "{what}");

        for _ in 0..5 {
            let again = encoder_pass(&pass(&x, &layers, &prepared))?.expect("as before");
            assert_eq!(host(&again)?, y, "{what}: the same bits every time");
        }
    }
    Ok(())
}

/// Passes that follow each other share their buffers of k and v. Each x gives the same bits as alone, in any order: with two
/// models in turn, without waiting in between, and after an x with NaN, whose result is all NaN.
#[test]
#[cfg_attr(
    not(feature = "cuda"),
    ignore = "needs a GPU: build with --features cuda"
)]
fn passes_leave_their_buffers_as_they_were() -> Result<()> {
    let Some(device) = hopper("encoder passes one after another")? else {
        return Ok(());
    };
    let mut rng = rng();
    let models = [
        model(&mut rng, BLOCKS, &device)?,
        model(&mut rng, 2 * BLOCKS, &device)?,
    ];
    let prepared = [Prepared::new(), Prepared::new()];
    let inputs: Vec<Tensor> = (0..3)
        .map(|_| affine_bf16(&mut rng, &[1, TOKENS, C], (0., 1.))?.to_device(&device))
        .collect::<Result<_>>()?;
    let run = |m: usize, x: &Tensor| -> Result<Tensor> {
        let y = encoder_pass(&pass(x, &models[m], &prepared[m]))?;
        Ok(y.expect("a pass that the kernel computes"))
    };
    let mut alone = vec![];
    for m in 0..2 {
        for x in &inputs {
            let y = host(&run(m, x)?)?;
            assert!(y.iter().all(|y| y.is_finite()));
            alone.push(y);
        }
    }
    let nan = affine_bf16(&mut rng, &[1, 1, C], (0., 1.))?.affine(f64::NAN, 0.)?;
    let nan = nan.to_device(&device)?;
    let nan = Tensor::cat(&[&inputs[0].narrow(1, 0, TOKENS - 1)?, &nan], 1)?;
    for round in 0..if is_sanitized() { 1 } else { 20 } {
        let order = [0, 3, 1, 2, 4, 0, 0, 5].map(|i| (i, i / 3, &inputs[i % 3]));
        let ran = order.map(|(_, m, x)| run(m, x));
        for ((i, ..), y) in order.into_iter().zip(ran) {
            assert_eq!(host(&y?)?, alone[i], "round {round}, pass {i}");
        }
        let nans = [run(0, &nan)?, run(1, &nan)?];
        for y in nans {
            assert!(host(&y)?.iter().all(|y| y.is_nan()), "round {round}");
        }
    }
    Ok(())
}

/// Two passes at once could wait for each other: the first stream keeps the pass.
#[test]
#[cfg_attr(
    not(feature = "cuda"),
    ignore = "needs a GPU: build with --features cuda"
)]
fn another_stream_of_the_gpu_has_no_pass() -> Result<()> {
    let Some(device) = hopper("the encoder pass on two streams")? else {
        return Ok(());
    };
    if is_sanitized() {
        skip("two streams", "a sanitizer follows one");
        return Ok(());
    }
    for (is_first, device) in [(true, device), (false, cuda_graph::open(0)?)] {
        let mut rng = rng();
        let layers = model(&mut rng, BLOCKS, &device)?;
        let x = affine_bf16(&mut rng, &[1, TOKENS, C], (0., 1.))?.to_device(&device)?;
        let prepared = Prepared::new();
        for _ in 0..2 {
            let (y, launches) = noted(|| encoder_pass(&pass(&x, &layers, &prepared)));
            assert_eq!(y?.is_some(), is_first);
            assert_eq!(launches.len(), usize::from(is_first));
        }
    }
    Ok(())
}

/// Without an answer nothing is launched and nothing is kept.
#[test]
#[cfg_attr(
    not(feature = "cuda"),
    ignore = "needs a GPU: build with --features cuda"
)]
fn operands_that_the_kernels_cannot_read_are_left_to_the_ops() -> Result<()> {
    let Some(device) = hopper("what the encoder pass refuses")? else {
        return Ok(());
    };
    let mut rng = rng();
    let mut layers = model(&mut rng, BLOCKS, &device)?;
    let x = affine_bf16(&mut rng, &[1, TOKENS, C], (0., 1.))?.to_device(&device)?;
    let refused = |x: &Tensor, layers: &[Layers], prepared: &Prepared| -> Result<()> {
        let (y, launches) = noted(|| encoder_pass(&pass(x, layers, prepared)));
        assert!(y?.is_none() && launches.is_empty());
        Ok(())
    };
    let prepared = Prepared::new();
    refused(&Tensor::cat(&[&x, &x], 0)?, &layers, &prepared)?;
    refused(&x.to_dtype(DType::F32)?, &layers, &prepared)?;
    refused(&behind(&x)?, &layers, &prepared)?;
    assert!(prepared.get().is_none(), "nothing was made for them");
    assert!(encoder_pass(&pass(&x, &layers, &prepared))?.is_some());
    layers[0].norm_after = Norm::Rms {
        weight: Tensor::ones(C, DType::BF16, &device)?,
        eps: EPS,
    };
    refused(&x, &layers, &Prepared::new())
}

#[test]
fn x_decides_whether_the_kernels_can() -> Result<()> {
    let hopper = Facts::any_gpu((9, 0), 132);
    let x = Tensor::zeros((1, TOKENS, C), DType::BF16, &Device::Cpu)?;
    assert!(can(&hopper, &x));
    for other in [(7, 5), (8, 0), (8, 9), (10, 0), (12, 0)] {
        assert!(!can(&Facts::any_gpu(other, 132), &x), "{other:?}");
    }
    assert!(!can(&Facts::cpu("a CPU", 8), &x));
    let simulated = Facts {
        simulated: true,
        ..hopper.clone()
    };
    assert!(!can(&simulated, &x), "no wgmma in the simulator");
    let of = |dims: &[usize]| Tensor::zeros(dims, DType::BF16, &Device::Cpu);
    for dims in [
        &[2, TOKENS, C][..],
        &[1, TOKENS - 1, C],
        &[1, TOKENS, 2 * C],
        &[TOKENS, C],
    ] {
        assert!(!can(&hopper, &of(dims)?), "{dims:?}");
    }
    assert!(!can(&hopper, &x.to_dtype(DType::F32)?));
    assert!(!can(&hopper, &behind(&x)?), "no multiple of 16 bytes");
    let turned = of(&[1, C, TOKENS])?.transpose(1, 2)?;
    assert!(!can(&hopper, &turned), "by columns");
    Ok(())
}

#[test]
fn a_cpu_has_no_pass() -> Result<()> {
    let layers = [Layers::random(&mut rng(), &Device::Cpu)?];
    let x = Tensor::zeros((1, TOKENS, C), DType::BF16, &Device::Cpu)?;
    let prepared = Prepared::new();
    for device in devices() {
        if device.is_cpu() {
            assert!(encoder_pass(&pass(&x, &layers, &prepared))?.is_none());
        }
    }
    assert!(prepared.get().is_none());
    Ok(())
}
