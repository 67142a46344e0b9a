//! Ops on rows: norms, softmax, GELU, embedding, the next token.

use candle_core::{DType, Device, Result, Tensor};
use kernels::dispatch::{Facts, Op, Problem};
use kernels::{embedding, gelu, layer_norm, next_token, rms_norm, softmax};
use operands::Weight;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::Draw;

/// Rows, their columns, and elements before the first. Level 4 has one to eight warps per row, and columns beyond
/// those that it holds in registers.
const SHAPES: [(usize, usize, usize); 20] = [
    (3, 7, 0),
    (2, 1, 0),
    (5, 64, 0),
    (3, 64, 1),
    (2, 65, 0),
    (9, 40, 0),
    (3, 128, 0),
    (3, 248, 0),
    (3, 300, 0),
    (3, 392, 0),
    (2, 520, 0),
    (2, 520, 1),
    (2, 1000, 0),
    (1, 1032, 0),
    (2, 1100, 1),
    (2, 2000, 0),
    (1, 2504, 0),
    (2, 2504, 1),
    (1, 16392, 0),
    (1, 16400, 1),
];

/// As large as to be seen next to a variance of ⅓.
const EPS: f64 = 0.01;

pub fn all(draw: &mut Draw, dtype: DType) -> Result<()> {
    for (rows, c, offset) in SHAPES {
        let x = draw.shifted(&[rows, c], dtype, offset)?;
        let (w, b) = (draw.floats(&[c], dtype)?, draw.floats(&[c], dtype)?);
        norms(&x, &w, &b)?;
        // Without the maximum taken off, an exponential of the larger numbers is ∞.
        for x in [
            x,
            draw.wide(&[rows, c], dtype, 8.)?,
            draw.wide(&[rows, c], dtype, 3e4)?,
        ] {
            softmax::level3::softmax(&x, 0.75)?;
            softmax::level4::softmax(&x, 0.75)?;
        }
    }
    beside(draw, dtype)?;
    let x = draw.spoilt(&[3, 20], dtype)?;
    let w = draw.floats(&[20], dtype)?;
    norms(&x, &w, &w)?;
    softmax::level3::softmax(&x, 0.75)?;
    softmax::level4::softmax(&x, 0.75)?;
    gelu::level3::gelu(&x)?;
    gelu::level4::gelu(&x)?;
    for (n, offset) in [(7, 0), (300, 0), (1001, 0), (64, 1), (2056, 0)] {
        for x in [
            draw.shifted(&[n], dtype, offset)?,
            draw.wide(&[n], dtype, 8.)?,
            draw.wide(&[n], dtype, 300.)?,
        ] {
            gelu::level3::gelu(&x)?;
            gelu::level4::gelu(&x)?;
        }
    }
    embeddings(draw, dtype)?;
    tokens(draw, dtype)
}

/// Both norms at levels 3 and 4, and by level 5's kernels for narrow rows where the row is one.
fn norms(x: &Tensor, w: &Tensor, b: &Tensor) -> Result<()> {
    rms_norm::level3::rms_norm(x, w, EPS)?;
    rms_norm::level4::rms_norm(x, w, EPS)?;
    layer_norm::level3::layer_norm(x, w, b, EPS)?;
    layer_norm::level4::layer_norm(x, w, b, EPS)?;
    let facts = Facts::of(x.device())?;
    let problem = Problem::of_rows(Op::RmsNorm, x)?;
    let mut able = rms_norm::level5::REGISTRY.able(&problem, facts);
    if let Some(entry) = able.find(|e| e.name == "rms_norm_level5") {
        (entry.run)(x, w, EPS)?;
    }
    let problem = Problem::of_rows(Op::LayerNorm, x)?;
    let mut able = layer_norm::level5::REGISTRY.able(&problem, facts);
    if let Some(entry) = able.find(|e| e.name == "layer_norm_level5") {
        (entry.run)(x, w, b, EPS)?;
    }
    Ok(())
}

