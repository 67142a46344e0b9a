//! Worklogs: one kernel made fast in steps, each a file of its own with one idea.
//!
//! [`matmul`] is C = A·B in nine steps, from one thread per element to tensor cores; [`softmax`] is the
//! softmax of rows in four; [`attention`] is attention in six. The files are in `kernels/worklogs`; the `diff`
//! of two neighbours is the lesson. The models run the kernels of the levels and none of these.
//! `cargo run --release -p kernels --example worklog -- matmul` counts each step in the simulator and times
//! it on a GPU.

pub mod attention;
mod counts;
pub mod matmul;
pub mod softmax;

pub use counts::Counts;
