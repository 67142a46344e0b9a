//! Runs PTX on a CPU, warp by warp, and says what a memory checker and a profiler would say.
//!
//! [`Module::parse`] reads a text, [`Module::kernel`] prepares an entry of it, and [`Kernel::launch`] runs it
//! over buffers. What comes back is a [`Report`]: what the kernel does wrong (out of bounds, misaligned,
//! uninitialised, races, barriers that not all threads reach, deadlocks, endless loops), each with the line of
//! the PTX and of the source that it was compiled from, and what it costs in requests, sectors and passes
//! over the banks of shared memory.
//!
//! What the text cannot say is never claimed: no times, no hit rates, no machine instructions.

#![forbid(unsafe_code)]

mod alu;
pub mod ast;
pub mod case;
mod code;
mod error;
mod lower;
mod machine;
mod parse;
mod report;

pub use case::{Argument, Case};
pub use error::{Error, Place, Result};
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
        machine::launch(&self.code, &self.variables, dim, buffers, args, options)
    }
}
