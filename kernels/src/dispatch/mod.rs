//! Which kernel computes an operation: by shape, number format, layout and device, as measured.
//!
//! A [`Registry`] is a list of [`Entry`]s. An entry has a name, a predicate that says where it can run, and
//! the function that runs it; a new kernel, or one for a new GPU, is one entry. A [`Table`] is a list of
//! [`Rule`]s, measured on a device: a range of shapes and the kernel that was the fastest there. The first rule
//! that holds, and whose kernel can run, wins; where no rule holds, the first entry that can.
//!
//! What was picked, and why, is a value ([`Picked`]) that `--trace` prints and tests compare.

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
