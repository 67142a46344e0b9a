//! The worklog of attention: steps 1 to 5 on a prompt, steps 3 to 6 on one query.

use candle_core::{Device, Result, Tensor};
use candle_nn::ops::softmax_last_dim;
use kernels::worklogs::attention::{HEAD_DIM, STEPS};
use results::OpRow;

use super::Worklog;

const HEADS: usize = 16;
const TOKENS: usize = 4096;

/// This project's fastest attention, picked by level 5's table.
const LEVEL5: &str = "level5";
/// A copy of the keys: it reads and writes as many bytes as one query reads.
const COPY: &str = "copy";

/// As many queries as keys.
pub static PROMPT: Worklog = Worklog {
    op: "attention",
    sizes: &[TOKENS],
    shape: |queries| format!("{queries}x{HEADS}x{HEAD_DIM}"),
    title: "Attention of 4096 queries to 4096 keys, 16 heads",
    operands,
    steps: || steps(1, 5),
    step,
    references: &[(LEVEL5, level5)],
    reference_of: |_| (LEVEL5, "level 5"),
    difference,
    cost,
};

/// One query per head.
pub static DECODE: Worklog = Worklog {
    op: "attention_decode",
    sizes: &[1],
    shape: |queries| format!("{TOKENS}+{queries}x{HEADS}x{HEAD_DIM}"),
    title: "Attention of 1 query to 4096 keys, 16 heads",
    operands,
    steps: || steps(3, 6),
    step,
    references: &[(COPY, |x| x[1].copy())],
    reference_of: |_| (COPY, "a copy"),
    difference,
    cost: |_| OpRow {
        flops: None,
        bytes: Some((2 * TOKENS * HEADS * HEAD_DIM * 4) as u64),
        ..OpRow::default()
    },
};

fn cost(queries: usize) -> OpRow {
    OpRow {
        flops: Some((4 * HEADS * queries * TOKENS * HEAD_DIM) as u64),
        ..OpRow::default()
    }
}

/// q, k and v with heads first, and the same with tokens first, which level 5 takes.
fn operands(device: &Device, queries: usize) -> Result<Vec<Tensor>> {
    let mut all = vec![];
    for tokens in [queries, TOKENS, TOKENS] {
        all.push(Tensor::rand(-1f32, 1., (HEADS, tokens, HEAD_DIM), device)?);
    }
    for i in 0..3 {
        all.push(all[i].transpose(0, 1)?.contiguous()?.unsqueeze(0)?);
    }
    Ok(all)
}

fn steps(first: usize, last: usize) -> Vec<(usize, &'static str)> {
    let steps = STEPS.iter().map(|step| (step.number, step.idea));
    steps.filter(|(n, _)| (first..=last).contains(n)).collect()
}

fn step(number: usize, x: &[Tensor]) -> Result<Tensor> {
    STEPS[number - 1].attention(&x[0], &x[1], &x[2])
}

fn level5(x: &[Tensor]) -> Result<Tensor> {
    kernels::level5::attention(&x[3], &x[4], &x[5])
}

/// The largest difference from candle's operations, relative to the largest value. Rounding errors are about 1e-5;
/// TF32 has 10 bits of mantissa.
fn difference(number: usize, x: &[Tensor]) -> Result<f32> {
    let tolerance = if number == 5 { 4e-3 } else { 2e-5 };
    let scores = (x[0].matmul(&x[1].t()?)? / (HEAD_DIM as f64).sqrt())?;
    let expected = softmax_last_dim(&scores)?.matmul(&x[2])?;
    let difference = (step(number, x)? - expected)?.abs()?;
    let worst: f32 = difference.flatten_all()?.max(0)?.to_scalar()?;
    let largest: f32 = x[2].abs()?.flatten_all()?.max(0)?.to_scalar()?;
    Ok(worst / (largest * tolerance))
}
