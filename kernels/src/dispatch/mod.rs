//! Chooses the kernel of an operation by shape, dtype, layout and device, from measurements.
//!
//! A [`Registry`] is a list of [`Entry`]s. An entry has a name, a predicate that says when it can run, and
//! the function that runs it; a new kernel, or one for a new GPU, is one entry. A [`Table`] is a list of
//! [`Rule`]s measured on a device: ranges of shapes, and the fastest kernel there. The first rule that
//! matches and whose kernel can run wins; without one, the first entry that can run.
//!
//! The picked kernel and the reason are a value ([`Picked`]), which `--trace` prints and tests compare.

mod architecture;
mod facts;
mod memo;
mod problem;
mod registry;
mod table;
mod tables;
pub mod tune;

pub use architecture::{Architecture, Feature};
pub use facts::{Facts, processor};
pub use problem::{Layout, Op, Problem};
pub use registry::{Entry, Picked, Registry, Why};
pub use table::{Range, Rule, SCHEMA, Table};
pub use tables::{ANY_CPU, ANY_GPU, folder, is_tuned, remarks, tables, tune_command, use_table};
