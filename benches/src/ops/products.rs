//! Matmuls and the ops that are fused to them.

use candle_core::Result;
use kernels::cpu::parallel::Threads;
use kernels::linear::{cost, residual_cost, swiglu_cost};
use kernels::matmul::level5 as matmul;
use models::Linear;

use super::{Bench, Case, Contenders, Work, with_large};

timed! {
    linear: Matmuls, Some("128x512x512"), linear;
    linear_residual: Matmuls, Some("128x512x512"), linear_residual;
    linear_gelu: Matmuls, Some("197x384x1536"), linear_gelu;
    linear_swiglu: Matmuls, Some("128x512x1536"), linear_swiglu;
    patch_embed: Matmuls, Some("1x3x224x224"), patch_embed;
}

/// gemm on one thread.
const ALONE: matmul::Run = matmul::Run::Gemm(Threads::One);

/// M rows, K channels in, N out: decode and prefill of `lm.readme`, its head, `vit.s16`, `gnn.base`; queries, keys and values
/// of the three models, of the last with the skip connection.
const LINEAR: [[usize; 3]; 9] = [
    [1, 512, 512],
    [1, 512, 10_000],
    [128, 512, 512],
    [197, 1536, 384],
    [4096, 128, 128],
    [1, 512, 1536],
    [128, 512, 1536],
    [197, 384, 1152],
    [4096, 128, 512],
];

/// The second matmul of an MLP of `vit.b16`, 128 images.
const LARGE_LINEAR: [[usize; 3]; 1] = [[25_216, 3072, 768]];

/// The products that end a half of a block: of attention and of the MLP of `lm.readme`, decode and prefill, and of
/// `vit.s16`; of the MLP of `gnn.base`.
const LINEAR_RESIDUAL: [[usize; 3]; 7] = [
    [1, 512, 512],
    [1, 1536, 512],
    [128, 512, 512],
    [128, 1536, 512],
    [197, 384, 384],
    [197, 1536, 384],
    [4096, 256, 128],
];

/// x·wᵀ + b
fn linear(bench: &mut impl Bench) -> Result<()> {
    for [m, k, n] in with_large(bench, &LINEAR, &LARGE_LINEAR) {
        let x = bench.tensor("x", &[m, k])?;
        let w = bench.tensor("w", &[n, k])?;
        let b = bench.tensor("b", &[n])?;
        let case = Case {
            op: "linear",
            shape: &format!("{m}x{k}x{n}"),
            work: Work::Flops(2 * m * k * n),
            cost: cost(m, n, k, bench.dtype()),
        };
        bench.function(case, &[("x", &x), ("w", &w), ("b", &b)], |level| {
            let (x, w) = (x.clone(), Linear::new(w.clone(), Some(b.clone())));
            Ok(move || (level.linear)(&x, &w))
        })?;
    }
    Ok(())
}

/// residual + x·wᵀ + b
fn linear_residual(bench: &mut impl Bench) -> Result<()> {
    for [m, k, n] in with_large(bench, &LINEAR_RESIDUAL, &LARGE_LINEAR) {
        let x = bench.tensor("x", &[m, k])?;
        let w = bench.tensor("w", &[n, k])?;
        let b = bench.tensor("b", &[n])?;
        let residual = bench.tensor("residual", &[m, n])?;
        let case = Case {
            op: "linear_residual",
            shape: &format!("{m}x{k}x{n}"),
            work: Work::Flops(2 * m * k * n),
            cost: residual_cost(m, n, k, bench.dtype()),
        };
        let operands = [("x", &x), ("w", &w), ("b", &b), ("residual", &residual)];
        bench.function(case, &operands, |level| {
            let (x, residual) = (x.clone(), residual.clone());
            let w = Linear::new(w.clone(), Some(b.clone()));
            Ok(move || (level.linear_residual)(&x, &w, &residual))
        })?;
    }
    Ok(())
}

