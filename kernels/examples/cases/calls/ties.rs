//! Results that lie in the middle between two numbers of bf16, with the even one below and above.
//!
//! From 256 to 512 bf16 has the even integers: 257 becomes 256, and 259 becomes 260. All operands are integers as
//! small as that, so that f32 has every sum exactly.

use candle_core::{DType, Device, Result, Tensor};
use kernels::attention;
use kernels::ternary_linear::{self, Ternary};
use kernels::{edge_attention, layer_norm, linear, patch_embed, rms_norm, rope, segment_mean};
use operands::{Csr, Linear, Weight};

use super::graphs::segments;

/// All of them.
pub fn all(dtype: DType) -> Result<()> {
    rows(dtype)?;
    graphs(dtype)?;
    heads(dtype)?;
    products(dtype)
}

/// A tensor whose elements are these, over and over.
fn repeated(values: &[f32], shape: &[usize], dtype: DType) -> Result<Tensor> {
    let all: Vec<f32> = (values.iter().copied().cycle())
        .take(shape.iter().product())
        .collect();
    Tensor::from_vec(all, shape, &Device::Cpu)?.to_dtype(dtype)
}

/// Six columns of ±3, ten of ±1 and perhaps one of 2: a mean of 0 and a mean square of 4, so that a norm halves them. 1½·87 and
/// 1½·89 lie in the middle, and so do 1½·256 + 1 and 1½·258.
fn rows(dtype: DType) -> Result<()> {
    let [three, one] = [[3f32, -3.], [1., -1.]];
    let pairs = [three, three, three, one, one, one, one];
    for last in [&[1f32, -1.][..], &[-1., -1., 2.]] {
        let row = [pairs.as_flattened(), last].concat();
        let c = row.len();
        let x = repeated(&row, &[2, c], dtype)?;
        let w = repeated(&[87., 89.], &[c], dtype)?;
        rms_norm::level3::rms_norm(&x, &w, 0.)?;
        rms_norm::level4::rms_norm(&x, &w, 0.)?;
        let w = repeated(&[256., 258.], &[c], dtype)?;
        let b = repeated(&[1., 0.], &[c], dtype)?;
        layer_norm::level3::layer_norm(&x, &w, &b, 0.)?;
        layer_norm::level4::layer_norm(&x, &w, &b, 0.)?;
    }
    Ok(())
}

/// Means of 256 and 258, of 258 and 260; and 256 + 1, 258 + 1 from one edge each, whose weight is 1.
fn graphs(dtype: DType) -> Result<()> {
    let two = segments(&[0, 2, 4])?;
    for c in [16, 3] {
        let x = repeated(&[256., 258.], &[2, 1], dtype)?.broadcast_as((2, c))?;
        let x = Tensor::cat(
            &[
                &x,
                &repeated(&[258., 260.], &[2, 1], dtype)?.broadcast_as((2, c))?,
            ],
            0,
        )?;
        segment_mean::level3::segment_mean(&x, &two)?;
        segment_mean::level4::segment_mean(&x, &two)?;
    }
    // Two shares of one graph, whose means are 257 and 259.
    let nodes = [[256., 258., 256., 258.], [258., 260., 258., 260.]];
    let x = repeated(nodes.as_flattened(), &[1024, 4], dtype)?;
    segment_mean::level4::segment_mean(&x, &segments(&[0, 1024])?)?;
    for (heads, d) in [(2, 8), (1, 7), (1, 136), (1, 135)] {
        let nodes = 4;
        let zeros = repeated(&[0.], &[nodes, heads, d], dtype)?;
        let v = repeated(&[256., 258.], &[nodes, heads, d], dtype)?;
        let skip = repeated(&[0.], &[nodes, heads * d], dtype)?;
        let edges = repeated(&[1., 0., 0., 0.], &[nodes, 4], dtype)?;
        let w = Weight::new(repeated(&[1., 0., 0., 0.], &[heads * d, 4], dtype)?);
        let (graph, _) = Csr::new(nodes, &[[1, 0], [2, 1], [3, 2], [0, 3]], &Device::Cpu)?;
        for kernel in [
            edge_attention::level3::edge_attention,
            edge_attention::level4::edge_attention,
        ] {
            kernel(&zeros, &zeros, &v, &skip, &skip, &edges, &w, &graph)?;
        }
    }
    Ok(())
}

