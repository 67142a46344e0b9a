//! Level 5: the kernel that was the fastest for this shape on this device; for narrow rows there is one more kernel.

use candle_core::{Result, Tensor};

use super::{level3, level4};
use crate::dispatch::{Entry, Facts, Op, Problem, Registry};
use crate::element::by_dtype;
use crate::error::mismatch;
use crate::launch::{Launch, Module, aligned, module, narrow_row_variant};
use crate::output;

static MODULE: Module = module!("layer_norm/level5", sm_75, sm_80, sm_90);

/// Entries for f32 and bf16, for each of the [variants](crate::launch::narrow_row_variant).
pub(super) const ENTRIES: [(&str, &str); 5] = [
    ("layer_norm_f32_level5_16x1", "layer_norm_bf16_level5_16x1"),
    ("layer_norm_f32_level5_32x1", "layer_norm_bf16_level5_32x1"),
    ("layer_norm_f32_level5_32x2", "layer_norm_bf16_level5_32x2"),
    ("layer_norm_f32_level5_32x4", "layer_norm_bf16_level5_32x4"),
    ("layer_norm_f32_level5_32x8", "layer_norm_bf16_level5_32x8"),
];

/// x, w, b and eps → y
pub type RunLayerNorm = fn(&Tensor, &Tensor, &Tensor, f64) -> Result<Tensor>;

/// All kernels that compute layer norms. A kernel for another GPU is one more entry.
pub static REGISTRY: Registry<RunLayerNorm> = Registry {
    entries: &[
        Entry {
            name: "layer_norm_level5",
            can: |p, facts| {
                let is_narrow = narrow_row_variant(p.n, p.dtype.size_in_bytes()).is_some();
                facts.is_gpu() && is_narrow && facts.computes(p.dtype)
            },
            run: narrow_rows_kernel,
        },
        Entry {
            name: "layer_norm_level4",
            can: |p, facts| facts.computes(p.dtype),
            run: level4::layer_norm,
        },
        Entry {
            name: "layer_norm_level3",
            can: |p, facts| facts.computes(p.dtype),
            run: level3::layer_norm,
        },
    ],
};

/// (x − mean(x))/√(var(x) + eps) ⊙ w + b over the last dimension: x (…, C), w and b (C) → y with the shape and dtype
/// of x
///
/// # Errors
/// When shapes or devices do not agree, operands are not all f32 or all bf16, one is not contiguous, or no
/// kernel can.
pub fn layer_norm(x: &Tensor, w: &Tensor, b: &Tensor, eps: f64) -> Result<Tensor> {
    let problem = Problem::of_rows(Op::LayerNorm, x)?;
    let picked = REGISTRY.pick(&problem, Facts::of(x.device())?)?;
    let _span = picked.span();
    (picked.entry.run)(x, w, b, eps)
}

/// The kernel for rows that fit in the registers of one warp, on a GPU.
fn narrow_rows_kernel(x: &Tensor, w: &Tensor, b: &Tensor, eps: f64) -> Result<Tensor> {
    let (rows, c) = super::check("layer_norm_level5", x, w, b)?;
    let variant = narrow_row_variant(c, x.dtype().size_in_bytes()).ok_or_else(|| {
        let expected = "rows of at most 256 whole chunks of 16 bytes";
        mismatch("layer_norm_level5", expected, c)
    })?;
    let y = output::tensor(x.shape(), x.dtype(), x.device())?;
    let [x, w, b] = [aligned(x)?, aligned(w)?, aligned(b)?];
    let (f32, bf16) = ENTRIES[variant];
    let entry = by_dtype("layer_norm_level5", x.dtype(), f32, bf16)?;
    Launch::new(&MODULE, entry)
        .narrow_rows(rows, variant)
        .programmatic()
        .read(&x)
        .read(&w)
        .read(&b)
        .write(&y)
        .u32(rows)
        .u32(c)
        .f32(1. / c as f64)
        .f32(eps)
        .launch()?;
    Ok(y)
}
