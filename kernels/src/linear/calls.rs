//! Calls of the linear layers.

use candle_core::{DType, Error, Result, Tensor};
use operands::{HeadPass, Linear, NextStep, Norm};

use super::{level4, level5};
use crate::calls::{BOTH, Inputs, List};
use crate::error::mismatch;

/// M, N, K: one row, a few, and enough for tiles, whole or not.
const SHAPES: [[usize; 3]; 6] = [
    [1, 65, 96],
    [4, 64, 128],
    [7, 33, 100],
    [33, 70, 65],
    [64, 64, 64],
    [130, 96, 48],
];

/// M, N, K of few rows, for level 5's split over K.
const FEW: [[usize; 3]; 3] = [[1, 65, 96], [1, 64, 520], [4, 33, 1032]];

/// N, K of one row, for level 5's kernels with a whole row of w in flight: one for each.
const IN_FLIGHT: [[usize; 2]; 6] = [
    [65, 512],
    [33, 760],
    [34, 1536],
    [9, 2048],
    [11, 2056],
    [5, 8192],
];

/// N, K of one row with its norm: one for each length of rows that `norm_gemv.cu` has kernels for.
const ROWS: [[usize; 2]; 3] = [[65, 512], [33, 760], [34, 1536]];

/// V, K of a decode step's head: one for each kernel that can end a step, in one of the dtypes.
const HEADS: [[usize; 2]; 3] = [[65, 512], [67, 760], [34, 1536]];

/// N, K for the kernels of a large w.
const TALL: [[usize; 2]; 2] = [[8193, 264], [8195, 520]];

pub fn add(list: &mut List) {
    for size @ [m, n, k] in SHAPES {
        let shape = format!("{m}×{n}×{k}");
        list.function("linear", &shape, move |f, i| {
            let (x, w) = operands(i, size)?;
            (f.linear)(&x, &w)
        });
        list.function("linear_residual", &shape, move |f, i| {
            let (x, w) = operands(i, size)?;
            (f.linear_residual)(&x, &w, &i.tensor(&[m, n])?)
        });
        list.function("linear_gelu", &shape, move |f, i| {
            let (x, w) = operands(i, size)?;
            (f.linear_gelu)(&x, &w)
        });
        list.function("linear_swiglu", &shape, move |f, i| {
            let (x, w) = (i.tensor(&[m, k])?, i.tensor(&[2 * n, k])?);
            (f.linear_swiglu)(&x, &Linear::new(w, None))
        });
    }
    // As many rows and columns as the larger tile of f32 is for.
    list.kernel("linear", 4, &BOTH, "1024×1024×16", |i| {
        let (x, w) = (i.tensor(&[1024, 16])?, i.tensor(&[1024, 16])?);
        level4::linear(&x, &Linear::new(w, None))
    });
    for entry in level5::REGISTRY.entries {
        if let level5::Run::GemvSplit(_) = entry.run {
            for shape in FEW {
                few_rows(list, entry.name, entry.run, shape);
            }
        }
    }
    for [n, k] in IN_FLIGHT {
        list.kernel(
            "linear_level5_row_gemv",
            5,
            &BOTH,
            &format!("1×{n}×{k}"),
            move |i| {
                let (x, w) = operands(i, [1, n, k])?;
                level5::Call::linear(&x, &w)?.run(level5::Run::RowGemv)?;
                level5::Call::residual(&x, &w, &i.tensor(&[1, n])?)?.run(level5::Run::RowGemv)
            },
        );
    }
    for [n, k] in TALL {
        norm_linear(list, n, k);
    }
    for [n, k] in ROWS {
        norm_linear(list, n, k);
        list.kernel("norm_swiglu", 5, &BOTH, &format!("1×{n}×{k}"), move |i| {
            let (x, norm) = (i.tensor(&[1, k])?, rms(i, k)?);
            let gate_up = Linear::new(i.tensor(&[2 * n, k])?, None);
            level5::norm_swiglu(&x, &norm, &gate_up)?.ok_or_else(no_kernel)
        });
    }
    for [n, k] in HEADS {
        // For more than 768 columns, only bf16 has a kernel that ends a step.
        let dtypes = if k > 768 { &BOTH[1..] } else { &BOTH[..] };
        list.kernel("head_pass", 5, dtypes, &format!("1×{n}×{k}"), move |i| {
            let (x, norm) = (i.tensor(&[1, 1, k])?, rms(i, k)?);
            let (head, position) = (Linear::new(i.tensor(&[n, k])?, None), i.u32s(vec![41])?);
            let token = Tensor::zeros((1, 1), DType::U32, &i.device)?;
            let scratch = i.u32s(vec![0; 4])?;
            for token in [Some(token), None] {
                let next = NextStep {
                    position: position.clone(),
                    token,
                    scratch: scratch.clone(),
                };
                let pass = HeadPass {
                    x: &x,
                    norm: &norm,
                    head: &head,
                    next: &next,
                };
                level5::head_pass(&pass)?.ok_or_else(no_kernel)?;
            }
            Ok(())
        });
    }
}

fn norm_linear(list: &mut List, n: usize, k: usize) {
    let shape = format!("1×{n}×{k}");
    list.kernel("norm_linear", 5, &BOTH, &shape, move |i| {
        let (x, norm) = (i.tensor(&[1, k])?, rms(i, k)?);
        let w = Linear::new(i.tensor(&[n, k])?, Some(i.tensor(&[n])?));
        level5::norm_linear(&x, &norm, &w)?.ok_or_else(no_kernel)
    });
}

fn rms(i: &mut Inputs, k: usize) -> Result<Norm> {
    let (weight, eps) = (i.tensor(&[k])?, 1e-5);
    Ok(Norm::Rms { weight, eps })
}

fn no_kernel() -> Error {
    mismatch("norm_gemv", "a kernel for this row", "none")
}

fn operands(i: &mut Inputs, [m, n, k]: [usize; 3]) -> Result<(Tensor, Linear)> {
    let (x, w) = (i.tensor(&[m, k])?, i.tensor(&[n, k])?);
    Ok((x, Linear::new(w, Some(i.tensor(&[n])?))))
}

fn few_rows(list: &mut List, name: &str, run: level5::Run, size: [usize; 3]) {
    let [m, n, k] = size;
    list.kernel(name, 5, &BOTH, &format!("{m}×{n}×{k}"), move |i| {
        let (x, b) = (i.tensor(&[m, k])?, i.tensor(&[n])?);
        let w = Linear::new(i.tensor(&[n, k])?, Some(b));
        level5::Call::linear(&x, &w)?.run(run)?;
        level5::Call::residual(&x, &w, &i.tensor(&[m, n])?)?.run(run)?;
        level5::Call::gelu(&x, &w)?.run(run)?;
        let w = Linear::new(i.tensor(&[2 * n, k])?, None);
        level5::Call::swiglu(&x, &w)?.run(run)
    });
}
