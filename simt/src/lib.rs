//! Runs PTX on a CPU, warp by warp, and says what a memory checker and a profiler would say.
//!
//! [`Module::parse`] reads a text, [`Module::kernel`] prepares an entry of it, and [`Kernel::launch`] runs it
//! over buffers. What comes back is a [`Report`]: what the kernel does wrong (out of bounds, misaligned,
//! uninitialised, races, barriers that not all threads reach, deadlocks, endless loops), each with the line of
//! the PTX and of the source that it was compiled from, and what it costs in requests, sectors and passes
//! over the banks of shared memory.
//!
//! # Example
//!
//! A kernel that doubles `n` numbers, with `>` in its guard where `>=` has to be: thread 3 reads and writes
//! beyond three numbers.
//!
//! ```
//! use simt::{Arg, Buffer, Class, Dim, Module, Options};
//!
//! let text = "
//! .version 7.0
//! .target sm_75
//! .address_size 64
//! .visible .entry double(.param .u32 n, .param .u64 x, .param .u64 y)
//! {
//!     .reg .pred %out;
//!     .reg .b32 %i, %n;
//!     .reg .b64 %x, %y, %offset;
//!     .reg .f32 %f;
//!     mov.u32 %i, %tid.x;
//!     ld.param.u32 %n, [n];
//!     setp.gt.u32 %out, %i, %n;
//!     @%out bra end;
//!     ld.param.u64 %x, [x];
//!     ld.param.u64 %y, [y];
//!     mul.wide.u32 %offset, %i, 4;
//!     add.u64 %x, %x, %offset;
//!     add.u64 %y, %y, %offset;
//!     ld.global.f32 %f, [%x];
//!     add.f32 %f, %f, %f;
//!     st.global.f32 [%y], %f;
//! end:
//!     ret;
//! }";
//! let kernel = Module::parse(text)?.kernel("double")?;
//! let mut buffers = [
//!     Buffer::f32s("x", &[1., 2., 3.]),
//!     Buffer::uninitialised("y", 12),
//! ];
//! let dim = Dim { grid: [1, 1, 1], block: [32, 1, 1], smem: 0 };
//! let args = [Arg::U32(3), Arg::Buffer(0), Arg::Buffer(1)];
//! let report = kernel.launch(dim, &mut buffers, &args, &Options::default())?;
//!
//! // The answer is right, and the kernel is not.
//! assert_eq!(buffers[1].to_f32s(), [2., 4., 6.]);
//! let [read, write] = &report.findings[..] else { panic!() };
//! assert_eq!((read.class, write.class), (Class::OutOfBounds, Class::OutOfBounds));
//! assert_eq!(
//!     read.to_string(),
//!     "line 20: `ld.global.f32`: thread 3 of block 0: \
//!      read of 4 bytes at byte 12 of x, which has 12 bytes"
//! );
//! // Three lanes read twelve bytes of one sector, with one request.
//! assert_eq!((report.total.global_load_requests, report.total.global_load_sectors), (1, 1));
//! # Ok::<(), simt::Error>(())
//! ```
//!
//! A launch can also be written as text, with buffers that are made from it: see [`Case`].
//!
//! # What it runs
//!
//! - Loads, stores, arithmetic, branches, calls, shuffles, votes, barriers, atomics, `cp.async`, `ldmatrix`, `mma` and
//!   `wmma`; an instruction that it does not run is an [`Error::Unsupported`] when the kernel is prepared.
//! - Clusters of up to 16 blocks: from `.reqnctapercluster` or [`Launch::in_clusters`]. `mapa`, `getctarank`, loads,
//!   stores and atomics of `.shared::cluster`, `barrier.cluster`. The blocks of a cluster take turns.
//! - `mbarrier` with phases and bytes, but for `pending_count`, and `cp.async.bulk` from global to shared memory, with an
//!   mbarrier, and from shared to global memory, in groups. A fence between the proxies is accepted; its lack is not
//!   found, and bulk copies count no requests and sectors.
//! - `griddepcontrol`: in a row of launches, see [`run`]. In a launch by itself it does nothing.
//! - Not `wgmma`, `tcgen05`, copies of tensors (`cp.async.bulk.tensor`), multicast, reductions in bulk, textures.
//!
//! # What it claims, and what it does not
//!
//! - A finding is something that a run of this launch did. What other sizes, contents or schedules would do
//!   is not known: run them too.
//! - Two accesses race when nothing puts them in order, whether or not the order in which this run had them
//!   gave the right result.
//! - Requests, sectors and wavefronts are those of the hardware, for the accesses that the PTX has; `ptxas` may
//!   merge some, and then the machine code has fewer. Instructions, active lanes and branches are the PTX's,
//!   and estimates of the machine code's.
//! - Results of arithmetic are IEEE 754's, bit by bit. Approximate instructions (`ex2.approx` …) are rounded
//!   correctly, where hardware is off by a few units in the last place; products of tensor cores are summed
//!   in f64 and rounded once, where hardware sums in f32, in an order of its own.
//! - Times, hit rates, occupancy, registers and machine instructions are never claimed: the text does not say.

