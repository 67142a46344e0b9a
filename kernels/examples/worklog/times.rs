//! Times of the steps on the first GPU of this machine.

use std::time::Instant;

use candle_core::cuda::set_gemm_reduced_precision_f32;
use candle_core::{Device, Result, Tensor};
use kernels::cuda_graph;
use kernels::worklogs::{matmul, softmax};

use super::Worklog;
use super::recorded::{Row, Times};

/// M, N and K, and rows and columns, as in the records.
const MATMUL: usize = 4096;
const SOFTMAX: [usize; 2] = [16384, 8192];

/// Samples, of which the median counts.
const SAMPLES: usize = 5;

/// Times all steps, and what they are compared with.
pub fn here(worklog: Worklog) -> Result<Times> {
    let device = cuda_graph::open(0)?;
    let times = match worklog {
        Worklog::Matmul => matmul(&device)?,
        Worklog::Softmax => softmax(&device)?,
    };
    let row = |(level, us)| Row {
        op: worklog.name().into(),
        level,
        flops: (worklog == Worklog::Matmul).then_some(2 * (MATMUL as u64).pow(3)),
        bytes: (worklog == Worklog::Softmax).then_some(8 * SOFTMAX.iter().product::<usize>() as u64),
        host_us: us,
        device_us: None,
    };
    Ok(Times {
        name: "this GPU".into(),
        rows: times.into_iter().map(row).collect(),
    })
}

fn matmul(device: &Device) -> Result<Vec<(String, f64)>> {
    let operand = || Tensor::rand(-1f32, 1., (MATMUL, MATMUL), device);
    let (a, b) = (operand()?, operand()?);
    let mut times = vec![];
    for step in &matmul::STEPS {
        let us = microseconds(device, || step.matmul(&a, &b))?;
        times.push((format!("step{}", step.number), us));
    }
    for (name, tf32) in [("candle", false), ("candle_tf32", true)] {
        set_gemm_reduced_precision_f32(tf32);
        times.push((name.into(), microseconds(device, || a.matmul(&b))?));
    }
    set_gemm_reduced_precision_f32(false);
    Ok(times)
}

fn softmax(device: &Device) -> Result<Vec<(String, f64)>> {
    let x = Tensor::rand(-8f32, 8., &SOFTMAX[..], device)?;
    let mut times = vec![];
    for step in &softmax::STEPS {
        let us = microseconds(device, || step.softmax(&x))?;
        times.push((format!("step{}", step.number), us));
    }
    times.push(("copy".into(), microseconds(device, || x.copy())?));
    Ok(times)
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