/// The mean of two values, and 256·1 ± 1·1.
fn heads(dtype: DType) -> Result<()> {
    for (tokens, d) in [(2, 16), (6, 16), (6, 15)] {
        let q = repeated(&[0.], &[1, tokens, 2, d], dtype)?;
        let row = |x: f32| repeated(&[x, x + 2.], &[1, 1, 2, d], dtype);
        let rows: Vec<Tensor> = (0..tokens)
            .map(|t| row(if t % 2 == 0 { 256. } else { 258. }))
            .collect::<Result<_>>()?;
        let v = Tensor::cat(&rows, 1)?;
        attention::level3::attention(&q, &q, &v)?;
        attention::level4::attention(&q, &q, &v)?;
    }
    for d in [16, 10] {
        let half = |values| repeated(values, &[1, 2, 2, d / 2], dtype);
        let q = Tensor::cat(&[half(&[256., 258., 260.])?, half(&[1.])?], 3)?;
        let one = repeated(&[1.], &[2, d / 2], dtype)?;
        for append in [rope::level3::rope_append, rope::level4::rope_append] {
            let mut cache = attention::Cache::new(1, 4, 2, d, dtype, q.device())?;
            append(&q, &q, &q, &one, &one, &mut cache, 1)?;
        }
    }
    Ok(())
}

/// Sums of 256 or 258 and ones.
fn products(dtype: DType) -> Result<()> {
    for (m, n, k) in [(1, 6, 16), (2, 6, 16), (6, 6, 16), (9, 6, 16), (9, 8, 16)] {
        // 257 and 259 in turn, column by column.
        let x = repeated(&[1.], &[m, k], dtype)?;
        let w = [[256., 1.], [258., 1.]].map(|[first, second]| {
            let rest = repeated(&[0.], &[1, k - 2], dtype)?;
            Tensor::cat(&[&repeated(&[first, second], &[1, 2], dtype)?, &rest], 1)
        });
        let [even, odd] = w;
        let w = Tensor::cat(&[&even?, &odd?], 0)?.repeat((n / 2, 1))?;
        let plain = Linear::new(w.clone(), None);
        linear::level3::linear(&x, &plain)?;
        linear::level4::linear(&x, &plain)?;
        // silu(g) is g where g is as large as this.
        let ones = Tensor::cat(
            &[
                repeated(&[1.], &[n, 1], dtype)?,
                repeated(&[0.], &[n, k - 1], dtype)?,
            ],
            1,
        )?;
        let gate_up = Linear::new(Tensor::cat(&[&w, &ones], 0)?, None);
        linear::level3::linear_swiglu(&x, &gate_up)?;
        linear::level4::linear_swiglu(&x, &gate_up)?;
        let w = Linear::new(w, Some(repeated(&[0.], &[n], dtype)?));
        linear::level3::linear_gelu(&x, &w)?;
        linear::level4::linear_gelu(&x, &w)?;
    }
    patches(dtype)?;
    ternary(dtype)
}

/// An image of zeros, so that y is 256 from the bias, and 1 and 3 from the positions.
fn patches(dtype: DType) -> Result<()> {
    let (patch, c) = (2, 10);
    let pixels = repeated(&[0.], &[1, 3, 2 * patch, 2 * patch], dtype)?;
    let w = repeated(&[1.], &[c, 3, patch, patch], dtype)?;
    let b = repeated(&[256.], &[c], dtype)?;
    let positions = repeated(&[1., 3.], &[1, 5, c], dtype)?;
    let class = repeated(&[256.], &[1, 1, c], dtype)?;
    let projection = Linear::new(w, Some(b));
    patch_embed::level3::patch_embed(&pixels, &projection, &class, &positions)?;
    patch_embed::level4::patch_embed(&pixels, &projection, &class, &positions)?;
    Ok(())
}

/// 127 + 127 + 4 ∓ 1, with weights ±1 whose scale is 1, and 127 the maximum: q is x.
fn ternary(dtype: DType) -> Result<()> {
    for m in [1, 5] {
        let mut x = vec![127., 127., 4., 1.];
        x.resize(16, 0.);
        let x = repeated(&x, &[m, 16], dtype)?;
        let row = |last: f32| repeated(&[1., 1., 1., last], &[1, 16], DType::F32);
        let w = Tensor::cat(&[row(-1.)?, row(1.)?], 0)?.repeat((6, 1))?;
        let w = Ternary::quantize(&w)?;
        ternary_linear::level4::lut(&x, &w)?;
        ternary_linear::level4::dp4a(&x, &w)?;
    }
    Ok(())
}
