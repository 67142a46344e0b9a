//! Matrix products, and what is fused to them.

use candle_core::Result;
use kernels::cpu::parallel::Threads;
use kernels::matmul::level5 as matmul;
use models::{Heads, Weight};

use super::{Bench, Contenders, Work, with_large};

/// gemm on one thread.
const ALONE: matmul::Run = matmul::Run::Gemm(Threads::One);

/// M rows, K channels in, N out: decode and prefill of `lm.readme`, its head, `vit.s16`, `gnn.base`.
const LINEAR: [[usize; 3]; 5] = [
    [1, 512, 512],
    [1, 512, 10_000],
    [128, 512, 512],
    [197, 1536, 384],
    [4096, 128, 128],
];

/// The second product of an MLP of `vit.b16`, 128 pictures.
const LARGE_LINEAR: [[usize; 3]; 1] = [[25_216, 3072, 768]];

/// x·wᵀ + b
pub fn linear(bench: &mut impl Bench) -> Result<()> {
    for [m, k, n] in with_large(bench, &LINEAR, &LARGE_LINEAR) {
        let x = bench.tensor("x", &[m, k])?;
        let w = bench.tensor("w", &[n, k])?;
        let b = bench.tensor("b", &[n])?;
        let work = Work::Flops(2 * m * k * n);
        let operands = [("x", &x), ("w", &w), ("b", &b)];
        let shape = format!("{m}x{k}x{n}");
        bench.op("linear", &shape, work, &operands, |level| {
            let (x, w, b) = (x.clone(), Weight::new(w.clone()), b.clone());
            Ok(move || level.linear(&x, &w, Some(&b)))
        })?;
    }
    Ok(())
}

/// Queries, keys and values: T tokens, H heads of D channels.
pub fn qkv(bench: &mut impl Bench) -> Result<()> {
    for [t, h, d] in [[1, 8, 64], [128, 8, 64], [197, 6, 64]] {
        let (c, heads) = (h * d, Heads::full(h, d));
        let x = bench.tensor("x", &[1, t, c])?;
        let w = bench.tensor("w", &[3 * c, c])?;
        let work = Work::Flops(2 * t * c * 3 * c);
        let operands = [("x", &x), ("w", &w)];
        let shape = format!("{t}x{c}x{}", 3 * c);
        bench.op("qkv", &shape, work, &operands, |level| {
            let (x, w) = (x.clone(), Weight::new(w.clone()));
            Ok(move || Ok(level.qkv(&x, &w, None, heads)?.2))
        })?;
    }
    Ok(())
}

/// Queries, keys, values and skip of `gnn.base`.
pub fn qkv_skip(bench: &mut impl Bench) -> Result<()> {
    let (n, c, heads) = (4096, 128, Heads::full(4, 32));
    let x = bench.tensor("x", &[n, c])?;
    let w = bench.tensor("w", &[4 * c, c])?;
    let b = bench.tensor("b", &[4 * c])?;
    let work = Work::Flops(2 * n * c * 4 * c);
    let operands = [("x", &x), ("w", &w), ("b", &b)];
    let shape = format!("{n}x{c}x{}", 4 * c);
    bench.op("qkv_skip", &shape, work, &operands, |level| {
        let (x, w, b) = (x.clone(), Weight::new(w.clone()), b.clone());
        Ok(move || Ok(level.qkv_skip(&x, &w, &b, heads)?.3))
    })
}

/// gelu(x·wᵀ + b) of `vit.s16` and `gnn.base`, and of 128 pictures of `vit.b16`.
pub fn linear_gelu(bench: &mut impl Bench) -> Result<()> {
    let (shapes, large) = ([[197, 384, 1536], [4096, 128, 256]], [[25_216, 768, 3072]]);
    for [m, k, n] in with_large(bench, &shapes, &large) {
        let x = bench.tensor("x", &[m, k])?;
        let w = bench.tensor("w", &[n, k])?;
        let b = bench.tensor("b", &[n])?;
        let work = Work::Flops(2 * m * k * n);
        let operands = [("x", &x), ("w", &w), ("b", &b)];
        let shape = format!("{m}x{k}x{n}");
        bench.op("linear_gelu", &shape, work, &operands, |level| {
            let (x, w, b) = (x.clone(), Weight::new(w.clone()), b.clone());
            Ok(move || level.linear_gelu(&x, &w, &b))
        })?;
    }
    Ok(())
}

/// silu(x·Wgᵀ) ⊙ (x·Wuᵀ) of `lm.readme`: decode and prefill.
pub fn linear_swiglu(bench: &mut impl Bench) -> Result<()> {
    for [t, c, f] in [[1, 512, 1536], [128, 512, 1536]] {
        let x = bench.tensor("x", &[1, t, c])?;
        let w = bench.tensor("w", &[2 * f, c])?;
        let work = Work::Flops(2 * t * c * 2 * f);
        let operands = [("x", &x), ("w", &w)];
        let shape = format!("{t}x{c}x{f}");
        bench.op("linear_swiglu", &shape, work, &operands, |level| {
            let (x, w) = (x.clone(), Weight::new(w.clone()));
            Ok(move || level.linear_swiglu(&x, &w))
        })?;
    }
    Ok(())
}

/// Patches of P × P from B pictures of S × S, to C channels: `vit.s16`, and small pictures.
pub fn patch_embed(bench: &mut impl Bench) -> Result<()> {
    for [b, s, p, c] in [[1, 224, 16, 384], [10, 32, 4, 128]] {
        let patches = (s / p) * (s / p);
        let pixels = bench.tensor("pixels", &[b, 3, s, s])?;
        let w = bench.tensor("w", &[c, 3, p, p])?;
        let bias = bench.tensor("b", &[c])?;
        let class = bench.tensor("class", &[1, 1, c])?;
        let positions = bench.tensor("positions", &[1, 1 + patches, c])?;
        let work = Work::Flops(2 * b * patches * 3 * p * p * c);
        let shape = format!("{b}x3x{s}x{s}");
        let operands = [
            ("pixels", &pixels),
            ("w", &w),
            ("b", &bias),
            ("class", &class),
            ("positions", &positions),
        ];
        bench.op("patch_embed", &shape, work, &operands, |level| {
            let w = Weight::new(w.clone());
            let (pixels, bias) = (pixels.clone(), bias.clone());
            let (class, positions) = (class.clone(), positions.clone());
            Ok(move || level.patch_embed(&pixels, &w, &bias, &class, &positions))
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