/// One operand at a time that does not begin on 16 bytes.
fn beside(draw: &mut Draw, dtype: DType) -> Result<()> {
    for shifted in 0..3 {
        let mut operand = |index, shape: &[usize]| {
            let offset = usize::from(index == shifted);
            draw.shifted(shape, dtype, offset)
        };
        let (x, w, b) = (
            operand(0, &[3, 64])?,
            operand(1, &[64])?,
            operand(2, &[64])?,
        );
        rms_norm::level4::rms_norm(&x, &w, EPS)?;
        layer_norm::level4::layer_norm(&x, &w, &b, EPS)?;
    }
    Ok(())
}

/// Also of the table's last row, and of rows that it does not have, which become NaN.
fn embeddings(draw: &mut Draw, dtype: DType) -> Result<()> {
    for (ids, c, offset) in [
        (5, 7, 0),
        (3, 64, 0),
        (9, 64, 1),
        (2, 1032, 0),
        (70, 20, 0),
        (3, 129, 0),
        (2, 1033, 0),
        (2, 2050, 0),
        (1, 8240, 0),
    ] {
        let w = Weight::new(draw.shifted(&[11, c], dtype, offset)?);
        let ends = Tensor::new(&[10u32, 11], &Device::Cpu)?;
        let ids = Tensor::cat(&[&draw.indices(ids, 11)?, &ends], 0)?;
        embedding::level3::embedding(&ids, &w)?;
        embedding::level4::embedding(&ids, &w)?;
    }
    Ok(())
}

/// Also with ties, which the lower index wins.
fn tokens(draw: &mut Draw, dtype: DType) -> Result<()> {
    let zero = || Tensor::zeros(1, DType::U32, &Device::Cpu);
    for (vocab, k) in [
        (1, 1),
        (7, 3),
        (65, 40),
        (1000, 1),
        (1500, 40),
        (2500, 700),
        (1300, 1024),
        // One more than are sorted, and all but one of them are wanted.
        (1025, 1024),
        (9001, 40),
        (17_003, 700),
    ] {
        let logits = draw.wide(&[vocab], dtype, 4.)?;
        next_token::level4::argmax(&logits)?;
        next_token::level4::top_k(&logits, k, 0.7)?;
        for top_p in [f64::INFINITY, 0.6] {
            let (chance, token) = (Tensor::new(&[0.7, top_p], &Device::Cpu)?, zero()?);
            next_token::level5::draw(&logits, k, 0.7, &chance, &token)?;
        }
    }
    draws(dtype)?;
    let few: Vec<f32> = (0..900).map(|i| (i * 7 % 5) as f32 - 3.).collect();
    // One more than the kernel's list of the largest has room for.
    for logits in [few, vec![1.; 1025]] {
        let ties = Tensor::new(logits, &Device::Cpu)?.to_dtype(dtype)?;
        next_token::level4::argmax(&ties)?;
        next_token::level4::top_k(&ties, 40, 0.7)?;
    }
    Ok(())
}

/// Draws from few tokens, as probable as each other or nearly so, or from none. Every token is drawn, and every number of
/// tokens is kept. A uniform number of 1 is beyond all that a generator gives, and draws the last.
fn draws(dtype: DType) -> Result<()> {
    let draw = &mut Draw(ChaCha8Rng::seed_from_u64(2));
    let token = Tensor::zeros(1, DType::U32, &Device::Cpu)?;
    for k in 1..10 {
        let logits = draw.wide(&[12], dtype, [0.1, 1.5][k % 2])?;
        for top_p in [f64::INFINITY, 0.75, 0.4, 0.] {
            for uniform in [0., 0.2, 0.4, 0.6, 0.8, 1.] {
                let chance = Tensor::new(&[uniform, top_p], &Device::Cpu)?;
                next_token::level5::draw(&logits, k, 1., &chance, &token)?;
            }
        }
    }
    let chance = Tensor::new(&[0.7, 0.5], &Device::Cpu)?;
    next_token::level5::draw(&draw.spoilt(&[12], dtype)?, 5, 1., &chance, &token)
}
