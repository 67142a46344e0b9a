//! The jobs that `workbook compare` and `cargo bench` time.
//!
//! A [`Job`] is one model, at one level, on one input. Two measurements of a job differ in how they
//! repeat it and in nothing else.

pub mod gnn;
pub mod job;
pub mod launches;
pub mod limits;
pub mod lm;
pub mod machine;
pub mod ops;
pub mod passes;
pub mod sweep;
pub mod timer;
pub mod vit;

pub use job::{Job, Model, Workload};
