//! Level 5: the kernel that was the fastest for this shape on this device.

use candle_core::{DType, Result, Tensor};

use super::{level3, level4};
use crate::cpu::rows;
use crate::dispatch::{Entry, Facts, Feature, Layout, Op, Problem, Registry};

/// x, residual, w and eps → s and y
pub type Kernel = fn(&Tensor, Option<&Tensor>, &Tensor, f64) -> Result<(Tensor, Tensor)>;

/// All that compute RMS norms. A kernel for another GPU is an entry more.
pub static REGISTRY: Registry<Kernel> = Registry {
    entries: &[
        Entry {
            name: "add_rms_norm_level4",
            can: |p, facts| can(p, facts, facts.has(Feature::Bf16)),
            run: level4::add_rms_norm,
        },
        Entry {
            name: "add_rms_norm_level3",
            can: |p, facts| can(p, facts, facts.at_least((7, 5))),
            run: level3::add_rms_norm,
        },
    ],
};

/// Of bf16, what a GPU needs for it is `bf16`.
fn can(p: &Problem, facts: &Facts, bf16: bool) -> bool {
    match (p.dtype, facts.is_gpu()) {
        (DType::F32, true) => facts.at_least((7, 5)),
        (DType::BF16, true) => bf16,
        (dtype, false) => matches!(dtype, DType::F32 | DType::BF16),
        _ => false,
    }
}

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
    let (m, n) = rows(x)?;
    let problem = Problem {
        op: Op::AddRmsNorm,
        batch: 1,
        m,
        n,
        k: 1,
        dtype: x.dtype(),
        layout: [Layout::Rows; 2],
    };
    let picked = REGISTRY.pick(&problem, Facts::of(x.device())?)?;
    let _span = picked.span();
    (picked.entry.run)(x, residual, w, eps)
}
