//! y_g = mean of xᵢ over the nodes i of graph g; 0 for a graph without nodes.
//!
//! The readout that turns node features into one vector per graph: "How powerful are graph neural
//! networks?", Xu et al. 2019, section 4. x (N, C) and y (G, C) are f32 or bf16; sums are in f32. Graphs are
//! runs of nodes: graph g has nodes `offsets[g]..offsets[g + 1]` of [`Segments`].
//!
//! Tolerance: 1e-5 in f32, 2e-2 in bf16, of the mean of |x|.

pub(crate) mod calls;
mod cpu;
#[path = "level3.rs"]
mod level3_launch;
#[path = "level4.rs"]
mod level4_launch;

use candle_core::{DType, Result, Tensor};
use operands::Segments;
use trace::span;

use crate::cost::Cost;
use crate::element::by_element;
use crate::error::mismatch;
use crate::launch::on_cpu;

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

/// Level 3: hand-written PTX on a GPU, and plain loops on a CPU.
pub mod level3 {
    use super::*;

    /// Mean of x over the nodes of each graph: x (N, C) → (G, C); 0 for a graph without nodes.
    ///
    /// # Errors
    /// When shapes or devices do not agree, offsets are not u32, or x is neither f32 nor bf16, or not contiguous.
    pub fn segment_mean(x: &Tensor, segments: &Segments) -> Result<Tensor> {
        let _span = span("segment_mean_level3");
        let size = check("segment_mean_level3", x, segments)?;
        let offsets = &segments.offsets;
        let dtype = x.dtype();
        if on_cpu(x.device()) {
            return by_element!("segment_mean_level3", dtype, cpu::level3(x, offsets, size));
        }
        level3_launch::launch(x, offsets, size)
    }
}

/// Level 4: CUDA C++ on a GPU, and SIMD lanes on a CPU.
pub mod level4 {
    use super::*;

    /// Mean of x over the nodes of each graph: x (N, C) → (G, C); 0 for a graph without nodes. Graphs of more than
    /// 512 nodes on average take a second launch, if C is a multiple of 4.
    ///
    /// # Errors
    /// When shapes or devices do not agree, offsets are not u32, or x is neither f32 nor bf16, or not contiguous.
    pub fn segment_mean(x: &Tensor, segments: &Segments) -> Result<Tensor> {
        let _span = span("segment_mean_level4");
        let size = check("segment_mean_level4", x, segments)?;
        let offsets = &segments.offsets;
        if on_cpu(x.device()) {
            return by_element!(
                "segment_mean_level4",
                x.dtype(),
                cpu::level4(x, offsets, size)
            );
        }
        level4_launch::launch(x, offsets, size)
    }
}

#[cfg(test)]
mod tests;