/// gelu(x·wᵀ + b) of `vit.s16` and `gnn.base`, and of 128 images of `vit.b16`.
fn linear_gelu(bench: &mut impl Bench) -> Result<()> {
    let (shapes, large) = ([[197, 384, 1536], [4096, 128, 256]], [[25_216, 768, 3072]]);
    for [m, k, n] in with_large(bench, &shapes, &large) {
        let x = bench.tensor("x", &[m, k])?;
        let w = bench.tensor("w", &[n, k])?;
        let b = bench.tensor("b", &[n])?;
        let case = Case {
            op: "linear_gelu",
            shape: &format!("{m}x{k}x{n}"),
            work: Work::Flops(2 * m * k * n),
            // The activation is little compared with the matmul, and not counted.
            cost: cost(m, n, k, bench.dtype()),
        };
        bench.function(case, &[("x", &x), ("w", &w), ("b", &b)], |level| {
            let (x, w) = (x.clone(), Linear::new(w.clone(), Some(b.clone())));
            Ok(move || (level.linear_gelu)(&x, &w))
        })?;
    }
    Ok(())
}

/// silu(x·Wgᵀ) ⊙ (x·Wuᵀ) of `lm.readme`: decode and prefill.
fn linear_swiglu(bench: &mut impl Bench) -> Result<()> {
    for [t, c, f] in [[1, 512, 1536], [128, 512, 1536]] {
        let x = bench.tensor("x", &[1, t, c])?;
        let w = bench.tensor("w", &[2 * f, c])?;
        let case = Case {
            op: "linear_swiglu",
            shape: &format!("{t}x{c}x{f}"),
            work: Work::Flops(2 * t * c * 2 * f),
            cost: swiglu_cost(t, f, c, bench.dtype()),
        };
        bench.function(case, &[("x", &x), ("w", &w)], |level| {
            let (x, w) = (x.clone(), Linear::new(w.clone(), None));
            Ok(move || (level.linear_swiglu)(&x, &w))
        })?;
    }
    Ok(())
}

/// Patches of P × P from B images of S × S, to C channels: `vit.s16`, and small images.
fn patch_embed(bench: &mut impl Bench) -> Result<()> {
    for [b, s, p, c] in [[1, 224, 16, 384], [10, 32, 4, 128]] {
        let (patches, k) = ((s / p) * (s / p), 3 * p * p);
        let pixels = bench.tensor("pixels", &[b, 3, s, s])?;
        let w = bench.tensor("w", &[c, 3, p, p])?;
        let bias = bench.tensor("b", &[c])?;
        let class = bench.tensor("class", &[1, 1, c])?;
        let positions = bench.tensor("positions", &[1, 1 + patches, c])?;
        let case = Case {
            op: "patch_embed",
            shape: &format!("{b}x3x{s}x{s}"),
            work: Work::Flops(2 * b * patches * k * c),
            cost: kernels::patch_embed::cost(b, patches, c, k, bench.dtype()),
        };
        let operands = [
            ("pixels", &pixels),
            ("w", &w),
            ("b", &bias),
            ("class", &class),
            ("positions", &positions),
        ];
        bench.function(case, &operands, |level| {
            let patch = Linear::new(w.clone(), Some(bias.clone()));
            let (pixels, class, positions) = (pixels.clone(), class.clone(), positions.clone());
            Ok(move || (level.patch_embed)(&pixels, &patch, &class, &positions))
        })?;
    }
    Ok(())
}

/// C = A·B of matrices that are small: candle's product, gemm's on one thread where it can, and level 5's pick.
pub fn small(bench: &mut impl Bench) -> Result<()> {
    for n in [8, 16, 32, 64, 128, 256] {
        let a = bench.tensor("a", &[n, n])?;
        let b = bench.tensor("b", &[n, n])?;
        let (shape, work) = (format!("{n}x{n}x{n}"), Work::Flops(2 * n * n * n));
        let mut all: Contenders = vec![("candle", Box::new(|| a.matmul(&b)))];
        if bench.device().is_cpu() {
            let gemm = || matmul::Call::new(&a, &b, None)?.run(ALONE);
            all.push(("gemm", Box::new(gemm)));
        }
        all.push(("level5", Box::new(|| matmul::matmul(&a, &b, None))));
        bench.times("matmul", &shape, work, all)?;
    }
    Ok(())
}
