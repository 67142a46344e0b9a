//! One description of a kernel launch, whatever executes it.

mod alignment;
#[cfg(feature = "cuda")]
mod cuda;
mod narrow_rows;
mod noted;
mod recorded;
mod register_rows;
pub(crate) mod simulated;
#[cfg(feature = "cuda")]
mod tensor_map;

pub(crate) use alignment::{aligned, is_aligned};
#[cfg(feature = "cuda")]
pub(crate) use cuda::address;
#[cfg(test)]
pub(crate) use narrow_rows::NARROW_ROW_VARIANTS;
pub(crate) use narrow_rows::narrow_row_variant;
pub use noted::noted;
pub use recorded::{Recorded, recorded};
pub(crate) use register_rows::{fits_in_registers, rows_a_block};
pub use simulated::simulated;

use std::borrow::Cow;

use candle_core::{Device, Result, Tensor};

use crate::error::{mismatch, unsupported};

/// The PTX of some kernels: one text, or one for each target that the kernels are compiled for.
///
/// All texts have the same entries. A GPU runs the one with the highest target that it can run, the simulator the one
/// with the highest target that is not for one architecture alone.
#[derive(Debug)]
pub struct Module {
    name: &'static str,
    texts: &'static [&'static str],
}

impl Module {
    /// `name` stands in error messages; `texts` are in the order of their targets, the lowest first.
    pub const fn new(name: &'static str, texts: &'static [&'static str]) -> Self {
        Self { name, texts }
    }

    /// Stands in error messages: `rms_norm/level4`.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// One text for each target, the lowest first.
    pub fn texts(&self) -> &'static [&'static str] {
        self.texts
    }

    /// Returns the text for a GPU of compute capability `found`.
    ///
    /// # Errors
    /// When that GPU can run none of them.
    pub fn text_for(&self, found: (u32, u32)) -> Result<&'static str> {
        let can = |text: &&&str| Target::of(text).is_some_and(|target| target.runs_on(found));
        if let Some(text) = self.texts.iter().rfind(can) {
            return Ok(text);
        }
        let lowest = self.texts.first().and_then(|text| Target::of(text));
        let Some(Target { capability, alone }) = lowest else {
            return Err(mismatch(self.name, "PTX with a `.target sm_…`", "none"));
        };
        let (major, minor) = capability;
        let range = if alone { "and no other" } else { "or more" };
        // Only level 5 has kernels for one architecture. Level 4 can do the same from 8.0 on, level 3 from 7.5 on.
        let below = match found {
            (8.., _) if alone => 4,
            (7, 5..) | (8.., _) => 3,
            _ => 2,
        };
        Err(unsupported(
            self.name,
            format!("a GPU of compute capability {major}.{minor} {range}"),
            format!("{}.{}", found.0, found.1),
            below,
        ))
    }

    /// The text that the simulator runs.
    pub(crate) fn simulated_text(&self) -> &'static str {
        let portable = |text: &&&str| Target::of(text).is_none_or(|target| !target.alone);
        let text = self.texts.iter().rfind(portable);
        text.or(self.texts.first()).copied().unwrap_or_default()
    }
}

/// The `.target` of a PTX text: the GPUs that can run it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target {
    /// (7, 5) of `sm_75`.
    pub capability: (u32, u32),
    /// Whether it ends in `a`, as `sm_90a` does: it then has instructions of one architecture, and runs there but not on
    /// what comes after it ("PTX ISA", `.target`).
    pub alone: bool,
}

impl Target {
    /// Reads the target of a text; `None` if it has no such line.
    pub fn of(ptx: &str) -> Option<Self> {
        let target = ptx.lines().find_map(|l| l.strip_prefix(".target sm_"))?;
        let target = target.trim();
        let digits = target.trim_end_matches(|c: char| !c.is_ascii_digit());
        let number: u32 = digits.parse().ok()?;
        Some(Self {
            capability: (number / 10, number % 10),
            alone: target.ends_with('a'),
        })
    }

    /// Whether a GPU of compute capability `found` can run it.
    pub fn runs_on(self, found: (u32, u32)) -> bool {
        self.capability == found || !self.alone && self.capability < found
    }
}

