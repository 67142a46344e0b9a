//! Kernel launches as values, independent of what executes them.

mod alignment;
mod chain;
#[cfg(feature = "cuda")]
mod cuda;
mod module;
mod narrow_rows;
mod noted;
mod overlap;
mod recorded;
mod register_rows;
mod repeat;
pub(crate) mod simulated;
#[cfg(any(feature = "cuda", test))]
pub(crate) mod structure;
#[cfg(feature = "cuda")]
mod tensor_map;

pub(crate) use alignment::{aligned, is_aligned};
pub use chain::{chained, is_chained};
#[cfg(feature = "cuda")]
pub(crate) use cuda::address;
pub(crate) use module::module;
pub use module::{Module, Target};
#[cfg(test)]
pub(crate) use narrow_rows::NARROW_ROW_VARIANTS;
pub(crate) use narrow_rows::narrow_row_variant;
pub use noted::{is_noted, noted};
pub use recorded::{Recorded, recorded};
pub(crate) use register_rows::{fits_in_registers, rows_per_block};
pub use repeat::{Recording, Repeated, Sequence, repeatable};
pub use simulated::simulated;

use std::borrow::Cow;

use candle_core::{Device, Result, Tensor};

use crate::error::mismatch;

/// A kernel argument; arguments have the order of the parameters.
#[derive(Debug, Clone, Copy)]
pub enum Arg<'a> {
    /// Address of a contiguous tensor to read.
    Read(&'a Tensor),
    /// Address of a view's first element to read; its strides are further arguments.
    View(&'a Tensor),
    /// Address of a contiguous tensor to write.
    Write(&'a Tensor),
    /// Address of a contiguous tensor that no kernel before it in the chain writes, such as a weight: a
    /// [programmatic](Launch::programmatic) launch may read it before it waits.
    Constant(&'a Tensor),
    /// Address of a contiguous tensor that no kernel before it in the chain writes or reads, such as a layer's cache: a
    /// programmatic launch may read it before it waits, and writes it afterwards.
    Update(&'a Tensor),
    /// A contiguous tensor as a matrix, whose rows are its last dimension. Hopper's TMA (Tensor Memory Accelerator) reads or
    /// writes boxes of this many rows and columns. Rows of a box have 64 or 128 bytes and are
    /// swizzled over the banks.
    Boxes(&'a Tensor, [usize; 2]),
    /// A view (B, T, H, D) for TMA: boxes of 64 channels of one head, and this many tokens.
    Heads(&'a Tensor, HeadLayout, usize),
    /// The null address, for a missing operand.
    Null,
    /// `.param .u32`
    U32(u32),
    /// `.param .f32`
    F32(f32),
}

/// Memory layout of a tensor (B, T, H, D) with adjacent channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeadLayout {
    /// Sizes B, T, H and D.
    pub dims: [usize; 4],
    /// Elements from one sequence, token and head to the next; 0 if there is only one.
    pub steps: [usize; 3],
}

/// A kernel launch with all that the driver or a simulator needs.
#[derive(Debug)]
pub struct Launch<'a> {
    /// Module of the kernel.
    pub(crate) module: &'static Module,
    /// Name of the kernel in it.
    pub(crate) entry: Cow<'static, str>,
    /// Blocks along x, y, z.
    pub(crate) grid: [u32; 3],
    /// Threads per block along x, y, z.
    pub(crate) block: [u32; 3],
    /// Dynamic shared memory per block in bytes.
    pub(crate) smem: u32,
    /// Whether it may start before the launch before has ended.
    pub(crate) programmatic: bool,
    /// Whether the arguments are the fields of the kernel's one parameter.
    pub(crate) is_struct: bool,
    /// Arguments in the order of the parameters.
    pub(crate) args: Vec<Arg<'a>>,
}

impl<'a> Launch<'a> {
    /// One block of 32 threads, without dynamic shared memory or arguments.
    pub fn new(module: &'static Module, entry: impl Into<Cow<'static, str>>) -> Self {
        Self {
            module,
            entry: entry.into(),
            grid: [1; 3],
            block: [32, 1, 1],
            smem: 0,
            programmatic: false,
            is_struct: false,
            args: Vec::with_capacity(12),
        }
    }

    /// Sets the blocks along x, y, z.
    ///
    /// [`Launch::run`] rejects more than a grid may have.
    pub fn grid(mut self, x: usize, y: usize, z: usize) -> Self {
        self.grid = [x, y, z].map(saturated);
        self
    }

    /// Sets the threads per block along x, y, z.
    ///
    /// [`Launch::run`] rejects sizes beyond 32 bits.
    pub fn block(mut self, x: usize, y: usize, z: usize) -> Self {
        self.block = [x, y, z].map(saturated);
        self
    }

    /// Sets the dynamic shared memory per block in bytes.
    ///
    /// [`Launch::run`] rejects sizes beyond 32 bits.
    pub fn smem(mut self, bytes: usize) -> Self {
        self.smem = saturated(bytes);
        self
    }

    /// Makes it a programmatic dependent launch: in a [chain](chained) it may start before the launch before has ended.
    ///
    /// Before a thread accesses an argument, other than to read a [constant](Self::constant) or an
    /// [update](Self::update), it has to execute `griddepcontrol.wait`, or to pass a barrier after a thread that has. The
    /// simulator reports an access that comes too early.
    pub fn programmatic(mut self) -> Self {
        self.programmatic = true;
        self
    }

    /// Makes the arguments the fields of one struct, the kernel's only parameter. Each lies at the next multiple of its
    /// size, a tensor map at a multiple of 64, and what comes after the last argument is 0.
    pub fn one_struct(mut self) -> Self {
        self.is_struct = true;
        self
    }

    /// Adds an argument: a contiguous tensor that the kernel reads and no kernel before it in the chain writes, such as a weight.
    pub fn constant(self, x: &'a Tensor) -> Self {
        self.arg(Arg::Constant(x))
    }

    /// Adds an argument: a tensor that no kernel before it in the chain writes, or null.
    pub fn constant_or_null(self, x: Option<&'a Tensor>) -> Self {
        self.arg(x.map_or(Arg::Null, Arg::Constant))
    }

    /// Adds an argument: a contiguous tensor that the kernel reads and writes, and no kernel before it in the chain.
    pub fn update(self, x: &'a Tensor) -> Self {
        self.arg(Arg::Update(x))
    }

    /// Adds an argument: a tensor that the kernel reads and writes, and no kernel before it in the chain, or null.
    pub fn update_or_null(self, x: Option<&'a Tensor>) -> Self {
        self.arg(x.map_or(Arg::Null, Arg::Update))
    }

    /// Adds an argument: a contiguous tensor that the kernel reads.
    pub fn read(self, x: &'a Tensor) -> Self {
        self.arg(Arg::Read(x))
    }

    /// Adds an argument: a tensor that the kernel reads, or null.
    pub fn read_or_null(self, x: Option<&'a Tensor>) -> Self {
        self.arg(x.map_or(Arg::Null, Arg::Read))
    }

    /// Adds an argument: a view that the kernel reads; its strides are further arguments.
    pub fn view(self, x: &'a Tensor) -> Self {
        self.arg(Arg::View(x))
    }

    /// Adds an argument: a contiguous tensor that the kernel writes.
    pub fn write(self, x: &'a Tensor) -> Self {
        self.arg(Arg::Write(x))
    }

    /// Adds an argument: a tensor that the kernel writes, or null.
    pub fn write_or_null(self, x: Option<&'a Tensor>) -> Self {
        self.arg(x.map_or(Arg::Null, Arg::Write))
    }

    /// Adds an argument: a tensor map for TMA of a contiguous tensor (…, columns) as a matrix.
    pub fn boxes(self, x: &'a Tensor, rows: usize, columns: usize) -> Self {
        self.arg(Arg::Boxes(x, [rows, columns]))
    }

    /// Adds an argument: a tensor map for TMA of a view (B, T, H, D).
    pub fn heads(self, x: &'a Tensor, heads: HeadLayout, tokens: usize) -> Self {
        self.arg(Arg::Heads(x, heads, tokens))
    }

    /// Adds an argument of type `.u32`.
    ///
    /// [`Launch::run`] rejects sizes beyond 32 bits.
    pub fn u32(self, x: usize) -> Self {
        self.arg(Arg::U32(saturated(x)))
    }

    /// Adds an argument of type `.f32`.
    pub fn f32(self, x: f64) -> Self {
        self.arg(Arg::F32(x as f32))
    }

    fn arg(mut self, arg: Arg<'a>) -> Self {
        self.args.push(arg);
        self
    }

    /// Launches the kernel on the device of its first tensor; returns before it ends.
    ///
    /// Does nothing for a grid without blocks.
    ///
    /// # Errors
    /// If there is no GPU, if the driver rejects the PTX or the launch, if a tensor is not contiguous, if a
    /// size exceeds 32 bits, or if the grid has more than 2³¹−1 blocks along x or 65535 along y or z.
    ///
    /// # Safety
    /// The arguments must have the order and the types of the entry's `.param` list, and the kernel must read
    /// and write only inside its tensors: nothing checks this on a GPU. In the simulator, accesses outside
    /// are findings and do no harm.
    pub unsafe fn run(self) -> Result<()> {
        self.launch()
    }

    /// Runs a kernel of this crate: see [`run`](Self::run). Its launches list their arguments in the order
    /// and with the types of the entry's `.param` list, and take sizes from the tensors; the tests run all of
    /// them under compute-sanitizer.
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

    /// Returns how many clusters of this launch the GPU of its tensors can run at the same time.
    ///
    /// A launch of clusters of more than 8 blocks needs this call before it, because it asks the driver to allow them.
    pub(crate) fn clusters_at_once(&self) -> Result<usize> {
        clusters_at_once(self)
    }

    /// Performs the checks of `run` that need no driver.
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
                Arg::Read(x)
                | Arg::Write(x)
                | Arg::Constant(x)
                | Arg::Update(x)
                | Arg::Boxes(x, _)
                    if !x.is_contiguous() =>
                {
                    return refuse("a contiguous tensor", format!("strides {:?}", x.stride()));
                }
                Arg::U32(u32::MAX) => return refuse("sizes below 2³²−1", "a larger one".into()),
                _ => {}
            }
        }
        Ok(())
    }
}

/// Maximum blocks of a grid along x, y, z: "CUDA C++ Programming Guide", appendix on compute capabilities.
pub(crate) const MOST_BLOCKS: [u32; 3] = [i32::MAX as u32, 65535, 65535];

/// Converts a size; one beyond 32 bits saturates, which [`Launch::run`] rejects.
fn saturated(size: usize) -> u32 {
    u32::try_from(size).unwrap_or(u32::MAX)
}

/// Whether the kernels of this thread are simulated.
pub fn is_simulated() -> bool {
    simulated::is_on()
}

/// Whether an op on tensors on `device` runs as loops on the CPU. Not while kernels are simulated: the
/// simulator runs the PTX on tensors of the host.
pub fn on_cpu(device: &Device) -> bool {
    device.is_cpu() && !simulated::is_on()
}

#[cfg(feature = "cuda")]
use cuda::{clusters_at_once, execute};

#[cfg(not(feature = "cuda"))]
fn execute(launch: &Launch) -> Result<()> {
    Err(mismatch(
        &launch.entry,
        "a build with the feature `cuda`",
        "a build without it",
    ))
}

#[cfg(not(feature = "cuda"))]
fn clusters_at_once(launch: &Launch) -> Result<usize> {
    execute(launch).map(|()| 0)
}

#[cfg(test)]
mod tests;
