//! RMSNorm and linear of one row in one launch: the launch of `norm_gemv.cu`.

use candle_core::{DType, Result, Tensor};
use operands::{HeadPass, Linear, NextStep, Norm};
use trace::span;

use crate::cpu::norm_rows;
use crate::error::mismatch;
use crate::launch::{Launch, Module, aligned, is_aligned, module, on_cpu};
use crate::linear::level4::{Form, Packed};
use crate::linear::{check, gate_rows, output_like, without_bias};
use crate::without::Idea;

pub(in crate::linear) static MODULE: Module = module!("linear/level5/norm_gemv", sm_75, sm_90);

/// Lanes of a warp.
const WARP: usize = 32;

/// Rows of w from which a kernel with more rows per warp is faster: those of a head, which fill the GPU several times.
const TALL: usize = 8192;

/// A kernel of `norm_gemv.cu`.
#[derive(Debug, Clone, Copy)]
struct Variant {
    entry: &'static str,
    /// Elements of y per warp: R.
    columns: usize,
    /// Warps per block: WARPS.
    warps: usize,
    /// Whether it can end a decode step, and has the parameters for that: NORM_HEAD.
    ends_step: bool,
}

const fn variant(entry: &'static str, columns: usize, warps: usize) -> Variant {
    Variant {
        entry,
        columns,
        warps,
        ends_step: false,
    }
}

const fn head(entry: &'static str, columns: usize, warps: usize) -> Variant {
    Variant {
        ends_step: true,
        ..variant(entry, columns, warps)
    }
}

/// The kernels for rows of w of up to `chunks` chunks of 16 bytes per lane: CHUNKS of `norm_gemv.cu`.
#[derive(Debug)]
struct NormGemv {
    chunks: usize,
    linear: Variant,
    /// For at least [`TALL`] rows of w, if another one is faster there.
    tall: Option<Variant>,
    swiglu: Variant,
}

const F32: [NormGemv; 3] = [
    NormGemv {
        chunks: 4,
        linear: variant("norm_linear_f32_level5_4", 3, 4),
        tall: Some(head("norm_linear_f32_level5_4_tall", 4, 4)),
        swiglu: variant("norm_swiglu_f32_level5_4", 2, 4),
    },
    NormGemv {
        chunks: 6,
        linear: variant("norm_linear_f32_level5_6", 2, 8),
        tall: Some(head("norm_linear_f32_level5_6_tall", 4, 4)),
        swiglu: variant("norm_swiglu_f32_level5_6", 2, 4),
    },
    NormGemv {
        chunks: 12,
        linear: variant("norm_linear_f32_level5_12", 1, 4),
        tall: None,
        swiglu: variant("norm_swiglu_f32_level5_12", 1, 4),
    },
];

const BF16: [NormGemv; 3] = [
    NormGemv {
        chunks: 2,
        linear: head("norm_linear_bf16_level5_2", 3, 4),
        tall: None,
        swiglu: variant("norm_swiglu_bf16_level5_2", 3, 8),
    },
    NormGemv {
        chunks: 3,
        linear: variant("norm_linear_bf16_level5_3", 3, 8),
        tall: Some(head("norm_linear_bf16_level5_3_tall", 8, 4)),
        swiglu: variant("norm_swiglu_bf16_level5_3", 2, 8),
    },
    NormGemv {
        chunks: 8,
        linear: head("norm_linear_bf16_level5_8", 2, 4),
        tall: None,
        swiglu: variant("norm_swiglu_bf16_level5_8", 1, 4),
    },
];

/// rms_norm(x)·wᵀ + b in one launch: x (…, K) of one row, w (N, K), b (N) or none → (…, N)
///
/// `None` where no kernel does both: on a CPU, for several rows, another norm, or rows that are not whole chunks of 16
/// bytes or too long for a warp's registers.
///
/// # Errors
/// When shapes, dtypes or devices do not agree.
pub fn norm_linear(x: &Tensor, norm: &Norm, w: &Linear) -> Result<Option<Tensor>> {
    let Some((row, kernels)) = Row::of(x, norm)? else {
        return Ok(None);
    };
    let _span = span("norm_linear_level5");
    let (packed, b) = (Packed::of(&w.weight)?, w.bias.as_ref());
    let shape = check("norm_linear_level5", x, packed.dims, packed.dtype, b, None)?;
    let tall = kernels.tall.filter(|_| shape.n >= TALL);
    let kernel = tall.unwrap_or(kernels.linear);
    row.launch(&packed, Some(b), None, shape.n, kernel)
}

/// [`norm_linear`] of the head of a decode step, which also writes the [`NextStep`]: x (…, K) of one row → logits (…, V)
///
/// `None` as [`norm_linear`], and where its kernel for these rows cannot end a step.
///
/// # Errors
/// When shapes, dtypes or devices do not agree.
pub fn head_pass(pass: &HeadPass) -> Result<Option<Tensor>> {
    let &HeadPass {
        x,
        norm,
        head,
        next,
    } = pass;
    let Some((row, kernels)) = Row::of(x, norm)? else {
        return Ok(None);
    };
    let kernel = kernels.tall.unwrap_or(kernels.linear);
    if !kernel.ends_step || Idea::HeadChoice.is_left_out() {
        return Ok(None);
    }
    let _span = span("head_pass_level5");
    check_next("head_pass_level5", next)?;
    let (packed, b) = (Packed::of(&head.weight)?, head.bias.as_ref());
    let shape = check("head_pass_level5", x, packed.dims, packed.dtype, b, None)?;
    row.launch(&packed, Some(b), Some(next), shape.n, kernel)
}

