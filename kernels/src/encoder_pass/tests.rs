//! The pass against an oracle in f64 and the ops of level 4, what it refuses, and the weights that are made for it.

use std::sync::OnceLock;

use candle_core::{D, DType, Device, Result, Tensor, Var};
use operands::{EncoderBlock, EncoderPass, Linear, Norm};
use rand_chacha::ChaCha8Rng;

use super::level5::{C, F, HEADS, Normed, PART, TOKENS, can, encoder_pass, moments, prepare};
use crate::dispatch::{Facts, Feature};
use crate::launch::{noted, on_cpu};
use crate::level4;
use crate::output::poisoned;
use crate::testing::{
    Expected, affine_bf16, assert_close, behind, devices, first_if_sanitized, gpu, host,
    relative_error, rng, skip,
};

const EPS: f64 = 1e-6;

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
    for &(blocks, shift) in first_if_sanitized(&[(1, 3.), (1, 0.), (5, 0.5)]) {
        let what = format!("{blocks} blocks, mean {shift}");
        let layers: Vec<Layers> = (0..blocks)
            .map(|_| Layers::random(&mut rng, &device))
            .collect::<Result<_>>()?;
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
        let block = ["qkv", "attention", "out", "up", "down"];
        let expected = ["moments"].into_iter().chain(block.repeat(blocks));
        let expected: Vec<_> = expected
            .map(|name| format!("encoder_{name}_bf16_level5"))
            .collect();
        assert_eq!(names, expected, "{what}");

        for _ in 0..5 {
            let again = encoder_pass(&pass(&x, &layers, &prepared))?.expect("as before");
            assert_eq!(host(&again)?, y, "{what}: the same bits every time");
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
    let mut layers = vec![Layers::random(&mut rng, &device)?];
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

/// A change of the weights, and what it makes of them.
type Change = (&'static str, fn(&mut Layers) -> Result<()>);

const CHANGES: [Change; 7] = [
    ("RMSNorm", |layers| {
        let weight = Tensor::ones(C, DType::BF16, &Device::Cpu)?;
        layers.norm_before = Norm::Rms { weight, eps: EPS };
        Ok(())
    }),
    ("a norm in f32", |layers| {
        if let Norm::Layer { bias, .. } = &mut layers.norm_after {
            *bias = bias.to_dtype(DType::F32)?;
        }
        Ok(())
    }),
    ("a wider MLP", |layers| {
        layers.up = random_linear(&mut rng(), F + 8, C, &Device::Cpu)?;
        Ok(())
    }),
    ("a weight in f32", |layers| {
        let w = layers.down.weight.tensor().to_dtype(DType::F32)?;
        layers.down = Linear::new(w, layers.down.bias.clone());
        Ok(())
    }),
    ("a weight by columns", |layers| {
        let w = layers.out.weight.tensor().t()?;
        layers.out = Linear::new(w, layers.out.bias.clone());
        Ok(())
    }),
    ("an unaligned weight", |layers| {
        let w = behind(layers.qkv.weight.tensor())?;
        layers.qkv = Linear::new(w, layers.qkv.bias.clone());
        Ok(())
    }),
    ("a weight that is trained", |layers| {
        let w = Var::from_tensor(layers.qkv.weight.tensor())?;
        layers.qkv = Linear::new(w.as_tensor().clone(), layers.qkv.bias.clone());
        Ok(())
    }),
];

#[test]
fn weights_decide_whether_the_kernels_can() -> Result<()> {
    let mut layers = [Layers::random(&mut rng(), &Device::Cpu)?];
    let x = Tensor::zeros((1, TOKENS, C), DType::BF16, &Device::Cpu)?;
    let prepared = Prepared::new();
    let can = |layers: &[Layers]| {
        Ok::<_, candle_core::Error>(prepare(&pass(&x, layers, &prepared))?.is_some())
    };
    assert!(can(&layers)?);
    assert!(!can(&[])?, "no blocks");
    let other_heads = EncoderPass {
        num_heads: 2 * HEADS,
        ..pass(&x, &layers, &prepared)
    };
    assert!(prepare(&other_heads)?.is_none());
    for (what, change) in CHANGES {
        let mut changed = layers[0].clone();
        change(&mut changed)?;
        assert!(!can(&[layers[0].clone(), changed])?, "{what}");
    }
    layers[0].qkv.bias = None;
    layers[0].down.bias = None;
    assert!(can(&layers)?, "a bias may be missing");
    Ok(())
}

/// (x·w'ᵀ − mean·Σw')/σ + b' is norm(x)·wᵀ + b but for the rounding of w' to bf16.
#[test]
fn a_norm_is_folded_into_the_weights_after_it() -> Result<()> {
    let mut rng = rng();
    let norm = random_norm(&mut rng, &Device::Cpu)?;
    let Norm::Layer { weight, bias, .. } = &norm else {
        candle_core::bail!("expected LayerNorm")
    };
    for has_bias in [true, false] {
        let mut layer = random_linear(&mut rng, 40, C, &Device::Cpu)?;
        if !has_bias {
            layer.bias = None;
        }
        let (w, gain, shift) = (f64(layer.weight.tensor())?, f64(weight)?, f64(bias)?);
        let folded = Normed::new(&norm, &layer)?;
        // The products of two bf16 are exact in f32, so they are rounded once.
        let once = w.broadcast_mul(&gain)?.to_dtype(DType::F32)?;
        let once = once.to_dtype(DType::BF16)?;
        assert_eq!(host(&folded.w)?, host(&once)?);

        let own = f64(&folded.w)?;
        let zeros = Tensor::zeros(40, DType::F64, &Device::Cpu)?;
        let b = layer.bias.as_ref().map_or(Ok(zeros), f64)?;
        let constant = (w.broadcast_mul(&shift)?.sum(1)? + &b)?;
        let expected = Tensor::stack(&[&own.sum(1)?, &constant], 1)?;
        let expected = expected.flatten_all()?.to_vec1()?;
        let expected = Expected::of_order_one(expected);
        assert_close("constants", &folded.constants, &expected, 1e-5)?;

        let x = f64(&affine_bf16(&mut rng, &[9, C], (2., 1.))?)?;
        let exact = normalised(&x)?
            .broadcast_mul(&gain)?
            .broadcast_add(&shift)?;
        let exact = exact.matmul(&w.t()?)?.broadcast_add(&b)?;
        let mean = x.mean_keepdim(1)?;
        let variance = x.broadcast_sub(&mean)?.sqr()?.mean_keepdim(1)?;
        let constants = f64(&folded.constants)?;
        let part = |i| constants.narrow(1, i, 1)?.t();
        let y = (x.matmul(&own.t()?)? - mean.matmul(&part(0)?)?)?;
        let y = y.broadcast_div(&(variance + folded.eps)?.sqrt()?)?;
        let y = y
            .broadcast_add(&part(1)?)?
            .flatten_all()?
            .to_vec1::<f64>()?;
        let off = relative_error(&y, exact.flatten_all()?.to_vec1::<f64>()?);
        assert!(off < 0.004, "{off}");
    }
    Ok(())
}

#[test]
fn moments_equal_the_oracle() -> Result<()> {
    let mut rng = rng();
    for device in devices() {
        if on_cpu(&device) || !Facts::of(&device)?.at_least((9, 0)) {
            continue; // the pass is a GPU's
        }
        for (rows, columns, mean) in [(1, 32, 0.), (5, 96, 100.), (TOKENS, C, 1.)] {
            let x = affine_bf16(&mut rng, &[rows, columns], (mean, 1.))?.to_device(&device)?;
            let (mut values, mut scales) = (vec![], vec![]);
            for part in host(&x)?.chunks(PART) {
                let sum: f64 = part.iter().sum();
                let square = |x: &f64| (x - sum / PART as f64).powi(2);
                values.extend([sum, part.iter().map(square).sum()]);
                scales.extend([PART as f64 * (1. + mean), 1. + mean]);
            }
            let expected = Expected { values, scales };
            let found = poisoned(|| moments(&x))?;
            assert_eq!(found.dims(), [rows, columns / PART, 2]);
            assert_close(&format!("{device:?}"), &found, &expected, 1e-4)?;
        }
    }
    Ok(())
}
