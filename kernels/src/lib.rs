//! One folder an op: its contract and oracle, and its kernel at every level that has one.
//!
//! In each folder, `mod.rs` holds the formula, the cost, the oracle in f64 and the tests; `level3.ptx`
//! and `level4.cu` the kernels, `level3.rs` and `level4.rs` their launches; `cpu.rs` the same two
//! ideas on a CPU.

pub mod add_layer_norm;
pub mod add_rms_norm;
pub mod attention;
pub mod cost;
pub mod cpu;
pub mod dispatch;
pub mod edge_attention;
pub mod element;
pub mod embedding;
pub mod error;
mod finally;
pub mod gelu;
pub mod graph;
pub mod launch;
pub mod linear;
pub mod matmul;
pub mod next_token;
pub mod output;
pub mod patch_embed;
pub mod rope;
pub mod segment_mean;
pub mod softmax;
pub mod ternary_linear;
#[cfg(test)]
mod testing;