/// The [`Module`] of a kernel file.
///
/// `module!("rms_norm/level3")` is `kernels/src/rms_norm/level3.ptx`, written by hand;
/// `module!("rms_norm/level4", sm_75, sm_80)` is what nvcc makes of `kernels/src/rms_norm/level4.cu` for these targets:
/// `kernels/generated/rms_norm/level4.sm_75.ptx` and `….sm_80.ptx`.
macro_rules! module {
    ($file:literal) => {
        $crate::launch::Module::new(
            $file,
            &[include_str!(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/src/",
                $file,
                ".ptx"
            ))],
        )
    };
    ($file:literal, $($target:ident),+) => {
        $crate::launch::Module::new(
            $file,
            &[$(include_str!(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/generated/",
                $file,
                ".",
                stringify!($target),
                ".ptx"
            ))),+],
        )
    };
}
pub(crate) use module;

/// An argument of a kernel, in the order of its parameters.
#[derive(Debug, Clone, Copy)]
pub enum Arg<'a> {
    /// Address of a contiguous tensor, to read from.
    Read(&'a Tensor),
    /// Address of a view's first element, to read from; its strides are further arguments.
    View(&'a Tensor),
    /// Address of a contiguous tensor, to write to.
    Write(&'a Tensor),
    /// A matrix of the last dimension's rows, contiguous, of which Hopper's TMA (Tensor Memory Accelerator) reads or
    /// writes boxes of so many rows and columns, with the rows of a box, 64 or 128 bytes, swizzled over the banks.
    Boxes(&'a Tensor, [usize; 2]),
    /// A view (B, T, H, D), for TMA, too: boxes of 64 channels of one head, so many tokens.
    Heads(&'a Tensor, Heads, usize),
    /// The address 0, for an operand that is left out.
    Null,
    /// `.param .u32`
    U32(u32),
    /// `.param .f32`
    F32(f32),
}

/// How (B, T, H, D) lies in memory, channels being neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Heads {
    /// B, T, H and D.
    pub dims: [usize; 4],
    /// Elements from one sequence, token and head to the next; 0 where there is only one.
    pub steps: [usize; 3],
}

/// A kernel launch: all that the driver or a simulator needs.
#[derive(Debug)]
pub struct Launch<'a> {
    /// Where the kernel is.
    pub(crate) module: &'static Module,
    /// Its name there.
    pub(crate) entry: Cow<'static, str>,
    /// Blocks along x, y, z.
    pub(crate) grid: [u32; 3],
    /// Threads of a block along x, y, z.
    pub(crate) block: [u32; 3],
    /// Dynamic shared memory of a block, in bytes.
    pub(crate) smem: u32,
    /// Parameters.
    pub(crate) args: Vec<Arg<'a>>,
}

impl<'a> Launch<'a> {
    /// One block of 32 threads, no dynamic shared memory, no arguments yet.
    pub fn new(module: &'static Module, entry: impl Into<Cow<'static, str>>) -> Self {
        Self {
            module,
            entry: entry.into(),
            grid: [1; 3],
            block: [32, 1, 1],
            smem: 0,
            args: Vec::with_capacity(12),
        }
    }

    /// Blocks along x, y, z.
    ///
    /// [`Launch::run`] refuses more than a grid may have.
    pub fn grid(mut self, x: usize, y: usize, z: usize) -> Self {
        self.grid = [x, y, z].map(saturated);
        self
    }

    /// Threads of a block along x, y, z.
    ///
    /// [`Launch::run`] refuses sizes beyond 32 bits.
    pub fn block(mut self, x: usize, y: usize, z: usize) -> Self {
        self.block = [x, y, z].map(saturated);
        self
    }

    /// Dynamic shared memory of a block, in bytes.
    ///
    /// [`Launch::run`] refuses sizes beyond 32 bits.
    pub fn smem(mut self, bytes: usize) -> Self {
        self.smem = saturated(bytes);
        self
    }

    /// The next parameter: a contiguous tensor that the kernel reads.
    pub fn read(self, x: &'a Tensor) -> Self {
        self.arg(Arg::Read(x))
    }

    /// The next parameter: a tensor that the kernel reads, or the address 0.
    pub fn read_or_null(self, x: Option<&'a Tensor>) -> Self {
        self.arg(x.map_or(Arg::Null, Arg::Read))
    }

    /// The next parameter: a view that the kernel reads; its strides are further parameters.
    pub fn view(self, x: &'a Tensor) -> Self {
        self.arg(Arg::View(x))
    }

    /// The next parameter: a contiguous tensor that the kernel writes.
    pub fn write(self, x: &'a Tensor) -> Self {
        self.arg(Arg::Write(x))
    }

    /// The next parameter: a tensor that the kernel writes, or the address 0.
    pub fn write_or_null(self, x: Option<&'a Tensor>) -> Self {
        self.arg(x.map_or(Arg::Null, Arg::Write))
    }

    /// The next parameter: a tensor map of a contiguous tensor (…, columns) as a matrix, for TMA.
    pub fn boxes(self, x: &'a Tensor, rows: usize, columns: usize) -> Self {
        self.arg(Arg::Boxes(x, [rows, columns]))
    }

    /// The next parameter: a tensor map of a view (B, T, H, D), for TMA.
    pub fn heads(self, x: &'a Tensor, heads: Heads, tokens: usize) -> Self {
        self.arg(Arg::Heads(x, heads, tokens))
    }

    /// The next parameter, `.u32`.
    ///
    /// [`Launch::run`] refuses sizes beyond 32 bits.
    pub fn u32(self, x: usize) -> Self {
        self.arg(Arg::U32(saturated(x)))
    }

    /// The next parameter, `.f32`.
    pub fn f32(self, x: f64) -> Self {
        self.arg(Arg::F32(x as f32))
    }

    fn arg(mut self, arg: Arg<'a>) -> Self {
        self.args.push(arg);
        self
    }

    /// Starts the kernel on the device of its first tensor; returns before it ends.
    ///
    /// Does nothing for a grid without blocks.
    ///
    /// # Errors
    /// When there is no GPU, when the driver refuses the PTX or the launch, when a tensor is not
    /// contiguous, when a size does not fit 32 bits, or when the grid has more than 2³¹−1 blocks along x or 65535
    /// along y or z.
    ///
    /// # Safety
    /// The arguments have the order and the types of the entry's `.param` list, and the kernel reads and writes only inside
    /// the tensors that it is given: nothing checks this on a GPU. In the simulator, accesses outside of them are
    /// findings and do no harm.
    pub unsafe fn run(self) -> Result<()> {
        self.launch()
    }

    /// As [`run`](Self::run), for the kernels of this crate. Its launches list their arguments in the order and with the
    /// types of the entry's `.param` list, and take the sizes from the tensors; the tests run all of them under
    /// compute-sanitizer.
    pub(crate) fn launch(self) -> Result<()> {
        if self.grid.contains(&0) {
            return Ok(());
        }
        self.check()?;
        if simulated::is_on() {
            return simulated::execute(&self);
        }
        execute(&self)
    }

    /// The checks of `run` that need no driver.
    fn check(&self) -> Result<()> {
        let refuse = |expected, found| Err(mismatch(&self.entry, expected, found));
        if (self.grid.iter().zip(MOST_BLOCKS)).any(|(&blocks, most)| blocks > most) {
            let [x, y, z] = self.grid;
            return refuse(
                "at most 2³¹−1 × 65535 × 65535 blocks",
                format!("{x} × {y} × {z}"),
            );
        }
        let [x, y, z] = self.block;
        if [x, y, z, self.smem].contains(&u32::MAX) {
            return refuse("sizes below 2³²−1", "a larger one".into());
        }
        for arg in &self.args {
            match arg {
                Arg::Read(x) | Arg::Write(x) | Arg::Boxes(x, _) if !x.is_contiguous() => {
                    return refuse("a contiguous tensor", format!("strides {:?}", x.stride()));
                }
                Arg::U32(u32::MAX) => return refuse("sizes below 2³²−1", "a larger one".into()),
                _ => {}
            }
        }
        Ok(())
    }
}

/// Blocks of a grid along x, y, z: "CUDA C++ Programming Guide", appendix on compute capabilities.
pub(crate) const MOST_BLOCKS: [u32; 3] = [i32::MAX as u32, 65535, 65535];

/// Converts a size; one beyond 32 bits becomes the largest number of 32 bits, which [`Launch::run`] refuses.
fn saturated(size: usize) -> u32 {
    u32::try_from(size).unwrap_or(u32::MAX)
}

/// Whether the kernels of this thread are simulated.
pub fn is_simulated() -> bool {
    simulated::is_on()
}

/// Whether an op on tensors on `device` runs as loops on the CPU. While kernels are simulated it does not: the simulator
/// runs the PTX over tensors of the host.
pub fn on_cpu(device: &Device) -> bool {
    device.is_cpu() && !simulated::is_on()
}

#[cfg(feature = "cuda")]
use cuda::execute;

#[cfg(not(feature = "cuda"))]
fn execute(launch: &Launch) -> Result<()> {
    Err(mismatch(
        &launch.entry,
        "a build with the feature `cuda`",
        "a build without it",
    ))
}

#[cfg(test)]
mod tests;
