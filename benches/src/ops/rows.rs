//! Ops of a row that the models have only inside others: softmax and GELU alone.

use candle_core::{DType, Result, Tensor};
use candle_nn::ops::softmax_last_dim;
use kernels::cost::Cost;

use super::{Bench, Contenders, Work, copy, mixed_rows, with_large};

timed! {
    softmax: Rows, Some("1024x1024"), softmax;
    gelu: Rows, Some("1024x1024"), gelu;
}

/// Rows and columns: in the caches of a GPU, and beyond them.
const SHAPES: [[usize; 2]; 1] = [[1024, 1024]];
const LARGE: [[usize; 2]; 2] = [[4096, 4096], [16384, 8192]];

type Op = fn(&Tensor) -> Result<Tensor>;

/// softmax(x) over each row.
fn softmax(bench: &mut impl Bench) -> Result<()> {
    let ops: [(&str, Op); 3] = [
        ("level2", softmax_last_dim),
        ("level3", |x| kernels::softmax::level3::softmax(x, 1.)),
        ("level4", |x| kernels::softmax::level4::softmax(x, 1.)),
    ];
    rows(bench, "softmax", ops, kernels::softmax::cost)
}

/// x·½(1 + erf(x/√2))
fn gelu(bench: &mut impl Bench) -> Result<()> {
    let ops: [(&str, Op); 3] = [
        ("level2", Tensor::gelu_erf),
        ("level3", kernels::gelu::level3::gelu),
        ("level4", kernels::gelu::level4::gelu),
    ];
    let cost = |m, n, dtype| kernels::gelu::cost(m * n, dtype);
    rows(bench, "gelu", ops, cost)
}

fn rows(
    bench: &mut impl Bench,
    op: &str,
    levels: [(&str, Op); 3],
    cost: fn(usize, usize, DType) -> Cost,
) -> Result<()> {
    for [m, n] in with_large(bench, &SHAPES, &LARGE) {
        let x = mixed_rows(bench, "x", m, n)?;
        let shape = format!("{m}x{n}");
        let cost = cost(m, n, bench.dtype());
        bench.needs(op, &shape, cost);
        // Not candle's answer: on a CPU its softmax adds up in the format of x, which bf16 is too coarse for.
        bench.given(op, &shape, &[("x", &x)], || levels[2].1(&x))?;
        let x = &x;
        let mut all: Contenders = vec![];
        for (level, run) in levels {
            all.push((level, Box::new(move || run(x))));
        }
        all.push(("copy", copy(bench.device(), cost.bytes as usize)?));
        bench.times(op, &shape, Work::Bytes(cost.bytes as usize), all)?;
    }
    Ok(())
}
