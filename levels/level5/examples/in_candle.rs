//! A candle program that uses level 5: an attention layer and a matmul, once with candle's operations and once with
//! `level5::tuned`, from the same weights. It prints how far the results differ and how long each takes.
//!
//! The functions of `level5::tuned` return candle's [`Result`], so that `?` passes on their errors: shapes that do not match,
//! and an input for which `attention` has no kernel, come back as a [`candle_core::Error`].
//!
//! `cargo run --release -p level5 --example in_candle`, with `--features cuda` on a GPU. The documentation of
//! `level5::tuned` shows the `Cargo.toml` of a project of your own.

use std::time::Instant;

use candle_core::{Device, Module, Result, Tensor, bail};
use candle_nn::ops::softmax_last_dim;
use level5::tuned::{Linear, Tuned, attention};

const T: usize = 256; // tokens
const H: usize = 6; // heads
const D: usize = 64; // channels of a head
const C: usize = H * D; // channels of a token

/// With candle: the heads move before the tokens, and the scores of all pairs of tokens are a tensor.
fn candle(x: &Tensor, [qkv, out]: [&candle_nn::Linear; 2], head: &Tensor) -> Result<Tensor> {
    let heads = qkv.forward(x)?.reshape((1, T, 3, H, D))?;
    let heads = heads.permute((2, 0, 3, 1, 4))?.contiguous()?; // (3, 1, H, T, D)
    let [q, k, v] = [heads.get(0)?, heads.get(1)?, heads.get(2)?];
    let scores = (q.matmul(&k.t()?)? / (D as f64).sqrt())?; // (1, H, T, T)
    let y = softmax_last_dim(&scores)?.matmul(&v)?; // (1, H, T, D)
    let y = out.forward(&y.transpose(1, 2)?.reshape((1, T, C))?)?; // (1, T, C)
    y.mean(1)?.matmul(head) // (1, 10)
}

/// With level 5: the kernel for each shape comes from a table. Attention reads q, k and v where the projection left them.
fn level5(x: &Tensor, [qkv, out]: [&Linear; 2], head: &Tensor) -> Result<Tensor> {
    let heads = qkv.forward(x)?.reshape((1, T, 3, H, D))?;
    let [q, k, v] = [0, 1, 2].map(|i| heads.get_on_dim(2, i)); // (1, T, H, D), views
    let y = out.forward(&attention(&q?, &k?, &v?)?)?; // (1, T, C)
    y.mean(1)?.mm_tuned(head) // (1, 10)
}

fn main() -> Result<()> {
    let device = Device::cuda_if_available(0)?; // without the feature `cuda` this is the CPU
    let random = |shape: &[usize]| Tensor::randn(0f32, 0.05, shape, &device);
    // Or `get` them from a `VarBuilder`. Those of a `VarMap` track gradients: detach them for `attention`.
    let (qkv, out, head) = (random(&[3 * C, C])?, random(&[C, C])?, random(&[C, 10])?);
    let theirs = [&qkv, &out].map(|w| candle_nn::Linear::new(w.clone(), None));
    let ours = [&qkv, &out].map(|w| Linear::new(w.clone(), None)); // keep them: the first call packs the weights
    let x = Tensor::randn(0f32, 1., (1, T, C), &device)?;

    let (y, candle_ms) = timed(&device, || candle(&x, theirs.each_ref(), &head))?;
    let (z, level5_ms) = timed(&device, || level5(&x, ours.each_ref(), &head))?;
    let largest = |x: &Tensor| x.abs()?.max_all()?.to_scalar::<f32>();
    let difference = largest(&(&y - z)?)? / largest(&y)?;
    println!("candle {candle_ms:.3} ms, level 5 {level5_ms:.3} ms, {device:?}");
    println!("largest difference: {difference:.1e} of the largest value");
    if difference.is_nan() || difference > 1e-4 {
        bail!("expected a difference of at most 1e-4, found {difference:.1e}");
    }
    Ok(())
}

/// Calls `f` 50 times; returns its result and the median time in milliseconds.
fn timed(device: &Device, f: impl Fn() -> Result<Tensor>) -> Result<(Tensor, f64)> {
    let y = f()?; // the first call loads the kernels
    let mut times = [0.; 50];
    for time in &mut times {
        device.synchronize()?;
        let start = Instant::now();
        f()?;
        device.synchronize()?; // on a GPU the call returns before the kernels have run
        *time = start.elapsed().as_secs_f64() * 1e3;
    }
    times.sort_by(f64::total_cmp);
    Ok((y, times[25]))
}
