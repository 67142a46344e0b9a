//! The command line of the models, shared by all programs.
//!
//! A level's example calls [`lm::main`], [`vit::main`] or [`gnn::main`] with its number, and the `workbook`
//! command runs the same programs.

#![warn(clippy::disallowed_macros)]

pub mod args;
pub mod device;
pub mod exit;
pub mod files;
pub mod gnn;
pub mod lm;
pub mod load;
pub mod memory;
mod note;
pub mod nvrtc;
mod ops;
pub mod own;
pub mod progress;
mod simulation;
mod stale;
pub mod tensors;
pub mod threads;
pub mod tokenizer;
pub mod toolkit;
mod top;
mod trace;
pub mod vit;

pub use exit::run;
pub use note::note_tables;
pub use simulation::h200;
