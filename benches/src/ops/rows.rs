//! Ops of a row that the models have only inside others: softmax and GELU alone, on 1024 × 1024.

use candle_core::{Result, Tensor};
use candle_nn::ops::softmax_last_dim;

use super::{Bench, Work};

const SIDE: usize = 1024;

type Op = fn(&Tensor) -> Result<Tensor>;

/// softmax(x) over each row.
pub fn softmax(bench: &mut impl Bench) -> Result<()> {
    let ops: [(&str, Op); 3] = [
        ("level2", softmax_last_dim),
        ("level3", |x| kernels::softmax::level3::softmax(x, 1.)),
        ("level4", |x| kernels::softmax::level4::softmax(x, 1.)),
    ];
    square(bench, "softmax", ops)
}

/// x·½(1 + erf(x/√2))
pub fn gelu(bench: &mut impl Bench) -> Result<()> {
    let ops: [(&str, Op); 3] = [
        ("level2", Tensor::gelu_erf),
        ("level3", kernels::gelu::level3::gelu),
        ("level4", kernels::gelu::level4::gelu),
    ];
    square(bench, "gelu", ops)
}

fn square(bench: &mut impl Bench, op: &str, levels: [(&str, Op); 3]) -> Result<()> {
    let x = bench.tensor("x", &[SIDE, SIDE])?;
    let bytes = 2 * SIDE * SIDE * bench.dtype().size_in_bytes();
    let shape = format!("{SIDE}x{SIDE}");
    for (level, run) in levels {
        bench.one(op, level, &shape, Work::Bytes(bytes), || run(&x))?;
    }
    bench.copy(op, &shape, bytes)
}
