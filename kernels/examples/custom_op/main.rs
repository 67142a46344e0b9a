//! From PTX text to a tensor with a gradient: `silu_mul.rs` is an op of candle, made without this workbook's crates.
//!
//! `cargo run --release -p kernels --example custom_op`, with `--features cuda` on a GPU. The chapter "From a kernel to
//! candle" explains it, and `kernels/tests/custom_op.rs` tests it.

#[cfg(feature = "cuda")]
mod gpu;
mod silu_mul;
mod simulated;

use anyhow::{Result, ensure};
use candle_core::{Device, Tensor, Var};
use silu_mul::silu_mul;

/// One more than three blocks have threads.
const N: usize = 769;

fn main() -> Result<()> {
    let [gate, up] = [3., 5.].map(|step| Vec::from_iter((0..N).map(|i| (step * i as f32).sin())));
    let y = train(&gate, &up, &Device::Cpu)?;

    let (found, report) = simulated::simulated(&gate, &up)?;
    close("simulator", &found, &y)?;
    ensure!(report.findings.is_empty(), "{}", report.findings[0]);
    let counts = &report.total;
    println!(
        "simulator: the kernel's result is the CPU's; {} + {} sectors, no findings",
        counts.global_load_sectors, counts.global_store_sectors
    );
    on_gpu(&gate, &up, &y)
}

/// Runs the op forward and backward, and prints what a step of gradient descent does to the loss. Returns y.
fn train(gate: &[f32], up: &[f32], device: &Device) -> Result<Vec<f32>> {
    let gate = Var::from_tensor(&Tensor::new(gate, device)?)?;
    let up = Tensor::new(up, device)?;
    let loss = |gate: &Tensor| silu_mul(gate, &up)?.sqr()?.sum_all();
    let before = loss(&gate)?;
    let gradients = before.backward()?;
    let d_gate = gradients.get(&gate).expect("a Var has a gradient");
    let y = silu_mul(&gate, &up)?.to_vec1()?;
    let after = loss(&(gate.as_tensor() - (d_gate * 0.1)?)?)?;
    let [before, after] = [before, after].map(|x| x.to_scalar::<f32>());
    let (before, after) = (before?, after?);
    println!(
        "{device:?}: a step along the gradient lowers the loss from {before:.2} to {after:.2}"
    );
    ensure!(after < before, "expected a lower loss");
    Ok(y)
}

#[cfg(feature = "cuda")]
fn on_gpu(gate: &[f32], up: &[f32], y: &[f32]) -> Result<()> {
    use gpu::Source;
    let device = Device::new_cuda(0)?;
    close("GPU, candle", &train(gate, up, &device)?, y)?;
    for (name, source) in [("GPU, PTX", Source::Ptx), ("GPU, NVRTC", Source::Cuda)] {
        close(name, &gpu::without_candle(source, gate, up)?, y)?;
        println!("{name}: the same result without candle");
    }
    Ok(())
}

#[cfg(not(feature = "cuda"))]
fn on_gpu(_: &[f32], _: &[f32], _: &[f32]) -> Result<()> {
    println!("GPU: not run, because this was built without the feature `cuda`");
    Ok(())
}

/// Checks that two results agree but for the roundings of a few operations.
fn close(name: &str, found: &[f32], expected: &[f32]) -> Result<()> {
    ensure!(
        found.len() == expected.len(),
        "{name}: {} elements",
        found.len()
    );
    for (i, (a, b)) in found.iter().zip(expected).enumerate() {
        ensure!(
            (a - b).abs() <= 1e-6,
            "{name}: element {i}: expected {b}, found {a}"
        );
    }
    Ok(())
}
