//! One folder an op: its contract and oracle, and its kernel at every level that has one.
//!
//! In each folder, `mod.rs` holds the formula and the cost; `tests.rs` the oracle in f64 and what is held to it; `level3.ptx`,
//! `level4.cu` and `level5….cu` the kernels, with the files `.rs` of the same name their launches; `cpu.rs` or `cpu/` the same
//! ideas on a CPU. [`level3`], [`level4`] and [`level5`] list the functions of a level.

pub mod attention;
pub mod cost;
pub mod cpu;
pub mod cuda_graph;
pub mod dispatch;
pub mod edge_attention;
pub mod element;
pub mod embedding;
pub mod error;
pub mod gelu;
pub mod launch;
pub mod layer_norm;
pub mod level3;
pub mod level4;
pub mod level5;
pub mod linear;
pub mod matmul;
pub mod next_token;
pub mod output;
pub mod patch_embed;
pub mod rms_norm;
pub mod rope;
pub mod segment_mean;
pub mod softmax;
pub mod ternary_linear;
#[cfg(test)]
mod testing;
