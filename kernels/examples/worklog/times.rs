//! Times of the steps on the first GPU of this machine.

use std::time::Instant;

use candle_core::cuda::set_gemm_reduced_precision_f32;
use candle_core::{Device, Result, Tensor};
use kernels::cuda_graph;
use kernels::worklogs::attention::HEAD_DIM;
use kernels::worklogs::{attention, matmul, softmax};

use super::Timing;
use super::recorded::{Row, Times};

/// M, N and K, and rows and columns, as in the records.
const MATMUL: usize = 4096;
const SOFTMAX: [usize; 2] = [16384, 8192];

/// Heads, and queries or keys, as in the records.
const ATTENTION: [usize; 2] = [16, 4096];

/// Samples; their median counts.
const SAMPLES: usize = 5;

/// Times the steps, and what they are compared with.
pub fn here(timing: &Timing) -> Result<Times> {
    let device = cuda_graph::open(0)?;
    let [heads, tokens] = ATTENTION;
    let (flops, bytes, times) = match timing.op {
        "matmul" => (Some(2 * MATMUL.pow(3)), None, matmul(&device)?),
        "softmax" => {
            let bytes = 8 * SOFTMAX.iter().product::<usize>();
            (None, Some(bytes), softmax(&device)?)
        }
        "attention" => {
            let flops = 4 * heads * tokens.pow(2) * HEAD_DIM;
            (Some(flops), None, attention(&device, timing, tokens)?)
        }
        "attention_decode" => {
            let bytes = 8 * heads * tokens * HEAD_DIM;
            (None, Some(bytes), attention(&device, timing, 1)?)
        }
        other => candle_core::bail!("{other}: expected an op of a worklog"),
    };
    let row = |(level, us)| Row {
        op: timing.op.into(),
        shape: "as recorded".into(),
        level,
        flops: flops.map(|flops| flops as u64),
        bytes: bytes.map(|bytes| bytes as u64),
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

/// The steps of attention of some queries to all keys, and their reference.
fn attention(device: &Device, timing: &Timing, queries: usize) -> Result<Vec<(String, f64)>> {
    let [heads, tokens] = ATTENTION;
    let operand = |tokens| Tensor::rand(-1f32, 1., (heads, tokens, HEAD_DIM), device);
    let (q, k, v) = (operand(queries)?, operand(tokens)?, operand(tokens)?);
    let mut times = vec![];
    let timed = |step: &&attention::Step| timing.steps.contains(&step.number);
    for step in attention::STEPS.iter().filter(timed) {
        let us = microseconds(device, || step.attention(&q, &k, &v))?;
        times.push((format!("step{}", step.number), us));
    }
    if queries == 1 {
        times.push(("copy".into(), microseconds(device, || k.copy())?));
        return Ok(times);
    }
    let tokens_first = |x: &Tensor| x.transpose(0, 1)?.contiguous()?.unsqueeze(0);
    let (q, k, v) = (tokens_first(&q)?, tokens_first(&k)?, tokens_first(&v)?);
    let us = microseconds(device, || kernels::level5::attention(&q, &k, &v))?;
    times.push(("level5".into(), us));
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
