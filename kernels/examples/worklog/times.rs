//! Times of the steps on the first GPU of this machine.

use std::time::Instant;

use candle_core::cuda::set_gemm_reduced_precision_f32;
use candle_core::{Device, Result, Tensor};
use kernels::cuda_graph;
use kernels::worklogs::matmul::STEPS;

use super::recorded::{Recorded, Row};

/// M, N and K, as in the records.
const SIZE: usize = 4096;

/// Samples, of which the median counts.
const SAMPLES: usize = 5;

/// Times all steps and cuBLAS.
pub fn here() -> anyhow::Result<Recorded> {
    let device = cuda_graph::open(0)?;
    let operand = || Tensor::rand(-1f32, 1., (SIZE, SIZE), &device);
    let (a, b) = (operand()?, operand()?);
    let mut rows = vec![];
    for step in &STEPS {
        let us = microseconds(&device, || step.matmul(&a, &b))?;
        rows.push(row(format!("step{}", step.number), us));
    }
    for (name, tf32) in [("candle", false), ("candle_tf32", true)] {
        set_gemm_reduced_precision_f32(tf32);
        rows.push(row(name.into(), microseconds(&device, || a.matmul(&b))?));
    }
    set_gemm_reduced_precision_f32(false);
    Ok(Recorded::new("this GPU".into(), rows))
}

fn row(level: String, us: f64) -> Row {
    Row {
        level,
        flops: 2 * (SIZE as u64).pow(3),
        host_us: us,
        device_us: None,
    }
}

/// The median of a call after a first one, on the host's clock until the device has done it.
fn microseconds(device: &Device, call: impl Fn() -> Result<Tensor>) -> Result<f64> {
    call()?;
    device.synchronize()?;
    let mut samples = vec![];
    for _ in 0..SAMPLES {
        let start = Instant::now();
        call()?;
        device.synchronize()?;
        samples.push(1e6 * start.elapsed().as_secs_f64());
    }
    samples.sort_by(f64::total_cmp);
    Ok(samples[SAMPLES / 2])
}