/// Rejects memory that the end of a step cannot write.
fn check_next(kernel: &str, next: &NextStep) -> Result<()> {
    let token = next.token.as_ref();
    let of = [Some(&next.position), token, Some(&next.scratch)];
    for (x, len) in of.into_iter().zip([1, 1, 4]) {
        let Some(x) = x else { continue };
        if (x.dtype(), x.elem_count()) != (DType::U32, len) || !x.is_contiguous() {
            let found = format!("{:?} of {}", x.dims(), x.dtype().as_str());
            return Err(mismatch(kernel, format!("{len} × u32 in a row"), found));
        }
    }
    if is_aligned(&[&next.scratch]) {
        return Ok(());
    }
    Err(mismatch(kernel, "aligned scratch memory", "another"))
}

/// silu(h·Wgᵀ) ⊙ (h·Wuᵀ) of h = rms_norm(x) in one launch: x (…, K) of one row, w (2F, K), the gate's rows above the
/// up-projection's → (…, F)
///
/// `None` as [`norm_linear`].
///
/// # Errors
/// When there is a bias, or shapes, dtypes or devices do not agree.
pub fn norm_swiglu(x: &Tensor, norm: &Norm, w: &Linear) -> Result<Option<Tensor>> {
    let Some((row, kernels)) = Row::of(x, norm)? else {
        return Ok(None);
    };
    let kernel = "norm_swiglu_level5";
    let _span = span(kernel);
    without_bias(kernel, w)?;
    let packed = Packed::gate_up_of(&w.weight)?;
    let f = gate_rows(kernel, packed.dims.0)?;
    check(kernel, x, (f, packed.dims.1), packed.dtype, None, None)?;
    row.launch(&packed, None, None, f, kernels.swiglu)
}

/// One row of x and its norm.
struct Row<'a> {
    x: &'a Tensor,
    /// (K)
    gain: &'a Tensor,
    eps: f64,
    k: usize,
}

impl<'a> Row<'a> {
    /// The row, and the kernels for its length; `None` as [`norm_linear`].
    fn of(x: &'a Tensor, norm: &'a Norm) -> Result<Option<(Self, &'static NormGemv)>> {
        let Norm::Rms { weight, eps } = norm else {
            return Ok(None);
        };
        let variants: &[NormGemv] = match x.dtype() {
            DType::F32 => &F32,
            DType::BF16 => &BF16,
            _ => return Ok(None),
        };
        let (rows, k) =
            norm_rows::check("norm_linear_level5", x, &[("the norm's weight", weight)])?;
        let bytes = k * x.dtype().size_in_bytes();
        let fits = |v: &&NormGemv| bytes <= v.chunks * WARP * 16;
        let is_whole = bytes > 0 && bytes.is_multiple_of(16);
        if on_cpu(x.device()) || rows != 1 || !is_whole || Idea::FusedNorm.is_left_out() {
            return Ok(None);
        }
        let row = Self {
            x,
            gain: weight,
            eps: *eps,
            k,
        };
        Ok(variants.iter().find(fits).map(|kernels| (row, kernels)))
    }

    /// (…, n). `b` is `None` for the kernels of SwiGLU, which have no parameter for a bias, and `Some(None)` for a layer
    /// without one, whose kernel takes null. `next` is `None` but for the end of a step.
    fn launch(
        &self,
        w: &Packed,
        b: Option<Option<&Tensor>>,
        next: Option<&NextStep>,
        n: usize,
        kernel: Variant,
    ) -> Result<Option<Tensor>> {
        let Form::Gpu(w) = &w.form else {
            return Ok(None);
        };
        let [x, gain, w] = [self.x, self.gain, w].map(aligned);
        let (x, gain, w, y) = (x?, gain?, w?, output_like(self.x, n)?);
        let mut launch = Launch::new(&MODULE, kernel.entry)
            .grid(n.div_ceil(kernel.warps * kernel.columns), 1, 1)
            .block(kernel.warps * WARP, 1, 1)
            .programmatic()
            .read(&x)
            .constant(&gain)
            .constant(&w);
        if let Some(b) = b {
            launch = launch.constant_or_null(b);
        }
        launch = launch.write(&y);
        if kernel.ends_step {
            let position = next.map(|next| &next.position);
            launch = launch
                .write_or_null(next.and_then(|next| next.token.as_ref()))
                .read_or_null(position)
                .write_or_null(position)
                .update_or_null(next.map(|next| &next.scratch));
        }
        let launch = launch.u32(n).u32(self.k);
        launch.f32(1. / self.k as f64).f32(self.eps).launch()?;
        Ok(Some(y))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::directive;

    #[test]
    fn rows_and_threads_are_those_of_the_kernel() {
        let cu = include_str!("norm_gemv.cu");
        for (dtype, variants) in [("float", &F32), ("bf16", &BF16)] {
            for v in variants {
                let is_linear = |linear: Variant| {
                    let what = if linear.ends_step { "HEAD" } else { "LINEAR" };
                    (what, linear)
                };
                let others = [is_linear(v.linear), ("SWIGLU", v.swiglu)];
                for (what, kernel) in others.into_iter().chain(v.tall.map(is_linear)) {
                    let Variant {
                        entry,
                        columns,
                        warps,
                        ..
                    } = kernel;
                    let sizes = format!("{}, {columns}, {warps}", v.chunks);
                    let line = format!("NORM_{what}({entry}, {dtype}, {sizes})");
                    assert!(cu.contains(&line), "{line}");
                    let threads = directive(MODULE.texts()[0], entry, ".maxntid");
                    assert_eq!(threads, warps * WARP, "{entry}");
                }
            }
        }
    }
}
