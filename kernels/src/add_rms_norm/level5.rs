//! Level 5: the kernel that was the fastest for this shape on this device; for narrow rows there is one of their own.

use candle_core::{Result, Tensor};

use super::{level3, level4};
use crate::dispatch::{Entry, Facts, Feature, Op, Problem, Registry};
use crate::element::narrow_entries;
use crate::error::mismatch;
use crate::launch::{Launch, Module, NARROW, module, narrow, of_dtype, on_16_bytes};
use crate::output;

static F32: Module = module!("add_rms_norm_level5", "level5.ptx");
static BF16: Module = module!("add_rms_norm_level5_sm80", "level5_sm80.ptx");

/// x, residual, w and eps → s and y
pub type Kernel = fn(&Tensor, Option<&Tensor>, &Tensor, f64) -> Result<(Tensor, Tensor)>;

/// All that compute RMS norms. A kernel for another GPU is an entry more.
pub static REGISTRY: Registry<Kernel> = Registry {
    entries: &[
        Entry {
            name: "add_rms_norm_level5",
            can: |p, facts| {
                let narrow = narrow(p.n, p.dtype.size_in_bytes()).is_some();
                facts.is_gpu() && narrow && facts.computes(p.dtype, facts.has(Feature::Bf16))
            },
            run: of_narrow_rows,
        },
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

/// The kernel for rows that a warp holds: (s, y).
fn of_narrow_rows(
    x: &Tensor,
    residual: Option<&Tensor>,
    w: &Tensor,
    eps: f64,
) -> Result<(Tensor, Tensor)> {
    let (rows, c) = super::check("add_rms_norm_level5", x, residual, w)?;
    let place = narrow(c, x.dtype().size_in_bytes());
    let place = place.ok_or_else(|| {
        let expected = "rows of at most 256 whole chunks of 16 bytes";
        mismatch("add_rms_norm_level5", expected, c)
    })?;
    let like_x = || output::tensor(x.shape(), x.dtype(), x.device());
    let (s, y) = (residual.map(|_| like_x()).transpose()?, like_x()?);
    let [held, w] = [on_16_bytes(x)?, on_16_bytes(w)?];
    let added = residual.map(on_16_bytes).transpose()?;
    let module = of_dtype(x.dtype(), &F32, &BF16);
    let entries = narrow_entries!("add_rms_norm", x.dtype())?;
    Launch::new(module, entries[place])
        .narrow_rows(rows, NARROW[place].0)
        .read(&held)
        .read_or_null(added.as_ref())
        .read(&w)
        .write_or_null(s.as_ref())
        .write(&y)
        .u32(rows)
        .u32(c)
        .f32(eps)
        .run()?;
    Ok((s.unwrap_or_else(|| x.clone()), y))
}
