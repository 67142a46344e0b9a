//! Runs PTX on a CPU, warp by warp, and reports what a memory checker and a profiler would report.
//!
//! [`Module::parse`] parses a text, [`Module::kernel`] prepares one of its entries, and [`Kernel::launch`]
//! runs it on buffers. The result is a [`Report`] with findings and costs. Findings are the kernel's defects:
//! accesses out of bounds, misaligned or uninitialised, races, barriers that some threads miss, deadlocks,
//! endless loops. Each names the PTX line and the source line it was compiled from. Costs are requests,
//! sectors, and wavefronts of shared memory.
//!
//! # Example
//!
//! This kernel doubles `n` numbers, but its guard has `>` instead of `>=`: thread 3 reads and writes past the
//! end of three numbers.
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
//! // The result is right, but the kernel is not.
//! assert_eq!(buffers[1].to_f32s(), [2., 4., 6.]);
//! let [read, write] = &report.findings[..] else { panic!() };
//! assert_eq!((read.class, write.class), (Class::OutOfBounds, Class::OutOfBounds));
//! assert_eq!(
//!     read.to_string(),
//!     "line 20: `ld.global.f32`: thread 3 of block 0: \
//!      read of 4 bytes at byte 12 of x, which has 12 bytes"
//! );
//! // One request: three lanes read twelve bytes of one sector.
//! assert_eq!((report.total.global_load_requests, report.total.global_load_sectors), (1, 1));
//! # Ok::<(), simt::Error>(())
//! ```
//!
//! A launch can also be written as text, which describes its buffers: see [`Case`].
//!
//! # What it runs
//!
//! - Loads, stores, arithmetic, branches, calls, shuffles, votes, barriers, atomics, `cp.async`, `ldmatrix`, `mma` and
//!   `wmma`; an instruction that it does not run is an [`Error::Unsupported`] when the kernel is prepared.
//! - Clusters of up to 16 blocks: from `.reqnctapercluster` or [`Launch::in_clusters`]. `mapa`, `getctarank`, loads,
//!   stores and atomics of `.shared::cluster`, `st.async`, `barrier.cluster`. The blocks of a cluster take turns.
//! - `mbarrier` with phases and bytes, but for `pending_count`, and `cp.async.bulk` from global to shared memory, with an
//!   mbarrier, and from shared to global memory, in groups. A fence between the proxies is accepted; its lack is not
//!   found, and bulk copies count no requests and sectors.
//! - Only what the text's `.version` and `.target` have, for instructions of barriers, copies, clusters and matmuls.
//! - `griddepcontrol`: in a row of launches, see [`run`]. In a launch by itself it does nothing.
//! - Not `wgmma`, `tcgen05`, copies of tensors (`cp.async.bulk.tensor`), multicast, reductions in bulk, textures.
//!
//! # What it claims, and what it does not
//!
//! - A finding happened in this launch. Other sizes, contents or schedules may show more: run them, too.
//! - Two accesses race if nothing orders them, even if the result of this run is right.
//! - Requests, sectors and wavefronts equal the hardware's, for the accesses in the PTX. `ptxas` may merge
//!   accesses, so the machine code may have fewer. Instructions, active lanes and branches are counted in the
//!   PTX and are estimates for the machine code.
//! - Arithmetic follows IEEE 754 bit by bit. Approximate instructions (`ex2.approx` …) are rounded correctly,
//!   where hardware is off by a few units in the last place. Tensor-core sums are computed in f64 and rounded
//!   once, where hardware sums in f32 in an order of its own.
//! - Times, hit rates, occupancy, register counts and machine instructions are not reported, because the PTX
//!   does not determine them.

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
pub use error::{Error, Location, Result};
pub use launches::{Launch, run};
pub use machine::{Arg, Buffer, Dim, Options, Schedule, Watch};
pub use report::{Access, Class, Counts, Finding, Line, Report, Step, Thread, Touched, in_all};

/// A parsed PTX text.
#[derive(Debug, Clone)]
pub struct Module {
    ast: ast::Module,
}

impl Module {
    /// Parses PTX.
    ///
    /// # Errors
    /// [`Error::Syntax`], which names the line.
    pub fn parse(text: &str) -> Result<Self> {
        Ok(Self {
            ast: parse::module(text)?,
        })
    }

    /// Names of the kernels in source order.
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
    /// [`Error::Name`] if there is no such kernel or it uses an undeclared name; [`Error::Unsupported`] for
    /// an instruction that this machine does not run.
    pub fn kernel(&self, name: &str) -> Result<Kernel> {
        let variables = self.ast.variables.iter();
        let global = variables.filter(|v| v.space == ast::Space::Global && !v.is_extern);
        Ok(Kernel {
            code: lower::kernel(&self.ast, name)?,
            variables: global.map(variable).collect(),
        })
    }
}

/// Returns the buffer of a `.global` variable; each launch has a new copy.
fn variable(v: &ast::Variable) -> Buffer {
    let elements: u64 = v.dims.iter().product();
    let size = elements * u64::from(v.vector) * u64::from(v.ty.bytes());
    let mut bytes = v.init.clone();
    bytes.resize(size as usize, 0);
    Buffer::new(&v.name, bytes)
}

/// A kernel ready to launch.
#[derive(Debug, Clone)]
pub struct Kernel {
    code: code::Kernel,
    variables: Vec<Buffer>,
}

impl Kernel {
    /// Name of the kernel.
    pub fn name(&self) -> &str {
        &self.code.name
    }

    /// Names and sizes in bytes of its parameters.
    pub fn params(&self) -> impl Iterator<Item = (&str, u32)> {
        self.code.params.iter().map(|p| (p.name.as_str(), p.bytes))
    }

    /// Bytes of shared memory per block that the kernel declares; a launch may add dynamic shared memory.
    pub fn shared_bytes(&self) -> u32 {
        self.code.shared_bytes
    }

    /// Threads per block along x, y and z that the kernel declares, by `.reqntid` or `.maxntid`.
    pub fn declared_threads(&self) -> Option<[u32; 3]> {
        self.code.max_threads.map(|(threads, _)| threads)
    }

    /// Runs the kernel, which may modify `buffers`.
    ///
    /// # Errors
    /// [`Error::Launch`] if no GPU accepts the launch or the arguments do not match the parameters.
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
