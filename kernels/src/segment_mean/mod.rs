//! y_g = mean of xᵢ + residualᵢ over the nodes i of graph g; 0 for a graph without nodes.
//!
//! The readout that turns node features into one vector a graph: "How powerful are graph neural
//! networks?", Xu et al. 2019, section 4. x and residual (N, C), y (G, C), all f32 or all bf16; sums are
//! in f32. Graphs are runs of nodes: `offsets` (G + 1) u32, graph g has nodes `offsets[g]..offsets[g + 1]`.
//!
//! Tolerance: 1e-5 in f32, 2e-2 in bf16, of the mean of |x| + |residual|.

mod cpu;
pub mod level3;
pub mod level4;

use candle_core::{DType, Result, Tensor};

use crate::cost::Cost;
use crate::element::same_dtype;
use crate::error::mismatch;

/// N, G and C.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    /// N
    pub nodes: usize,
    /// G
    pub graphs: usize,
    /// C
    pub channels: usize,
}

/// x and residual in, y out; two additions an element.
pub fn cost(size: Size, dtype: DType) -> Cost {
    let Size {
        nodes,
        graphs,
        channels,
    } = size;
    let mut cost = Cost::new((2 * nodes + graphs) * channels, dtype, 2 * nodes * channels);
    cost.bytes += 4 * (graphs + 1) as u64;
    cost
}

/// The operands agree.
fn check(kernel: &str, x: &Tensor, residual: &Tensor, offsets: &Tensor) -> Result<Size> {
    let (nodes, channels) = x.dims2()?;
    if residual.dims() != x.dims() {
        let expected = format!("residual {:?}", x.dims());
        return Err(mismatch(kernel, expected, format!("{:?}", residual.dims())));
    }
    same_dtype(kernel, &[x, residual])?;
    let ends = offsets.dims1()?;
    if offsets.dtype() != DType::U32 || ends == 0 {
        let found = format!("{:?} {}", offsets.dims(), offsets.dtype().as_str());
        return Err(mismatch(kernel, "offsets (G + 1) u32", found));
    }
    Ok(Size {
        nodes,
        graphs: ends - 1,
        channels,
    })
}

#[cfg(test)]
mod tests;
