//! y_g = mean of xᵢ over the nodes i of graph g; 0 for a graph without nodes.
//!
//! The readout that turns node features into one vector a graph: "How powerful are graph neural
//! networks?", Xu et al. 2019, section 4. x (N, C) and y (G, C) are f32 or bf16; sums are in f32. Graphs are
//! runs of nodes: graph g has nodes `offsets[g]..offsets[g + 1]` of [`Segments`].
//!
//! Tolerance: 1e-5 in f32, 2e-2 in bf16, of the mean of |x|.

pub(crate) mod calls;
mod cpu;
pub mod level3;
pub mod level4;

use candle_core::{DType, Result, Tensor};
use operands::Segments;

use crate::cost::Cost;
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

/// x in, y out; an addition per element.
pub fn cost(size: Size, dtype: DType) -> Cost {
    let Size {
        nodes,
        graphs,
        channels,
    } = size;
    let mut cost = Cost::new((nodes + graphs) * channels, dtype, nodes * channels);
    cost.bytes += 4 * (graphs + 1) as u64;
    cost
}

/// The operands agree.
fn check(kernel: &str, x: &Tensor, segments: &Segments) -> Result<Size> {
    let (nodes, channels) = x.dims2()?;
    let (graphs, offsets) = (segments.num_segments, &segments.offsets);
    if offsets.dtype() != DType::U32 || offsets.dims() != [graphs + 1] {
        let expected = format!("offsets ({}) u32", graphs + 1);
        let found = format!("{:?} {}", offsets.dims(), offsets.dtype().as_str());
        return Err(mismatch(kernel, expected, found));
    }
    let indexed = segments.index.dims1()?;
    if indexed != nodes {
        let expected = format!("x ({indexed}, C), a row per node");
        return Err(mismatch(kernel, expected, format!("{:?}", x.dims())));
    }
    Ok(Size {
        nodes,
        graphs,
        channels,
    })
}

#[cfg(test)]
mod tests;