#![forbid(unsafe_code)]

mod alu;
pub mod ast;
pub mod case;
mod code;
mod error;
mod launches;
mod lower;
mod machine;
pub mod mutate;
mod parse;
mod report;

pub use case::{Argument, Case};
pub use error::{Error, Place, Result};
pub use launches::{Launch, run};
pub use machine::{Arg, Buffer, Dim, Options, Schedule, Watch};
pub use report::{Access, Class, Counts, Finding, Line, Report, Step, Thread};

/// A text that was read.
#[derive(Debug, Clone)]
pub struct Module {
    ast: ast::Module,
}

impl Module {
    /// Reads PTX.
    ///
    /// # Errors
    /// [`Error::Syntax`], with the line.
    pub fn parse(text: &str) -> Result<Self> {
        Ok(Self {
            ast: parse::module(text)?,
        })
    }

    /// The names of the kernels, in the order of the text.
    pub fn entries(&self) -> impl Iterator<Item = &str> {
        let with_body = |f: &&ast::Function| f.is_entry && f.body.is_some();
        self.ast
            .functions
            .iter()
            .filter(with_body)
            .map(|f| f.name.as_str())
    }

    /// Prepares a kernel.
    ///
    /// # Errors
    /// [`Error::Name`] when there is no such kernel or it uses a name that is not declared;
    /// [`Error::Unsupported`] for an instruction that this machine does not run.
    pub fn kernel(&self, name: &str) -> Result<Kernel> {
        let variables = self.ast.variables.iter();
        let global = variables.filter(|v| v.space == ast::Space::Global && !v.is_extern);
        Ok(Kernel {
            code: lower::kernel(&self.ast, name)?,
            variables: global.map(variable).collect(),
        })
    }
}

/// A `.global` variable is a buffer that each launch has anew.
fn variable(v: &ast::Variable) -> Buffer {
    let elements: u64 = v.dims.iter().product();
    let size = elements * u64::from(v.vector) * u64::from(v.ty.bytes());
    let mut bytes = v.init.clone();
    bytes.resize(size as usize, 0);
    Buffer::new(&v.name, bytes)
}

/// A kernel that can be launched.
#[derive(Debug, Clone)]
pub struct Kernel {
    code: code::Kernel,
    variables: Vec<Buffer>,
}

impl Kernel {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.code.name
    }

    /// Names and bytes of its parameters.
    pub fn params(&self) -> impl Iterator<Item = (&str, u32)> {
        self.code.params.iter().map(|p| (p.name.as_str(), p.bytes))
    }

    /// Runs it over `buffers`, which it leaves changed.
    ///
    /// # Errors
    /// [`Error::Launch`] for a launch that no GPU takes, or arguments that are not the parameters.
    pub fn launch(
        &self,
        dim: Dim,
        buffers: &mut [Buffer],
        args: &[Arg],
        options: &Options,
    ) -> Result<Report> {
        Launch::new(self, dim, args).run(buffers, options)
    }
}
