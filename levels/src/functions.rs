//! The narrow functions that the methods of a level are made of: one kernel each, with one signature at all levels.

use candle_core::{Result, Tensor};
use models::{Csr, Linear, Segments, Weight};

/// The functions of one level, as values: what the benches of single operations time and the tests of all levels compare.
///
/// Formulas and shapes are those of `level1::ops`.
#[derive(Clone, Copy)]
#[allow(clippy::type_complexity)]
pub struct Functions {
    /// The level that lists these functions; some are those of a level below.
    pub level: u8,
    /// ids, w
    pub embedding: fn(&Tensor, &Weight) -> Result<Tensor>,
    /// pixels, patch, class, positions
    pub patch_embed: fn(&Tensor, &Linear, &Tensor, &Tensor) -> Result<Tensor>,
    /// x, w
    pub linear: fn(&Tensor, &Linear) -> Result<Tensor>,
    /// x, w, residual
    pub linear_residual: fn(&Tensor, &Linear, &Tensor) -> Result<Tensor>,
    /// x, w
    pub linear_gelu: fn(&Tensor, &Linear) -> Result<Tensor>,
    /// x, gate_up
    pub linear_swiglu: fn(&Tensor, &Linear) -> Result<Tensor>,
    /// x, w, eps
    pub rms_norm: fn(&Tensor, &Tensor, f64) -> Result<Tensor>,
    /// x, w, b, eps
    pub layer_norm: fn(&Tensor, &Tensor, &Tensor, f64) -> Result<Tensor>,
    /// x, scale
    pub softmax: fn(&Tensor, f64) -> Result<Tensor>,
    /// q, k, v
    pub attention: fn(&Tensor, &Tensor, &Tensor) -> Result<Tensor>,
    /// q, k, v, skip, residual, edges, w, graph
    pub edge_attention:
        fn(&Tensor, &Tensor, &Tensor, &Tensor, &Tensor, &Tensor, &Weight, &Csr) -> Result<Tensor>,
    /// x, segments
    pub segment_mean: fn(&Tensor, &Segments) -> Result<Tensor>,
}

macro_rules! functions {
    ($level:literal, $($path:ident)::+) => {{
        use $($path)::+ as k;
        Functions {
            level: $level,
            embedding: k::embedding,
            patch_embed: k::patch_embed,
            linear: k::linear,
            linear_residual: k::linear_residual,
            linear_gelu: k::linear_gelu,
            linear_swiglu: k::linear_swiglu,
            rms_norm: k::rms_norm,
            layer_norm: k::layer_norm,
            softmax: k::softmax,
            attention: k::attention,
            edge_attention: k::edge_attention,
            segment_mean: k::segment_mean,
        }
    }};
}

/// The functions of all levels, in order.
pub fn functions() -> Vec<Functions> {
    vec![
        functions!(1, level1::ops),
        functions!(2, level2::ops),
        functions!(3, kernels::level3),
        functions!(4, kernels::level4),
        functions!(5, kernels::level5),
    ]
}
