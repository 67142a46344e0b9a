//! Ops of a row that the models have only inside others: softmax and GELU alone.

use candle_core::{Result, Tensor};
use candle_nn::ops::softmax_last_dim;

use super::{Bench, Work, rows_alike, with_large};

/// Rows and columns: in the caches of a GPU, and beyond them.
const SHAPES: [[usize; 2]; 1] = [[1024, 1024]];
const LARGE: [[usize; 2]; 2] = [[4096, 4096], [16384, 8192]];

type Op = fn(&Tensor) -> Result<Tensor>;

/// softmax(x) over each row.
pub fn softmax(bench: &mut impl Bench) -> Result<()> {
    let ops: [(&str, Op); 3] = [
        ("level2", softmax_last_dim),
        ("level3", |x| kernels::softmax::level3::softmax(x, 1.)),
        ("level4", |x| kernels::softmax::level4::softmax(x, 1.)),
    ];
    rows(bench, "softmax", ops)
}

/// x·½(1 + erf(x/√2))
pub fn gelu(bench: &mut impl Bench) -> Result<()> {
    let ops: [(&str, Op); 3] = [
        ("level2", Tensor::gelu_erf),
        ("level3", kernels::gelu::level3::gelu),
        ("level4", kernels::gelu::level4::gelu),
    ];
    rows(bench, "gelu", ops)
}

fn rows(bench: &mut impl Bench, op: &str, levels: [(&str, Op); 3]) -> Result<()> {
    for [m, n] in with_large(bench, &SHAPES, &LARGE) {
        let x = rows_alike(bench, "x", m, n)?;
        let bytes = 2 * m * n * bench.dtype().size_in_bytes();
        let shape = format!("{m}x{n}");
        for (level, run) in levels {
            bench.one(op, level, &shape, Work::Bytes(bytes), || run(&x))?;
        }
        bench.copy(op, &shape, bytes)?;
    }
    Ok(())
}
