//! Level 5: the kernel that was the fastest for this shape on this device.

use candle_core::{Result, Tensor};

use super::{level3, level4};
use crate::dispatch::{Entry, Facts, Feature, Op, Problem, Registry};

/// x, residual, w and eps → s and y
pub type Kernel = fn(&Tensor, Option<&Tensor>, &Tensor, f64) -> Result<(Tensor, Tensor)>;

/// All that compute RMS norms. A kernel for another GPU is an entry more.
pub static REGISTRY: Registry<Kernel> = Registry {
    entries: &[
        Entry {
            name: "add_rms_norm_level4",
            can: |p, facts| facts.computes(p.dtype, facts.has(Feature::Bf16)),
            run: level4::add_rms_norm,
        },
        Entry {
            name: "add_rms_norm_level3",
            can: |p, facts| facts.computes(p.dtype, facts.at_least((7, 5))),
            run: level3::add_rms_norm,
        },
    ],
};

/// (s, y), both like x; without a residual s is x itself.
///
/// # Errors
/// When shapes, formats or devices do not agree, or no kernel can.
pub fn add_rms_norm(
    x: &Tensor,
    residual: Option<&Tensor>,
    w: &Tensor,
    eps: f64,
) -> Result<(Tensor, Tensor)> {
    let problem = Problem::of_rows(Op::AddRmsNorm, x)?;
    let picked = REGISTRY.pick(&problem, Facts::of(x.device())?)?;
    let _span = picked.span();
    (picked.entry.run)(x, residual, w, eps)
}
