//! Level 5: the kernel that was the fastest for this shape on this device; for narrow rows there is one of their own.

use candle_core::{Result, Tensor};

use super::{level3, level4};
use crate::dispatch::{Entry, Facts, Feature, Op, Problem, Registry};
use crate::element::dtype_name;
use crate::error::mismatch;
use crate::launch::{Launch, Module, NARROW, module, narrow, on_16_bytes};
use crate::output;

static MODULE: Module = module!("rms_norm/level5", sm_75, sm_80);

/// x, w and eps → y
pub type Kernel = fn(&Tensor, &Tensor, f64) -> Result<Tensor>;

/// All that compute RMS norms. A kernel for another GPU is an entry more.
pub static REGISTRY: Registry<Kernel> = Registry {
    entries: &[
        Entry {
            name: "rms_norm_level5",
            can: |p, facts| {
                let narrow = narrow(p.n, p.dtype.size_in_bytes()).is_some();
                facts.is_gpu() && narrow && facts.computes(p.dtype, facts.has(Feature::Bf16))
            },
            run: of_narrow_rows,
        },
        Entry {
            name: "rms_norm_level4",
            can: |p, facts| facts.computes(p.dtype, facts.has(Feature::Bf16)),
            run: level4::rms_norm,
        },
        Entry {
            name: "rms_norm_level3",
            can: |p, facts| facts.computes(p.dtype, facts.at_least((7, 5))),
            run: level3::rms_norm,
        },
    ],
};

/// y = x/√(mean(x²) + eps) ⊙ w over the last dimension, like x.
///
/// # Errors
/// When shapes, dtypes or devices do not agree, or no kernel can.
pub fn rms_norm(x: &Tensor, w: &Tensor, eps: f64) -> Result<Tensor> {
    let problem = Problem::of_rows(Op::RmsNorm, x)?;
    let picked = REGISTRY.pick(&problem, Facts::of(x.device())?)?;
    let _span = picked.span();
    (picked.entry.run)(x, w, eps)
}

/// The kernel for rows that a warp holds.
fn of_narrow_rows(x: &Tensor, w: &Tensor, eps: f64) -> Result<Tensor> {
    let (rows, c) = super::check("rms_norm_level5", x, w)?;
    let place = narrow(c, x.dtype().size_in_bytes());
    let place = place.ok_or_else(|| {
        let expected = "rows of at most 256 whole chunks of 16 bytes";
        mismatch("rms_norm_level5", expected, c)
    })?;
    let y = output::tensor(x.shape(), x.dtype(), x.device())?;
    let [x, w] = [on_16_bytes(x)?, on_16_bytes(w)?];
    let (lanes, pieces) = NARROW[place];
    let dtype = dtype_name("rms_norm_level5", x.dtype())?;
    Launch::new(&MODULE, format!("rms_norm_{dtype}_level5_{lanes}x{pieces}"))
        .narrow_rows(rows, lanes)
        .read(&x)
        .read(&w)
        .write(&y)
        .u32(rows)
        .u32(c)
        .f32(eps)
        .run()?;
    Ok(y)
}
