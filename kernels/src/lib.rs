//! One folder per op: its formula, its kernels at the levels that have them, and their tests.
//!
//! In each folder, `mod.rs` states the formula and the cost. It has a module for each level, whose public
//! function checks the operands, opens the trace's span, and runs the launch or the twin on a CPU.
//! `level3.ptx` and `level4.cu` are kernels, and `level3.rs` and `level4.rs` launch them. A level with several
//! kernels has a folder, such as `linear/level4`, whose `mod.rs` has that function. Where the module `level3` is in
//! `mod.rs`, the file `level3.rs` is the module `level3_launch`. `cpu.rs` or `cpu/` holds the
//! same ideas on a CPU. `tests.rs` checks all of them against an oracle in f64, and `calls.rs` lists calls for the
//! examples `cases` and `counters` and for the comparison of all levels.
//!
//! A new op needs three lines in this file: its module, a line in [`for_each_function!`], and a line in `calls`.
//! [`level3`], [`level4`] and [`level5`] export the functions of a level.

pub mod attention;
#[doc(hidden)]
pub mod calls;
pub mod cost;
pub mod cpu;
pub mod cuda_graph;
pub mod decoder_pass;
pub mod dispatch;
pub mod edge_attention;
pub mod element;
pub mod embedding;
pub mod encoder_pass;
pub mod error;
pub mod functions;
pub mod gelu;
pub mod graph_pass;
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
mod prepared;
pub mod rms_norm;
pub mod rope;
pub mod segment_mean;
pub mod softmax;
pub mod ternary_linear;
#[cfg(test)]
mod testing;
pub mod without;
pub mod worklogs;

/// Calls `$macro!` with every narrow function that all levels have: its folder, its name, its arguments with their
/// types, and the modules whose kernels levels 3, 4 and 5 run. The result is a tensor.
#[macro_export]
macro_rules! for_each_function {
    ($macro:ident) => {
        $macro! {
            /// Rows of a table, by number.
            embedding: embedding(ids: &Tensor, w: &Weight) in level3 level4 level4;
            /// The tokens of images: projected patches, the class token and positions.
            patch_embed: patch_embed(pixels: &Tensor, patch: &Linear, class: &Tensor, positions: &Tensor)
                in level3 level4 level4;
            /// x·Wᵀ + b
            linear: linear(x: &Tensor, w: &Linear) in level3 level4 level5;
            /// residual + x·Wᵀ + b
            linear: linear_residual(x: &Tensor, w: &Linear, residual: &Tensor) in level3 level4 level5;
            /// gelu(x·Wᵀ + b)
            linear: linear_gelu(x: &Tensor, w: &Linear) in level3 level4 level5;
            /// silu(x·Wgᵀ) ⊙ (x·Wuᵀ), where the rows of Wg stand above those of Wu.
            linear: linear_swiglu(x: &Tensor, gate_up: &Linear) in level3 level4 level5;
            /// x/√(mean(x²) + eps) ⊙ w, of each row.
            rms_norm: rms_norm(x: &Tensor, w: &Tensor, eps: f64) in level3 level4 level5;
            /// (x − mean(x))/√(var(x) + eps) ⊙ w + b, of each row.
            layer_norm: layer_norm(x: &Tensor, w: &Tensor, b: &Tensor, eps: f64) in level3 level4 level5;
            /// softmax(scale·x) of each row.
            softmax: softmax(x: &Tensor, scale: f64) in level3 level4 level4;
            /// softmax(q·kᵀ/√D)·v of all keys.
            attention: attention(q: &Tensor, k: &Tensor, v: &Tensor) in level3 level4 level5;
            /// Attention over the incoming edges of each node, plus skip and residual.
            edge_attention: edge_attention(
                q: &Tensor,
                k: &Tensor,
                v: &Tensor,
                skip: &Tensor,
                residual: &Tensor,
                edges: &Tensor,
                w: &Weight,
                graph: &Csr
            ) in level3 level4 level5;
            /// The mean of each segment's rows.
            segment_mean: segment_mean(x: &Tensor, segments: &Segments) in level3 level4 level4;
        }
    };
}

/// The calls that the folders list.
#[doc(hidden)]
pub fn calls() -> calls::List {
    let mut list = calls::List::default();
    for add in [
        attention::calls::add,
        edge_attention::calls::add,
        embedding::calls::add,
        gelu::calls::add,
        layer_norm::calls::add,
        linear::calls::add,
        matmul::calls::add,
        next_token::calls::add,
        patch_embed::calls::add,
        rms_norm::calls::add,
        segment_mean::calls::add,
        softmax::calls::add,
        ternary_linear::calls::add,
        worklogs::matmul::add,
        worklogs::softmax::add,
        worklogs::attention::add,
    ] {
        add(&mut list);
    }
    list
}
